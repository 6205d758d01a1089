// SPDX-License-Identifier: Apache-2.0
//
// A model of the runtime tables: it makes calls that an input chooses, keeps a
// shadow of all memory, and compares what the vendor answers with what it must.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/abi/vendor_api.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/clock.h"

namespace dipu::fuzz {

// Note [Predicting contents]
// Streams run at the same time, so contents are predictable only for programs
// without races. The model therefore tracks with vector clocks what is ordered
// before what. Where two operations would race it first orders them, in a way
// that the input chooses: by an event, by synchronising, by polling. What it
// does not order it leaves alone, so a vendor that takes an order for granted,
// or forgets one, is found.

struct Stream {
  uint32_t id = 0;
  dipu_stream* handle = nullptr;  // may be NULL for a default stream
  int32_t device = 0;
  bool is_default = false;
  bool is_destroyed = false;
  uint64_t issued = 0;
  Clock before;  // its next operation waits for this
  // Number of the last host function that has run.
  std::shared_ptr<std::atomic<uint64_t>> last_run;

  Operation last() const { return {id, issued}; }
};

struct Event {
  dipu_event* handle = nullptr;
  int32_t device = 0;
  bool has_timing = false;
  bool recorded = false;
  Clock reached;  // what a wait for it waits for
};

enum class Place : uint8_t { kDevice, kPinned, kPageable };

struct Buffer {
  Place place = Place::kDevice;
  int32_t device = DIPU_HOST;
  uint8_t* data = nullptr;
  std::vector<uint8_t> shadow;   // what it holds when all is done
  std::vector<uint8_t> storage;  // of pageable memory
  Operation write;               // the last one
  std::vector<Operation> reads;  // since then
};

// What a host function does, and whether it has.
struct HostCall {
  uint64_t number = 0;  // the operation's in its stream
  std::shared_ptr<std::atomic<uint64_t>> last_run;
  uint8_t* data = nullptr;
  std::vector<uint8_t> bytes;  // what `data` must hold, or gets
  bool writes = false;
  std::atomic<int> runs{0};
};

class Model {
 public:
  // Initialises the vendor at the first use in the process.
  explicit Model(Bytes* input);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Makes the calls, then checks all memory and gives everything back. Ends
  // the process with a message when something is not as it must be.
  void run();

 private:
  // Checks: each names the call.
  static void expectOk(const char* call, dipu_error* error);
  static void expectCode(const char* call, dipu_error* error,
                         dipu_status_code code);
  static void expect(bool condition, const char* what);

  void step();
  void finish();

  // model_streams.cc
  void createStream();
  void destroyStream();
  void queryStream();
  void synchronizeStream();
  void synchronizeDevice();
  void createEvent();
  void destroyEvent();
  void recordEvent();
  void waitEvent();
  void queryEvent();
  void synchronizeEvent();
  void elapsed();
  void callHost();
  void refuse();
  // Orders `earlier` before the next operation of `stream`, or before the
  // host's next call when that is nullptr.
  void order(const Operation& earlier, Stream* stream);
  void orderByEvent(Stream* first, Stream* second);
  void pollUntilDone(Stream* stream);
  void waitForDevice(int32_t device);
  // The stream has run everything.
  void noteDone(const Stream& stream);
  Operation issue(Stream* stream);
  Stream* pickStream(int32_t device);
  Stream* pickAnyStream();
  Event* pickEvent();

  // model_memory.cc
  void allocate();
  void release();
  void copyAsync();
  void copyNow();
  void copy2d();
  void fill();
  void checkContents();
  void describePointer();
  Buffer* pickBuffer();
  void releaseBuffer(std::size_t index);
  void compare(const Buffer& buffer);
  void scribble(Buffer* buffer);
  void orderRead(const Buffer& buffer, Stream* stream);
  void orderWrite(const Buffer& buffer, Stream* stream);
  void noteRead(Buffer* buffer, const Operation& operation);
  void noteWrite(Buffer* buffer, const Operation& operation);

  Bytes* const input_;
  const dipu_vendor& vendor_;
  int32_t devices_ = 0;
  int32_t current_device_ = 0;
  uint32_t next_stream_ = 0;
  Clock host_;
  std::vector<std::unique_ptr<Stream>> streams_;  // destroyed ones too
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<std::unique_ptr<HostCall>> calls_;
};

// Runs one input.
void runInput(const uint8_t* data, std::size_t size);

// The last input given to runInput, as hexadecimal digits.
std::string inputText(const uint8_t* data, std::size_t size);

}  // namespace dipu::fuzz
