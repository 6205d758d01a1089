// SPDX-License-Identifier: Apache-2.0
//
// The device as torch.accelerator, pin_memory, torch.Generator and the storage
// code see it.
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/StorageImpl.h>

#include <algorithm>

#include "core/allocator/device_allocator.h"
#include "core/allocator/host_allocator.h"
#include "core/random/generator.h"
#include "core/runtime/device.h"
#include "core/runtime/error.h"
#include "core/runtime/memory.h"
#include "core/runtime/stream.h"
#include "core/vendor_call/call.h"

namespace dipu::runtime {
namespace {

// Device of memory that is not from our allocator, such as another library's.
std::optional<c10::DeviceIndex> askVendor(const void* ptr) {
  const dipu_memory_api& api = memoryApi();
  if (!DIPU_HAS(&api, get_pointer_info)) return std::nullopt;
  dipu_pointer_info info{};
  info.struct_size = sizeof(info);
  check(vendor_call::call("memory.get_pointer_info", api.get_pointer_info, ptr,
                          &info));
  if (info.kind != DIPU_MEMORY_DEVICE) return std::nullopt;
  return static_cast<c10::DeviceIndex>(info.device);
}

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }

  bool isAvailable() const override { return runtime::deviceCount() > 0; }

  bool hasPrimaryContext(c10::DeviceIndex device) const override {
    return hasContext(device);
  }

  void init() const override { ensureInitialized(); }

  c10::DeviceIndex deviceCount() const override {
    return runtime::deviceCount();
  }

  void setCurrentDevice(c10::DeviceIndex device) const override {
    setDevice(device);
  }

  c10::DeviceIndex getCurrentDevice() const override { return currentDevice(); }

  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return runtime::exchangeDevice(device);
  }

  // Negative indices stand for "no device" and change nothing.
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? c10::DeviceIndex{-1} : runtime::exchangeDevice(device);
  }

  bool isPinnedPtr(const void* data) const override {
    return allocator::isPinned(data);
  }

  at::Allocator* getPinnedMemoryAllocator() const override {
    return &allocator::hostAllocator();
  }

  at::Device getDeviceFromPtr(void* data) const override {
    if (const auto allocation = allocator::findAllocation(data)) {
      return {kDeviceType, allocation->device};
    }
    const auto device = askVendor(data);
    TORCH_CHECK_VALUE(device.has_value(), "the pointer ", data,
                      " is not in device memory of dipu");
    return {kDeviceType, *device};
  }

  const at::Generator& getDefaultGenerator(
      c10::DeviceIndex device) const override {
    return random::defaultGenerator(device);
  }

  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return random::newGenerator(device);
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage,
                              std::size_t bytes) const override;
};

// The old memory is released right after the copy out of it was enqueued; that
// is safe because the allocator is stream-ordered, once it knows of a copy on
// another stream than the memory's own.
void Hooks::resizePrivateUse1Bytes(const c10::Storage& storage,
                                   std::size_t bytes) const {
  c10::StorageImpl* impl = storage.unsafeGetStorageImpl();
  TORCH_CHECK(impl->resizable(), "the storage cannot be resized to ", bytes,
              " bytes: its memory is borrowed");
  const c10::DeviceIndex device = impl->device().index();
  const DeviceScope scope(device);
  c10::DataPtr data = allocator::allocate(bytes, device);
  const std::size_t kept = std::min(bytes, impl->nbytes());
  if (kept != 0) {
    const StreamRecord& stream = currentStreamRecord(device);
    copyAsync(data.get(), device, impl->data(), device, kept, stream.handle);
    allocator::deviceAllocator().recordStream(impl->data_ptr(),
                                              stream.stream());
  }
  impl->set_data_ptr_noswap(std::move(data));
  impl->set_nbytes(bytes);
}

// Torch keeps the object until the process ends.
const bool g_registered [[maybe_unused]] = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace
}  // namespace dipu::runtime
