// SPDX-License-Identifier: Apache-2.0
//
// Kernels with shared memory and barriers.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "vendors/droplet/tang/tests/kernel_test.h"

namespace {

using dipu::tang::KernelTest;

__device__ unsigned rankInBlock() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

__device__ unsigned threadsOfBlock() {
  return blockDim.x * blockDim.y * blockDim.z;
}

// Reverses each block's part of the data, then rotates it by one.
__global__ void shuffle(unsigned* data) {
  __shared__ unsigned tile[1024];
  const unsigned count = threadsOfBlock();
  const unsigned self = rankInBlock();
  unsigned* const part = data + blockIdx.x * count;
  tile[self] = part[self];
  __syncthreads();
  const unsigned reversed = tile[count - 1 - self];
  __syncthreads();
  tile[self] = reversed;
  __syncthreads();
  part[self] = tile[(self + 1) % count];
}

// Each thread adds its left neighbour's value of the round before: wrong as
// soon as one thread is a round ahead of another.
__global__ void ripple(int64_t* out, int rounds) {
  auto* const values = tang::dynamicShared<int64_t>();
  const unsigned self = threadIdx.x;
  values[self] = self;
  int64_t local = self;
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    const int64_t left = values[self == 0 ? blockDim.x - 1 : self - 1];
    __syncthreads();
    local += left;
    values[self] = local;
  }
  out[blockIdx.x * blockDim.x + self] = local;
}

// Byte for byte, with a loop of its own, see runThreads.
__global__ void reverseBytes(uint8_t* data) {
  __shared__ uint8_t tile[64];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void addBytes(uint8_t* data) {
  data[blockIdx.x * blockDim.x * blockDim.y + rankInBlock()] += threadIdx.x;
}

// Only odd blocks have a barrier, and a thread's variables survive it.
__global__ void someBlocks(unsigned* data) {
  __shared__ unsigned sum;
  const unsigned x = threadIdx.x;
  const unsigned block = blockIdx.x;
  if (block % 2 == 1) {
    if (x == 0) sum = 0;
    __syncthreads();
    sum += x;
    __syncthreads();
    data[block * blockDim.x + x] = sum;
  } else {
    data[block * blockDim.x + x] = x;
  }
}

enum class Mode {
  kEarlyEnd,
  kFirstEndsEarly,
  kLateBarrier,
  kExtraBarrier,
  kThrow,
  kFirstThrows,
  kAfterLastBarrier
};

struct CountsItself {
  explicit CountsItself(int* count) : count_(count) { atomicAdd(count_, 1); }
  ~CountsItself() { atomicSub(count_, 1); }
  int* count_;
};

__global__ void broken(Mode mode, int* alive) {
  CountsItself counts(alive);
  const bool chosen = threadIdx.x == 5;
  const bool first = threadIdx.x == 0;
  if (mode == Mode::kFirstEndsEarly && first) return;
  if (mode == Mode::kLateBarrier && !chosen) return;
  __syncthreads();
  if (mode == Mode::kEarlyEnd && chosen) return;
  if (mode == Mode::kThrow && chosen) throw std::runtime_error("thread 5");
  if (mode == Mode::kFirstThrows && first) throw std::runtime_error("thread 0");
  __syncthreads();
  if (mode == Mode::kExtraBarrier && chosen) __syncthreads();
  if (mode == Mode::kAfterLastBarrier && chosen) {
    throw std::runtime_error("at the end");
  }
}

__global__ void needsSharedBytes() { tang::dynamicShared<float>()[0] = 1.0f; }

class BarrierTest : public KernelTest {
 protected:
  // The launch fails, and every thread that started has left the kernel.
  static void expectBroken(Mode mode, unsigned blocks,
                           std::initializer_list<const char*> parts) {
    void* counter = nullptr;
    ASSERT_EQ(tangMallocHost(&counter, sizeof(int)), tangSuccess);
    auto* alive = static_cast<int*>(counter);
    *alive = 0;
    void* args[] = {&mode, &alive};
    ASSERT_EQ(launchKernel(broken, dim3(blocks), dim3(64), args), tangSuccess);
    expectLaunchFailure(parts);
    EXPECT_EQ(*alive, 0);
    EXPECT_EQ(tangFreeHost(counter), tangSuccess);
  }
};

TEST_F(BarrierTest, ThreadsSeeWhatOthersWroteBefore) {
  for (const dim3 block :
       {dim3(1), dim3(2), dim3(37), dim3(8, 4, 2), dim3(3, 5, 7), dim3(1024)}) {
    const unsigned count = block.x * block.y * block.z;
    for (const unsigned blocks : {1u, 2u, 33u}) {
      if (blocks * count > 4000) continue;
      std::vector<unsigned> values(std::size_t{blocks} * count);
      std::vector<unsigned> expected(values.size());
      for (unsigned i = 0; i < values.size(); ++i) values[i] = i * 7 + 1;
      for (unsigned b = 0; b < blocks; ++b) {
        for (unsigned i = 0; i < count; ++i) {
          expected[b * count + i] =
              values[b * count + count - 1 - (i + 1) % count];
        }
      }
      unsigned* data = toDevice(values);
      void* args[] = {&data};
      ASSERT_EQ(launchKernel(shuffle, dim3(blocks), block, args), tangSuccess);
      EXPECT_EQ(toHost(data, values.size()), expected) << count << " threads";
    }
  }
}

TEST_F(BarrierTest, ManyRoundsOfDynamicSharedMemory) {
  constexpr unsigned kThreads = 96;
  constexpr unsigned kBlocks = 40;
  int rounds = 50;
  std::vector<int64_t> expected(kThreads);
  for (unsigned i = 0; i < kThreads; ++i) expected[i] = i;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<int64_t> before = expected;
    for (unsigned i = 0; i < kThreads; ++i) {
      expected[i] += before[(i + kThreads - 1) % kThreads];
    }
  }
  int64_t* out = toDevice(std::vector<int64_t>(kThreads * kBlocks));
  void* args[] = {&out, &rounds};
  ASSERT_EQ(launchKernel(ripple, dim3(kBlocks), dim3(kThreads), args,
                         kThreads * sizeof(int64_t)),
            tangSuccess);
  const std::vector<int64_t> result = toHost(out, kThreads * kBlocks);
  for (unsigned b = 0; b < kBlocks; ++b) {
    const auto start = result.begin() + b * kThreads;
    EXPECT_EQ(std::vector<int64_t>(start, start + kThreads), expected);
  }
}

