// SPDX-License-Identifier: Apache-2.0
//
// Time of three kernels, launch and wait included, in nanoseconds per call, as
// one line of JSON. isolation.py compares two builds of this program. With the
// argument --cpu it is the time that the process spends on processors.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "kernels/compute/binary.h"
#include "kernels/compute/index.h"
#include "kernels/compute/reduce.h"
#include "softdevice/softdevice.h"

namespace dipu::kernels {
namespace {

constexpr int kSamples = 15;
constexpr double kSampleNanoseconds = 3e6;

clockid_t clock_of_choice = CLOCK_MONOTONIC;

double now() {
  timespec time{};
  clock_gettime(clock_of_choice, &time);
  return static_cast<double>(time.tv_sec) * 1e9 +
         static_cast<double>(time.tv_nsec);
}

void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s: %s %s\n", what, soft_last_message(), lastMessage());
  std::abort();
}

// One dimension of device memory, filled from the host.
template <typename T>
class Vector {
 public:
  Vector(const std::vector<T>& values, DType dtype)
      : size_(static_cast<int64_t>(values.size())), dtype_(dtype) {
    const std::size_t bytes = values.size() * sizeof(T);
    check(soft_malloc(0, bytes, &data_) == SOFT_OK, "allocation");
    check(soft_memcpy(data_, values.data(), bytes) == SOFT_OK, "copy");
  }
  ~Vector() { soft_free(data_); }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  TensorView view() const {
    return {data_, &size_, &kOneStep, size_, 1, dtype_};
  }

 private:
  static constexpr int64_t kOneStep = 1;
  void* data_ = nullptr;
  int64_t size_;
  DType dtype_;
};

// Time of the fastest sample. Each is a batch of calls and one wait.
template <typename Call>
double timeOf(soft_stream* stream, const Call& call) {
  auto sample = [&](int64_t calls) {
    const double start = now();
    for (int64_t i = 0; i < calls; ++i) check(call(), "kernel");
    check(soft_stream_synchronize(stream) == SOFT_OK, "wait");
    return (now() - start) / static_cast<double>(calls);
  };
  sample(3);
  const auto calls = std::max<int64_t>(
      1, static_cast<int64_t>(kSampleNanoseconds / sample(3)));
  double best = sample(calls);
  for (int i = 1; i < kSamples; ++i) best = std::min(best, sample(calls));
  return best;
}

void measure(soft_stream* stream, int64_t size) {
  const Queue queue(stream, nullptr, nullptr);
  const auto count = static_cast<std::size_t>(size);
  std::vector<int64_t> order(count);
  // A permutation that jumps: 7919 is prime and no factor of the sizes.
  for (int64_t i = 0; i < size; ++i) order[i] = i * 7919 % size;
  const std::vector<float> ones(count, 1.0f);
  const Vector<float> a(ones, DType::kFloat32);
  const Vector<float> b(ones, DType::kFloat32);
  const Vector<float> out(ones, DType::kFloat32);
  const Vector<int64_t> index(order, DType::kInt64);
  const Vector<float> total({0.0f}, DType::kFloat32);
  TensorView scalar = total.view();
  scalar.ndim = 0;
  const Scalar one{true, 1, 1.0};
  const double add_ns = timeOf(stream, [&] {
    return add(queue, out.view(), a.view(), b.view(), one) == Status::kOk;
  });
  const double sum_ns = timeOf(stream, [&] {
    return sum(queue, scalar, a.view(), {nullptr, 0}) == Status::kOk;
  });
  const double gather_ns = timeOf(stream, [&] {
    return gather(queue, out.view(), a.view(), 0, index.view()) == Status::kOk;
  });
  std::printf(", \"add/%ld\": %.1f, \"sum/%ld\": %.1f, \"gather/%ld\": %.1f",
              size, add_ns, size, sum_ns, size, gather_ns);
}

int run() {
  soft_stream* stream = nullptr;
  check(soft_stream_get_default(0, &stream) == SOFT_OK, "stream");
  std::printf("{\"offset\": %ld", soft_stream_address_map(stream)->offset);
  for (const int64_t size : {1000, 10000, 100000, 1000000, 10000000}) {
    measure(stream, size);
  }
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace dipu::kernels

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--cpu") == 0) {
    dipu::kernels::clock_of_choice = CLOCK_PROCESS_CPUTIME_ID;
  }
  return dipu::kernels::run();
}
