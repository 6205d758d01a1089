// SPDX-License-Identifier: Apache-2.0
//
// Calls that spoil a capture.
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "softdevice/soft_copy_2d.h"
#include "softdevice/soft_debug.h"
#include "softdevice/soft_ipc.h"
#include "softdevice/soft_virtual_memory.h"
#include "softdevice/tests/graph_test_base.h"

namespace dipu::softdevice {
namespace {

using CaptureIllegalTest = GraphTestBase;

TEST_F(CaptureIllegalTest, TheHostMayNotWaitForAStreamBeingCaptured) {
  expectSpoilt(soft_stream_query, "soft_stream_query");
  expectSpoilt(soft_stream_synchronize, "soft_stream_synchronize");
  expectSpoilt([](soft_stream*) { return soft_device_synchronize(0); },
               "soft_device_synchronize");
  expectSpoilt(soft_stream_destroy, "soft_stream_destroy");
  expectSpoilt(
      [](soft_stream* stream) {
        return soft_stream_begin_capture(stream, SOFT_CAPTURE_GLOBAL);
      },
      "soft_stream_begin_capture");
  // Another device may be waited for: the capture is a relaxed one.
  soft_stream* stream = makeStream(0);
  begin(stream, SOFT_CAPTURE_RELAXED);
  EXPECT_OK(soft_device_synchronize(1));
  expectEnds(stream);
}

TEST_F(CaptureIllegalTest, TheHostMayNotWaitForACapturedEvent) {
  soft_event* event = makeEvent(0);
  for (auto* call : {soft_event_query, soft_event_synchronize}) {
    const char* name =
        call == soft_event_query ? "soft_event_query" : "soft_event_synchron";
    expectSpoilt(
        [&](soft_stream* stream) {
          EXPECT_OK(soft_event_record(event, stream));
          return call(event);
        },
        name);
    EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED, call(event)) << "the capture is over";
  }
  soft_stream* stream = makeStream(0);
  EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED, soft_stream_wait_event(stream, event));
  ASSERT_OK(soft_event_record(event, stream));
  EXPECT_OK(soft_event_synchronize(event)) << "recorded anew, it is usable";
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(CaptureIllegalTest, WaitsMayNotLeaveTheCapture) {
  soft_event* event = makeEvent(0);
  soft_event* never = makeEvent(0);
  soft_stream* outside = makeStream(0);
  ASSERT_OK(soft_event_record(event, outside));
  ASSERT_OK(soft_stream_synchronize(outside));
  expectSpoilt(
      [&](soft_stream* stream) {
        EXPECT_OK(soft_stream_wait_event(stream, never));
        return soft_stream_wait_event(stream, event);
      },
      "soft_stream_wait_event");
  expectUsable(outside);
  EXPECT_OK(soft_event_destroy(event));
  EXPECT_OK(soft_event_destroy(never));
}

TEST_F(CaptureIllegalTest, CapturesMayNotWaitForEachOther) {
  soft_stream* streams[] = {makeStream(0), makeStream(1)};
  soft_event* event = makeEvent(0);
  for (soft_stream* stream : streams) begin(stream);
  ASSERT_OK(soft_event_record(event, streams[0]));
  EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED,
              soft_stream_wait_event(streams[1], event));
  for (soft_stream* stream : streams) {
    expectEndsSpoilt(stream, "another capture");
  }
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(CaptureIllegalTest, PageableMemoryMayNotBeCopied) {
  static char host[1 << 20];
  auto* device = makeArray<char>(0, sizeof(host));
  for (std::size_t bytes : {std::size_t{16}, sizeof(host)}) {
    expectSpoilt(
        [&](soft_stream* stream) {
          return soft_memcpy_async(device, host, bytes, stream);
        },
        "soft_memcpy_async: pageable");
    expectSpoilt(
        [&](soft_stream* stream) {
          return soft_memcpy_async(host, device, bytes, stream);
        },
        "soft_memcpy_async: pageable");
  }
  expectSpoilt(
      [&](soft_stream* stream) {
        return soft_memcpy_2d_async(device, 64, host, 64, 16, 4, stream);
      },
      "soft_memcpy_2d_async: pageable");
}

TEST_F(CaptureIllegalTest, AnIllegalAddressSpoilsTheCapture) {
  static int host;
  expectSpoilt(
      [](soft_stream* stream) {
        EXPECT_EQ(soft_translate(stream, &host, sizeof(host)), nullptr);
        return launch(stream, [] {});
      },
      "illegal address", SOFT_CAPTURE_INVALIDATED);
}

TEST_F(CaptureIllegalTest, ALostDeviceSpoilsTheCapture) {
  soft_stream* stream = makeStream(0);
  begin(stream);
  ASSERT_OK(soft_fault_add("lost=1,device=1"));
  soft_stream* other = nullptr;
  ASSERT_OK(soft_stream_create(1, 0, SOFT_STREAM_NON_BLOCKING, &other));
  EXPECT_SOFT(SOFT_DEVICE_LOST, launch(other, [] {}));
  EXPECT_EQ(captureStatus(stream), SOFT_CAPTURE_STATUS_ACTIVE)
      << "device 0 is not lost";
  expectEnds(stream);

  ASSERT_OK(soft_fault_add("lost=1,device=0"));
  EXPECT_SOFT(SOFT_DEVICE_LOST, launch(stream, [] {}));
  begin(stream);
  EXPECT_SOFT(SOFT_DEVICE_LOST, launch(stream, [] {}));
  EXPECT_TRUE(lastMessageHas("lost=1")) << soft_last_message();
  EXPECT_EQ(captureStatus(stream), SOFT_CAPTURE_STATUS_INVALIDATED);
  soft_graph* graph = nullptr;
  EXPECT_SOFT(SOFT_CAPTURE_INVALIDATED,
              soft_stream_end_capture(stream, &graph));
  EXPECT_TRUE(lastMessageHas("lost=1")) << soft_last_message();
  EXPECT_EQ(graph, nullptr);
  ASSERT_OK(soft_fault_clear());
}

TEST_F(CaptureIllegalTest, CallsThatShareOrMapMemoryNameThemselves) {
  std::size_t part = 0;
  ASSERT_OK(soft_vm_granularity(&part));
  void* device = makeArray<char>(0, 4096);
  void* reserved = nullptr;
  ASSERT_OK(soft_vm_reserve(0, 2 * part, 0, nullptr, &reserved));
  soft_vm_memory memory = 0;
  ASSERT_OK(soft_vm_create(0, part, &memory));
  soft_ipc_handle handle{};
  soft_vm_memory other = 0;
  soft_vm_access access = 0;
  void* out = nullptr;
  const std::vector<std::pair<const char*, std::function<soft_status()>>>
      calls = {
          {"soft_ipc_export_memory",
           [&] { return soft_ipc_export_memory(device, &handle); }},
          {"soft_ipc_open_memory",
           [&] { return soft_ipc_open_memory(0, &handle, &out); }},
          {"soft_ipc_close_memory",
           [&] { return soft_ipc_close_memory(device); }},
          {"soft_vm_reserve",
           [&] { return soft_vm_reserve(0, part, 0, nullptr, &out); }},
          {"soft_vm_release",
           [&] { return soft_vm_release(reserved, 2 * part); }},
          {"soft_vm_create", [&] { return soft_vm_create(0, part, &other); }},
          {"soft_vm_destroy", [&] { return soft_vm_destroy(memory); }},
          {"soft_vm_map",
           [&] { return soft_vm_map(reserved, part, memory, 0); }},
          {"soft_vm_unmap", [&] { return soft_vm_unmap(reserved, part); }},
          {"soft_vm_get_access",
           [&] { return soft_vm_get_access(reserved, 0, &access); }},
          {"soft_vm_set_access",
           [&] {
             return soft_vm_set_access(reserved, part, 0,
                                       SOFT_VM_ACCESS_READ_WRITE);
           }},
  };
  for (const auto& [name, call] : calls) {
    soft_stream* stream = makeStream(0);
    begin(stream);
    EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED, call());
    EXPECT_TRUE(lastMessageHas(name)) << soft_last_message();
    expectEndsSpoilt(stream, name);
    ASSERT_OK(soft_stream_destroy(stream));
  }
  EXPECT_OK(soft_vm_map(reserved, part, memory, 0)) << "nothing was changed";
}

