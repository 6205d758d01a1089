// SPDX-License-Identifier: Apache-2.0
//
// A vendor whose required slots are all filled and do nothing.
#pragma once

#include "core/abi/vendor_api.h"

namespace dipu::loader::testing {

// A function of the slot's type that does nothing and succeeds.
template <typename Slot>
struct Nothing;

template <typename Result, typename... Args>
struct Nothing<Result (*)(Args...)> {
  static Result call(Args...) { return Result(); }
};

template <typename... Slots>
void fill(Slots&... slots) {
  ((slots = &Nothing<Slots>::call), ...);
}

// The tables that a dipu_vendor points to, and the vendor itself. Not copied,
// because the vendor points into it.
struct TestVendor {
  dipu_device_api device{};
  dipu_memory_api memory{};
  dipu_stream_api stream{};
  dipu_event_api event{};
  dipu_operators_api operators{};
  dipu_graph_api graph{};
  dipu_vendor vendor{};

  TestVendor() {
    device.struct_size = sizeof(device);
    device.version = DIPU_DEVICE_API_VERSION;
    fill(device.get_count, device.set_current, device.get_current,
         device.synchronize, device.get_properties);
    memory.struct_size = sizeof(memory);
    memory.version = DIPU_MEMORY_API_VERSION;
    fill(memory.allocate, memory.deallocate, memory.get_info,
         memory.host_allocate, memory.host_deallocate, memory.copy,
         memory.copy_async, memory.set_async);
    stream.struct_size = sizeof(stream);
    stream.version = DIPU_STREAM_API_VERSION;
    fill(stream.create, stream.destroy, stream.get_default, stream.query,
         stream.synchronize, stream.wait_event);
    event.struct_size = sizeof(event);
    event.version = DIPU_EVENT_API_VERSION;
    fill(event.create, event.destroy, event.record, event.query,
         event.synchronize, event.elapsed);
    operators.struct_size = sizeof(operators);
    operators.version = DIPU_OPERATORS_API_VERSION;
    operators.diopi_revision = 1;
    operators.library = "libthird_party_operators.so";
    graph.struct_size = sizeof(graph);
    graph.version = DIPU_GRAPH_API_VERSION;
    fill(graph.begin_capture, graph.end_capture, graph.get_capture_status,
         graph.instantiate, graph.launch, graph.destroy, graph.destroy_exec);
    vendor.struct_size = sizeof(vendor);
    vendor.abi_version = DIPU_ABI_VERSION;
    vendor.name = "test_vendor";
    vendor.display_name = "Test vendor";
    vendor.version = "1.0";
    vendor.sdk_version = "";
    fill(vendor.initialize);
    vendor.device = &device;
    vendor.memory = &memory;
    vendor.stream = &stream;
    vendor.event = &event;
    vendor.operators = &operators;
  }
  TestVendor(const TestVendor&) = delete;
  TestVendor& operator=(const TestVendor&) = delete;
};

}  // namespace dipu::loader::testing
