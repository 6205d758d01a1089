// SPDX-License-Identifier: Apache-2.0
//
// Bandwidth of copies as a share of plain memcpy's.
//
// Both sides of a comparison alternate in one process and copy equal amounts
// between buffers of huge pages that have been touched. Asynchronous copies are
// enqueued in batches and waited for once. A ratio compares the best rounds of
// both, since what disturbs only takes time; above 1 the device is faster. With
// --json it prints, in Google Benchmark's form, the smallest ratio per
// direction of the sizes from kBandwidthBytes on: what smaller copies cost is
// not their bytes.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "softdevice/softdevice.h"

namespace {

constexpr std::size_t kLargest = std::size_t{256} << 20;
// Bytes per sample; the largest size is one copy.
constexpr std::size_t kSampleBytes = std::size_t{32} << 20;
constexpr std::size_t kMostCopies = 500;
// Rounds go on for this long, but there are at least kLeastRounds.
constexpr double kSeconds = 0.5;
constexpr int kLeastRounds = 5;
constexpr std::size_t kBandwidthBytes = std::size_t{1} << 20;

void check(soft_status status) {
  if (status == SOFT_OK) return;
  std::fprintf(stderr, "%s\n", soft_last_message());
  std::abort();
}

char* hostBuffer() {
  void* memory = mmap(nullptr, kLargest, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  madvise(memory, kLargest, MADV_HUGEPAGE);
  std::memset(memory, 1, kLargest);
  return static_cast<char*>(memory);
}

char* deviceBuffer(int32_t device) {
  void* memory = nullptr;
  soft_stream* stream = nullptr;
  check(soft_malloc(device, kLargest, &memory));
  check(soft_stream_get_default(device, &stream));
  check(soft_memset_async(memory, 1, kLargest, stream));
  check(soft_stream_synchronize(stream));
  return static_cast<char*>(memory);
}

// Gigabytes per second.
double bandwidth(std::size_t bytes, const std::function<void()>& copy) {
  const auto start = std::chrono::steady_clock::now();
  copy();
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  return static_cast<double>(bytes) / seconds.count() * 1e-9;
}

struct Direction {
  const char* name;
  char* dst;
  const char* src;
  bool waits;  // each copy by soft_memcpy
};

// Prints a line to stderr and returns the ratio.
double compare(const Direction& direction, std::size_t bytes,
               soft_stream* stream, char* host_dst, const char* host_src) {
  const std::size_t copies =
      std::clamp<std::size_t>(kSampleBytes / bytes, 1, kMostCopies);
  auto plain = [&] {
    for (std::size_t i = 0; i < copies; ++i) {
      std::memcpy(host_dst, host_src, bytes);
      asm volatile("" ::: "memory");
    }
  };
  auto device = [&] {
    for (std::size_t i = 0; i < copies; ++i) {
      if (direction.waits) {
        check(soft_memcpy(direction.dst, direction.src, bytes));
      } else {
        check(soft_memcpy_async(direction.dst, direction.src, bytes, stream));
      }
    }
    check(soft_stream_synchronize(stream));
  };
  plain();
  device();
  double best_plain = 0;
  double best_device = 0;
  const auto start = std::chrono::steady_clock::now();
  std::chrono::duration<double> spent{0};
  for (int round = 0; round < kLeastRounds || spent.count() < kSeconds;
       ++round) {
    best_plain = std::max(best_plain, bandwidth(copies * bytes, plain));
    best_device = std::max(best_device, bandwidth(copies * bytes, device));
    spent = std::chrono::steady_clock::now() - start;
  }
  const double ratio = best_device / best_plain;
  std::fprintf(stderr, "%-24s %10zu B %8.2f GB/s %6.2f of memcpy\n",
               direction.name, bytes, best_device, ratio);
  return ratio;
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  setenv("SOFTDEVICE_COUNT", "2", 0);
  setenv("SOFTDEVICE_MEMORY", "1G", 0);
  char* const from = hostBuffer();
  char* const to = hostBuffer();
  char* const pinned = hostBuffer();
  check(soft_host_register(pinned, kLargest));
  char* const first = deviceBuffer(0);
  char* const second = deviceBuffer(0);
  char* const peer = deviceBuffer(1);
  soft_stream* stream = nullptr;
  check(soft_stream_create(0, 0, SOFT_STREAM_NON_BLOCKING, &stream));
  const Direction directions[] = {
      {"pinned to device", first, pinned, false},
      {"device to pinned", pinned, first, false},
      {"pageable to device", first, from, true},
      {"device to pageable", to, first, true},
      {"device to same device", second, first, false},
      {"device to other device", peer, first, false},
  };
  const char* separator = "{\"benchmarks\": [";
  for (const Direction& direction : directions) {
    double smallest = HUGE_VAL;
    for (std::size_t bytes = json ? kBandwidthBytes : std::size_t{4} << 10;
         bytes <= kLargest; bytes *= 16) {
      const double ratio = compare(direction, bytes, stream, to, from);
      if (bytes >= kBandwidthBytes) smallest = std::min(smallest, ratio);
    }
    if (!json) continue;
    std::printf("%s{\"name\": \"%s\", \"ratio\": %.4f}", separator,
                direction.name, smallest);
    separator = ", ";
  }
  if (json) std::printf("]}\n");
  return 0;
}
