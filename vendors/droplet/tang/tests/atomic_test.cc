// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include "vendors/droplet/tang/tests/kernel_test.h"

namespace {

using dipu::tang::KernelTest;

constexpr unsigned kBlocks = 64;
constexpr unsigned kThreads = 256;
constexpr unsigned kCount = kBlocks * kThreads;

// Places of the results.
enum Place { kAdd, kSub, kMin, kMax, kExch, kCas, kAnd, kOr, kXor, kPlaces };

template <typename T>
__global__ void hammer(T* places) {
  const T i = static_cast<T>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&places[kAdd], i);
  atomicSub(&places[kSub], i);
  atomicMin(&places[kMin], i);
  atomicMax(&places[kMax], i);
  atomicAnd(&places[kAnd], ~(T{1} << (i % 16)));
  atomicOr(&places[kOr], T{1} << (i % 16));
  atomicXor(&places[kXor], i);
  // A lock-free increment.
  for (T seen = places[kCas];;) {
    const T before = atomicCAS(&places[kCas], seen, seen + 1);
    if (before == seen) break;
    seen = before;
  }
}

// Adds the odd numbers by an exchange that gives each value to one thread.
template <typename T>
__global__ void handOver(T* place, T* sum) {
  const T i = static_cast<T>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(sum, atomicExch(place, i));
}

template <typename T>
__global__ void addOne(T* place) {
  atomicAdd(place, T{1});
}

class AtomicTest : public KernelTest {
 protected:
  template <typename T>
  static void hammerAndCheck() {
    std::vector<T> start(kPlaces, T{0});
    start[kMin] = T{1000};
    start[kAnd] = static_cast<T>(-1);
    T* places = toDevice(start);
    void* args[] = {&places};
    ASSERT_EQ(launchKernel(hammer<T>, dim3(kBlocks), dim3(kThreads), args),
              tangSuccess);
    const std::vector<T> result = toHost(places, kPlaces);
    const T sum = T{kCount} * T{kCount - 1} / 2;
    EXPECT_EQ(result[kAdd], sum);
    EXPECT_EQ(result[kSub], static_cast<T>(T{0} - sum));
    EXPECT_EQ(result[kMin], T{0});
    EXPECT_EQ(result[kMax], T{kCount - 1});
    EXPECT_EQ(result[kCas], T{kCount});
    EXPECT_EQ(result[kAnd], static_cast<T>(T(-1) ^ T{0xffff}));
    EXPECT_EQ(result[kOr], T{0xffff});
    EXPECT_EQ(result[kXor], T{0}) << "of all numbers below a power of two";
  }

  template <typename T>
  static void addAndExchange() {
    std::vector<T> start(3, T{0});
    T* places = toDevice(start);
    T* sum = places + 1;
    T* ones = places + 2;
    void* args[] = {&places, &sum};
    ASSERT_EQ(launchKernel(handOver<T>, dim3(kBlocks), dim3(kThreads), args),
              tangSuccess);
    void* one_args[] = {&ones};
    ASSERT_EQ(launchKernel(addOne<T>, dim3(kBlocks), dim3(kThreads), one_args),
              tangSuccess);
    const std::vector<T> result = toHost(places, 3);
    // What the last thread stored is the one that nobody took. All numbers are
    // exact in every type.
    const T total = T{kCount / 2} * T{kCount - 1};
    EXPECT_EQ(static_cast<double>(result[0]) + static_cast<double>(result[1]),
              static_cast<double>(total));
    EXPECT_EQ(result[2], T{kCount});
  }
};

TEST_F(AtomicTest, IntegersUnderContention) {
  hammerAndCheck<int>();
  hammerAndCheck<unsigned>();
  hammerAndCheck<int64_t>();
  hammerAndCheck<unsigned long long>();
}

TEST_F(AtomicTest, SumsAndExchangesUnderContention) {
  addAndExchange<int>();
  addAndExchange<unsigned long long>();
  addAndExchange<double>();
}

TEST_F(AtomicTest, FloatSums) {
  float* place = toDevice(std::vector<float>{0.5f});
  void* args[] = {&place};
  ASSERT_EQ(launchKernel(addOne<float>, dim3(kBlocks), dim3(kThreads), args),
            tangSuccess);
  EXPECT_EQ(toHost(place, 1), std::vector<float>{kCount + 0.5f});
}

TEST_F(AtomicTest, ReturnsWhatStoodThere) {
  int value = 5;
  EXPECT_EQ(atomicAdd(&value, 3), 5);
  EXPECT_EQ(atomicSub(&value, 1), 8);
  EXPECT_EQ(atomicMin(&value, 9), 7);
  EXPECT_EQ(atomicMin(&value, -2), 7);
  EXPECT_EQ(atomicMax(&value, -5), -2);
  EXPECT_EQ(atomicMax(&value, 6), -2);
  EXPECT_EQ(atomicExch(&value, 12), 6);
  EXPECT_EQ(atomicCAS(&value, 11, 1), 12);
  EXPECT_EQ(atomicCAS(&value, 12, 10), 12);
  EXPECT_EQ(atomicAnd(&value, 6), 10);
  EXPECT_EQ(atomicOr(&value, 5), 2);
  EXPECT_EQ(atomicXor(&value, 3), 7);
  EXPECT_EQ(value, 4);
  float real = 1.5f;
  EXPECT_EQ(atomicAdd(&real, 2), 1.5f);
  EXPECT_EQ(atomicExch(&real, 7), 3.5f);
  EXPECT_EQ(real, 7.0f);
}

}  // namespace
