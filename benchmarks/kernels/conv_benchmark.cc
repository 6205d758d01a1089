// SPDX-License-Identifier: Apache-2.0
//
// Convolution, forward and backward, on shapes of ResNet and of MNIST.
#include <benchmark/benchmark.h>

#include "kernels/compute/convolution/convolution.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::randomTensor;
using testing::TestQueue;

// Square images and kernels with padding that keeps the size at stride 1.
struct Tensors {
  int64_t n, c, size, k, kernel, stride;

  explicit Tensors(const benchmark::State& state)
      : n(state.range(0)),
        c(state.range(1)),
        size(state.range(2)),
        k(state.range(3)),
        kernel(state.range(4)),
        stride(state.range(5)) {}

  int64_t outSize() const { return (size - 1) / stride + 1; }
  ConvolutionArguments arguments() const {
    return {{stride, stride}, {kernel / 2, kernel / 2}, {1, 1}, 1};
  }
};

void runForward(benchmark::State& state) {
  const Tensors t(state);
  TestQueue queue;
  const auto x = randomTensor<float>({t.n, t.c, t.size, t.size}, 1);
  const auto w = randomTensor<float>({t.k, t.c, t.kernel, t.kernel}, 2);
  const auto y = randomTensor<float>({t.n, t.k, t.outSize(), t.outSize()}, 3);
  for (auto _ : state) {
    convolve(queue, y.view(), x.view(), w.view(), TensorView(), t.arguments());
    queue.wait();
  }
}

void runBackward(benchmark::State& state) {
  const Tensors t(state);
  TestQueue queue;
  const auto x = randomTensor<float>({t.n, t.c, t.size, t.size}, 1);
  const auto w = randomTensor<float>({t.k, t.c, t.kernel, t.kernel}, 2);
  const auto g = randomTensor<float>({t.n, t.k, t.outSize(), t.outSize()}, 3);
  const auto dx = randomTensor<float>({t.n, t.c, t.size, t.size}, 4);
  const auto dw = randomTensor<float>({t.k, t.c, t.kernel, t.kernel}, 5);
  for (auto _ : state) {
    convolveBackward(queue, dx.view(), dw.view(), TensorView(), g.view(),
                     x.view(), w.view(), t.arguments());
    queue.wait();
  }
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"n", "c", "size", "k", "kernel", "stride"})
      ->UseRealTime()
      ->Args({8, 3, 224, 64, 7, 2})
      ->Args({8, 64, 56, 64, 3, 1})
      ->Args({8, 128, 56, 128, 3, 2})
      ->Args({8, 256, 14, 1024, 1, 1})
      ->Args({64, 1, 28, 32, 3, 1});
}

BENCHMARK(runForward)->Apply(shapes);
BENCHMARK(runBackward)->Apply(shapes);

}  // namespace
}  // namespace dipu::kernels
