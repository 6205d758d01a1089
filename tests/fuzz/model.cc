// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/model.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "core/plugin_kit/error.h"
#include "tests/fuzz/backend.h"

namespace dipu::fuzz {
namespace {

using plugin_kit::ErrorPtr;

constexpr std::size_t kMostSteps = 400;

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "fuzz: %s\n", message.c_str());
  std::abort();
}

void logToStderr(dipu_log_level level, const char* message) {
  std::fprintf(stderr, "[vendor log %d] %s\n", level, message);
}

const dipu_vendor& openVendor() {
  static const dipu_host_services host = {sizeof(dipu_host_services),
                                          DIPU_ABI_VERSION, 0, logToStderr};
  static const dipu_vendor* const vendor = [] {
    const Backend& backend = fuzzBackend();
    if (backend.prepare != nullptr) backend.prepare();
    const dipu_vendor* opened = backend.query(DIPU_ABI_VERSION);
    if (opened == nullptr) stop("dipu_vendor_query returned NULL");
    const ErrorPtr error(opened->initialize(&host));
    if (error != nullptr) stop(error->message);
    return opened;
  }();
  return *vendor;
}

}  // namespace

void Model::expect(bool condition, const char* what) {
  if (!condition) stop(std::string("wrong: ") + what);
}

void Model::expectOk(const char* call, dipu_error* error) {
  const ErrorPtr owner(error);
  if (error != nullptr) stop(std::string(call) + " failed: " + error->message);
}

void Model::expectCode(const char* call, dipu_error* error,
                       dipu_status_code code) {
  const ErrorPtr owner(error);
  if (error == nullptr) stop(std::string(call) + " succeeded");
  if (error->code != code || *error->message == '\0') {
    stop(std::string(call) + " gave code " + std::to_string(error->code) +
         " instead of " + std::to_string(code) + ": " + error->message);
  }
}

Model::Model(Bytes* input) : input_(input), vendor_(openVendor()) {
  expectOk("get_count", vendor_.device->get_count(&devices_));
  if (devices_ == 0) return;
  current_device_ =
      static_cast<int32_t>(input_->below(static_cast<std::size_t>(devices_)));
  expectOk("set_current", vendor_.device->set_current(current_device_));
  for (int32_t device = 0; device < devices_; ++device) {
    auto stream = std::make_unique<Stream>();
    stream->id = next_stream_++;
    stream->device = device;
    stream->is_default = true;
    stream->last_run = std::make_shared<std::atomic<uint64_t>>(0);
    expectOk("get_default",
             vendor_.stream->get_default(device, &stream->handle));
    streams_.push_back(std::move(stream));
    for (int32_t peer = 0; peer < devices_; ++peer) {
      if (peer == device || !DIPU_HAS(vendor_.device, enable_peer_access)) {
        continue;
      }
      expectOk("enable_peer_access",
               vendor_.device->enable_peer_access(device, peer));
    }
  }
}

Model::~Model() = default;

void Model::step() {
  static constexpr void (Model::* kSteps[])() = {&Model::allocate,
                                                 &Model::allocate,
                                                 &Model::release,
                                                 &Model::copyAsync,
                                                 &Model::copyAsync,
                                                 &Model::copyAsync,
                                                 &Model::copyAsync,
                                                 &Model::copyNow,
                                                 &Model::copy2d,
                                                 &Model::fill,
                                                 &Model::fill,
                                                 &Model::checkContents,
                                                 &Model::describePointer,
                                                 &Model::createStream,
                                                 &Model::destroyStream,
                                                 &Model::queryStream,
                                                 &Model::synchronizeStream,
                                                 &Model::synchronizeDevice,
                                                 &Model::createEvent,
                                                 &Model::destroyEvent,
                                                 &Model::recordEvent,
                                                 &Model::recordEvent,
                                                 &Model::waitEvent,
                                                 &Model::waitEvent,
                                                 &Model::queryEvent,
                                                 &Model::synchronizeEvent,
                                                 &Model::elapsed,
                                                 &Model::callHost,
                                                 &Model::callHost,
                                                 &Model::refuse};
  (this->*kSteps[input_->below(std::size(kSteps))])();
  int32_t current = -1;
  expectOk("get_current", vendor_.device->get_current(&current));
  expect(current == current_device_, "a call changed the current device");
}

void Model::run() {
  if (devices_ == 0) {
    refuse();
    return;
  }
  for (std::size_t i = 0; i < kMostSteps && !input_->empty(); ++i) step();
  finish();
}

void Model::finish() {
  for (int32_t device = 0; device < devices_; ++device) waitForDevice(device);
  for (const auto& call : calls_) {
    expect(call->runs == 1, "a host function did not run exactly once");
  }
  for (const auto& buffer : buffers_) compare(*buffer);
  while (!buffers_.empty()) releaseBuffer(buffers_.size() - 1);
  for (const auto& event : events_) vendor_.event->destroy(event->handle);
  for (const auto& stream : streams_) {
    if (stream->is_default || stream->is_destroyed) continue;
    vendor_.stream->destroy(stream->device, stream->handle);
  }
}

void runInput(const uint8_t* data, std::size_t size) {
  uint64_t number = size;
  for (std::size_t i = 0; i < size; ++i) number = number * 31 + data[i];
  if (fuzzBackend().vary != nullptr) {
    openVendor();
    fuzzBackend().vary(number);
  }
  Bytes input(data, size);
  Model(&input).run();
}

std::string inputText(const uint8_t* data, std::size_t size) {
  std::string text;
  char digits[3];
  for (std::size_t i = 0; i < size; ++i) {
    std::snprintf(digits, sizeof(digits), "%02x", data[i]);
    text += digits;
  }
  return text;
}

}  // namespace dipu::fuzz
