// SPDX-License-Identifier: Apache-2.0
//
// searchsorted and bucketize: one DIOPI function, whose operands have been
// checked and promoted by PyTorch's own helpers.
#include <ATen/native/BucketizationUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/full.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/searchsorted_ops.h>

#include "diopi_adapter/aten/empty.h"
#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/aten/native_call.h"
#include "diopi_adapter/runtime/elementwise.h"
#include "diopi_adapter/runtime/handles.h"

namespace dipu::aten {
namespace {

using adapter::CallContext;
using adapter::castTo;
using adapter::In;
using adapter::noteRefusal;
using adapter::Out;
using adapter::symbols;
using OptionalTensor = std::optional<at::Tensor>;
using Side = std::optional<std::string_view>;

at::Tensor places(const at::Tensor& values, bool out_int32) {
  return emptyContiguous({0}, out_int32 ? at::kInt : at::kLong,
                         values.device().index());
}

// The number as a tensor of the type in which it compares with `boundaries`.
at::Tensor valueTensor(const at::Tensor& boundaries, const at::Scalar& value) {
  return at::full(
      {}, value,
      boundaries.options().dtype(at::result_type(boundaries, value)));
}

bool searchNatively(const at::Tensor& sorted, const at::Tensor& values,
                    bool right, const at::Tensor& sorter,
                    const at::Tensor& out) {
  const auto function = symbols().diopiExtSearchsorted;
  if (function == nullptr) {
    return noteRefusal(
        "the vendor's operator library lacks diopiExtSearchsorted");
  }
  const at::ScalarType common = at::result_type(sorted, values);
  const at::Tensor a = castTo(sorted, common);
  const at::Tensor b = castTo(values, common);
  CallContext context(sorted.device().index());
  return context.accept(
      function(context, Out(out), In(a), In(b), In(sorter), right),
      "searchsorted", {&sorted, &values});
}

at::Tensor& searchsortedOut(const at::Tensor& sorted, const at::Tensor& values,
                            bool out_int32, bool right, Side side,
                            const OptionalTensor& sorter, at::Tensor& out) {
  const at::Tensor order = sorter.value_or(at::Tensor());
  at::native::searchsorted_pre_check(sorted, values, out, out_int32, right,
                                     side, order);
  at::native::resize_output(out, values.sizes());
  if (values.numel() == 0) return out;
  const bool is_right = side.has_value() ? *side == "right" : right;
  if (!searchNatively(sorted, values, is_right, order, out)) {
    return const_cast<at::Tensor&>(onCpu<at::_ops::searchsorted_Tensor_out>(
        sorted, values, out_int32, right, side, sorter, out));
  }
  fallback::countNative("searchsorted.Tensor_out");
  return out;
}

at::Tensor searchTensor(const at::Tensor& sorted, const at::Tensor& values,
                        bool out_int32, bool right, Side side,
                        const OptionalTensor& sorter) {
  at::Tensor out = places(values, out_int32);
  searchsortedOut(sorted, values, out_int32, right, side, sorter, out);
  return out;
}

at::Tensor& searchsortedScalarOut(const at::Tensor& sorted,
                                  const at::Scalar& value, bool out_int32,
                                  bool right, Side side,
                                  const OptionalTensor& sorter,
                                  at::Tensor& out) {
  return searchsortedOut(sorted, valueTensor(sorted, value), out_int32, right,
                         side, sorter, out);
}

at::Tensor searchsortedScalar(const at::Tensor& sorted, const at::Scalar& value,
                              bool out_int32, bool right, Side side,
                              const OptionalTensor& sorter) {
  return searchTensor(sorted, valueTensor(sorted, value), out_int32, right,
                      side, sorter);
}

at::Tensor& bucketizeOut(const at::Tensor& values, const at::Tensor& boundaries,
                         bool out_int32, bool right, at::Tensor& out) {
  TORCH_CHECK(boundaries.dim() == 1,
              "boundaries tensor must be 1 dimension, but got dim(",
              boundaries.dim(), ")");
  return searchsortedOut(boundaries, values, out_int32, right, std::nullopt,
                         std::nullopt, out);
}

at::Tensor bucketizeTensor(const at::Tensor& values,
                           const at::Tensor& boundaries, bool out_int32,
                           bool right) {
  at::Tensor out = places(boundaries, out_int32);
  bucketizeOut(values, boundaries, out_int32, right, out);
  return out;
}

at::Tensor bucketizeScalar(const at::Scalar& value,
                           const at::Tensor& boundaries, bool out_int32,
                           bool right) {
  return bucketizeTensor(valueTensor(boundaries, value), boundaries, out_int32,
                         right);
}

}  // namespace

void registerSearching(torch::Library& library) {
  bind<"searchsorted.Tensor", searchTensor>(library);
  bind<"searchsorted.Tensor_out", searchsortedOut>(library);
  bind<"searchsorted.Scalar", searchsortedScalar>(library);
  bind<"searchsorted.Scalar_out", searchsortedScalarOut>(library);
  bind<"bucketize.Tensor", bucketizeTensor>(library);
  bind<"bucketize.Tensor_out", bucketizeOut>(library);
  bind<"bucketize.Scalar", bucketizeScalar>(library);
}

}  // namespace dipu::aten
