// SPDX-License-Identifier: Apache-2.0
//
// A vendor's device and operator library, used without a framework.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/abi/vendor_api.h"
#include "core/loader/loader.h"
#include "core/loader/operator_library.h"
#include "diopi_adapter/abi/diopi_host.h"
#include "tests/samples/sample.h"

namespace dipu::samples {

// Device 0 of a vendor. All functions throw std::runtime_error with the
// vendor's text when a call fails. For one thread.
class Device {
 public:
  struct Options {
    std::string vendor;     // path of the vendor library
    std::string operators;  // of another operator library than it names, or ""
    std::string runtime;    // path of libdipu_diopi_rt.so
  };

  // Opens both libraries, starts the vendor and installs the DIOPI host, which
  // stays until the process ends.
  explicit Device(const Options& options);

  const loader::OperatorLibrary& operators() const { return operators_; }
  dipu_stream* stream() const { return stream_; }

  // `bytes` of memory with the given contents; never null.
  void* allocate(const Bytes& contents) const;
  void release(void* memory) const noexcept;
  Bytes read(const void* memory, std::size_t bytes) const;
  // Blocks until everything enqueued has finished.
  void synchronize() const;
  // What the library says about its last failure; "" when it says nothing.
  std::string lastError() const;

 private:
  loader::Library library_;
  loader::OperatorLibrary operators_;
  dipu_stream* stream_ = nullptr;
};

// The tensors of one call and the context it gets; frees them when it ends.
class CallTensors {
 public:
  explicit CallTensors(const Device& device) : device_(device) {}
  ~CallTensors();
  CallTensors(const CallTensors&) = delete;
  CallTensors& operator=(const CallTensors&) = delete;

  // Makes a tensor that holds `contents`; the handle lives as long as this.
  diopiTensorHandle_t add(int32_t dtype, std::vector<int64_t> sizes,
                          std::vector<int64_t> strides, const Bytes& contents,
                          diopiDevice_t where = diopi_device);
  // The bytes of a tensor that add() made.
  Bytes read(diopiConstTensorHandle_t tensor) const;

  // For the call; CallTensors of the context gets what the library requires.
  diopiContext context();

 private:
  struct Owned {
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    Bytes host;  // memory of a tensor on the host
    diopiTensor handle;
  };

  const Device& device_;
  std::deque<Owned> tensors_;  // elements do not move
};

}  // namespace dipu::samples
