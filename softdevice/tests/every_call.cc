// SPDX-License-Identifier: Apache-2.0
//
// Long functions, since they are tables.
#include "softdevice/tests/every_call.h"

#include "softdevice/soft_copy_2d.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

constexpr std::size_t kReserved = std::size_t{2} << 20;

void nothing(void*) {}

// Devices and memory.
void addMemoryCalls(const Handles& h, Output* out, Calls* calls) {
  Calls& c = *calls;
  c["soft_device_count"] = [=] { return soft_device_count(&out->number); };
  c["soft_device_get_info"] = [=] {
    return soft_device_get_info(0, &out->device);
  };
  c["soft_device_synchronize"] = [] { return soft_device_synchronize(0); };
  c["soft_device_reset"] = [] { return soft_device_reset(0); };
  c["soft_device_get_error"] = [] { return soft_device_get_error(0); };
  c["soft_device_can_access_peer"] = [=] {
    return soft_device_can_access_peer(0, 1, &out->number);
  };
  c["soft_device_enable_peer_access"] = [] {
    return soft_device_enable_peer_access(0, 1);
  };
  c["soft_device_disable_peer_access"] = [] {
    return soft_device_disable_peer_access(0, 1);
  };
  c["soft_device_get_peer_access"] = [=] {
    return soft_device_get_peer_access(0, 1, &out->number);
  };
  c["soft_malloc"] = [=] { return soft_malloc(1, 8, &out->pointer); };
  c["soft_free"] = [=] { return soft_free(h.memory); };
  c["soft_memory_info"] = [=] {
    return soft_memory_info(0, &out->sizes[0], &out->sizes[1]);
  };
  c["soft_host_malloc"] = [=] { return soft_host_malloc(8, &out->pointer); };
  c["soft_host_free"] = [=] { return soft_host_free(h.pinned); };
  c["soft_host_register"] = [=] { return soft_host_register(out, 8); };
  c["soft_host_unregister"] = [=] { return soft_host_unregister(out); };
  c["soft_pointer_get_info"] = [=] {
    return soft_pointer_get_info(h.memory, &out->info);
  };
  c["soft_vm_reserve"] = [=] {
    return soft_vm_reserve(0, kReserved, 0, nullptr, &out->pointer);
  };
  c["soft_vm_release"] = [=] { return soft_vm_release(h.reserved, kReserved); };
  c["soft_vm_create"] = [=] {
    return soft_vm_create(0, kReserved, &out->memory);
  };
  c["soft_vm_destroy"] = [=] { return soft_vm_destroy(h.physical); };
  c["soft_vm_map"] = [=] {
    return soft_vm_map(h.reserved, kReserved, h.physical, 0);
  };
  c["soft_vm_unmap"] = [=] { return soft_vm_unmap(h.reserved, kReserved); };
  c["soft_vm_set_access"] = [=] {
    return soft_vm_set_access(h.reserved, kReserved, 0,
                              SOFT_VM_ACCESS_READ_WRITE);
  };
  c["soft_vm_get_access"] = [=] {
    return soft_vm_get_access(h.reserved, 0, &out->access);
  };
  c["soft_ipc_export_memory"] = [=] {
    return soft_ipc_export_memory(h.memory, &out->handle);
  };
  c["soft_ipc_open_memory"] = [=] {
    return soft_ipc_open_memory(0, &h.handle, &out->pointer);
  };
  c["soft_ipc_close_memory"] = [=] { return soft_ipc_close_memory(h.memory); };
}

// Streams and what is enqueued on them.
void addStreamCalls(const Handles& h, Output* out, Calls* calls) {
  Calls& c = *calls;
  c["soft_stream_create"] = [=] {
    return soft_stream_create(0, 0, 0, &out->stream);
  };
  c["soft_stream_destroy"] = [=] { return soft_stream_destroy(h.stream); };
  c["soft_stream_get_default"] = [=] {
    return soft_stream_get_default(1, &out->stream);
  };
  c["soft_stream_query"] = [=] { return soft_stream_query(h.stream); };
  c["soft_stream_synchronize"] = [=] {
    return soft_stream_synchronize(h.stream);
  };
  c["soft_stream_wait_event"] = [=] {
    return soft_stream_wait_event(h.stream, h.event);
  };
  c["soft_launch"] = [=] { return soft_launch(h.stream, nothing, nullptr, 0); };
  c["soft_launch_named"] = [=] {
    return soft_launch_named(h.stream, "nothing", nothing, nullptr, 0);
  };
  c["soft_launch_host_func"] = [=] {
    return soft_launch_host_func(h.stream, nothing, nullptr);
  };
  c["soft_memcpy_async"] = [=] {
    return soft_memcpy_async(out, h.memory, 8, h.stream);
  };
  c["soft_memcpy"] = [=] { return soft_memcpy(out, h.memory, 8); };
  c["soft_memset_async"] = [=] {
    return soft_memset_async(h.memory, 0, 8, h.stream);
  };
  c["soft_memcpy_2d_async"] = [=] {
    return soft_memcpy_2d_async(out, 8, h.memory, 8, 8, 2, h.stream);
  };
  c["soft_memcpy_2d"] = [=] {
    return soft_memcpy_2d(out, 8, h.memory, 8, 8, 2);
  };
  c["soft_memset_2d_async"] = [=] {
    return soft_memset_2d_async(h.memory, 8, 0, 8, 2, h.stream);
  };
  c["soft_stream_begin_capture"] = [=] {
    return soft_stream_begin_capture(h.stream, SOFT_CAPTURE_GLOBAL);
  };
  c["soft_stream_end_capture"] = [=] {
    return soft_stream_end_capture(h.stream, &out->graph);
  };
  c["soft_stream_get_capture"] = [=] {
    return soft_stream_get_capture(h.stream, &out->capture, nullptr);
  };
  c["soft_graph_instantiate"] = [=] {
    return soft_graph_instantiate(h.graph, &out->exec);
  };
  c["soft_graph_launch"] = [=] { return soft_graph_launch(h.exec, h.stream); };
  c["soft_graph_exec_update"] = [=] {
    return soft_graph_exec_update(h.exec, h.graph);
  };
}

