// SPDX-License-Identifier: Apache-2.0
//
// What DIOPI libraries call back: memory, devices, generators.
#include <ATen/EmptyTensor.h>
#include <c10/util/Exception.h>

#include <mutex>

#include "core/random/generator.h"
#include "core/runtime/device.h"
#include "diopi_adapter/aten/empty.h"
#include "diopi_adapter/runtime/arena.h"
#include "diopi_adapter/runtime/call.h"

namespace dipu::adapter {
namespace {

at::Tensor makeTensor(c10::IntArrayRef sizes, const diopiSize_t* strides,
                      c10::ScalarType type, diopiDevice_t device,
                      c10::DeviceIndex index) {
  if (device == diopi_host) {
    return strides == nullptr
               ? at::detail::empty_cpu(sizes, type)
               : at::detail::empty_strided_cpu(
                     sizes, {strides->data, size_t(strides->len)}, type);
  }
  return strides == nullptr
             ? aten::emptyContiguous(sizes, type, index)
             : aten::emptyStrided(sizes, {strides->data, size_t(strides->len)},
                                  type, index);
}

// Runs `body` and keeps its exceptions from crossing the C interface.
template <typename Body>
diopiError_t guarded(const char* what, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    TORCH_WARN(what, " failed: ", error.what());
    return diopiErrorOccurred;
  }
}

diopiError_t requireTensor(diopiContext* context, const diopiSize_t* sizes,
                           const diopiSize_t* strides, diopiDtype_t dtype,
                           diopiDevice_t device, diopiTensorHandle_t* out) {
  return guarded("diopiRequireTensor", [&] {
    const c10::ScalarType type = torchDtype(dtype);
    if (type == c10::ScalarType::Undefined) return diopiDtypeNotSupported;
    const c10::IntArrayRef shape(sizes->data, static_cast<size_t>(sizes->len));
    *out = TensorArena::of(*context).add(
        makeTensor(shape, strides, type, device,
                   static_cast<c10::DeviceIndex>(context->device_index)));
    return diopiSuccess;
  });
}

diopiError_t requireBuffer(diopiContext* context, int64_t bytes,
                           diopiDevice_t device, diopiTensorHandle_t* out) {
  const diopiSize_t sizes{&bytes, 1};
  return requireTensor(context, &sizes, nullptr, diopi_dtype_uint8, device,
                       out);
}

diopiError_t getCurrentDevice(diopiDeviceIndex_t* out) {
  return guarded("diopiGetCurrentDeviceIndex", [&] {
    *out = runtime::currentDevice();
    return diopiSuccess;
  });
}

// A generator handle is the PhiloxGeneratorImpl itself.
random::PhiloxGeneratorImpl& generatorOf(const diopiGenerator* handle) {
  return *reinterpret_cast<random::PhiloxGeneratorImpl*>(
      const_cast<diopiGenerator*>(handle));
}

diopiError_t generatorGetState(diopiContext* context,
                               diopiConstGeneratorHandle_t handle,
                               diopiTensorHandle_t* out) {
  return guarded("diopiGeneratorGetState", [&] {
    random::PhiloxGeneratorImpl& generator = generatorOf(handle);
    const std::lock_guard<std::mutex> lock(generator.mutex_);
    *out = TensorArena::of(*context).add(at::Tensor(generator.get_state()));
    return diopiSuccess;
  });
}

diopiError_t generatorSetState(diopiGeneratorHandle_t handle,
                               diopiConstTensorHandle_t state) {
  return guarded("diopiGeneratorSetState", [&] {
    if (state->device_index >= 0 ||
        state->numel != random::PhiloxGeneratorImpl::kStateBytes) {
      return diopiErrorOccurred;
    }
    random::PhiloxGeneratorImpl& generator = generatorOf(handle);
    const std::lock_guard<std::mutex> lock(generator.mutex_);
    generator.set_state(*static_cast<const c10::TensorImpl*>(state->owner));
    return diopiSuccess;
  });
}

diopiError_t generatorGetSeedAndOffset(diopiGeneratorHandle_t handle,
                                       uint64_t* out_seed,
                                       uint64_t* out_offset) {
  return guarded("diopiGeneratorGetSeedAndOffset", [&] {
    random::PhiloxGeneratorImpl& generator = generatorOf(handle);
    const std::lock_guard<std::mutex> lock(generator.mutex_);
    *out_seed = generator.current_seed();
    *out_offset = generator.get_offset();
    return diopiSuccess;
  });
}

diopiError_t generatorSetSeedAndOffset(diopiGeneratorHandle_t handle,
                                       uint64_t seed, uint64_t offset) {
  return guarded("diopiGeneratorSetSeedAndOffset", [&] {
    random::PhiloxGeneratorImpl& generator = generatorOf(handle);
    const std::lock_guard<std::mutex> lock(generator.mutex_);
    generator.set_offset(offset);  // refuses a bad one before anything changes
    generator.set_current_seed(seed);  // starts anew at offset 0
    generator.set_offset(offset);
    return diopiSuccess;
  });
}

}  // namespace

const dipu_diopi_rt_host& runtimeHost() {
  static const dipu_diopi_rt_host host = [] {
    dipu_diopi_rt_host table{};
    table.struct_size = sizeof table;
    table.require_tensor = requireTensor;
    table.require_buffer = requireBuffer;
    table.get_current_device = getCurrentDevice;
    table.generator_get_state = generatorGetState;
    table.generator_set_state = generatorSetState;
    table.generator_get_seed_and_offset = generatorGetSeedAndOffset;
    table.generator_set_seed_and_offset = generatorSetSeedAndOffset;
    return table;
  }();
  return host;
}

}  // namespace dipu::adapter
