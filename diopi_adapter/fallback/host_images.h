// SPDX-License-Identifier: Apache-2.0
//
// CPU tensors that stand for device tensors during one operator call.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

namespace dipu::fallback {

// Copies device tensors to the CPU with their strides, and keeps what aliases
// aliased: tensors of one device storage become tensors of one CPU storage. Of
// each storage only the range that the tensors span is copied.
//
// Use: add() every tensor, fetch() once, then ask. Copies are made in the order
// of the current stream of each device, and fetch() blocks until they are done.
// Not thread-safe; lives during one call.
class HostImages {
 public:
  // Announces `tensor`, a strided device tensor. Adding it again is harmless.
  // With `read` false its values do not matter and may be left out.
  void add(const at::Tensor& tensor, bool read = true);

  // Copies everything that was added to be read.
  void fetch();

  // Copies the range of the storage that was fetched for `tensor` back to the
  // device, with whatever has been written to its images. Enqueues.
  void store(const at::Tensor& tensor) const;

  // Whether the range of the storage that was fetched for `tensor` holds other
  // bytes on the device than here. Blocks.
  bool differs(const at::Tensor& tensor) const;

  // The CPU tensor for a tensor that was added; always the same object.
  const at::Tensor& hostOf(const at::Tensor& tensor) const;

  // The device tensor whose image `host` is: the same object, not an alias.
  // Undefined when there is none.
  at::Tensor deviceOf(const at::Tensor& host) const;

  // When `host` lies in the memory of an image: the device tensor that lies in
  // the same place, a view of what was added. Undefined otherwise.
  at::Tensor deviceViewOf(const at::Tensor& host) const;

 private:
  // The copied range of one device storage.
  struct Range {
    at::Tensor sample;      // any device tensor of the storage
    std::size_t begin = 0;  // in bytes from the start of the storage
    std::size_t end = 0;
    bool read = false;
    c10::Storage host;  // bytes [begin, end)
  };
  struct Image {
    at::Tensor device;
    at::Tensor host;
    std::size_t range;
  };

  Range& rangeOf(const at::Tensor& tensor, std::size_t* out_index);
  const Range& knownRange(const at::Tensor& tensor) const;
  static c10::Storage makeStorage(const Range& range);
  static void copyToHost(const Range& range, c10::Storage* to);
  at::Tensor makeHost(const at::Tensor& device, const Range& range) const;

  std::vector<Range> ranges_;
  std::vector<Image> images_;
  // By TensorImpl of the device tensor: position in images_.
  std::unordered_map<const c10::TensorImpl*, std::size_t> by_device_;
};

}  // namespace dipu::fallback