// Events, and what helps debugging.
void addOtherCalls(const Handles& h, Output* out, Calls* calls) {
  Calls& c = *calls;
  c["soft_event_create"] = [=] { return soft_event_create(0, 0, &out->event); };
  c["soft_event_record"] = [=] { return soft_event_record(h.event, h.stream); };
  c["soft_event_query"] = [=] { return soft_event_query(h.event); };
  c["soft_event_synchronize"] = [=] { return soft_event_synchronize(h.event); };
  c["soft_event_elapsed"] = [=] {
    return soft_event_elapsed(h.event, h.event, &out->real);
  };
  c["soft_ipc_export_event"] = [=] {
    return soft_ipc_export_event(h.shared_event, &out->handle);
  };
  c["soft_ipc_open_event"] = [=] {
    return soft_ipc_open_event(0, &h.handle, &out->event);
  };
  c["soft_fault_add"] = [] { return soft_fault_add("hang=1"); };
  c["soft_fault_clear"] = [] { return soft_fault_clear(); };
  c["soft_fault_release"] = [] { return soft_fault_release(); };
  c["soft_fault_count"] = [=] { return soft_fault_count(&out->number); };
  c["soft_fault_get_info"] = [=] {
    return soft_fault_get_info(0, &out->fault);
  };
  c["soft_schedule_set"] = [] { return soft_schedule_set(1); };
  c["soft_schedule_clear"] = [] { return soft_schedule_clear(); };
  c["soft_schedule_steps"] = [=] { return soft_schedule_steps(&out->count); };
  c["soft_trace_start"] = [] { return soft_trace_start(100); };
  c["soft_trace_stop"] = [] { return soft_trace_stop(); };
  c["soft_trace_read"] = [=] {
    return soft_trace_read(nullptr, 0, &out->sizes[0], nullptr);
  };
  c["soft_counters_start"] = [] { return soft_counters_start(); };
  c["soft_counters_stop"] = [] { return soft_counters_stop(); };
  c["soft_counters_reset"] = [] { return soft_counters_reset(); };
  c["soft_counters_read"] = [=] {
    return soft_counters_read(nullptr, 0, &out->sizes[0]);
  };
}

}  // namespace

Handles makeHandles() {
  Handles h;
  EXPECT_OK(soft_malloc(0, 4096, &h.memory));
  EXPECT_OK(soft_host_malloc(4096, &h.pinned));
  EXPECT_OK(soft_vm_reserve(0, kReserved, 0, nullptr, &h.reserved));
  EXPECT_OK(soft_vm_create(0, kReserved, &h.physical));
  EXPECT_OK(soft_stream_create(0, 0, SOFT_STREAM_NON_BLOCKING, &h.stream));
  EXPECT_OK(soft_event_create(0, 0, &h.event));
  EXPECT_OK(soft_event_create(
      0, SOFT_EVENT_INTERPROCESS | SOFT_EVENT_DISABLE_TIMING, &h.shared_event));
  EXPECT_OK(soft_ipc_export_memory(h.memory, &h.handle));
  EXPECT_OK(soft_stream_begin_capture(h.stream, SOFT_CAPTURE_RELAXED));
  EXPECT_OK(launch(h.stream, [] {}));
  EXPECT_OK(soft_stream_end_capture(h.stream, &h.graph));
  EXPECT_OK(soft_graph_instantiate(h.graph, &h.exec));
  return h;
}

void destroyHandles(const Handles& handles) {
  soft_event_destroy(handles.event);
  soft_event_destroy(handles.shared_event);
  soft_graph_exec_destroy(handles.exec);
  soft_graph_destroy(handles.graph);
  soft_host_free(handles.pinned);
}

Calls makeCalls(const Handles& handles, Output* out) {
  Calls calls;
  addMemoryCalls(handles, out, &calls);
  addStreamCalls(handles, out, &calls);
  addOtherCalls(handles, out, &calls);
  return calls;
}

}  // namespace dipu::softdevice
