// SPDX-License-Identifier: Apache-2.0
//
// The streams and events of the fake vendor: a list of tasks per stream.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "core/abi/runtime.h"

namespace dipu::testing {

// Not thread-safe; the fake vendor's lock guards it.
class FakeStreams {
 public:
  FakeStreams();

  dipu_stream* create(int device);
  dipu_stream* defaultOf(int device);

  void hold(dipu_stream* stream);
  void letGo(dipu_stream* stream);
  // Lets all streams go and runs everything.
  void finishAll();

  void enqueue(dipu_stream* stream, std::function<void()> work);
  bool idle(dipu_stream* stream) const;

  dipu_event* createEvent(bool timing);
  void destroyEvent(dipu_event* event);
  void record(dipu_event* event, dipu_stream* stream);
  void wait(dipu_stream* stream, dipu_event* event);
  bool reached(dipu_event* event) const;
  // Whether it has timing and its last record has been reached.
  bool timed(dipu_event* event) const;
  // Milliseconds: the number of tasks run before the mark was reached.
  double timeOf(dipu_event* event) const;

 private:
  // What an event marks; kept by tasks beyond the event's destruction.
  struct Mark {
    uint64_t recorded = 0;
    uint64_t reached = 0;
    double time = 0;
    bool timing = false;
  };
  // Returns false as long as it cannot run.
  using Task = std::function<bool()>;
  struct Stream {
    bool held = false;
    std::deque<Task> tasks;
  };

  static Stream& of(dipu_stream* stream);
  static std::shared_ptr<Mark>& of(dipu_event* event);
  void push(dipu_stream* stream, Task task);
  // Runs what can run, until nothing moves.
  void run();

  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<dipu_stream*> defaults_;
  double clock_ = 0;
};

}  // namespace dipu::testing
