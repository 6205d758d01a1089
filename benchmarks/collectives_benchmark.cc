// SPDX-License-Identifier: Apache-2.0
//
// All-reduce of float32 between forked processes. Arguments: the number of
// ranks, then sizes in bytes. Prints "bytes microseconds" for each, the time
// from the call to the end of the work on one rank.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "vendors/droplet/tang/pccl/pccl.h"

namespace {

using Clock = std::chrono::steady_clock;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s: %s\n", what, pcclGetLastError(nullptr));
  std::_Exit(1);
}

class Ranks {
 public:
  Ranks(const pcclUniqueId& id, int size, int rank) : rank_(rank) {
    require(tangMalloc(&data_, kMaxBytes) == tangSuccess, "tangMalloc");
    require(tangStreamCreate(&stream_) == tangSuccess, "tangStreamCreate");
    require(pcclCommInitRank(&comm_, size, id, rank) == pcclSuccess,
            "pcclCommInitRank");
    require(tangMemset(data_, 0, kMaxBytes) == tangSuccess, "tangMemset");
  }

  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

  // Median of several batches; all ranks run the same number of calls.
  void measure(std::size_t bytes) {
    const int calls = static_cast<int>(
        std::clamp<std::size_t>((std::size_t{128} << 20) / bytes, 2, 2000));
    constexpr int kBatches = 7;
    std::vector<double> times;
    run(bytes, std::max(calls / 4, 2));
    for (int batch = 0; batch < kBatches; ++batch) {
      const auto start = Clock::now();
      run(bytes, calls);
      times.push_back(
          std::chrono::duration<double, std::micro>(Clock::now() - start)
              .count() /
          calls);
    }
    std::sort(times.begin(), times.end());
    if (rank_ == 0) std::printf("%zu %.3f\n", bytes, times[kBatches / 2]);
  }

 private:
  void run(std::size_t bytes, int calls) {
    for (int i = 0; i < calls; ++i) {
      require(pcclAllReduce(data_, data_, bytes / sizeof(float), pcclFloat,
                            pcclSum, comm_, stream_) == pcclSuccess,
              "pcclAllReduce");
      require(tangStreamSynchronize(stream_) == tangSuccess,
              "tangStreamSynchronize");
    }
  }

  int rank_;
  void* data_ = nullptr;
  tangStream_t stream_ = nullptr;
  pcclComm_t comm_ = nullptr;
};

void runRank(const pcclUniqueId& id, int size, int rank, int argc,
             char** argv) {
  Ranks ranks(id, size, rank);
  for (int i = 2; i < argc; ++i) {
    ranks.measure(std::strtoull(argv[i], nullptr, 10));
  }
  std::exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s RANKS BYTES...\n", argv[0]);
    return 1;
  }
  const int size = std::atoi(argv[1]);
  pcclUniqueId id;
  require(pcclGetUniqueId(&id) == pcclSuccess, "pcclGetUniqueId");
  for (int rank = 0; rank < size; ++rank) {
    if (fork() == 0) runRank(id, size, rank, argc, argv);
  }
  int result = 0;
  for (int status = 0; wait(&status) > 0;) result |= status;
  return result == 0 ? 0 : 1;
}
