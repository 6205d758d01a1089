// SPDX-License-Identifier: Apache-2.0
#include "softdevice/device/device.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "softdevice/base/process.h"
#include "softdevice/base/status.h"
#include "softdevice/debug/observe.h"
#include "softdevice/graph/capture.h"

namespace dipu::softdevice {
namespace {

// Devices are created at first use and never destroyed: handles, addresses
// and workers may be in use until the process has ended.
struct Devices {
  std::mutex creation;  // held while a device is created
  std::atomic<Device*> table[kMaxDevices] = {};
};
Devices& devices() {
  static Devices* const all = new Devices;
  return *all;
}

std::atomic<uint64_t> next_stream_id{kMaxDevices};

soft_status createDevice(int32_t index, Device** out) {
  std::lock_guard<std::mutex> lock(devices().creation);
  std::atomic<Device*>& entry = devices().table[index];
  *out = entry.load(std::memory_order_acquire);
  if (*out != nullptr) return SOFT_OK;
  static const bool prepared = (watchProcess(), observeAsConfigured(), true);
  (void)prepared;
  auto device = std::make_unique<Device>(index);
  if (soft_status status = device->start()) return status;
  *out = device.release();
  entry.store(*out, std::memory_order_release);
  observeDevice(**out);
  return SOFT_OK;
}

}  // namespace

Device::Device(int32_t index)
    : index_(index), memory_(index, config().device_memory) {}

soft_status Device::start() {
  if (!memory_.valid()) {
    return fail(SOFT_OUT_OF_MEMORY,
                "device %d: the system refused the address ranges for %zu "
                "bytes of memory; lower SOFTDEVICE_MEMORY or lift the limit "
                "on address space (ulimit -v)",
                index_, memory_.capacity());
  }
  auto stream = std::make_unique<soft_stream>(this, index_, 0, 0);
  default_stream_ = stream.get();
  streams_.push_back(default_stream_);
  if (soft_status status = stream->start()) return status;
  stream.release();
  return SOFT_OK;
}

std::atomic<soft_stream*>& Device::pollingPlace() const {
  struct alignas(64) Place {
    std::atomic<soft_stream*> stream{nullptr};
  };
  static Place* const places = new Place[kMaxDevices];
  const int32_t count = std::clamp(config().cores / 2, 1, kMaxDevices);
  return places[index_ % count].stream;
}

soft_status Device::createStream(int32_t priority, uint32_t flags,
                                 soft_stream** out_stream) {
  const uint64_t id = next_stream_id.fetch_add(1, std::memory_order_relaxed);
  auto stream = std::make_unique<soft_stream>(this, id, priority, flags);
  if ((flags & SOFT_STREAM_NON_BLOCKING) == 0) {
    stream->setOrdered();
    default_stream_->setOrdered();
  }
  // Held until it has started: a reset closes what is listed, and the worker
  // may end, and remove the stream, at any time.
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.push_back(stream.get());
  if (lost()) stream->setLost(true);
  observeStream(stream.get());
  if (soft_status status = stream->start()) {
    streams_.pop_back();
    return status;
  }
  *out_stream = stream.release();  // see Note [Stream lifetime]
  return SOFT_OK;
}

void Device::removeStream(soft_stream* stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.erase(std::remove(streams_.begin(), streams_.end(), stream),
                 streams_.end());
  ended_.push_back(stream);
}

std::vector<soft_stream*> Device::streams() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return streams_;
}

std::vector<soft_stream*> Device::orderedStreams() const {
  std::vector<soft_stream*> result = streams();
  result.erase(std::remove_if(result.begin(), result.end(),
                              [this](const soft_stream* stream) {
                                return stream == default_stream_ ||
                                       !stream->isOrdered();
                              }),
               result.end());
  return result;
}

void Device::drain() const {
  for (soft_stream* stream : streams()) {
    stream->waitFor(stream->tail(), config().spin_us);
  }
}

void Device::reset() {
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (soft_stream* stream : streams()) {
    if (stream != default_stream_ && !stream->closed()) stream->close();
  }
  abandonCaptures(*this);  // those that began before their stream was closed
  drainAllDevices();       // peers may use the memory too
  memory_.releaseAll();
  for (std::atomic<bool>& peer : peers_) {
    peer.store(false, std::memory_order_release);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  error_.store(SOFT_OK, std::memory_order_release);
  error_message_.clear();
}

void Device::setError(soft_status status, const char* message) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (error_.load(std::memory_order_relaxed) != SOFT_OK) return;
  error_message_ = message;
  error_.store(status, std::memory_order_release);
}

void Device::lose(const char* message) {
  std::lock_guard<std::mutex> lock(mutex_);
  error_message_ = message;
  error_.store(SOFT_DEVICE_LOST, std::memory_order_release);
  lost_.store(true, std::memory_order_release);
  for (soft_stream* stream : streams_) stream->setLost(true);
}

void Device::recover() {
  std::lock_guard<std::mutex> lock(mutex_);
  lost_.store(false, std::memory_order_release);
  for (soft_stream* stream : streams_) stream->setLost(false);
}

soft_status Device::error() const {
  const soft_status status = error_.load(std::memory_order_acquire);
  if (status == SOFT_OK) return SOFT_OK;
  std::lock_guard<std::mutex> lock(mutex_);
  return fail(status, "%s", error_message_.c_str());
}

soft_status checkProcess(const char* function) {
  return processIsRunning() ? SOFT_OK : failProcessState(function);
}

soft_status checkMayBlock(const char* function) {
  if (soft_stream::current() == nullptr) return checkProcess(function);
  return fail(SOFT_NOT_PERMITTED,
              "%s: called by a task or host function of stream %lu, where it "
              "would wait for itself",
              function, soft_stream::current()->id());
}

soft_status findDevice(const char* function, int32_t index, Device** out) {
  if (soft_status status = checkProcess(function)) return status;
  if (!config().error.empty()) {
    return fail(SOFT_INVALID_VALUE, "%s", config().error.c_str());
  }
  if (index < 0 || index >= config().device_count) {
    return fail(SOFT_INVALID_DEVICE,
                "%s: there is no device %d; this process has %d "
                "(SOFTDEVICE_COUNT)",
                function, index, config().device_count);
  }
  *out = existingDevice(index);
  if (*out == nullptr) return createDevice(index, out);
  return (*out)->lost() ? (*out)->error() : SOFT_OK;
}

Device* existingDevice(int32_t index) {
  return devices().table[index].load(std::memory_order_acquire);
}

Device* deviceOfAddress(const void* ptr) {
  for (int32_t index = 0; index < kMaxDevices; ++index) {
    Device* device = existingDevice(index);
    if (device == nullptr) continue;
    const soft_address_map& map = device->memory().map();
    if (reinterpret_cast<uintptr_t>(ptr) - map.base < map.bytes) return device;
  }
  return nullptr;
}

void drainAllDevices() {
  for (int32_t index = 0; index < kMaxDevices; ++index) {
    if (Device* device = existingDevice(index)) device->drain();
  }
}

void waitForRunningTasks() {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(2);
  auto running = [] {
    for (int32_t index = 0; index < kMaxDevices; ++index) {
      const Device* device = existingDevice(index);
      if (device == nullptr) continue;
      for (const soft_stream* stream : device->streams()) {
        if (stream != soft_stream::current() &&
            stream->activity() == soft_stream::Activity::kRunning) {
          return true;
        }
      }
    }
    return false;
  };
  while (running() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace dipu::softdevice
