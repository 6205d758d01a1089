// SPDX-License-Identifier: Apache-2.0
//
// Caller's time of one operator call across the C contract: three tensor
// handles, the operator library's checks, and the enqueue; no torch. The time
// reported per iteration is that of one call. `loop_ns`, the time of a fixed
// loop, tells how fast the processor ran meanwhile. abi_call.py runs it.
#include <benchmark/benchmark.h>
#include <diopi/functions.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/loader/loader.h"
#include "core/loader/operator_library.h"
#include "diopi_adapter/abi/diopi_host.h"

namespace {

using dipu::loader::Library;
using dipu::loader::OperatorLibrary;
using dipu::loader::Symbol;

constexpr int kCallsPerSample = 1000;  // fewer than a stream's ring holds

void check(dipu_error* error) {
  if (error == nullptr) return;
  std::fprintf(stderr, "%s\n", error->message);
  std::exit(1);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "set %s to the path of the library\n", name);
    std::exit(1);
  }
  return value;
}

void ignoreLog(dipu_log_level, const char*) {}

const dipu_host_services kHost = {sizeof(dipu_host_services), DIPU_ABI_VERSION,
                                  0, ignoreLog};

// A device with a stream and three contiguous float32 tensors of n x n.
class Device {
 public:
  explicit Device(int64_t n)
      : library_(Library::open(variable("DIPU_VENDOR_LIBRARY"))),
        operators_(
            OperatorLibrary::openFor(library_, variable("DIPU_DIOPI_RT"))),
        sizes_{n, n},
        strides_{n, 1} {
    const dipu_vendor& vendor = library_.vendor();
    check(vendor.initialize(&kHost));
    check(vendor.device->set_current(0));
    const dipu_stream_create_args args{sizeof(args), 0, 0};
    check(vendor.stream->create(&args, &stream_));
    for (diopiTensor& tensor : tensors_) makeTensor(tensor, n);
  }
  ~Device() {
    const dipu_vendor& vendor = library_.vendor();
    synchronize();
    for (diopiTensor& t : tensors_) vendor.memory->deallocate(0, t.data);
    vendor.stream->destroy(0, stream_);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  auto add() const {
    return operators_.get<decltype(diopiAdd)>(Symbol::diopiAdd);
  }
  diopiContext context() const { return {stream_, 0, 0, nullptr}; }
  diopiTensor* tensor(int i) { return &tensors_[i]; }
  void synchronize() { check(library_.vendor().stream->synchronize(stream_)); }

 private:
  void makeTensor(diopiTensor& tensor, int64_t n) {
    const size_t bytes = static_cast<size_t>(n * n) * sizeof(float);
    void* data = nullptr;
    check(library_.vendor().memory->allocate(0, bytes, &data));
    check(library_.vendor().memory->set_async(data, 0, 0, bytes, stream_));
    tensor = {data, sizes_, strides_, n * n, 2,      diopi_dtype_float32, 0, 4,
              0,    data,   0,        bytes, nullptr};
  }

  Library library_;
  OperatorLibrary operators_;
  int64_t sizes_[2];
  int64_t strides_[2];
  dipu_stream* stream_ = nullptr;
  diopiTensor tensors_[3];
};

// Nanoseconds per step of a chain of dependent multiplications.
double loopNanoseconds() {
  constexpr int kSteps = 100000;
  uint64_t value = 1;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kSteps; ++i) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    benchmark::DoNotOptimize(value);
  }
  const std::chrono::duration<double, std::nano> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count() / kSteps;
}

double smallest(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

void addCall(benchmark::State& state) {
  Device device(state.range(0));
  const auto add = device.add();
  if (add == nullptr) {
    state.SkipWithError("the operator library lacks diopiAdd");
    return;
  }
  diopiScalar_t one{};
  one.stype = diopi_dtype_float64;
  one.fval = 1.0;
  diopiContext context = device.context();
  state.counters["loop_ns"] = loopNanoseconds();
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCallsPerSample; ++i) {
      add(&context, device.tensor(0), device.tensor(1), device.tensor(2), &one);
    }
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    device.synchronize();
    state.SetIterationTime(elapsed.count() / kCallsPerSample);
  }
}

BENCHMARK(addCall)
    ->Arg(8)
    ->UseManualTime()
    ->Iterations(200)
    ->Repetitions(9)
    ->ComputeStatistics("min", smallest);

}  // namespace
