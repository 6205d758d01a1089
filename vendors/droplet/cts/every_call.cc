// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/cts/every_call.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/plugin_kit/error.h"

namespace dipu::vendors::droplet {

const dipu_vendor& vendor() {
  static const dipu_vendor* const droplet = [] {
    setenv("SOFTDEVICE_COUNT", "2", 1);
    setenv("SOFTDEVICE_MEMORY", "64M", 1);
    return dipu_vendor_query(DIPU_ABI_VERSION);
  }();
  return *droplet;
}

bool ok(dipu_error* error) {
  const plugin_kit::ErrorPtr owner(error);
  if (error == nullptr) return true;
  std::fprintf(stderr, "%s\n", error->message);
  return false;
}

dipu_stream* makeStream(int32_t device) {
  const dipu_stream_create_args args{sizeof(args), device, 0};
  dipu_stream* stream = nullptr;
  EXPECT_TRUE(ok(vendor().stream->create(&args, &stream)));
  return stream;
}

// Of one rank.
dipu_communicator* makeCommunicator() {
  const dipu_communicator_api& api = *vendor().communicator;
  std::vector<char> id(api.unique_id_size);
  EXPECT_TRUE(ok(api.get_unique_id(id.data())));
  const dipu_communicator_create_args args{sizeof(args), 0, 0, 1, 0, id.data()};
  dipu_communicator* communicator = nullptr;
  EXPECT_TRUE(ok(api.create(&args, &communicator)));
  return communicator;
}

Handles makeHandles() {
  Handles h;
  h.stream = makeStream(0);
  EXPECT_TRUE(ok(vendor().memory->allocate(0, 4096, &h.memory)));
  EXPECT_TRUE(ok(vendor().memory->host_allocate(4096, &h.pinned)));
  EXPECT_TRUE(ok(vendor().event->create(0, DIPU_EVENT_TIMING, &h.event)));
  const dipu_graph_api& graph = *vendor().graph;
  EXPECT_TRUE(ok(graph.begin_capture(h.stream, DIPU_CAPTURE_RELAXED)));
  EXPECT_TRUE(ok(vendor().memory->set_async(h.memory, 0, 1, 8, h.stream)));
  EXPECT_TRUE(ok(graph.end_capture(h.stream, &h.graph)));
  EXPECT_TRUE(ok(graph.instantiate(h.graph, &h.exec)));
  h.communicator = makeCommunicator();
  return h;
}

// A long function, since it is a table.
Calls makeCalls(const Handles& h) {
  static const dipu_device_api& device = *vendor().device;
  static const dipu_memory_api& memory = *vendor().memory;
  static const dipu_stream_api& stream = *vendor().stream;
  static const dipu_event_api& event = *vendor().event;
  static const dipu_graph_api& graph = *vendor().graph;
  static const dipu_ipc_api& ipc = *vendor().ipc;
  static const dipu_communicator_api& comm = *vendor().communicator;
  static int32_t number = 0;
  static size_t sizes[2];
  static void* pointer = nullptr;
  static dipu_stream* new_stream = nullptr;
  static dipu_event* new_event = nullptr;
  static dipu_graph* new_graph = nullptr;
  static dipu_graph_exec* new_exec = nullptr;
  static double ms = 0;
  static char bytes[256];
  static dipu_device_properties properties{};
  properties.struct_size = sizeof(properties);
  static dipu_pointer_info info{};
  info.struct_size = sizeof(info);
  const auto nothing = [](void*) {};
  static const dipu_stream_create_args args{sizeof(args), 0, 0};
  static dipu_communicator* new_communicator = nullptr;
  static const dipu_communicator_create_args rank{sizeof(rank), 0, 0, 1, 0,
                                                  bytes};
  return {
      {"get_count", [] { return device.get_count(&number); }},
      {"set_current", [] { return device.set_current(1); }},
      {"synchronize", [] { return device.synchronize(0); }},
      {"get_properties", [] { return device.get_properties(1, &properties); }},
      {"reset", [] { return device.reset(0); }},
      {"can_access_peer", [] { return device.can_access_peer(0, 1, &number); }},
      {"enable_peer", [] { return device.enable_peer_access(0, 1); }},
      {"disable_peer", [] { return device.disable_peer_access(0, 1); }},
      {"allocate", [] { return memory.allocate(0, 8, &pointer); }},
      {"get_info", [] { return memory.get_info(1, &sizes[0], &sizes[1]); }},
      {"host_allocate", [] { return memory.host_allocate(8, &pointer); }},
      {"copy", [=] { return memory.copy(bytes, DIPU_HOST, h.memory, 0, 8); }},
      {"copy within the host",
       [] { return memory.copy(bytes, DIPU_HOST, bytes + 9, DIPU_HOST, 8); }},
      {"copy_async",
       [=] {
         return memory.copy_async(bytes, DIPU_HOST, h.memory, 0, 8, h.stream);
       }},
      {"set_async",
       [=] { return memory.set_async(h.memory, 0, 1, 8, h.stream); }},
      {"get_pointer_info",
       [=] { return memory.get_pointer_info(h.memory, &info); }},
      {"host_register", [] { return memory.host_register(bytes, 8); }},
      {"stream.create", [] { return stream.create(&args, &new_stream); }},
      {"get_default", [] { return stream.get_default(0, &new_stream); }},
      {"stream.query", [=] { return stream.query(h.stream, &number); }},
      {"stream.synchronize", [=] { return stream.synchronize(h.stream); }},
      {"wait_event", [=] { return stream.wait_event(h.stream, h.event); }},
      {"get_priority_range",
       [] { return stream.get_priority_range(0, &number, &number); }},
      {"launch_host_func",
       [=] { return stream.launch_host_func(h.stream, nothing, nullptr); }},
      {"event.create", [] { return event.create(0, 0, &new_event); }},
      {"record", [=] { return event.record(h.event, h.stream); }},
      {"event.query", [=] { return event.query(h.event, &number); }},
      {"event.synchronize", [=] { return event.synchronize(h.event); }},
      {"elapsed", [=] { return event.elapsed(h.event, h.event, &ms); }},
      {"begin_capture",
       [=] { return graph.begin_capture(h.stream, DIPU_CAPTURE_GLOBAL); }},
      {"end_capture", [=] { return graph.end_capture(h.stream, &new_graph); }},
      {"get_capture_status",
       [=] { return graph.get_capture_status(h.stream, &number); }},
      {"instantiate", [=] { return graph.instantiate(h.graph, &new_exec); }},
      {"graph.launch", [=] { return graph.launch(h.exec, h.stream); }},
      {"export_memory", [=] { return ipc.export_memory(0, h.memory, bytes); }},
      {"open_memory", [] { return ipc.open_memory(0, bytes, &pointer); }},
      {"communicator.create",
       [] { return comm.create(&rank, &new_communicator); }},
      {"get_async_error", [=] { return comm.get_async_error(h.communicator); }},
      {"all_reduce",
       [=] {
         return comm.all_reduce(h.communicator, h.memory, h.memory, 1,
                                DIPU_DTYPE_INT32, DIPU_REDUCE_SUM, h.stream);
       }},
      {"broadcast",
       [=] {
         return comm.broadcast(h.communicator, h.memory, h.memory, 1,
                               DIPU_DTYPE_INT32, 0, h.stream);
       }},
      {"reduce",
       [=] {
         return comm.reduce(h.communicator, h.memory, h.memory, 1,
                            DIPU_DTYPE_INT32, DIPU_REDUCE_SUM, 0, h.stream);
       }},
      {"all_gather",
       [=] {
         return comm.all_gather(h.communicator, h.memory, h.memory, 1,
                                DIPU_DTYPE_INT32, h.stream);
       }},
      {"reduce_scatter",
       [=] {
         return comm.reduce_scatter(h.communicator, h.memory, h.memory, 1,
                                    DIPU_DTYPE_INT32, DIPU_REDUCE_SUM,
                                    h.stream);
       }},
      {"send",
       [=] {
         return comm.send(h.communicator, h.memory, 1, DIPU_DTYPE_INT32, 0,
                          h.stream);
       }},
      {"recv",
       [=] {
         return comm.recv(h.communicator, h.memory, 1, DIPU_DTYPE_INT32, 0,
                          h.stream);
       }},
  };
}

bool release(const Handles& h) {
  static char bytes[8];
  vendor().memory->deallocate(0, h.memory);
  vendor().memory->host_deallocate(h.pinned);
  vendor().memory->host_unregister(bytes);
  vendor().ipc->close_memory(0, h.memory);
  vendor().stream->destroy(0, h.stream);
  vendor().event->destroy(h.event);
  vendor().graph->destroy(h.graph);
  vendor().graph->destroy_exec(h.exec);
  vendor().communicator->destroy(h.communicator);
  return true;
}

}  // namespace dipu::vendors::droplet
