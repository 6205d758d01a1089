// SPDX-License-Identifier: Apache-2.0
//
// What the tests of capture and replay share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
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

  // Captures on a new stream, does `call`, which is to return `expected`, and
  // checks that the capture is spoilt, tells `word`, and leaves the stream in
  // good health.
  static void expectSpoilt(const std::function<soft_status(soft_stream*)>& call,
                           const char* word,
                           soft_status expected = SOFT_CAPTURE_UNSUPPORTED) {
    soft_stream* stream = makeStream(0);
    begin(stream, SOFT_CAPTURE_RELAXED);
    ASSERT_OK(launch(stream, [] {}));
    EXPECT_SOFT(expected, call(stream));
    EXPECT_NE(std::string(soft_last_message()).find(word), std::string::npos)
        << soft_last_message();
    expectEndsSpoilt(stream, word);
  }
  static void expectEndsSpoilt(soft_stream* stream, const char* word) {
    EXPECT_EQ(captureStatus(stream), SOFT_CAPTURE_STATUS_INVALIDATED);
    EXPECT_SOFT(SOFT_CAPTURE_INVALIDATED, launch(stream, [] {}));
    soft_graph* graph = nullptr;
    EXPECT_SOFT(SOFT_CAPTURE_INVALIDATED,
                soft_stream_end_capture(stream, &graph));
    EXPECT_NE(std::string(soft_last_message()).find(word), std::string::npos)
        << soft_last_message();
    EXPECT_EQ(graph, nullptr);
    expectUsable(stream);
  }
  static void expectUsable(soft_stream* stream) {
    static std::atomic<bool> ran;
    ran = false;
    EXPECT_EQ(captureStatus(stream), SOFT_CAPTURE_STATUS_NONE);
    EXPECT_OK(launch(stream, [] { ran = true; }));
    EXPECT_OK(soft_stream_synchronize(stream));
    EXPECT_TRUE(ran);
  }
  static void expectEnds(soft_stream* stream) {
    EXPECT_OK(soft_graph_destroy(end(stream)));
  }
};

}  // namespace dipu::softdevice
