// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <numeric>
#include <vector>

#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

class CopyTest : public DeviceTest {
 protected:
  static std::vector<int> pattern(std::size_t count, int start) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), start);
    return values;
  }
};

// From the inline, the staged and the direct way of a pageable copy.
TEST_F(CopyTest, RoundTripOfAnySize) {
  soft_stream* stream = makeStream(0);
  for (const std::size_t count : {1u, 40u, 60u, 5000u, 16384u, 100000u}) {
    auto* data = makeArray<int>(0, count);
    const auto source = pattern(count, 3);
    std::vector<int> result(count);
    ASSERT_OK(soft_memcpy_async(data, source.data(), count * 4, stream));
    ASSERT_OK(soft_memcpy_async(result.data(), data, count * 4, stream));
    EXPECT_EQ(result, source) << "a pageable destination is ready on return";
  }
}

TEST_F(CopyTest, PageableSourceMayChangeAfterTheCall) {
  soft_stream* stream = makeStream(0);
  auto* data = makeArray<int>(0, 1000);
  Latch latch;
  latch.hold(stream);
  auto source = pattern(1000, 0);
  ASSERT_OK(soft_memcpy_async(data, source.data(), 4000, stream));
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(stream));
  std::fill(source.begin(), source.end(), -1);
  latch.open();
  std::vector<int> result(1000);
  ASSERT_OK(soft_memcpy_async(result.data(), data, 4000, stream));
  EXPECT_EQ(result, pattern(1000, 0));
}

TEST_F(CopyTest, PinnedCopiesAreAsynchronousInBothDirections) {
  soft_stream* stream = makeStream(0);
  auto* data = makeArray<int>(0, 100000);
  void* memory = nullptr;
  ASSERT_OK(soft_host_malloc(800000, &memory));
  int* source = static_cast<int*>(memory);
  int* result = source + 100000;
  std::fill_n(source, 200000, 0);
  Latch latch;
  latch.hold(stream);
  ASSERT_OK(soft_memcpy_async(data, source, 400000, stream));
  ASSERT_OK(soft_memcpy_async(result, data, 400000, stream));
  // The copy reads the source when it runs, not when it is enqueued.
  source[7] = 99;
  EXPECT_EQ(result[7], 0);
  latch.open();
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(result[7], 99);
  ASSERT_OK(soft_host_free(memory));
}

TEST_F(CopyTest, BetweenDevicesWithoutPeerAccess) {
  soft_stream* stream = makeStream(0);
  auto* first = makeArray<int>(0, 5000);
  auto* second = makeArray<int>(1, 5000);
  const auto source = pattern(5000, 11);
  ASSERT_OK(soft_memcpy_async(first, source.data(), 20000, stream));
  ASSERT_OK(soft_memcpy_async(second, first, 20000, stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  std::vector<int> result(5000);
  ASSERT_OK(soft_memcpy(result.data(), second, 20000));
  EXPECT_EQ(result, source);
}

TEST_F(CopyTest, BlockingCopyFollowsTheDefaultStreams) {
  soft_stream* first = nullptr;
  ASSERT_OK(soft_stream_get_default(0, &first));
  auto* data = makeArray<int>(0, 1);
  auto* backing = static_cast<int*>(soft_translate(first, data, 4));
  ASSERT_OK(soft_memset_async(data, 0, 4, first));
  for (int i = 0; i < 2000; ++i) {
    ASSERT_OK(launch(first, [backing] { ++*backing; }));
  }
  int value = 0;
  ASSERT_OK(soft_memcpy(&value, data, sizeof(value)));
  EXPECT_EQ(value, 2000);
}

TEST_F(CopyTest, FillsWithTheLowByte) {
  soft_stream* stream = makeStream(0);
  auto* data = makeArray<unsigned char>(0, 100);
  std::vector<unsigned char> result(100);
  ASSERT_OK(soft_memset_async(data, 0, 100, stream));
  ASSERT_OK(soft_memset_async(data + 10, 0x1ab, 80, stream));
  ASSERT_OK(soft_memcpy_async(result.data(), data, 100, stream));
  EXPECT_EQ(result[9], 0);
  EXPECT_EQ(result[10], 0xab);
  EXPECT_EQ(result[89], 0xab);
  EXPECT_EQ(result[90], 0);
}

TEST_F(CopyTest, RangesAreChecked) {
  soft_stream* stream = makeStream(0);
  auto* data = makeArray<char>(0, 512);
  std::vector<char> host(2048);
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memcpy_async(data, host.data(), 513, stream));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_memcpy(host.data(), data + 500, 13));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_memcpy(nullptr, data, 1));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memset_async(host.data(), 0, 10, stream));
  EXPECT_SOFT(SOFT_INVALID_HANDLE,
              soft_memcpy_async(data, host.data(), 1, nullptr));
  EXPECT_OK(soft_memcpy(nullptr, nullptr, 0));
  EXPECT_OK(soft_stream_synchronize(stream)) << "no sticky error remains";
}

}  // namespace
}  // namespace dipu::softdevice
