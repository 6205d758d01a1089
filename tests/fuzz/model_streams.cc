// SPDX-License-Identifier: Apache-2.0
//
// The model's streams, events and host functions.
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/plugin_kit/error.h"
#include "tests/fuzz/model.h"

namespace dipu::fuzz {
namespace {

using plugin_kit::ErrorPtr;

constexpr std::size_t kMostStreams = 8;
constexpr std::size_t kMostEvents = 8;

void runHostCall(void* argument) {
  auto* call = static_cast<HostCall*>(argument);
  if (call->last_run->exchange(call->number) >= call->number) {
    std::fprintf(stderr, "fuzz: wrong: the order of host functions\n");
    std::abort();
  }
  if (call->writes) {
    std::memcpy(call->data, call->bytes.data(), call->bytes.size());
  } else if (call->data != nullptr &&
             std::memcmp(call->data, call->bytes.data(), call->bytes.size()) !=
                 0) {
    std::fprintf(stderr, "fuzz: wrong: what a host function sees\n");
    std::abort();
  }
  ++call->runs;
}

}  // namespace

// Records and waits count, too: a query may find them pending.
Operation Model::issue(Stream* stream) {
  ++stream->issued;
  return stream->last();
}

void Model::noteDone(const Stream& stream) {
  host_.join(stream.before);
  host_.add(stream.last());
}

Stream* Model::pickStream(int32_t device) {
  std::vector<Stream*> found;
  for (const auto& stream : streams_) {
    if (stream->device == device && !stream->is_destroyed) {
      found.push_back(stream.get());
    }
  }
  return found[input_->below(found.size())];
}

Stream* Model::pickAnyStream() {
  return pickStream(
      static_cast<int32_t>(input_->below(static_cast<std::size_t>(devices_))));
}

Event* Model::pickEvent() {
  if (events_.empty()) return nullptr;
  return events_[input_->below(events_.size())].get();
}

void Model::order(const Operation& earlier, Stream* stream) {
  if (host_.covers(earlier)) return;
  if (stream != nullptr &&
      (stream->id == earlier.stream || stream->before.covers(earlier))) {
    return;
  }
  Stream* first = streams_[earlier.stream].get();
  if (first->is_destroyed) return waitForDevice(first->device);
  const uint8_t way = input_->byte() % 8;
  if (stream != nullptr && way < 5) return orderByEvent(first, stream);
  if (way == 6) return pollUntilDone(first);
  if (way == 7) return waitForDevice(first->device);
  expectOk("stream synchronize", vendor_.stream->synchronize(first->handle));
  noteDone(*first);
}

void Model::orderByEvent(Stream* first, Stream* second) {
  dipu_event* event = nullptr;
  expectOk("event create", vendor_.event->create(first->device, 0, &event));
  expectOk("record", vendor_.event->record(event, first->handle));
  issue(first);
  expectOk("wait_event", vendor_.stream->wait_event(second->handle, event));
  issue(second);
  // Legal while it is pending.
  vendor_.event->destroy(event);
  second->before.join(first->before);
  second->before.add(first->last());
}

void Model::pollUntilDone(Stream* stream) {
  for (int32_t done = 0; done == 0; sched_yield()) {
    expectOk("stream query", vendor_.stream->query(stream->handle, &done));
  }
  noteDone(*stream);
}

void Model::waitForDevice(int32_t device) {
  expectOk("device synchronize", vendor_.device->synchronize(device));
  for (const auto& stream : streams_) {
    if (stream->device == device) noteDone(*stream);
  }
}

void Model::createStream() {
  const auto alive =
      std::count_if(streams_.begin(), streams_.end(),
                    [](const auto& stream) { return !stream->is_destroyed; });
  if (static_cast<std::size_t>(alive) >= kMostStreams) return;
  auto stream = std::make_unique<Stream>();
  stream->id = next_stream_++;
  stream->device =
      static_cast<int32_t>(input_->below(static_cast<std::size_t>(devices_)));
  stream->last_run = std::make_shared<std::atomic<uint64_t>>(0);
  const int32_t priority = static_cast<int32_t>(input_->below(9)) - 4;
  const dipu_stream_create_args args{sizeof(args), stream->device, priority};
  expectOk("stream create", vendor_.stream->create(&args, &stream->handle));
  streams_.push_back(std::move(stream));
}

void Model::destroyStream() {
  Stream* stream = pickAnyStream();
  if (stream->is_default) return;
  vendor_.stream->destroy(stream->device, stream->handle);
  stream->is_destroyed = true;
}

void Model::queryStream() {
  Stream* stream = pickAnyStream();
  int32_t done = -1;
  expectOk("stream query", vendor_.stream->query(stream->handle, &done));
  expect(done == 0 || done == 1, "the answer of a stream's query");
  expect(done == 1 || !host_.covers(stream->last()),
         "a stream that was waited for says that it is busy");
  if (done == 1) noteDone(*stream);
}

void Model::synchronizeStream() {
  Stream* stream = pickAnyStream();
  expectOk("stream synchronize", vendor_.stream->synchronize(stream->handle));
  noteDone(*stream);
}

void Model::synchronizeDevice() {
  waitForDevice(
      static_cast<int32_t>(input_->below(static_cast<std::size_t>(devices_))));
}

void Model::createEvent() {
  if (events_.size() >= kMostEvents) return;
  auto event = std::make_unique<Event>();
  event->device =
      static_cast<int32_t>(input_->below(static_cast<std::size_t>(devices_)));
  const auto flags = static_cast<dipu_event_flags>(input_->below(4));
  event->has_timing = (flags & DIPU_EVENT_TIMING) != 0;
  expectOk("event create",
           vendor_.event->create(event->device, flags, &event->handle));
  events_.push_back(std::move(event));
}

void Model::destroyEvent() {
  if (events_.empty()) return;
  const std::size_t index = input_->below(events_.size());
  vendor_.event->destroy(events_[index]->handle);
  events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Model::recordEvent() {
  Event* event = pickEvent();
  if (event == nullptr) return;
  Stream* stream = pickStream(event->device);
  expectOk("record", vendor_.event->record(event->handle, stream->handle));
  issue(stream);
  event->recorded = true;
  event->reached = stream->before;
  event->reached.add(stream->last());
}

void Model::waitEvent() {
  Event* event = pickEvent();
  if (event == nullptr) return;
  Stream* stream = pickAnyStream();
  expectOk("wait_event",
           vendor_.stream->wait_event(stream->handle, event->handle));
  issue(stream);
  stream->before.join(event->reached);
}

void Model::queryEvent() {
  Event* event = pickEvent();
  if (event == nullptr) return;
  int32_t done = -1;
  expectOk("event query", vendor_.event->query(event->handle, &done));
  expect(done == 0 || done == 1, "the answer of an event's query");
  expect(done == 1 || event->recorded, "an event without record is pending");
  if (done == 1) host_.join(event->reached);
}

void Model::synchronizeEvent() {
  Event* event = pickEvent();
  if (event == nullptr) return;
  expectOk("event synchronize", vendor_.event->synchronize(event->handle));
  host_.join(event->reached);
  int32_t done = -1;
  expectOk("event query", vendor_.event->query(event->handle, &done));
  expect(done == 1, "an event that was waited for is pending");
}

void Model::elapsed() {
  Event* start = pickEvent();
  Event* end = pickEvent();
  if (start == nullptr || !start->recorded || !end->recorded) return;
  double milliseconds = std::nan("");
  if (!start->has_timing || !end->has_timing) {
    expectCode(
        "elapsed without timing",
        vendor_.event->elapsed(start->handle, end->handle, &milliseconds),
        DIPU_FAILED_PRECONDITION);
    expect(std::isnan(milliseconds), "an output of a failed call");
    return;
  }
  for (Event* event : {start, end}) {
    expectOk("event synchronize", vendor_.event->synchronize(event->handle));
    host_.join(event->reached);
  }
  expectOk("elapsed",
           vendor_.event->elapsed(start->handle, end->handle, &milliseconds));
  expect(std::isfinite(milliseconds) && std::abs(milliseconds) < 3600e3,
         "the time between two events");
  expect(start != end || milliseconds == 0, "the time from an event to itself");
}

void Model::callHost() {
  if (!DIPU_HAS(vendor_.stream, launch_host_func)) return;
  Stream* stream = pickAnyStream();
  Buffer* buffer = pickBuffer();
  auto call = std::make_unique<HostCall>();
  call->last_run = stream->last_run;
  if (buffer != nullptr && buffer->place == Place::kPinned) {
    call->data = buffer->data;
    call->writes = input_->byte() % 2 == 0;
    if (call->writes) {
      orderWrite(*buffer, stream);
      uint8_t value = input_->byte();
      for (uint8_t& byte : buffer->shadow) byte = value = value * 3 + 7;
    } else {
      orderRead(*buffer, stream);
    }
    call->bytes = buffer->shadow;
  }
  const Operation operation = issue(stream);
  call->number = operation.number;
  expectOk("launch_host_func", vendor_.stream->launch_host_func(
                                   stream->handle, runHostCall, call.get()));
  if (call->writes) {
    noteWrite(buffer, operation);
  } else if (call->data != nullptr) {
    noteRead(buffer, operation);
  }
  calls_.push_back(std::move(call));
}

// Calls that must be refused, and leave no trace.
void Model::refuse() {
  const int32_t none = devices_ + static_cast<int32_t>(input_->below(3));
  // A vendor without devices may say so instead.
  const dipu_status_code code =
      devices_ == 0 ? DIPU_UNAVAILABLE : DIPU_INVALID_ARGUMENT;
  void* const untouched = this;
  void* data = untouched;
  expectCode("allocate on no device", vendor_.memory->allocate(none, 8, &data),
             code);
  expect(data == untouched, "an output of a failed call");
  expectCode("set_current of no device", vendor_.device->set_current(none),
             code);
  expectCode("synchronize of no device", vendor_.device->synchronize(none),
             code);
  dipu_stream* stream = static_cast<dipu_stream*>(untouched);
  const dipu_stream_create_args args{sizeof(args), none, 0};
  expectCode("stream create on no device",
             vendor_.stream->create(&args, &stream), code);
  expect(static_cast<void*>(stream) == untouched, "an output of a failed call");
  vendor_.memory->deallocate(0, nullptr);
  vendor_.memory->host_deallocate(nullptr);
  vendor_.event->destroy(nullptr);
  if (devices_ == 0) return;
  expectCode("allocate more than there is",
             vendor_.memory->allocate(0, std::size_t{1} << 60, &data),
             DIPU_RESOURCE_EXHAUSTED);
  expect(data == untouched, "an output of a failed call");
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  expectOk("get_info", vendor_.memory->get_info(0, &free_bytes, &total));
  expect(free_bytes <= total && total > 0, "the memory of a device");
}

}  // namespace dipu::fuzz
