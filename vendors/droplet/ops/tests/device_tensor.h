// SPDX-License-Identifier: Apache-2.0
//
// Tensors for the tests of droplet's operators.
#pragma once

#include <diopi/functions.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "diopi_adapter/abi/diopi_host.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace dipu::droplet {

using Shape = std::vector<int64_t>;

inline int64_t product(const Shape& shape, std::size_t from, std::size_t to) {
  int64_t result = 1;
  for (std::size_t d = from; d < to; ++d) result *= shape[d];
  return result;
}

template <typename T>
inline constexpr diopiDtype_t kDtype = diopi_dtype_float32;
template <>
inline constexpr diopiDtype_t kDtype<double> = diopi_dtype_float64;

// A contiguous tensor in device memory.
template <typename T>
class DeviceTensor {
 public:
  DeviceTensor(Shape shape, const std::vector<T>& values)
      : shape_(std::move(shape)), strides_(shape_.size()) {
    int64_t stride = 1;
    for (std::size_t d = shape_.size(); d-- > 0;) {
      strides_[d] = stride;
      stride *= shape_[d];
    }
    const std::size_t bytes = values.size() * sizeof(T);
    EXPECT_EQ(tangMalloc(&tensor_.data, bytes), tangSuccess);
    EXPECT_EQ(
        tangMemcpy(tensor_.data, values.data(), bytes, tangMemcpyHostToDevice),
        tangSuccess);
    tensor_.sizes = shape_.data();
    tensor_.strides = strides_.data();
    tensor_.numel = static_cast<int64_t>(values.size());
    tensor_.ndim = static_cast<int32_t>(shape_.size());
    tensor_.dtype = kDtype<T>;
    tensor_.item_size = sizeof(T);
  }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;
  ~DeviceTensor() { tangFree(tensor_.data); }

  T* data() { return static_cast<T*>(tensor_.data); }
  diopiTensor* handle() { return &tensor_; }
  std::vector<T> values(tangStream_t stream) const {
    std::vector<T> result(tensor_.numel);
    EXPECT_EQ(
        tangMemcpyAsync(result.data(), tensor_.data, result.size() * sizeof(T),
                        tangMemcpyDeviceToHost, stream),
        tangSuccess)
        << tangGetErrorString(tangPeekAtLastError());
    return result;
  }

 private:
  Shape shape_;
  Shape strides_;
  diopiTensor tensor_{};
};

}  // namespace dipu::droplet
