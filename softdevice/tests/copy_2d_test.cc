// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include "softdevice/soft_copy_2d.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

constexpr std::size_t kRows = 7;

// One memory of each kind that a rectangle may lie in, all of one size.
class Copy2dTest : public DeviceTest {
 protected:
  static constexpr std::size_t kBytes = 256 << 10;

  void SetUp() override {
    stream_ = makeStream(0);
    ASSERT_OK(soft_host_malloc(kBytes, &pinned_));
    pageable_.resize(kBytes);
  }
  void TearDown() override {
    EXPECT_OK(soft_host_free(pinned_));
    DeviceTest::TearDown();
  }

  std::vector<void*> sides() {
    return {makeArray<char>(0, kBytes), makeArray<char>(1, kBytes), pinned_,
            pageable_.data()};
  }
  static std::vector<char> pattern() {
    std::vector<char> values(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) values[i] = i * 31 + i / 251;
    return values;
  }
  std::vector<char> read(const void* ptr) {
    EXPECT_OK(soft_stream_synchronize(stream_));
    std::vector<char> values(kBytes);
    EXPECT_OK(soft_memcpy(values.data(), ptr, kBytes));
    return values;
  }
  void write(void* ptr, const std::vector<char>& values) {
    EXPECT_OK(soft_memcpy(ptr, values.data(), values.size()));
  }
  // What a destination of zeros holds after the copy.
  static std::vector<char> expected(std::size_t dst_pitch,
                                    std::size_t src_pitch,
                                    std::size_t row_bytes) {
    const std::vector<char> source = pattern();
    std::vector<char> result(kBytes, 0);
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t i = 0; i < row_bytes; ++i) {
        result[row * dst_pitch + i] = source[row * src_pitch + i];
      }
    }
    return result;
  }

  soft_stream* stream_ = nullptr;
  void* pinned_ = nullptr;
  std::vector<char> pageable_;
};

// Small rows are staged, large ones waited for: both ways of each combination.
TEST_F(Copy2dTest, BetweenAllSides) {
  const std::vector<char> zeros(kBytes, 0);
  const auto targets = sides();
  auto sources = sides();
  std::vector<char> other_pageable(kBytes);
  void* other_pinned = nullptr;
  ASSERT_OK(soft_host_malloc(kBytes, &other_pinned));
  sources[2] = other_pinned;
  sources[3] = other_pageable.data();
  for (const std::size_t row_bytes : {5u, 30000u}) {
    const auto result = expected(row_bytes + 12, row_bytes + 3, row_bytes);
    for (void* dst : targets) {
      for (void* src : sources) {
        write(src, pattern());
        write(dst, zeros);
        ASSERT_OK(soft_memcpy_2d_async(dst, row_bytes + 12, src, row_bytes + 3,
                                       row_bytes, kRows, stream_));
        ASSERT_EQ(read(dst), result) << "asynchronous";
        write(dst, zeros);
        ASSERT_OK(soft_memcpy_2d(dst, row_bytes + 12, src, row_bytes + 3,
                                 row_bytes, kRows));
        ASSERT_EQ(read(dst), result) << "waiting";
      }
    }
  }
  ASSERT_OK(soft_host_free(other_pinned));
}

TEST_F(Copy2dTest, PageableSourceMayChangeAfterTheCall) {
  auto* data = makeArray<char>(0, kBytes);
  write(data, std::vector<char>(kBytes, 0));
  pageable_ = pattern();
  Latch latch;
  latch.hold(stream_);
  ASSERT_OK(soft_memcpy_2d_async(data, 100, pageable_.data(), 40, 30, kRows,
                                 stream_));
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(stream_));
  std::fill(pageable_.begin(), pageable_.end(), -1);
  latch.open();
  EXPECT_EQ(read(data), expected(100, 40, 30));
}

TEST_F(Copy2dTest, PinnedCopyIsOneAsynchronousTask) {
  auto* data = makeArray<char>(0, kBytes);
  auto* pinned = static_cast<char*>(pinned_);
  std::fill_n(pinned, kBytes, 1);
  Latch latch;
  latch.hold(stream_);
  // Far more rows than a stream has places for tasks.
  ASSERT_OK(
      soft_memcpy_2d_async(data, 16, pinned, 16, 3, kBytes / 16, stream_));
  pinned[16] = 99;
  latch.open();
  EXPECT_EQ(read(data)[16], 99);
}

