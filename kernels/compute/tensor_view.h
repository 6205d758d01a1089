// SPDX-License-Identifier: Apache-2.0
//
// What a compute function knows of a tensor: an address, a type and a shape.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dipu::kernels {

// Numbered like diopiDtype_t.
enum class DType : int32_t {
  kInt8 = 0,
  kUInt8 = 1,
  kInt16 = 2,
  kUInt16 = 3,
  kInt32 = 4,
  kUInt32 = 5,
  kInt64 = 6,
  kUInt64 = 7,
  kFloat16 = 8,
  kFloat32 = 9,
  kFloat64 = 10,
  kBool = 11,
  kBFloat16 = 12,
};
inline constexpr int kDTypeCount = 13;

// A borrowed view of a tensor, valid during the call of a compute function.
// `data` is a device address: only the queue translates it (queue.h). A view
// made by default stands for an optional tensor that was not given.
struct TensorView {
  void* data = nullptr;
  const int64_t* sizes = nullptr;    // ndim elements
  const int64_t* strides = nullptr;  // ndim elements, in elements, not bytes
  int64_t numel = 0;                 // product of sizes
  int32_t ndim = -1;                 // 0 is a scalar with numel 1
  DType dtype = DType::kFloat32;

  bool defined() const { return ndim >= 0; }
};

// A scalar argument as DIOPI passes it: integers (and bool) exactly, the rest
// as double.
struct Scalar {
  bool is_integer = false;
  int64_t i = 0;
  double d = 0.0;

  template <typename T>
  T to() const {
    return is_integer ? static_cast<T>(i) : static_cast<T>(d);
  }
};

// Outcome of a compute function. kUnsupported means that nothing was enqueued
// and that the caller may compute elsewhere; kInvalid is a caller's mistake.
// The text of a failure is in lastMessage() (status.h).
enum class Status : int32_t {
  kOk = 0,
  kUnsupported = 1,
  kInvalid = 2,
  kFailed = 3
};

}  // namespace dipu::kernels