TEST_F(CaptureIllegalTest, SharingAnEventIsPermitted) {
  soft_event* event =
      makeEvent(0, SOFT_EVENT_INTERPROCESS | SOFT_EVENT_DISABLE_TIMING);
  soft_ipc_handle handle{};
  soft_stream* stream = makeStream(0);
  begin(stream);
  EXPECT_OK(soft_ipc_export_event(event, &handle));
  EXPECT_SOFT(SOFT_NOT_PERMITTED, soft_ipc_open_event(0, &handle, &event))
      << "its own";
  expectEnds(stream);
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(CaptureIllegalTest, UnsafeCallsAreRefusedByMode) {
  void* pinned = nullptr;
  ASSERT_OK(soft_host_malloc(4096, &pinned));
  void* device = makeArray<char>(0, 4096);
  static char host[4096];
  soft_stream* idle = makeStream(1);
  soft_event* event = makeEvent(1);
  ASSERT_OK(soft_event_record(event, idle));
  void* out = nullptr;
  const std::vector<std::function<soft_status()>> calls = {
      [&] { return soft_malloc(0, 16, &out); },
      [&] { return soft_free(device); },
      [&] { return soft_host_malloc(16, &out); },
      [&] { return soft_host_free(pinned); },
      [&] { return soft_host_register(host, sizeof(host)); },
      [&] { return soft_host_unregister(host); },
      [&] { return soft_memcpy(device, host, 16); },
      [&] { return soft_memcpy_2d(device, 16, host, 16, 16, 1); },
      [&] { return soft_device_synchronize(1); },
      [&] { return soft_stream_synchronize(idle); },
      [&] { return soft_stream_query(idle); },
      [&] { return soft_event_query(event); },
      [&] { return soft_event_synchronize(event); },
  };
  for (const auto& call : calls) {
    soft_stream* stream = makeStream(0);
    begin(stream, SOFT_CAPTURE_THREAD_LOCAL);
    EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED, call());
    soft_graph* graph = nullptr;
    EXPECT_SOFT(SOFT_CAPTURE_INVALIDATED,
                soft_stream_end_capture(stream, &graph));
    ASSERT_OK(soft_stream_destroy(stream));
  }
  EXPECT_OK(soft_free(device));
  EXPECT_OK(soft_host_free(pinned));
  EXPECT_OK(soft_event_destroy(event));
}

