// SPDX-License-Identifier: Apache-2.0
//
// What the tests of capture and replay share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "softdevice/soft_graph.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {

class GraphTestBase : public DeviceTest {
 protected:
  static soft_event* makeEvent(int32_t device,
                               uint32_t flags = SOFT_EVENT_DISABLE_TIMING) {
    soft_event* event = nullptr;
    EXPECT_OK(soft_event_create(device, flags, &event));
    return event;
  }
  static void begin(soft_stream* stream,
                    soft_capture_mode mode = SOFT_CAPTURE_GLOBAL) {
    ASSERT_OK(soft_stream_begin_capture(stream, mode));
  }
  static soft_graph* end(soft_stream* stream) {
    soft_graph* graph = nullptr;
    EXPECT_OK(soft_stream_end_capture(stream, &graph));
    return graph;
  }
  static soft_graph_exec* instantiate(const soft_graph* graph) {
    soft_graph_exec* exec = nullptr;
    EXPECT_OK(soft_graph_instantiate(graph, &exec));
    return exec;
  }
  // Ends the capture; the caller destroys what is returned.
  static soft_graph_exec* endAndInstantiate(soft_stream* stream) {
    soft_graph* graph = end(stream);
    soft_graph_exec* exec = instantiate(graph);
    EXPECT_OK(soft_graph_destroy(graph));
    return exec;
  }
  static std::size_t nodeCount(const soft_graph* graph) {
    std::size_t count = 0;
    EXPECT_OK(soft_graph_node_count(graph, &count));
    return count;
  }
  static soft_capture_status captureStatus(soft_stream* stream) {
    soft_capture_status status = -1;
    EXPECT_OK(soft_stream_get_capture(stream, &status, nullptr));
    return status;
  }
  // Makes what comes after on `later` wait for what is on `earlier` now.
  static void order(soft_stream* earlier, soft_stream* later) {
    soft_event* event = makeEvent(soft_stream_device(earlier));
    EXPECT_OK(soft_event_record(event, earlier));
    EXPECT_OK(soft_stream_wait_event(later, event));
    EXPECT_OK(soft_event_destroy(event));
  }
};

}  // namespace dipu::softdevice
