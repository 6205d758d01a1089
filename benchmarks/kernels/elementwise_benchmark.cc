// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of elementwise operators, copies and sums, launch and wait
// included. The argument is the number of elements.
#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/compute/activation.h"
#include "kernels/compute/binary.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/pointwise.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/unary.h"
#include "softdevice/softdevice.h"

namespace dipu::kernels {
namespace {

// A row-major matrix of `rows` and 1000 columns in device memory.
class Matrix {
 public:
  explicit Matrix(int64_t rows, DType dtype = DType::kFloat32)
      : sizes_{rows, 1000}, strides_{1000, 1}, dtype_(dtype) {
    soft_malloc(0, static_cast<std::size_t>(rows) * 1000 * itemSize(dtype),
                &data_);
  }
  ~Matrix() { soft_free(data_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  TensorView view() const {
    return {data_, sizes_, strides_, sizes_[0] * sizes_[1], 2, dtype_};
  }
  // The transpose, for reading across rows.
  TensorView transposed(int64_t* sizes, int64_t* strides) const {
    sizes[0] = sizes_[1];
    sizes[1] = sizes_[0];
    strides[0] = strides_[1];
    strides[1] = strides_[0];
    return {data_, sizes, strides, sizes_[0] * sizes_[1], 2, dtype_};
  }

 private:
  void* data_ = nullptr;
  int64_t sizes_[2];
  int64_t strides_[2];
  DType dtype_;
};

// Runs body(queue) and waits, `bytes` being moved per element.
template <typename Body>
void run(benchmark::State& state, int64_t bytes, const Body& body) {
  soft_stream* stream = nullptr;
  soft_stream_get_default(0, &stream);
  const Queue queue(stream, nullptr, nullptr);
  for (auto _ : state) {
    if (body(queue) != Status::kOk) state.SkipWithError(lastMessage());
    soft_stream_synchronize(stream);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * bytes);
}

const Scalar kOne{true, 1, 1.0};

template <DType dtype>
void add(benchmark::State& state) {
  const int64_t rows = state.range(0) / 1000;
  const Matrix a(rows, dtype);
  const Matrix b(rows, dtype);
  const Matrix out(rows, dtype);
  run(state, 3 * static_cast<int64_t>(itemSize(dtype)),
      [&](const Queue& queue) {
        return kernels::add(queue, out.view(), a.view(), b.view(), kOne);
      });
}

template <UnaryOp op>
void unaryOp(benchmark::State& state) {
  const int64_t rows = state.range(0) / 1000;
  const Matrix a(rows);
  const Matrix out(rows);
  run(state, 8, [&](const Queue& queue) {
    return unary(queue, op, out.view(), a.view());
  });
}

void geluErf(benchmark::State& state) {
  const int64_t rows = state.range(0) / 1000;
  const Matrix a(rows);
  const Matrix out(rows);
  run(state, 8, [&](const Queue& queue) {
    return gelu(queue, out.view(), a.view(), false);
  });
}

void transposedCopy(benchmark::State& state) {
  const int64_t rows = state.range(0) / 1000;
  const Matrix a(rows);
  const Matrix out(rows);
  int64_t sizes[2];
  int64_t strides[2];
  const TensorView from = a.transposed(sizes, strides);
  const int64_t dense[2] = {rows, 1};
  TensorView to = out.view();
  to.sizes = sizes;
  to.strides = dense;
  run(state, 8,
      [&](const Queue& queue) { return convertTensor(queue, to, from); });
}

void castToBFloat16(benchmark::State& state) {
  const int64_t rows = state.range(0) / 1000;
  const Matrix a(rows);
  const Matrix out(rows, DType::kBFloat16);
  run(state, 6, [&](const Queue& queue) {
    return convertTensor(queue, out.view(), a.view());
  });
}

// dim 0 or 1, or -1 for all.
template <int64_t dim>
void sumOver(benchmark::State& state) {
  const Matrix a(state.range(0) / 1000);
  const Matrix out(state.range(0) / 1000);
  TensorView result = out.view();
  const int64_t one = 1;
  const int64_t kept = dim < 0 ? 1 : a.view().sizes[1 - dim];
  result.ndim = dim < 0 ? 0 : 1;
  result.sizes = &kept;
  result.strides = &one;
  result.numel = kept;
  const int64_t dims[1] = {dim};
  run(state, 4, [&](const Queue& queue) {
    return sum(queue, result, a.view(), {dims, dim < 0 ? 0 : 1});
  });
}

void sizes(benchmark::internal::Benchmark* b) {
  b->Arg(1000)->Arg(100000)->Arg(10000000)->UseRealTime();
}

BENCHMARK(add<DType::kFloat32>)->Apply(sizes);
BENCHMARK(add<DType::kBFloat16>)->Apply(sizes);
BENCHMARK(unaryOp<UnaryOp::kRelu>)->Apply(sizes);
BENCHMARK(unaryOp<UnaryOp::kExp>)->Apply(sizes);
BENCHMARK(unaryOp<UnaryOp::kTanh>)->Apply(sizes);
BENCHMARK(geluErf)->Apply(sizes);
BENCHMARK(transposedCopy)->Apply(sizes);
BENCHMARK(castToBFloat16)->Apply(sizes);
BENCHMARK(sumOver<-1>)->Apply(sizes);
BENCHMARK(sumOver<0>)->Apply(sizes);
BENCHMARK(sumOver<1>)->Apply(sizes);

}  // namespace
}  // namespace dipu::kernels
