// SPDX-License-Identifier: Apache-2.0
//
// Device guard of type CUDA that acts on our devices. Internal.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "core/runtime/device.h"

namespace dipu::cuda_lookalike {

// Device indices mean the same on both sides; streams and events are passed on
// under our device type.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }

  c10::Device exchangeDevice(c10::Device device) const override {
    return cuda(real().exchangeDevice(ours(device)));
  }
  c10::Device getDevice() const override { return cuda(real().getDevice()); }
  void setDevice(c10::Device device) const override {
    real().setDevice(ours(device));
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    real().uncheckedSetDevice(ours(device));
  }
  c10::Stream getStream(c10::Device device) const override {
    return cuda(real().getStream(ours(device)));
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return cuda(real().exchangeStream(ours(stream)));
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return real().deviceCount();
  }
  void synchronizeDevice(const c10::DeviceIndex device) const override {
    real().synchronizeDevice(device);
  }

 private:
  static const c10::impl::DeviceGuardImplInterface& real() {
    return *c10::impl::getDeviceGuardImpl(runtime::kDeviceType);
  }
  static c10::Device ours(c10::Device device) {
    return {runtime::kDeviceType, device.index()};
  }
  static c10::Device cuda(c10::Device device) {
    return {c10::DeviceType::CUDA, device.index()};
  }
  static c10::Stream ours(c10::Stream stream) {
    return c10::Stream(c10::Stream::UNSAFE, ours(stream.device()), stream.id());
  }
  static c10::Stream cuda(c10::Stream stream) {
    return c10::Stream(c10::Stream::UNSAFE, cuda(stream.device()), stream.id());
  }
};

}  // namespace dipu::cuda_lookalike
