// SPDX-License-Identifier: Apache-2.0
#include "softdevice/debug/fault.h"

#include <cstdio>
#include <string>

#include "softdevice/base/status.h"
#include "softdevice/debug/observe.h"
#include "softdevice/device/device.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {
namespace {

bool isWork(TaskKind kind) {
  return kind == TaskKind::kKernel || kind == TaskKind::kCopy ||
         kind == TaskKind::kFill || kind == TaskKind::kHostFunction ||
         kind == TaskKind::kGraph;
}

bool concerns(const FaultRule& rule, int32_t device) {
  return rule.device == FaultRule::kAnyDevice || rule.device == device;
}

bool concerns(const FaultRule& rule, const soft_stream& stream,
              const Task& task) {
  if (!concerns(rule, stream.device().index())) return false;
  if (rule.stream != FaultRule::kAnyStream &&
      static_cast<uint64_t>(rule.stream) != stream.id()) {
    return false;
  }
  const bool kernels_only = rule.kind == FaultKind::kLaunch ||
                            rule.kind == FaultKind::kLaunchCall ||
                            !rule.kernel.empty();
  if (kernels_only && task.kind != TaskKind::kKernel) return false;
  return rule.kernel.empty() ||
         kernelName(task.name, task.run).find(rule.kernel) != std::string::npos;
}

// A fault that says "on this stream" or "this kernel" means no allocation.
bool concernsAllocation(const FaultRule& rule, int32_t device) {
  return concerns(rule, device) && rule.kernel.empty() &&
         rule.stream == FaultRule::kAnyStream;
}

soft_status loseDevice(const FaultRule& rule, Device* device) {
  const std::string message = "device " + std::to_string(device->index()) +
                              " was lost by fault injection (" + rule.text() +
                              "); soft_fault_clear and soft_device_reset "
                              "bring it back";
  device->lose(message.c_str());
  return device->error();
}

}  // namespace

Faults& faults() {
  // Never destroyed: hung workers wait in it while the process exits.
  static Faults* const all = new Faults;
  return *all;
}

void Faults::add(const std::vector<FaultRule>& rules) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const FaultRule& rule : rules) faults_.push_back(Fault{rule});
  }
  setObserving(kFaults, true);
}

void Faults::clear() {
  setObserving(kFaults, false);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    faults_.clear();
  }
  release();
  for (int32_t index = 0; index < kMaxDevices; ++index) {
    if (Device* device = existingDevice(index)) device->recover();
  }
}

void Faults::release() {
  std::lock_guard<std::mutex> lock(mutex_);
  releases_.fetch_add(1, std::memory_order_release);
  released_.notify_all();
}

int32_t Faults::count() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int32_t>(faults_.size());
}

bool Faults::info(int32_t index, soft_fault_info* out_info) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (index < 0 || static_cast<std::size_t>(index) >= faults_.size()) {
    return false;
  }
  const Fault& fault = faults_[static_cast<std::size_t>(index)];
  *out_info = soft_fault_info{{}, fault.seen, fault.fired};
  std::snprintf(out_info->rule, sizeof(out_info->rule), "%s",
                fault.rule.text().c_str());
  return true;
}

bool Faults::strikes(Fault* fault) {
  const FaultRule& rule = fault->rule;
  ++fault->seen;
  const bool due = rule.kind == FaultKind::kSlow ||
                   (fault->seen >= rule.value &&
                    (rule.times == 0 || fault->seen - rule.value < rule.times));
  if (due) ++fault->fired;
  return due;
}

soft_status Faults::onEnqueue(soft_stream* stream, const Task& task,
                              Disturbance* out) {
  if (!isWork(task.kind)) return SOFT_OK;
  std::lock_guard<std::mutex> lock(mutex_);
  out->releases = releases_.load(std::memory_order_relaxed);
  for (Fault& fault : faults_) {
    if (!concerns(fault.rule, *stream, task)) continue;
    if (soft_status status = disturb(&fault, stream, task, out)) return status;
  }
  return SOFT_OK;
}

soft_status Faults::disturb(Fault* fault, soft_stream* stream, const Task& task,
                            Disturbance* out) {
  const FaultRule& rule = fault->rule;
  switch (rule.kind) {
    case FaultKind::kLaunch:
      if (strikes(fault)) out->fails_by = rule.value;
      return SOFT_OK;
    case FaultKind::kLaunchCall:
      if (!strikes(fault)) return SOFT_OK;
      return fail(SOFT_LAUNCH_FAILURE,
                  "the launch of kernel '%s' on device %d, stream %lu, was "
                  "refused by fault injection (%s)",
                  kernelName(task.name, task.run).c_str(),
                  stream->device().index(), stream->id(), rule.text().c_str());
    case FaultKind::kLost:
      return strikes(fault) ? loseDevice(rule, &stream->device()) : SOFT_OK;
    case FaultKind::kSlow:
      if (strikes(fault)) out->delay_us += rule.value;
      return SOFT_OK;
    case FaultKind::kHang:
      out->hangs |= strikes(fault);
      return SOFT_OK;
    default:
      return SOFT_OK;
  }
}

soft_status Faults::refuseMemory(Fault* fault, Device* device,
                                 std::size_t bytes) {
  const FaultRule& rule = fault->rule;
  switch (rule.kind) {
    case FaultKind::kLost:
      return strikes(fault) ? loseDevice(rule, device) : SOFT_OK;
    case FaultKind::kOomBytes:
      ++fault->seen;
      if (device->memory().used() + bytes <= rule.value) return SOFT_OK;
      ++fault->fired;
      break;
    case FaultKind::kOomCall:
      if (!strikes(fault)) return SOFT_OK;
      break;
    default:
      return SOFT_OK;
  }
  return fail(SOFT_OUT_OF_MEMORY,
              "device %d: %zu bytes asked for, refused by fault injection (%s)",
              device->index(), bytes, rule.text().c_str());
}

soft_status Faults::onAllocate(Device* device, std::size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Fault& fault : faults_) {
    if (!concernsAllocation(fault.rule, device->index())) continue;
    if (soft_status status = refuseMemory(&fault, device, bytes)) return status;
  }
  return SOFT_OK;
}

soft_status Faults::onHostAllocate(std::size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Fault& fault : faults_) {
    if (fault.rule.kind == FaultKind::kHostOomCall && strikes(&fault)) {
      return fail(SOFT_OUT_OF_MEMORY,
                  "%zu bytes of pinned memory asked for, refused by fault "
                  "injection (%s)",
                  bytes, fault.rule.text().c_str());
    }
  }
  return SOFT_OK;
}

void Faults::hang(soft_stream* stream, const Disturbance& disturbance) {
  stream->setWaiting(true);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    released_.wait(lock, [&] { return isReleased(disturbance); });
  }
  stream->setWaiting(false);
  stream->stopAtExit();
}

soft_status checkFaults(Device* device, std::size_t bytes) {
  return observing(kFaults) ? faults().onAllocate(device, bytes) : SOFT_OK;
}

soft_status checkHostFaults(std::size_t bytes) {
  return observing(kFaults) ? faults().onHostAllocate(bytes) : SOFT_OK;
}

}  // namespace dipu::softdevice
