// SPDX-License-Identifier: Apache-2.0
//
// What the host pays for enqueueing work, and for waiting.
//
// Enqueueing is measured in batches that fit into a stream's ring, with the
// waiting outside of the measured time: a full ring would measure the worker.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "softdevice/softdevice.h"

namespace {

constexpr int kBatch = 500;

void doNothing(void*) {}

soft_stream* makeStream() {
  soft_stream* stream = nullptr;
  const soft_status status =
      soft_stream_create(0, 0, SOFT_STREAM_NON_BLOCKING, &stream);
  if (status != SOFT_OK) std::abort();
  return stream;
}

// Runs `enqueue` in batches; the reported time is that of one call.
template <typename Enqueue>
void measureEnqueue(benchmark::State& state, soft_stream* stream,
                    const Enqueue& enqueue) {
  for (auto _ : state) {
    for (int i = 0; i < kBatch; ++i) enqueue();
    state.PauseTiming();
    soft_stream_synchronize(stream);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
  state.counters["per_call"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * kBatch,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  soft_stream_destroy(stream);
}

void BM_Launch(benchmark::State& state) {
  soft_stream* stream = makeStream();
  const std::vector<char> payload(state.range(0));
  measureEnqueue(state, stream, [&] {
    soft_launch(stream, doNothing, payload.data(), payload.size());
  });
}
BENCHMARK(BM_Launch)->Arg(16)->Arg(96)->Arg(SOFT_INLINE_PAYLOAD)->Arg(1024);

// While the worker polls: it has just been busy.
void BM_RoundTrip(benchmark::State& state) {
  soft_stream* stream = makeStream();
  for (auto _ : state) {
    soft_launch(stream, doNothing, nullptr, 0);
    soft_stream_synchronize(stream);
  }
  soft_stream_destroy(stream);
}
BENCHMARK(BM_RoundTrip)->UseRealTime();

void BM_RecordEvent(benchmark::State& state) {
  soft_stream* stream = makeStream();
  soft_event* event = nullptr;
  soft_event_create(0, static_cast<uint32_t>(state.range(0)), &event);
  measureEnqueue(state, stream, [&] { soft_event_record(event, stream); });
  soft_event_destroy(event);
}
BENCHMARK(BM_RecordEvent)
    ->Arg(SOFT_EVENT_DEFAULT)
    ->Arg(SOFT_EVENT_DISABLE_TIMING);

void BM_Translate(benchmark::State& state) {
  soft_stream* stream = makeStream();
  void* data = nullptr;
  soft_malloc(0, 4096, &data);
  for (auto _ : state) {
    benchmark::DoNotOptimize(soft_translate(stream, data, 4096));
  }
  soft_free(data);
  soft_stream_destroy(stream);
}
BENCHMARK(BM_Translate);

// The way of one number to the host, as for a loss value.
void BM_LaunchAndRead(benchmark::State& state) {
  soft_stream* stream = makeStream();
  void* data = nullptr;
  soft_malloc(0, 4096, &data);
  float value = 0;
  for (auto _ : state) {
    soft_launch(stream, doNothing, nullptr, 0);
    soft_memcpy_async(&value, data, sizeof(value), stream);
  }
  soft_free(data);
  soft_stream_destroy(stream);
}
BENCHMARK(BM_LaunchAndRead)->UseRealTime();

void BM_CopyToDevice(benchmark::State& state) {
  soft_stream* stream = makeStream();
  const std::vector<char> host(state.range(0));
  void* data = nullptr;
  soft_malloc(0, host.size(), &data);
  for (auto _ : state) {
    soft_memcpy_async(data, host.data(), host.size(), stream);
    soft_stream_synchronize(stream);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  soft_free(data);
  soft_stream_destroy(stream);
}
BENCHMARK(BM_CopyToDevice)->Arg(4)->Arg(16 << 10)->Arg(16 << 20)->UseRealTime();

}  // namespace
