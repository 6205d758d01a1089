// SPDX-License-Identifier: Apache-2.0
//
// A call computed a second time, on the CPU, to compare the device with.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "diopi_adapter/fallback/host_images.h"
#include "diopi_adapter/runtime/slot.h"

namespace dipu::debug {

// Whether the operator draws random numbers.
bool isRandom(adapter::SlotBase& slot);

// Whether the operator writes its argument `index`, declared or not.
bool writesArgument(adapter::SlotBase& slot, std::size_t index);

// Made before the device computes the call; not thread-safe. Tensors of the
// device are replaced by copies on the CPU with the same strides, which alias
// each other as the originals do. Generators are replaced by one with a fixed
// seed: the device draws other numbers than the CPU anyway, and the state of
// its generator must not change.
class Reference {
 public:
  // In which type floating-point numbers are computed.
  enum class Precision { kSame, kDouble };

  // Copies the arguments of `slot`'s operator, the last ones on `stack`. Blocks
  // until the device has reached this point of the current stream.
  Reference(adapter::SlotBase& slot, const torch::jit::Stack& stack);

  // Whether the operator writes to arguments: then run() can be called once.
  // With kDouble it may be called before, as long as no argument that is
  // written holds integers or float64: the others are converted, so copies stay
  // as they are.
  bool writesArguments() const { return !written_.empty(); }

  // Makes arguments() anew from what was copied, which run() may have written.
  void makeArguments(Precision precision);

  // As above, and computes on the CPU. Throws what the operator throws.
  void run(Precision precision);

  // The results, all on the CPU. Empty before run().
  const std::vector<c10::IValue>& results() const { return results_; }

  // What makeArguments() made, with what the last run() has written to them.
  const std::vector<c10::IValue>& arguments() const { return arguments_; }

  // Positions of the arguments that have other values on the device than when
  // they were copied, though the operator does not declare to write them nor
  // anything in the same storage. To be asked after the device has computed.
  // Blocks.
  std::vector<std::size_t> changedArguments() const;

 private:
  c10::IValue cpuArgument(const c10::Argument& argument,
                          const c10::IValue& value);
  at::Tensor cpuTensor(const at::Tensor& tensor);
  bool sharesWrittenStorage(const at::Tensor& tensor) const;

  adapter::SlotBase& slot_;
  std::vector<c10::IValue> given_;      // as the device has them
  std::vector<c10::IValue> arguments_;  // the same on the CPU
  std::vector<c10::IValue> results_;
  fallback::HostImages images_;
  std::vector<at::Tensor> written_;  // tensors of the device
  // With kDouble: what stands for each image.
  std::vector<std::pair<at::Tensor, at::Tensor>> doubles_;
  Precision precision_ = Precision::kSame;  // of arguments_
  bool has_generator_ = false;
};

}  // namespace dipu::debug
