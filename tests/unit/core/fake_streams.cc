// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/core/fake_streams.h"

#include <utility>

#include "tests/unit/core/fake_vendor.h"

namespace dipu::testing {

FakeStreams::FakeStreams() {
  for (int i = 0; i < kFakeDevices; ++i) defaults_.push_back(create(i));
}

FakeStreams::Stream& FakeStreams::of(dipu_stream* stream) {
  return *reinterpret_cast<Stream*>(stream);
}

std::shared_ptr<FakeStreams::Mark>& FakeStreams::of(dipu_event* event) {
  return *reinterpret_cast<std::shared_ptr<Mark>*>(event);
}

dipu_stream* FakeStreams::create(int /*device*/) {
  streams_.push_back(std::make_unique<Stream>());
  return reinterpret_cast<dipu_stream*>(streams_.back().get());
}

dipu_stream* FakeStreams::defaultOf(int device) { return defaults_[device]; }

void FakeStreams::hold(dipu_stream* stream) { of(stream).held = true; }

void FakeStreams::letGo(dipu_stream* stream) {
  of(stream).held = false;
  run();
}

void FakeStreams::finishAll() {
  for (const auto& stream : streams_) stream->held = false;
  run();
}

void FakeStreams::enqueue(dipu_stream* stream, std::function<void()> work) {
  push(stream, [work = std::move(work)] {
    work();
    return true;
  });
}

bool FakeStreams::idle(dipu_stream* stream) const {
  return of(stream).tasks.empty();
}

void FakeStreams::push(dipu_stream* stream, Task task) {
  of(stream).tasks.push_back(std::move(task));
  run();
}

void FakeStreams::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& stream : streams_) {
      while (!stream->held && !stream->tasks.empty()) {
        if (!stream->tasks.front()()) break;
        stream->tasks.pop_front();
        clock_ += 1;
        moved = true;
      }
    }
  }
}

dipu_event* FakeStreams::createEvent(bool timing) {
  auto* event = new std::shared_ptr<Mark>(std::make_shared<Mark>());
  (*event)->timing = timing;
  return reinterpret_cast<dipu_event*>(event);
}

void FakeStreams::destroyEvent(dipu_event* event) {
  if (event != nullptr) delete &of(event);
}

void FakeStreams::record(dipu_event* event, dipu_stream* stream) {
  std::shared_ptr<Mark> mark = of(event);
  const uint64_t number = ++mark->recorded;
  push(stream, [this, mark, number] {
    mark->reached = number;
    mark->time = clock_;
    return true;
  });
}

void FakeStreams::wait(dipu_stream* stream, dipu_event* event) {
  std::shared_ptr<Mark> mark = of(event);
  push(stream,
       [mark, number = mark->recorded] { return mark->reached >= number; });
}

bool FakeStreams::reached(dipu_event* event) const {
  return of(event)->reached == of(event)->recorded;
}

bool FakeStreams::timed(dipu_event* event) const {
  return of(event)->timing && reached(event);
}

double FakeStreams::timeOf(dipu_event* event) const { return of(event)->time; }

}  // namespace dipu::testing
