// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "softdevice/base/config.h"
#include "softdevice/base/status.h"
#include "softdevice/debug/counters.h"
#include "softdevice/debug/fault.h"
#include "softdevice/debug/observe.h"
#include "softdevice/debug/schedule.h"
#include "softdevice/debug/trace.h"
#include "softdevice/device/device.h"
#include "softdevice/soft_debug.h"

using dipu::softdevice::checkMayBlock;
using dipu::softdevice::checkProcess;
using dipu::softdevice::config;
using dipu::softdevice::counters;
using dipu::softdevice::fail;
using dipu::softdevice::FaultRule;
using dipu::softdevice::faults;
using dipu::softdevice::namesMissingDevice;
using dipu::softdevice::schedule;
using dipu::softdevice::setObserving;
using dipu::softdevice::trace;
using dipu::softdevice::withHostMemory;

namespace {

soft_status failNull(const char* function, const char* argument) {
  return fail(SOFT_INVALID_VALUE, "%s: %s is NULL", function, argument);
}

soft_status addFaults(const char* text) {
  std::vector<FaultRule> rules;
  const std::string problem = dipu::softdevice::parseFaults(text, &rules);
  if (!problem.empty()) {
    return fail(SOFT_INVALID_VALUE, "soft_fault_add: '%s': %s", text,
                problem.c_str());
  }
  if (namesMissingDevice(rules, config().device_count)) {
    return fail(SOFT_INVALID_DEVICE,
                "soft_fault_add: '%s' names a device that this process does "
                "not have; it has %d (SOFTDEVICE_COUNT)",
                text, config().device_count);
  }
  faults().add(rules);
  return SOFT_OK;
}

}  // namespace

soft_status soft_fault_add(const char* text) {
  if (soft_status status = checkProcess("soft_fault_add")) return status;
  if (text == nullptr) return failNull("soft_fault_add", "text");
  return withHostMemory("soft_fault_add", [&] { return addFaults(text); });
}

soft_status soft_fault_clear(void) {
  if (soft_status status = checkProcess("soft_fault_clear")) return status;
  faults().clear();
  return SOFT_OK;
}

soft_status soft_fault_release(void) {
  if (soft_status status = checkProcess("soft_fault_release")) return status;
  faults().release();
  return SOFT_OK;
}

soft_status soft_fault_count(int32_t* out_count) {
  if (soft_status status = checkProcess("soft_fault_count")) return status;
  if (out_count == nullptr) return failNull("soft_fault_count", "out_count");
  *out_count = faults().count();
  return SOFT_OK;
}

soft_status soft_fault_get_info(int32_t index, soft_fault_info* out_info) {
  if (soft_status status = checkProcess("soft_fault_get_info")) return status;
  if (out_info == nullptr) return failNull("soft_fault_get_info", "out_info");
  if (faults().info(index, out_info)) return SOFT_OK;
  return fail(SOFT_INVALID_VALUE,
              "soft_fault_get_info: there is no fault %d; %d are set", index,
              faults().count());
}

soft_status soft_schedule_set(uint64_t seed) {
  if (soft_status status = checkMayBlock("soft_schedule_set")) return status;
  schedule().set(seed);
  return SOFT_OK;
}

soft_status soft_schedule_clear(void) {
  if (soft_status status = checkMayBlock("soft_schedule_clear")) return status;
  schedule().clear();
  return SOFT_OK;
}

soft_status soft_schedule_steps(uint64_t* out_steps) {
  if (soft_status status = checkProcess("soft_schedule_steps")) return status;
  if (out_steps == nullptr) return failNull("soft_schedule_steps", "out_steps");
  *out_steps = schedule().steps();
  return SOFT_OK;
}

soft_status soft_trace_start(size_t entries) {
  if (soft_status status = checkProcess("soft_trace_start")) return status;
  constexpr std::size_t kMost = dipu::softdevice::kMaxTraceEntries;
  if (entries == 0 || entries > kMost) {
    return fail(SOFT_INVALID_VALUE,
                "soft_trace_start: %zu entries asked for; 1 to %zu can be kept",
                entries, kMost);
  }
  return withHostMemory("soft_trace_start", [&] {
    trace().start(entries);
    setObserving(dipu::softdevice::kTrace, true);
    return soft_status{SOFT_OK};
  });
}

soft_status soft_trace_stop(void) {
  if (soft_status status = checkProcess("soft_trace_stop")) return status;
  setObserving(dipu::softdevice::kTrace, false);
  return SOFT_OK;
}

soft_status soft_trace_read(soft_trace_entry* out_entries, size_t capacity,
                            size_t* out_count, uint64_t* out_dropped) {
  if (soft_status status = checkProcess("soft_trace_read")) return status;
  if (out_count == nullptr || (out_entries == nullptr && capacity != 0)) {
    return failNull("soft_trace_read",
                    out_count == nullptr ? "out_count" : "out_entries");
  }
  trace().read(out_entries, capacity, out_count, out_dropped);
  return SOFT_OK;
}

soft_status soft_counters_start(void) {
  if (soft_status status = checkProcess("soft_counters_start")) return status;
  setObserving(dipu::softdevice::kCounters, true);
  return SOFT_OK;
}

soft_status soft_counters_stop(void) {
  if (soft_status status = checkProcess("soft_counters_stop")) return status;
  setObserving(dipu::softdevice::kCounters, false);
  return SOFT_OK;
}

soft_status soft_counters_reset(void) {
  if (soft_status status = checkProcess("soft_counters_reset")) return status;
  counters().reset();
  return SOFT_OK;
}

soft_status soft_counters_read(soft_counter* out_counters, size_t capacity,
                               size_t* out_count) {
  if (soft_status status = checkProcess("soft_counters_read")) return status;
  if (out_count == nullptr || (out_counters == nullptr && capacity != 0)) {
    return failNull("soft_counters_read",
                    out_count == nullptr ? "out_count" : "out_counters");
  }
  counters().read(out_counters, capacity, out_count);
  return SOFT_OK;
}