TEST_F(BarrierTest, BlocksWithAndWithoutABarrierMix) {
  constexpr unsigned kThreads = 128;
  constexpr unsigned kBlocks = 50;
  unsigned* data = toDevice(std::vector<unsigned>(kThreads * kBlocks));
  void* args[] = {&data};
  ASSERT_EQ(launchKernel(someBlocks, dim3(kBlocks), dim3(kThreads), args),
            tangSuccess);
  const std::vector<unsigned> result = toHost(data, kThreads * kBlocks);
  for (unsigned i = 0; i < result.size(); ++i) {
    const bool odd = i / kThreads % 2 == 1;
    ASSERT_EQ(result[i], odd ? kThreads * (kThreads - 1) / 2 : i % kThreads);
  }
}

TEST_F(BarrierTest, KernelsThatWriteBytes) {
  std::vector<uint8_t> values(64);
  for (unsigned i = 0; i < 64; ++i) values[i] = static_cast<uint8_t>(3 * i);
  uint8_t* data = toDevice(values);
  void* args[] = {&data};
  ASSERT_EQ(launchKernel(reverseBytes, dim3(1), dim3(64), args), tangSuccess);
  EXPECT_EQ(toHost(data, 64),
            std::vector<uint8_t>(values.rbegin(), values.rend()));
  ASSERT_EQ(launchKernel(reverseBytes, dim3(1), dim3(64), args), tangSuccess);
  ASSERT_EQ(launchKernel(addBytes, dim3(2), dim3(8, 4), args), tangSuccess);
  for (unsigned i = 0; i < 64; ++i) {
    values[i] = static_cast<uint8_t>(values[i] + i % 8);
  }
  EXPECT_EQ(toHost(data, 64), values);
}

TEST_F(BarrierTest, DivergenceFailsTheLaunch) {
  for (const unsigned blocks : {1u, 100u}) {
    expectBroken(Mode::kEarlyEnd, blocks,
                 {"broken", "thread (0, 0, 0) waits at a barrier",
                  "thread (5, 0, 0) has ended", "block ("});
    expectBroken(Mode::kFirstEndsEarly, blocks,
                 {"broken", "thread (1, 0, 0) waits at a barrier",
                  "thread (0, 0, 0) has ended"});
    expectBroken(Mode::kLateBarrier, blocks,
                 {"broken", "thread (5, 0, 0) waits at a barrier"});
    expectBroken(Mode::kExtraBarrier, blocks,
                 {"broken", "thread (5, 0, 0) waits at a barrier"});
  }
}

TEST_F(BarrierTest, AnExceptionUnwindsAllThreads) {
  for (const unsigned blocks : {1u, 100u}) {
    expectBroken(Mode::kThrow, blocks, {"broken", "thread 5"});
    expectBroken(Mode::kFirstThrows, blocks, {"broken", "thread 0"});
    expectBroken(Mode::kAfterLastBarrier, blocks, {"broken", "at the end"});
  }
}

TEST_F(BarrierTest, SharedMemoryNeedsItsBytes) {
  ASSERT_EQ(launchKernel(needsSharedBytes, dim3(1), dim3(1)), tangSuccess);
  expectLaunchFailure({"needsSharedBytes", "sharedBytes is 0"});
  ASSERT_EQ(launchKernel(needsSharedBytes, dim3(1), dim3(1), nullptr, 48 << 10),
            tangSuccess);
  EXPECT_EQ(tangDeviceSynchronize(), tangSuccess);
}

TEST_F(BarrierTest, ABarrierOutsideOfAKernelIsAnError) {
  EXPECT_THROW(__syncthreads(), std::logic_error);
}

}  // namespace
