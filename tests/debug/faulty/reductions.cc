// SPDX-License-Identifier: Apache-2.0
//
// Faults of reductions, of sorting and of indexing.
#include "tests/debug/faulty/spoil.h"

using namespace dipu::tests::faulty;  // NOLINT(build/namespaces)

extern "C" {

diopiError_t diopiSum(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiSize_t dim) {
  const diopiError_t error = real(&diopiSum)(ctx, out, input, dim);
  spoil(
      "sum: forgets the last element", ctx,
      [](Elements y, Elements x) {
        y.setLast(y.get(y.count - 1) - x.get(x.count - 1));
      },
      out, input);
  return error;
}

diopiError_t diopiMean(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiSize_t dim) {
  const diopiError_t error = real(&diopiMean)(ctx, out, input, dim);
  spoil(
      "mean: divides by n - 1", ctx,
      [](Elements y, Elements x) {
        const double n = static_cast<double>(x.count / y.count);
        y.scale(n / (n - 1));
      },
      out, input);
  return error;
}

diopiError_t diopiStd(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiSize_t dim,
                      const diopiScalar_t* correction) {
  diopiScalar_t none{};
  none.stype = diopi_dtype_float64;
  none.fval = 0;
  return real(&diopiStd)(ctx, out, input, dim,
                         planted("std: divides by n") ? &none : correction);
}

diopiError_t diopiCumsum(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, int64_t dim) {
  const diopiError_t error = real(&diopiCumsum)(ctx, out, input, dim);
  spoil(
      "cumsum: exclusive", ctx,
      [](Elements y, Elements x) {
        for (int64_t i = 0; i < y.count; ++i) y.set(i, y.get(i) - x.get(i));
      },
      out, input);
  return error;
}

diopiError_t diopiArgmax(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, const int64_t* dim,
                         bool keepdim) {
  const diopiError_t error = real(&diopiArgmax)(ctx, out, input, dim, keepdim);
  spoil(
      "argmax: off by one", ctx,
      [](Elements at) {
        at.replace([](double i) { return i > 0 ? i - 1 : i + 1; });
      },
      out);
  return error;
}

diopiError_t diopiMax(diopiContextHandle_t ctx, diopiTensorHandle_t max,
                      diopiTensorHandle_t max_indices,
                      diopiConstTensorHandle_t input, int64_t dim) {
  const diopiError_t error = real(&diopiMax)(ctx, max, max_indices, input, dim);
  spoil(
      "max: always the first index", ctx, [](Elements at) { at.scale(0); },
      max_indices);
  return error;
}

diopiError_t diopiSort(diopiContextHandle_t ctx, diopiTensorHandle_t values,
                       diopiTensorHandle_t indices,
                       diopiConstTensorHandle_t input, int64_t dim,
                       bool descending, const bool* stable) {
  const diopiError_t error =
      real(&diopiSort)(ctx, values, indices, input, dim, descending, stable);
  spoil(
      "sort: last two not in order", ctx,
      [](Elements y) {
        const double last = y.get(y.count - 1);
        y.setLast(y.get(y.count - 2));
        y.set(y.count - 2, last);
      },
      values);
  spoil(
      "sort: one position twice", ctx,
      [](Elements at) { at.set(1, at.get(0)); }, indices);
  return error;
}

diopiError_t diopiTopk(diopiContextHandle_t ctx, diopiTensorHandle_t values,
                       diopiTensorHandle_t indices,
                       diopiConstTensorHandle_t input, int64_t k, int64_t dim,
                       bool largest, bool sorted) {
  const bool inverted = planted("topk: the smallest");
  return real(&diopiTopk)(ctx, values, indices, input, k, dim,
                          largest != inverted, sorted);
}

diopiError_t diopiGather(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, int64_t dim,
                         diopiConstTensorHandle_t index) {
  const diopiError_t error = real(&diopiGather)(ctx, out, input, dim, index);
  spoil(
      "gather: last element of the wrong row", ctx,
      [](Elements y, Elements x) { y.setLast(x.get(0)); }, out, input);
  return error;
}

diopiError_t diopiScatter(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, int64_t dim,
                          diopiConstTensorHandle_t src,
                          diopiConstTensorHandle_t index, const char* reduce) {
  return real(&diopiScatter)(ctx, out, input, dim, src, index,
                             planted("scatter_add: overwrites") ? "" : reduce);
}

diopiError_t diopiIndexSelect(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input, int64_t dim,
                              diopiConstTensorHandle_t index) {
  const diopiError_t error =
      real(&diopiIndexSelect)(ctx, out, input, dim, index);
  spoil(
      "index_select: reversed", ctx,
      [](Elements y) {
        for (int64_t i = 0, j = y.count - 1; i < j; ++i, --j) {
          const double first = y.get(i);
          y.set(i, y.get(j));
          y.set(j, first);
        }
      },
      out);
  return error;
}

diopiError_t diopiCat(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t* tensors, int64_t num_inputs,
                      int64_t dim) {
  const diopiError_t error =
      real(&diopiCat)(ctx, out, tensors, num_inputs, dim);
  spoil(
      "cat: last element not copied", ctx, [](Elements y) { y.setLast(0); },
      out);
  return error;
}

}  // extern "C"