// Whether a soft_malloc is refused that comes from a thread in `thread_mode`
// while a capture in `mode` is under way.
bool isRefused(soft_capture_mode mode, soft_capture_mode thread_mode,
               soft_stream* stream, bool same_thread) {
  EXPECT_OK(soft_stream_begin_capture(stream, mode));
  soft_status status = SOFT_OK;
  void* memory = nullptr;
  const auto allocate = [&] {
    soft_capture_mode exchanged = thread_mode;
    EXPECT_OK(soft_thread_exchange_capture_mode(&exchanged));
    status = soft_malloc(0, 16, &memory);
    EXPECT_OK(soft_thread_exchange_capture_mode(&exchanged));
    EXPECT_EQ(exchanged, thread_mode);
  };
  if (same_thread) {
    allocate();
  } else {
    std::thread(allocate).join();
  }
  soft_graph* graph = nullptr;
  EXPECT_SOFT(status == SOFT_OK ? SOFT_OK : SOFT_CAPTURE_INVALIDATED,
              soft_stream_end_capture(stream, &graph));
  EXPECT_OK(soft_graph_destroy(graph));
  EXPECT_OK(soft_free(memory));
  return status != SOFT_OK;
}

TEST_F(CaptureIllegalTest, TheModeOfTheThreadDecidesWhatItMayHarm) {
  constexpr soft_capture_mode kModes[] = {
      SOFT_CAPTURE_GLOBAL, SOFT_CAPTURE_THREAD_LOCAL, SOFT_CAPTURE_RELAXED};
  soft_stream* stream = makeStream(0);
  for (soft_capture_mode mode : kModes) {
    for (soft_capture_mode thread_mode : kModes) {
      const bool own =
          mode != SOFT_CAPTURE_RELAXED && thread_mode != SOFT_CAPTURE_RELAXED;
      const bool others =
          mode == SOFT_CAPTURE_GLOBAL && thread_mode == SOFT_CAPTURE_GLOBAL;
      EXPECT_EQ(isRefused(mode, thread_mode, stream, true), own)
          << mode << " " << thread_mode;
      EXPECT_EQ(isRefused(mode, thread_mode, stream, false), others)
          << mode << " " << thread_mode;
    }
  }
}

}  // namespace
}  // namespace dipu::softdevice
