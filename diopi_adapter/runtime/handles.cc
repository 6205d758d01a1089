// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/handles.h"

#include <c10/util/Exception.h>

namespace dipu::adapter {

void throwNotOnDevice(const at::Tensor& tensor) {
  TORCH_CHECK(false,
              "Expected all tensors to be on the same device, but found a "
              "tensor of sizes ",
              tensor.sizes(), " on ", tensor.device(), " in a call on ",
              c10::Device(runtime::kDeviceType, runtime::currentDevice()),
              ". Move it with .to(), or make it a tensor without dimensions "
              "where a number is meant.");
}

TensorArray::TensorArray(at::ArrayRef<at::Tensor> tensors, bool written) {
  // Reserved up front: pointers_ points into handles_.
  handles_.reserve(tensors.size());
  pointers_.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) add(tensor, written);
  // Who looks at the first element of an empty list finds no tensor there.
  if (tensors.empty()) pointers_.push_back(nullptr);
}

TensorArray::TensorArray(const c10::List<std::optional<at::Tensor>>& tensors) {
  handles_.reserve(tensors.size());
  pointers_.reserve(tensors.size());
  for (const std::optional<at::Tensor>& tensor : tensors) {
    add(tensor.has_value() ? *tensor : at::Tensor(), /*written=*/false);
  }
}

void TensorArray::add(const at::Tensor& tensor, bool written) {
  if (!tensor.defined()) {
    pointers_.push_back(nullptr);
    return;
  }
  const c10::DeviceIndex device = checkedDevice(tensor);
  void* data = written ? tensor.storage().mutable_data()
                       : const_cast<void*>(tensor.storage().data());
  describe(tensor, device, data, handles_.emplace_back());
  pointers_.push_back(&handles_.back());
}

diopiRoundMode_t roundMode(std::optional<std::string_view> mode) {
  if (!mode.has_value()) return RoundModeNone;
  if (*mode == "trunc") return RoundModeTrunc;
  if (*mode == "floor") return RoundModeFloor;
  TORCH_CHECK(false,
              "div expected rounding_mode to be one of None, 'trunc', or "
              "'floor' but found '",
              *mode, "'");
}

diopiReduction_t reductionMode(int64_t reduction) {
  TORCH_CHECK_VALUE(reduction >= 0 && reduction < ReductionEND,
                    "reduction is none (0), mean (1) or sum (2), not ",
                    reduction);
  return static_cast<diopiReduction_t>(reduction);
}

}  // namespace dipu::adapter
