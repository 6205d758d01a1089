// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory of the thread that computes, for packed blocks and partial
// sums. Small and reused; anything that grows with a tensor belongs in the
// queue's scratch memory (queue.h) instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace dipu::kernels {

// Grows only; contents are lost when it does. Aligned to 64 bytes.
class WorkerBuffer {
 public:
  WorkerBuffer() = default;
  WorkerBuffer(const WorkerBuffer&) = delete;
  WorkerBuffer& operator=(const WorkerBuffer&) = delete;
  ~WorkerBuffer() { std::free(data_); }

  // Room for `count` elements of T. Throws std::bad_alloc.
  template <typename T>
  T* get(int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > bytes_) grow(bytes);
    return static_cast<T*>(data_);
  }

 private:
  void grow(std::size_t bytes) {
    constexpr std::size_t kStep = 4096;
    const std::size_t rounded = (bytes + kStep - 1) / kStep * kStep;
    std::free(data_);
    bytes_ = 0;
    data_ = std::aligned_alloc(64, rounded);
    if (data_ == nullptr) throw std::bad_alloc();
    bytes_ = rounded;
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// The calling thread's buffer number `Slot`. Two users on one call path need
// different slots; slots are named where they are used.
template <int Slot>
WorkerBuffer& workerBuffer() {
  static thread_local WorkerBuffer buffer;
  return buffer;
}

// Slots in use.
enum BufferSlot : int {
  kGemmRowsSlot = 0,       // packed block of A
  kGemmColumnsSlot = 1,    // packed block of B
  kGemmResultSlot = 2,     // block of the result
  kReduceSlot = 3,         // partial sums of a reduction or normalization
  kConvolutionSlot = 4,    // unfolded image
  kLossSlot = 5,           // partial sums of a loss
  kResampleSlot = 6,       // volume between two passes of a resampling
  kOtherResampleSlot = 7,  // the next one
  kAttentionSlot = 8,      // blocks of queries, keys and scores
};

}  // namespace dipu::kernels