TEST_F(Copy2dTest, ContiguousRowsMayOverlapAsOneRange) {
  auto* data = makeArray<char>(0, kBytes);
  write(data, pattern());
  ASSERT_OK(
      soft_memcpy_2d_async(data + 100, 1000, data, 1000, 1000, 100, stream_));
  auto result = pattern();
  std::memmove(result.data() + 100, result.data(), 100000);
  EXPECT_EQ(read(data), result);
}

TEST_F(Copy2dTest, FillsRowsOnly) {
  for (void* dst : {static_cast<void*>(makeArray<char>(0, kBytes)),
                    static_cast<void*>(makeArray<char>(1, kBytes)), pinned_}) {
    write(dst, std::vector<char>(kBytes, 0));
    ASSERT_OK(soft_memset_2d_async(dst, 50, 0x1ab, 20, kRows, stream_));
    std::vector<char> result(kBytes, 0);
    for (std::size_t row = 0; row < kRows; ++row) {
      std::fill_n(result.begin() + row * 50, 20, '\xab');
    }
    EXPECT_EQ(read(dst), result);
  }
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memset_2d_async(pageable_.data(), 8, 0, 8, 1, stream_));
}

// The range ends with the last row, not with its pitch.
TEST_F(Copy2dTest, ExtentIsExact) {
  auto* data = makeArray<char>(0, 6 * 512 + 512);
  char* const end = data + 6 * 512 + 512;
  constexpr std::size_t kPitch = 600;
  char* const fits = end - (2 * kPitch + 10);
  EXPECT_OK(soft_memcpy_2d_async(fits, kPitch, pinned_, 10, 10, 3, stream_));
  EXPECT_OK(soft_memset_2d_async(fits, kPitch, 0, 10, 3, stream_));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memcpy_2d_async(fits, kPitch, pinned_, 11, 11, 3, stream_));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_memcpy_2d_async(pinned_, 10, fits + 1,
                                                       kPitch, 10, 3, stream_));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memset_2d_async(fits + 1, kPitch, 0, 10, 3, stream_));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memcpy_2d(pinned_, 10, fits + 1, kPitch, 10, 3));
}

TEST_F(Copy2dTest, OverflowAndNarrowPitchAreErrors) {
  auto* data = makeArray<char>(0, 4096);
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memcpy_2d_async(data, 9, pinned_, 10, 10, 2, stream_));
  EXPECT_NE(std::string(soft_last_message()).find("pitch of 9 bytes"),
            std::string::npos);
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memcpy_2d_async(data, 10, pinned_, 9, 10, 1, stream_));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memset_2d_async(data, 9, 0, 10, 2, stream_));
  // (rows - 1) * pitch wraps around to a small number.
  const std::size_t huge = std::size_t{1} << 63;
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memcpy_2d_async(data, huge, pinned_, 1, 1, 3, stream_));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memcpy_2d_async(data, 1, pageable_.data(), SIZE_MAX - 8, 1,
                                   2, stream_));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memset_2d_async(data, huge, 0, 1, 3, stream_));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_memcpy_2d(data, 1, nullptr, 1, 1, 1));
  EXPECT_SOFT(SOFT_INVALID_HANDLE,
              soft_memcpy_2d_async(data, 1, pinned_, 1, 1, 1, nullptr));
}

TEST_F(Copy2dTest, NothingToDoIsFine) {
  EXPECT_OK(soft_memcpy_2d_async(nullptr, 0, nullptr, 0, 0, 9, stream_));
  EXPECT_OK(soft_memcpy_2d_async(nullptr, 8, nullptr, 8, 8, 0, stream_));
  EXPECT_OK(soft_memcpy_2d(nullptr, 0, nullptr, 0, 0, 0));
  EXPECT_OK(soft_memset_2d_async(nullptr, 0, 0, 0, 5, stream_));
  EXPECT_OK(soft_stream_synchronize(stream_));
}

}  // namespace
}  // namespace dipu::softdevice
