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

// How images come by the values of their device tensors.
enum class Access {
  kCopy,     // by copies, which leave the device's memory alone
  kInPlace,  // where the host can use that memory itself, images lie in it
};

// Gives CPU tensors with the strides of device tensors, and keeps what aliases
// aliased: tensors of one device storage become tensors of one CPU storage. Of
// each storage only the range that the tensors span is copied or shared.
//
// Use: add() every tensor, fetch() once, then ask. Copies are made in the order
// of the current stream of each device, and fetch() blocks until they are done
// and that stream is idle.
// Not thread-safe; lives during one call.
class HostImages {
 public:
  explicit HostImages(Access access = Access::kCopy) : access_(access) {}

  // Announces `tensor`, a strided device tensor. Adding it again is harmless.
  // With `read` false its values do not matter and may be left out, and its
  // image may be resized, so it never lies in the device's memory.
  void add(const at::Tensor& tensor, bool read = true);

  // Copies or shares everything that was added to be read.
  void fetch();

  // Whether the image of a tensor that was added lies in the device's memory,
  // so that whatever is written to one is written to the other.
  bool isInPlace(const at::Tensor& tensor) const;

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
  // The part of one device storage that has an image.
  struct Range {
    at::Tensor sample;      // any device tensor of the storage
    std::size_t begin = 0;  // in bytes from the start of the storage
    std::size_t end = 0;
    bool read = false;
    bool resizable = false;
    bool in_place = false;
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
  static bool share(Range* range);
  static void copyToHost(const Range& range, c10::Storage* to);
  at::Tensor makeHost(const at::Tensor& device, const Range& range) const;

  const Access access_;
  std::vector<Range> ranges_;
  std::vector<Image> images_;
  // By TensorImpl of the device tensor: position in images_.
  std::unordered_map<const c10::TensorImpl*, std::size_t> by_device_;
};

}  // namespace dipu::fallback
