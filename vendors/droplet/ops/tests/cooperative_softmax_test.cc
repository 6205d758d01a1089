// SPDX-License-Identifier: Apache-2.0
//
// A softmax whose threads share the work of a row, as a card needs it, against
// the operator, whose threads need nothing from each other.
#include <diopi/functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "diopi_adapter/abi/diopi_host.h"
#include "vendors/droplet/ops/tests/device_tensor.h"
#include "vendors/droplet/tang/tang_kernel.h"

namespace {

using dipu::droplet::DeviceTensor;
using dipu::droplet::Shape;

struct Larger {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

// Combines one value per thread of a block of a power of two; every thread gets
// the result. `scratch` holds one value per thread.
template <typename T, typename Combine>
__device__ T reduceBlock(T value, T* scratch, Combine combine) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      scratch[threadIdx.x] =
          combine(scratch[threadIdx.x], scratch[threadIdx.x + half]);
    }
    __syncthreads();
  }
  const T result = scratch[0];
  __syncthreads();  // before scratch is written again
  return result;
}

// One block per column along the axis.
template <typename T>
__global__ void cooperativeSoftmax(const T* input, T* output, int64_t axis,
                                   int64_t inner) {
  auto* const scratch = tang::dynamicShared<T>();
  const int64_t start =
      int64_t{blockIdx.y} * axis * inner + int64_t{blockIdx.x};
  const T* in = input + start;
  T* out = output + start;
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t k = threadIdx.x; k < axis; k += blockDim.x) {
    largest = Larger{}(in[k * inner], largest);
  }
  largest = reduceBlock(largest, scratch, Larger{});
  T sum = 0;
  for (int64_t k = threadIdx.x; k < axis; k += blockDim.x) {
    const T value = std::exp(in[k * inner] - largest);
    out[k * inner] = value;
    sum += value;
  }
  const T scale = T{1} / reduceBlock(sum, scratch, Sum{});
  for (int64_t k = threadIdx.x; k < axis; k += blockDim.x) {
    out[k * inner] *= scale;
  }
}

class CooperativeSoftmaxTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("SOFTDEVICE_MEMORY", "64M", 1); }
  void SetUp() override {
    ASSERT_EQ(tangStreamCreateWithFlags(&stream_, tangStreamNonBlocking),
              tangSuccess);
    context_.stream = stream_;
  }
  void TearDown() override { EXPECT_EQ(tangDeviceReset(), tangSuccess); }

  template <typename T>
  void expectEqual(int64_t outer, int64_t axis, int64_t inner,
                   unsigned threads) {
    const Shape shape = {outer, axis, inner};
    std::mt19937 random(5);
    std::normal_distribution<double> normal(0.0, 10.0);
    std::vector<T> values(outer * axis * inner);
    for (T& value : values) value = static_cast<T>(normal(random));
    DeviceTensor<T> in(shape, values);
    DeviceTensor<T> plain(shape, std::vector<T>(values.size(), T{-1}));
    DeviceTensor<T> shared(shape, std::vector<T>(values.size(), T{-1}));
    ASSERT_EQ(diopiSoftmax(&context_, plain.handle(), in.handle(), 1),
              diopiSuccess);
    const T* in_ptr = in.data();
    T* out_ptr = shared.data();
    void* args[] = {&in_ptr, &out_ptr, &axis, &inner};
    const dim3 grid(static_cast<unsigned>(inner), static_cast<unsigned>(outer));
    ASSERT_EQ(launchKernel(cooperativeSoftmax<T>, grid, dim3(threads), args,
                           threads * sizeof(T), stream_),
              tangSuccess);
    const std::vector<T> expected = plain.values(stream_);
    const std::vector<T> result = shared.values(stream_);
    const T tolerance = 20 * std::numeric_limits<T>::epsilon();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(result[i], expected[i], tolerance)
          << outer << " x " << axis << " x " << inner << ", " << threads;
    }
  }

  tangStream_t stream_ = nullptr;
  diopiContext context_{};
};

TEST_F(CooperativeSoftmaxTest, AgreesWithTheOperatorOnManyShapes) {
  for (const unsigned threads : {1u, 2u, 16u, 64u}) {
    for (const int64_t outer : {1, 2, 33}) {
      for (const int64_t axis : {1, 2, 15, 16, 17, 100}) {
        for (const int64_t inner : {1, 5}) {
          if (outer * inner * threads > 700) continue;
          expectEqual<float>(outer, axis, inner, threads);
          expectEqual<double>(outer, axis, inner, threads);
        }
      }
    }
  }
  expectEqual<float>(1, 50257, 1, 512);
}

TEST_F(CooperativeSoftmaxTest, NanReachesTheWholeRow) {
  std::vector<float> values(100, 1.0f);
  values[57] = std::numeric_limits<float>::quiet_NaN();
  DeviceTensor<float> in({1, 100, 1}, values);
  DeviceTensor<float> out({1, 100, 1}, values);
  const float* in_ptr = in.data();
  float* out_ptr = out.data();
  int64_t axis = 100;
  int64_t inner = 1;
  void* args[] = {&in_ptr, &out_ptr, &axis, &inner};
  ASSERT_EQ(launchKernel(cooperativeSoftmax<float>, dim3(1), dim3(32), args,
                         32 * sizeof(float), stream_),
            tangSuccess);
  const std::vector<float> result = out.values(stream_);
  EXPECT_TRUE(std::all_of(result.begin(), result.end(),
                          [](float value) { return std::isnan(value); }));
}

}  // namespace
