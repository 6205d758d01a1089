// SPDX-License-Identifier: Apache-2.0
//
// One capture under way, and the list of all. For capture*.cc only.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "softdevice/graph/capture.h"
#include "softdevice/graph/graph.h"

namespace dipu::softdevice {

// Guarded by the mutex of the list.
class Capture {
 public:
  Capture(uint64_t id, soft_stream* origin, soft_capture_mode mode,
          uint64_t thread);
  ~Capture();  // its streams are usable again
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  uint64_t id() const { return id_; }
  soft_stream* origin() const { return lanes_.front().stream; }
  bool isSpoilt() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }
  bool contains(const soft_stream* stream) const;
  bool contains(const Device& device) const;
  // Whether the thread may end it.
  bool mayEnd(uint64_t thread) const;
  // Whether unsafe calls of a thread with `mode` are forbidden.
  bool forbidsUnsafe(uint64_t thread, soft_capture_mode mode) const;

  // The first reason stays.
  void spoil(const char* reason);
  // SOFT_CAPTURE_INVALIDATED, telling the reason.
  soft_status failSpoilt(const char* function) const;

  // For a stream of this capture. `node` lacks lane and dependencies.
  void add(const soft_stream* stream, GraphNode node);
  void addPayload(const PayloadWriter& fill, GraphNode* node);
  std::vector<uint32_t> tips(const soft_stream* stream) const;
  // Adds dependencies; makes the stream a lane if it is none.
  void join(soft_stream* stream, const std::vector<uint32_t>& nodes);

  // The finished graph, when all branches are joined.
  soft_status finish(std::shared_ptr<const GraphBody>* out_body);

 private:
  struct Lane {
    soft_stream* stream;
    std::vector<uint32_t> tips;  // what the next node depends on
  };
  Lane* laneOf(const soft_stream* stream);
  const Lane* laneOf(const soft_stream* stream) const;

  const uint64_t id_;
  const soft_capture_mode mode_;
  const uint64_t thread_;
  std::string reason_;
  std::vector<Lane> lanes_;
  std::shared_ptr<GraphBody> body_;
};

// A number for the calling thread that no other ever has.
uint64_t thisThread();

// The captures under way, locked while this exists.
class Captures {
 public:
  Captures();

  Capture* of(const soft_stream* stream) const;  // nullptr: not captured
  Capture* withId(uint64_t id) const;            // nullptr: has ended
  const std::vector<std::unique_ptr<Capture>>& all() const;
  void begin(soft_stream* stream, soft_capture_mode mode);
  std::unique_ptr<Capture> remove(const Capture* capture);

 private:
  std::lock_guard<std::mutex> lock_;
};

// Notes a failure as fail() does and spoils the capture by it; if it is spoilt
// already, says so instead.
template <typename... Values>
soft_status spoil(Capture* capture, const char* function, soft_status status,
                  const char* format, const Values&... values) {
  if (capture->isSpoilt()) return capture->failSpoilt(function);
  fail(status, format, values...);
  capture->spoil(soft_last_message());
  return status;
}

}  // namespace dipu::softdevice
