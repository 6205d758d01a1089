// SPDX-License-Identifier: Apache-2.0
//
// dipu_graph_api.
#include <atomic>
#include <cstdint>
#include <vector>

#include "tests/cts/fixture.h"

namespace dipu::cts {
namespace {

constexpr size_t kBytes = 4096;

const dipu_graph_api& graphApi() { return *vendor().graph; }

class Graphs : public VendorTest {
 protected:
  void SetUp() override {
    VendorTest::SetUp();
    if (IsSkipped()) return;
    if (vendor().graph == nullptr) {
      GTEST_SKIP() << "the vendor has no graph table";
    }
  }
};

// What a capture gave, ready to be replayed.
class Recording {
 public:
  // Records the work that `body` enqueues on `stream`.
  template <typename Body>
  Recording(const Stream& stream, const Body& body) {
    EXPECT_TRUE(succeeded(
        graphApi().begin_capture(stream.get(), DIPU_CAPTURE_THREAD_LOCAL)));
    body();
    EXPECT_TRUE(succeeded(graphApi().end_capture(stream.get(), &graph_)));
    EXPECT_TRUE(succeeded(graphApi().instantiate(graph_, &exec_)));
  }
  ~Recording() {
    graphApi().destroy_exec(exec_);
    graphApi().destroy(graph_);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void replay(const Stream& stream) const {
    ASSERT_TRUE(succeeded(graphApi().launch(exec_, stream.get())));
  }
  // An executable graph outlives its graph.
  void dropGraph() {
    graphApi().destroy(graph_);
    graph_ = nullptr;
  }

 private:
  dipu_graph* graph_ = nullptr;
  dipu_graph_exec* exec_ = nullptr;
};

void fill(const DeviceBuffer& buffer, uint8_t value, const Stream& stream) {
  ASSERT_TRUE(succeeded(memoryApi().set_async(buffer.get(), buffer.device(),
                                              value, kBytes, stream.get())));
}

void copy(const DeviceBuffer& to, const DeviceBuffer& from,
          const Stream& stream) {
  ASSERT_TRUE(succeeded(memoryApi().copy_async(
      to.get(), to.device(), from.get(), from.device(), kBytes, stream.get())));
}

std::vector<uint8_t> filled(uint8_t value) {
  return std::vector<uint8_t>(kBytes, value);
}

dipu_capture_status statusOf(const Stream& stream) {
  dipu_capture_status status = -1;
  EXPECT_TRUE(succeeded(graphApi().get_capture_status(stream.get(), &status)));
  return status;
}

TEST_F(Graphs, WorkIsRecordedInsteadOfRun) {
  const Stream stream(0);
  const DeviceBuffer source(0, kBytes);
  const DeviceBuffer target(0, kBytes);
  fill(source, 1, stream);
  fill(target, 2, stream);
  stream.synchronize();
  EXPECT_EQ(statusOf(stream), DIPU_CAPTURE_NONE);
  const Recording recording(stream, [&] {
    EXPECT_EQ(statusOf(stream), DIPU_CAPTURE_ACTIVE);
    copy(target, source, stream);
    fill(source, 7, stream);
  });
  EXPECT_EQ(statusOf(stream), DIPU_CAPTURE_NONE);
  stream.synchronize();
  EXPECT_EQ(readBack(target.get(), 0, kBytes), filled(2)) << "nothing ran";
  for (const uint8_t expected : {1, 7}) {
    recording.replay(stream);
    stream.synchronize();
    EXPECT_EQ(readBack(target.get(), 0, kBytes), filled(expected));
    EXPECT_EQ(readBack(source.get(), 0, kBytes), filled(7));
  }
}

TEST_F(Graphs, AReplayTakesItsTurnOnTheStream) {
  const Stream stream(0);
  const Stream other(0);
  const DeviceBuffer first(0, kBytes);
  const DeviceBuffer second(0, kBytes);
  Recording recording(stream, [&] { copy(second, first, stream); });
  recording.dropGraph();
  fill(first, 3, other);
  recording.replay(other);
  fill(first, 4, other);
  other.synchronize();
  EXPECT_EQ(readBack(second.get(), 0, kBytes), filled(3));
}

TEST_F(Graphs, HostFunctionsAreReplayed) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream stream(0);
  std::atomic<int> runs{0};
  const Recording recording(stream, [&] {
    ASSERT_TRUE(succeeded(streamApi().launch_host_func(
        stream.get(),
        [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &runs)));
  });
  EXPECT_EQ(runs, 0);
  for (int i = 0; i < 5; ++i) recording.replay(stream);
  stream.synchronize();
  EXPECT_EQ(runs, 5);
}

TEST_F(Graphs, StreamsForkAndJoinByEvents) {
  const Stream stream(0);
  const Stream branch(0);
  const Event fork(0);
  const Event join(0);
  const DeviceBuffer source(0, kBytes);
  const DeviceBuffer left(0, kBytes);
  const DeviceBuffer right(0, kBytes);
  const Recording recording(stream, [&] {
    fill(source, 9, stream);
    ASSERT_TRUE(succeeded(eventApi().record(fork.get(), stream.get())));
    ASSERT_TRUE(succeeded(streamApi().wait_event(branch.get(), fork.get())));
    EXPECT_EQ(statusOf(branch), DIPU_CAPTURE_ACTIVE);
    copy(left, source, branch);
    copy(right, source, stream);
    ASSERT_TRUE(succeeded(eventApi().record(join.get(), branch.get())));
    ASSERT_TRUE(succeeded(streamApi().wait_event(stream.get(), join.get())));
    copy(source, left, stream);
  });
  EXPECT_EQ(statusOf(branch), DIPU_CAPTURE_NONE);
  for (int i = 0; i < 3; ++i) {
    fill(left, 0, stream);
    fill(right, 0, stream);
    recording.replay(stream);
    stream.synchronize();
    for (const DeviceBuffer* buffer : {&source, &left, &right}) {
      EXPECT_EQ(readBack(buffer->get(), 0, kBytes), filled(9));
    }
  }
}

TEST_F(Graphs, AnUnjoinedBranchIsAnError) {
  const Stream stream(0);
  const Stream branch(0);
  const Event fork(0);
  const DeviceBuffer buffer(0, kBytes);
  ASSERT_TRUE(succeeded(
      graphApi().begin_capture(stream.get(), DIPU_CAPTURE_THREAD_LOCAL)));
  ASSERT_TRUE(succeeded(eventApi().record(fork.get(), stream.get())));
  ASSERT_TRUE(succeeded(streamApi().wait_event(branch.get(), fork.get())));
  fill(buffer, 1, branch);
  dipu_graph* graph = nullptr;
  const ErrorPtr error(graphApi().end_capture(stream.get(), &graph));
  EXPECT_NE(error, nullptr);
  EXPECT_EQ(graph, nullptr) << "outputs are untouched on error";
  EXPECT_EQ(statusOf(stream), DIPU_CAPTURE_NONE);
  EXPECT_EQ(statusOf(branch), DIPU_CAPTURE_NONE);
  fill(buffer, 2, branch);
  branch.synchronize();
}

TEST_F(Graphs, SynchronisingACapturedStreamInvalidatesIt) {
  const Stream stream(0);
  ASSERT_TRUE(succeeded(
      graphApi().begin_capture(stream.get(), DIPU_CAPTURE_THREAD_LOCAL)));
  const ErrorPtr error(streamApi().synchronize(stream.get()));
  EXPECT_NE(error, nullptr);
  EXPECT_EQ(statusOf(stream), DIPU_CAPTURE_INVALIDATED);
  dipu_graph* graph = nullptr;
  const ErrorPtr end_error(graphApi().end_capture(stream.get(), &graph));
  EXPECT_NE(end_error, nullptr);
  EXPECT_EQ(statusOf(stream), DIPU_CAPTURE_NONE);
  stream.synchronize();
}

TEST_F(Graphs, AnEndNeedsABegin) {
  const Stream stream(0);
  dipu_graph* graph = nullptr;
  const ErrorPtr error(graphApi().end_capture(stream.get(), &graph));
  EXPECT_NE(error, nullptr);
  EXPECT_EQ(graph, nullptr);
  graphApi().destroy(nullptr);
  graphApi().destroy_exec(nullptr);
}

}  // namespace
}  // namespace dipu::cts
