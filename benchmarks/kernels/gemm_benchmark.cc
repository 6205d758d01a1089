// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: floating-point operations per second by shape and dtype.
#include <benchmark/benchmark.h>

#include "kernels/compute/gemm/gemm.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

template <typename T>
void runMatmul(benchmark::State& state) {
  const int64_t m = state.range(0);
  const int64_t n = state.range(1);
  const int64_t k = state.range(2);
  const bool transposed = state.range(3) != 0;
  TestQueue queue;
  const auto a = randomTensor<T>({m, k}, 1);
  const auto b = transposed ? randomTensor<T>({n, k}, 2).transposed(0, 1)
                            : randomTensor<T>({k, n}, 2);
  const DeviceTensor<T> out({m, n}, T(0.0F));
  for (auto _ : state) {
    matmul(queue, out.view(), a.view(), b.view());
    queue.wait();
  }
  state.counters["flops"] =
      benchmark::Counter(2.0 * double(m) * double(n) * double(k),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"m", "n", "k", "transposed"})->UseRealTime();
  for (int64_t transposed : {0, 1}) {
    for (int64_t size : {8, 32, 64, 128, 256, 512, 1024}) {
      benchmark->Args({size, size, size, transposed});
    }
    benchmark->Args({1, 1024, 1024, transposed});
    benchmark->Args({64, 1024, 256, transposed});
  }
}

BENCHMARK_TEMPLATE(runMatmul, float)->Apply(shapes);
BENCHMARK_TEMPLATE(runMatmul, double)->Apply(shapes);
BENCHMARK_TEMPLATE(runMatmul, BFloat16)->Apply(shapes);

}  // namespace
}  // namespace dipu::kernels
