// SPDX-License-Identifier: Apache-2.0
//
// Tensors in device memory for the kernels' tests.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "kernels/compute/dtype.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"
#include "softdevice/softdevice.h"

namespace dipu::kernels::testing {

// Memory of device 0, freed with its last user.
inline std::shared_ptr<void> deviceMemory(std::size_t bytes) {
  void* data = nullptr;
  soft_malloc(0, bytes, &data);
  return std::shared_ptr<void>(data, [](void* p) { soft_free(p); });
}

inline int64_t product(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

// A dense tensor or a view of one; copies share the memory.
template <typename T>
class DeviceTensor {
 public:
  // Dense, row after row.
  DeviceTensor(std::vector<int64_t> sizes, const std::vector<T>& values)
      : sizes_(std::move(sizes)), strides_(sizes_.size()) {
    int64_t stride = 1;
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      strides_[i] = stride;
      stride *= sizes_[i];
    }
    elements_ = product(sizes_);
    memory_ = deviceMemory(static_cast<std::size_t>(elements_) * sizeof(T));
    soft_memcpy(memory_.get(), values.data(),
                static_cast<std::size_t>(elements_) * sizeof(T));
  }

  // All elements equal.
  DeviceTensor(std::vector<int64_t> sizes, T value)
      : DeviceTensor(
            sizes,
            std::vector<T>(static_cast<std::size_t>(product(sizes)), value)) {}

  DeviceTensor transposed(int a, int b) const {
    DeviceTensor result = *this;
    std::swap(result.sizes_[a], result.sizes_[b]);
    std::swap(result.strides_[a], result.strides_[b]);
    return result;
  }

  // Every `step`th element of dimension `dim`.
  DeviceTensor strided(int dim, int64_t step) const {
    DeviceTensor result = *this;
    result.sizes_[dim] = (sizes_[dim] + step - 1) / step;
    result.strides_[dim] *= step;
    return result;
  }

  TensorView view() const {
    TensorView view;
    view.data = memory_.get();
    view.sizes = sizes_.data();
    view.strides = strides_.data();
    view.numel = product(sizes_);
    view.ndim = static_cast<int32_t>(sizes_.size());
    view.dtype = kDTypeOf<T>;
    return view;
  }

  // The elements in logical order, after the default stream's work.
  std::vector<T> read() const {
    soft_stream* stream = nullptr;
    soft_stream_get_default(0, &stream);
    soft_stream_synchronize(stream);
    std::vector<T> storage(static_cast<std::size_t>(elements_));
    soft_memcpy(storage.data(), memory_.get(), storage.size() * sizeof(T));
    std::vector<T> result;
    const int64_t count = product(sizes_);
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      int64_t offset = 0;
      for (std::size_t d = sizes_.size(); d-- > 0;) {
        offset += rest % sizes_[d] * strides_[d];
        rest /= sizes_[d];
      }
      result.push_back(storage[static_cast<std::size_t>(offset)]);
    }
    return result;
  }

 private:
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
  int64_t elements_ = 0;
  std::shared_ptr<void> memory_;
};

// The default stream of device 0 with scratch memory that lives as long as
// this object. `name` is the queue's. Call wait() before it dies.
class TestQueue {
 public:
  explicit TestQueue(const char* name = nullptr) : name_(name) {
    soft_stream_get_default(0, &stream_);
  }
  ~TestQueue() { wait(); }
  TestQueue(const TestQueue&) = delete;
  TestQueue& operator=(const TestQueue&) = delete;

  operator Queue() { return Queue(stream_, &TestQueue::allocate, this, name_); }
  soft_status wait() { return soft_stream_synchronize(stream_); }

 private:
  static void* allocate(void* self, std::size_t bytes) {
    auto* queue = static_cast<TestQueue*>(self);
    queue->scratch_.push_back(deviceMemory(bytes));
    return queue->scratch_.back().get();
  }

  const char* name_;
  soft_stream* stream_ = nullptr;
  std::vector<std::shared_ptr<void>> scratch_;
};

// Values between -1 and 1, the same in every run.
template <typename T>
std::vector<T> randomValues(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1.0F, 1.0F);
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(distribution(generator)));
  }
  return values;
}

template <typename T>
DeviceTensor<T> randomTensor(const std::vector<int64_t>& sizes, uint32_t seed) {
  return DeviceTensor<T>(sizes, randomValues<T>(product(sizes), seed));
}

// A 16-bit or any other value as double.
template <typename T>
double asDouble(T value) {
  return static_cast<double>(static_cast<ComputeType<T>>(value));
}

}  // namespace dipu::kernels::testing
