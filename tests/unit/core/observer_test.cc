// SPDX-License-Identifier: Apache-2.0
#include "core/observe/observer.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "core/allocator/device_allocator.h"
#include "core/runtime/event.h"
#include "core/runtime/memory.h"
#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using observe::Range;
using observe::Stream;
using testing::CurrentStream;
using testing::StreamHold;
using Told = std::vector<std::string>;

std::string text(const Stream& stream) {
  return std::to_string(stream.device) + "/" + std::to_string(stream.id);
}

std::string text(const c10::Stream& stream) {
  return text(Stream{stream.device_index(), stream.id()});
}

std::string text(const Range& range) {
  return std::to_string(range.bytes) + "@" + std::to_string(range.device);
}

// Writes down what it is told.
class Writer final : public observe::Observer {
 public:
  void onRecord(const void* event, Stream stream) noexcept override {
    told.push_back("record " + text(stream));
    last_event = event;
  }
  void onWait(Stream stream, const void* event) noexcept override {
    told.push_back("wait " + text(stream));
    EXPECT_EQ(event, last_event);
  }
  void onEventDone(const void*) noexcept override {
    told.emplace_back("event done");
  }
  void onStreamDone(Stream stream) noexcept override {
    told.push_back("stream done " + text(stream));
  }
  void onDeviceDone(int32_t device) noexcept override {
    told.push_back("device done " + std::to_string(device));
  }
  void onFree(const Range& memory, Stream owner,
              const std::vector<Stream>& users) noexcept override {
    std::string line = "free " + text(memory) + " of " + text(owner);
    for (const Stream& user : users) line += " used by " + text(user);
    told.push_back(line);
  }
  void onAllocate(const Range& memory, Stream owner) noexcept override {
    told.push_back("allocate " + text(memory) + " for " + text(owner));
  }
  void onCopy(const Range& to, const Range& from, Stream stream) override {
    told.push_back("copy " + text(from) + " to " + text(to) + " on " +
                   text(stream));
    if (refuses) throw std::runtime_error("refused");
  }

  Told told;
  const void* last_event = nullptr;
  bool refuses = false;
};

class ObserverTest : public testing::FakeVendorTest {
 protected:
  void SetUp() override {
    FakeVendorTest::SetUp();
    runtime::synchronizeDevice(0);
    writer().told.clear();
    observe::setObserver(&writer());
  }
  void TearDown() override {
    observe::setObserver(nullptr);
    writer().refuses = false;
  }

  // Lives for ever, as observers have to.
  static Writer& writer() {
    static auto* const instance = new Writer;
    return *instance;
  }

  const c10::Stream side_ = runtime::newStream(0, 0);
  const std::string name_ = text(side_);
};

TEST_F(ObserverTest, IsToldOfMarksAndWaits) {
  const runtime::PooledEvent event = runtime::acquireEvent(0, /*timing=*/true);
  StreamHold hold(side_);
  runtime::recordEvent(*event, runtime::recordOf(side_));
  runtime::waitEvent(runtime::currentStreamRecord(0), *event);
  EXPECT_FALSE(runtime::queryEvent(*event));
  EXPECT_FALSE(runtime::queryStream(side_));
  EXPECT_EQ(writer().told, (Told{"record " + name_, "wait 0/0"}))
      << "what is not done yet is not told";
  writer().told.clear();
  runtime::synchronizeEvent(*event);
  EXPECT_TRUE(runtime::queryEvent(*event));
  runtime::elapsedMs(*event, *event);
  EXPECT_EQ(writer().told, Told(4, "event done"));
}

TEST_F(ObserverTest, IsToldWhatIsDone) {
  runtime::synchronizeStream(side_);
  EXPECT_TRUE(runtime::queryStream(side_));
  runtime::synchronizeDevice(0);
  const std::string done = "stream done " + name_;
  EXPECT_EQ(writer().told, (Told{done, done, "device done 0"}));
}

TEST_F(ObserverTest, IsToldOfMemory) {
  c10::DataPtr data = allocator::allocate(1000, 0);
  data.clear();
  {
    const CurrentStream current(side_);
    data = allocator::allocate(1000, 0);
  }
  allocator::recordStream(data.get(), runtime::defaultStream(0));
  data.clear();
  EXPECT_EQ(writer().told,
            (Told{"allocate 1024@0 for 0/0", "free 1024@0 of 0/0",
                  "allocate 1024@0 for " + name_,
                  "free 1024@0 of " + name_ + " used by 0/0", "record 0/0"}));
}

TEST_F(ObserverTest, IsToldOfCopiesBeforeTheyAreEnqueued) {
  char from = 1;
  char to = 0;
  const CurrentStream current(side_);
  runtime::copyAsync(&to, 0, &from, DIPU_HOST, 1, runtime::handleOf(side_));
  runtime::copy(&from, DIPU_HOST, &to, 0, 1);
  EXPECT_EQ(writer().told,
            (Told{"copy 1@-1 to 1@0 on " + name_,
                  "copy 1@0 to 1@-1 on " + name_, "stream done " + name_}));
  writer().refuses = true;
  to = 7;
  EXPECT_THROW(
      runtime::copyAsync(&to, 0, &from, DIPU_HOST, 1, runtime::handleOf(side_)),
      std::runtime_error);
  EXPECT_EQ(to, 7);
}

TEST_F(ObserverTest, IsToldWhichStreamCopiesBetweenDevices) {
  char from = 1;
  char to = 0;
  runtime::copyBetweenDevices(&to, 1, &from, 0, 1);
  EXPECT_EQ(writer().told,
            (Told{"record 1/0", "wait 0/0", "copy 1@0 to 1@1 on 0/0",
                  "record 0/0", "wait 1/0"}));
}

TEST_F(ObserverTest, NobodyIsToldWithoutOne) {
  observe::setObserver(nullptr);
  runtime::synchronizeDevice(0);
  allocator::allocate(1000, 0);
  EXPECT_EQ(writer().told, Told());
}

}  // namespace
}  // namespace dipu
