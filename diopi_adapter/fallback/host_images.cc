// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/fallback/host_images.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/as_strided.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstring>

#include "core/runtime/device.h"
#include "core/runtime/memory.h"
#include "core/runtime/stream.h"
#include "diopi_adapter/fallback/accounting.h"

namespace dipu::fallback {
namespace {

// Ranges begin at a multiple of this, so that elements of every type keep
// their alignment.
constexpr std::size_t kAlignment = 64;

std::size_t offsetBytes(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.storage_offset()) *
         tensor.element_size();
}

std::size_t endBytes(const at::Tensor& tensor) {
  return at::detail::computeStorageNbytes(
      tensor.sizes(), tensor.strides(), tensor.element_size(),
      static_cast<std::size_t>(tensor.storage_offset()));
}

}  // namespace

HostImages::Range& HostImages::rangeOf(const at::Tensor& tensor,
                                       std::size_t* out_index) {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].sample.storage().is_alias_of(tensor.storage())) {
      *out_index = i;
      return ranges_[i];
    }
  }
  *out_index = ranges_.size();
  ranges_.push_back({.sample = tensor});
  return ranges_.back();
}

void HostImages::add(const at::Tensor& tensor, bool read) {
  std::size_t index;
  (read ? rangeOf(tensor, &index).read : rangeOf(tensor, &index).resizable) =
      true;
  if (!by_device_.try_emplace(tensor.unsafeGetTensorImpl(), images_.size())
           .second) {
    return;
  }
  images_.push_back({tensor, {}, index});
  Range& range = ranges_[index];
  if (tensor.numel() == 0) return;
  const std::size_t begin = offsetBytes(tensor) & ~(kAlignment - 1);
  const std::size_t end = endBytes(tensor);
  range.begin = range.end == 0 ? begin : std::min(range.begin, begin);
  range.end = std::max(range.end, end);
}

c10::Storage HostImages::makeStorage(const Range& range) {
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      static_cast<int64_t>(range.end - range.begin), c10::GetCPUAllocator(),
      /*resizable=*/true));
}

// Enqueues.
void HostImages::copyToHost(const Range& range, c10::Storage* to) {
  const c10::DeviceIndex device = range.sample.device().index();
  const auto* source =
      static_cast<const char*>(range.sample.storage().data()) + range.begin;
  const std::size_t bytes = range.end - range.begin;
  runtime::copyAsync(to->mutable_data(), DIPU_HOST, source, device, bytes,
                     runtime::currentStreamHandle(device));
  countBytesToHost(bytes);
}

// Puts the image into the device's memory. False: the host cannot use that.
bool HostImages::share(Range* range) {
  const c10::Storage& storage = range->sample.storage();
  const c10::DeviceIndex device = range->sample.device().index();
  const std::size_t bytes = range->end - range->begin;
  if (range->resizable || bytes == 0) return false;
  const auto* first = static_cast<const char*>(storage.data()) + range->begin;
  void* const host = runtime::hostPointer(first, device);
  if (host == nullptr) return false;
  runtime::tellHostReads(first, bytes, device);
  // Keeps the device's storage for as long as somebody has the image.
  auto owner = std::make_unique<c10::Storage>(storage);
  range->host = c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(bytes),
      c10::DataPtr(
          host, owner.release(),
          [](void* kept) { delete static_cast<c10::Storage*>(kept); },
          c10::Device(c10::kCPU)),
      /*allocator=*/nullptr, /*resizable=*/false));
  return true;
}

void HostImages::fetch() {
  c10::SmallVector<c10::DeviceIndex, 2> devices;
  for (Range& range : ranges_) {
    range.in_place = access_ == Access::kInPlace && share(&range);
    if (!range.in_place) {
      range.host = makeStorage(range);
      if (range.read) copyToHost(range, &range.host);
    }
    const c10::DeviceIndex device = range.sample.device().index();
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
      devices.push_back(device);
    }
  }
  for (const c10::DeviceIndex device : devices) {
    runtime::synchronizeStream(runtime::currentStream(device));
  }
  for (Image& image : images_) {
    image.host = makeHost(image.device, ranges_[image.range]);
  }
}

const HostImages::Range& HostImages::knownRange(
    const at::Tensor& tensor) const {
  return ranges_[images_[by_device_.at(tensor.unsafeGetTensorImpl())].range];
}

bool HostImages::isInPlace(const at::Tensor& tensor) const {
  return knownRange(tensor).in_place;
}

bool HostImages::differs(const at::Tensor& tensor) const {
  const Range& range = knownRange(tensor);
  if (range.end == range.begin) return false;
  c10::Storage now = makeStorage(range);
  copyToHost(range, &now);
  runtime::synchronizeStream(runtime::currentStream(tensor.device().index()));
  return std::memcmp(now.data(), range.host.data(), range.end - range.begin) !=
         0;
}

void HostImages::store(const at::Tensor& tensor) const {
  const Range& range = knownRange(tensor);
  const c10::DeviceIndex device = tensor.device().index();
  auto* target =
      static_cast<char*>(tensor.storage().mutable_data()) + range.begin;
  const std::size_t bytes = range.end - range.begin;
  runtime::copyAsync(target, device, range.host.data(), DIPU_HOST, bytes,
                     runtime::currentStreamHandle(device));
  countBytesToDevice(bytes);
}

at::Tensor HostImages::makeHost(const at::Tensor& device,
                                const Range& range) const {
  at::Tensor host = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(range.host), c10::DispatchKeySet(c10::DispatchKey::CPU),
      device.dtype());
  c10::TensorImpl* impl = host.unsafeGetTensorImpl();
  const std::size_t offset =
      device.numel() == 0 ? 0 : offsetBytes(device) - range.begin;
  impl->set_sizes_and_strides(
      device.sizes(), device.strides(),
      static_cast<int64_t>(offset / device.element_size()));
  // Kept, so that a scalar operand still does not take part in promotion.
  if (device.unsafeGetTensorImpl()->is_wrapped_number()) {
    impl->set_wrapped_number(true);
  }
  host._set_conj(device.is_conj());
  host._set_neg(device.is_neg());
  return host;
}

const at::Tensor& HostImages::hostOf(const at::Tensor& tensor) const {
  return images_[by_device_.at(tensor.unsafeGetTensorImpl())].host;
}

at::Tensor HostImages::deviceOf(const at::Tensor& host) const {
  for (const Image& image : images_) {
    if (image.host.is_same(host)) return image.device;
  }
  return {};
}

at::Tensor HostImages::deviceViewOf(const at::Tensor& host) const {
  for (const Range& range : ranges_) {
    if (!range.host || !range.host.is_alias_of(host.storage())) continue;
    at::Tensor device = range.sample;
    TORCH_CHECK_NOT_IMPLEMENTED(device.dtype() == host.dtype(), "a view of a ",
                                device.dtype(), " tensor as ", host.dtype(),
                                " cannot be made by the CPU fallback");
    const std::size_t offset = range.begin + offsetBytes(host);
    return at::as_strided(device, host.sizes(), host.strides(),
                          static_cast<int64_t>(offset / host.element_size()));
  }
  return {};
}

}  // namespace dipu::fallback
