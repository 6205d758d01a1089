// SPDX-License-Identifier: Apache-2.0
#include "tests/samples/device.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "core/loader/start.h"
#include "core/loader/text.h"
#include "tests/samples/difference.h"

namespace dipu::samples {
namespace {

using loader::OperatorLibrary;
using loader::Symbol;

[[noreturn]] void fail(const std::string& reason) {
  throw std::runtime_error(reason);
}

void check(const char* what, dipu_error* error) {
  if (error != nullptr) {
    fail(std::string(what) + ": " + loader::takeError(error).text);
  }
}

void logToStderr(dipu_log_level level, const char* message) {
  std::fprintf(stderr, "[vendor log %d] %s\n", level, message);
}

loader::Library start(const std::string& path) {
  static const dipu_host_services host = {sizeof(dipu_host_services),
                                          DIPU_ABI_VERSION, 0, logToStderr};
  loader::Library library = loader::Library::open(path);
  const loader::Started started = loader::startVendor(library.vendor(), host);
  if (!started.problem.empty()) {
    fail(std::string(library.vendor().name) + " " + started.problem);
  }
  return library;
}

OperatorLibrary openOperators(const loader::Library& library,
                              const Device::Options& options) {
  if (options.operators.empty()) {
    return OperatorLibrary::openFor(library, options.runtime);
  }
  OperatorLibrary::Options chosen;
  chosen.path = options.operators;
  chosen.runtime_path = options.runtime;
  return OperatorLibrary::open(chosen);
}

int64_t product(const int64_t* sizes, int64_t count) {
  int64_t elements = 1;
  for (int64_t i = 0; i < count; ++i) elements *= sizes[i];
  return elements;
}

diopiTensorHandle_t require(diopiContext* context, std::vector<int64_t> sizes,
                            std::vector<int64_t> strides, diopiDtype_t dtype,
                            diopiDevice_t where) {
  const auto count = static_cast<int64_t>(sizes.size());
  const auto elements = static_cast<std::size_t>(product(sizes.data(), count));
  if (strides.empty()) {
    strides.assign(sizes.size(), 1);
    for (std::size_t i = sizes.size(); i-- > 1;) {
      strides[i - 1] = strides[i] * sizes[i];
    }
  }
  const Bytes contents(elements * itemSize(dtype));
  return static_cast<CallTensors*>(context->owner)
      ->add(dtype, std::move(sizes), std::move(strides), contents, where);
}

std::vector<int64_t> listOf(const diopiSize_t* size) {
  if (size == nullptr) return {};
  return {size->data, size->data + size->len};
}

// No exception may reach the library.
template <typename Make>
diopiError_t guarded(diopiTensorHandle_t* out, Make make) noexcept {
  try {
    *out = make();
    return diopiSuccess;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cannot make a tensor: %s\n", error.what());
    return diopiErrorOccurred;
  }
}

diopiError_t requireTensor(diopiContext* context, const diopiSize_t* sizes,
                           const diopiSize_t* strides, diopiDtype_t dtype,
                           diopiDevice_t where, diopiTensorHandle_t* out) {
  return guarded(out, [&] {
    return require(context, listOf(sizes), listOf(strides), dtype, where);
  });
}

diopiError_t requireBuffer(diopiContext* context, int64_t bytes,
                           diopiDevice_t where, diopiTensorHandle_t* out) {
  return guarded(out, [&] {
    return require(context, {bytes}, {}, diopi_dtype_uint8, where);
  });
}

void installHost() {
  static dipu_diopi_rt_host host{};
  host.struct_size = sizeof(host);
  host.require_tensor = requireTensor;
  host.require_buffer = requireBuffer;
  host.get_current_device = [](diopiDeviceIndex_t* out) {
    *out = 0;
    return diopiSuccess;
  };
  // Opening the operator library has made the runtime global.
  auto* install = reinterpret_cast<dipu_diopi_rt_install_fn>(
      dlsym(RTLD_DEFAULT, DIPU_DIOPI_RT_INSTALL_SYMBOL));
  if (install == nullptr || install(&host) != diopiSuccess) {
    fail("the DIOPI runtime does not take a host");
  }
}

}  // namespace

Device::Device(const Options& options)
    : library_(start(options.vendor)),
      operators_(openOperators(library_, options)) {
  installHost();
  const dipu_vendor& vendor = library_.vendor();
  check("set_current", vendor.device->set_current(0));
  check("get_default", vendor.stream->get_default(0, &stream_));
}

void* Device::allocate(const Bytes& contents) const {
  const dipu_memory_api& memory = *library_.vendor().memory;
  void* data = nullptr;
  const std::size_t bytes = std::max<std::size_t>(contents.size(), 1);
  check("allocate", memory.allocate(0, bytes, &data));
  if (!contents.empty()) {
    check("copy",
          memory.copy(data, 0, contents.data(), DIPU_HOST, contents.size()));
  }
  return data;
}

void Device::release(void* memory) const noexcept {
  library_.vendor().memory->deallocate(0, memory);
}

Bytes Device::read(const void* memory, std::size_t bytes) const {
  Bytes contents(bytes);
  if (bytes != 0) {
    check("copy", library_.vendor().memory->copy(contents.data(), DIPU_HOST,
                                                 memory, 0, bytes));
  }
  return contents;
}

void Device::synchronize() const {
  check("synchronize", library_.vendor().stream->synchronize(stream_));
}

std::string Device::lastError() const {
  auto* function =
      operators_.get<const char*()>(Symbol::diopiGetLastErrorString);
  return function == nullptr ? "" : loader::safeText(function());
}

CallTensors::~CallTensors() {
  for (const Owned& tensor : tensors_) {
    if (tensor.handle.device_index >= 0) device_.release(tensor.handle.data);
  }
}

diopiTensorHandle_t CallTensors::add(int32_t dtype, std::vector<int64_t> sizes,
                                     std::vector<int64_t> strides,
                                     const Bytes& contents,
                                     diopiDevice_t where) {
  Owned& owned = tensors_.emplace_back();
  owned.handle = {};
  owned.handle.device_index = DIPU_HOST;  // nothing to release yet
  owned.sizes = std::move(sizes);
  owned.strides = std::move(strides);
  if (where == diopi_host) owned.host = contents;
  diopiTensor& handle = owned.handle;
  handle.data =
      where == diopi_host ? owned.host.data() : device_.allocate(contents);
  handle.device_index = where == diopi_host ? DIPU_HOST : 0;
  handle.sizes = owned.sizes.data();
  handle.strides = owned.strides.data();
  handle.ndim = static_cast<int32_t>(owned.sizes.size());
  handle.numel = product(handle.sizes, handle.ndim);
  handle.dtype = dtype;
  handle.item_size = static_cast<uint16_t>(itemSize(dtype));
  handle.storage_data = handle.data;
  handle.storage_bytes = contents.size();
  return &handle;
}

Bytes CallTensors::read(diopiConstTensorHandle_t tensor) const {
  if (tensor->device_index >= 0) {
    return device_.read(tensor->data, tensor->storage_bytes);
  }
  const auto* data = static_cast<const uint8_t*>(tensor->data);
  return {data, data + tensor->storage_bytes};
}

diopiContext CallTensors::context() { return {device_.stream(), 0, 0, this}; }

}  // namespace dipu::samples
