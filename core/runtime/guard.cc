// SPDX-License-Identifier: Apache-2.0
//
// Devices, streams and events as c10's generic code drives them.
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <array>

#include "core/abi/base.h"
#include "core/runtime/device.h"
#include "core/runtime/error.h"
#include "core/runtime/event.h"
#include "core/runtime/stream.h"
#include "core/runtime/vendor.h"

namespace dipu::runtime {
namespace {

constexpr uint64_t bitOf(c10::ScalarType type) {
  return uint64_t{1} << static_cast<int>(type);
}

// Bits of c10::DeviceCapability by DIPU_DTYPE_*.
constexpr std::array<uint64_t, DIPU_DTYPE_COMPLEX128 + 1> kBitByDtype = {
    bitOf(c10::ScalarType::Char),
    bitOf(c10::ScalarType::Byte),
    bitOf(c10::ScalarType::Short),
    bitOf(c10::ScalarType::UInt16),
    bitOf(c10::ScalarType::Int),
    bitOf(c10::ScalarType::UInt32),
    bitOf(c10::ScalarType::Long),
    bitOf(c10::ScalarType::UInt64),
    bitOf(c10::ScalarType::Half),
    bitOf(c10::ScalarType::Float),
    bitOf(c10::ScalarType::Double),
    bitOf(c10::ScalarType::Bool),
    bitOf(c10::ScalarType::BFloat16),
    0,  // tfloat32
    bitOf(c10::ScalarType::ComplexHalf),
    bitOf(c10::ScalarType::ComplexFloat),
    bitOf(c10::ScalarType::ComplexDouble)};

EventRecord& eventOf(void* event) { return *static_cast<EventRecord*>(event); }

// Device -1 in a c10::Device means the current device.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kDeviceType; }

  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::DeviceIndex previous = currentDevice();
    if (device.index() != -1) runtime::setDevice(device.index());
    return {kDeviceType, previous};
  }

  c10::Device getDevice() const override {
    return {kDeviceType, currentDevice()};
  }

  void setDevice(c10::Device device) const override {
    if (device.index() != -1) runtime::setDevice(device.index());
  }

  void uncheckedSetDevice(c10::Device device) const noexcept override {
    try {
      setDevice(device);
    } catch (...) {
      // Runs in destructors. The next checked call reports the device.
    }
  }

  c10::DeviceIndex deviceCount() const noexcept override {
    return runtime::deviceCount();
  }

  c10::DeviceCapability getDeviceCapability(c10::Device device) const override;

  void synchronizeDevice(c10::DeviceIndex device) const override {
    runtime::synchronizeDevice(resolveDevice(device));
  }

  // Autograd asks in a constructor that must not throw, also for a tensor that
  // a forked child inherited or that has outlived the use of devices. What is
  // then enqueued on the stream fails with the reason.
  c10::Stream getStream(c10::Device device) const override {
    if (tryInitialize()) return currentStream(device.index());
    const auto index = std::max(device.index(), c10::DeviceIndex{0});
    return c10::Stream(c10::Stream::DEFAULT, {kDeviceType, index});
  }

  c10::Stream getDefaultStream(c10::Device device) const override {
    return defaultStream(device.index());
  }

  c10::Stream getStreamFromGlobalPool(c10::Device device,
                                      bool high_priority) const override {
    return streamFromPool(device.index(), high_priority);
  }

  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return newStream(device.index(), priority);
  }

  c10::Stream exchangeStream(c10::Stream stream) const override {
    return exchangeCurrentStream(stream);
  }

  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return handleOf(stream);
  }

  bool queryStream(const c10::Stream& stream) const override {
    return runtime::queryStream(stream);
  }

  void synchronizeStream(const c10::Stream& stream) const override {
    runtime::synchronizeStream(stream);
  }

  bool isStreamCapturing(const c10::Stream&) const override { return false; }

  void record(void** event, const c10::Stream& stream,
              c10::DeviceIndex event_device,
              c10::EventFlag flag) const override;

  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) waitEvent(recordOf(stream), eventOf(event));
  }

  bool queryEvent(void* event) const override {
    return event == nullptr || runtime::queryEvent(eventOf(event));
  }

  void synchronizeEvent(void* event) const override {
    if (event != nullptr) runtime::synchronizeEvent(eventOf(event));
  }

  double elapsedTime(void* start, void* end, c10::DeviceIndex) const override {
    TORCH_CHECK_VALUE(start != nullptr && end != nullptr,
                      "both events must be recorded before their distance in "
                      "time can be read");
    return elapsedMs(eventOf(start), eventOf(end));
  }

  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    releaseEvent(static_cast<EventRecord*>(event));
  }

  void recordDataPtrOnStream(const c10::DataPtr& data,
                             const c10::Stream& stream) const override {
    c10::getDeviceAllocator(kDeviceType)->recordStream(data, stream);
  }
};

c10::DeviceCapability Guard::getDeviceCapability(c10::Device device) const {
  const uint64_t dtypes =
      deviceProperties(resolveDevice(device.index())).supported_dtypes;
  c10::DeviceCapability capability;
  if (dtypes == 0) return capability;
  capability.capability_data.capability_bits = 0;
  for (std::size_t i = 0; i < kBitByDtype.size(); ++i) {
    if ((dtypes >> i) & 1) {
      capability.capability_data.capability_bits |= kBitByDtype[i];
    }
  }
  return capability;
}

void Guard::record(void** event, const c10::Stream& stream,
                   c10::DeviceIndex event_device, c10::EventFlag flag) const {
  TORCH_CHECK(event_device == -1 || event_device == stream.device_index(),
              "an event of dipu:", static_cast<int>(event_device),
              " cannot be recorded on a stream of ", stream.device());
  const StreamRecord& target = recordOf(stream);
  if (*event == nullptr) {
    const bool timing = flag == c10::EventFlag::BACKEND_DEFAULT;
    *event = acquireEvent(target.device, timing).release();
  }
  recordEvent(eventOf(*event), target);
}

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

}  // namespace
}  // namespace dipu::runtime
