// SPDX-License-Identifier: Apache-2.0
//
// A replay against enqueueing what it replays.
//
// "Host" is what the calling thread pays, with the waiting outside of the
// measured time; "EndToEnd" is until the work is done. A replay should cost the
// host at most a fifth of enqueueing 100 kernels, and take no longer.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "softdevice/soft_graph.h"

namespace {

constexpr int kKernels = 100;

void check(soft_status status) {
  if (status != SOFT_OK) std::abort();
}

void doNothing(void*) {}

// About 200 us.
void workHard(void*) {
  uint64_t value = 1;
  for (int i = 0; i < 200000; ++i) {
    value = value * 6364136223846793005ULL + 1442695040888963407ULL;
    benchmark::DoNotOptimize(value);
  }
}

soft_stream* makeStream() {
  soft_stream* stream = nullptr;
  check(soft_stream_create(0, 0, SOFT_STREAM_NON_BLOCKING, &stream));
  return stream;
}

soft_graph_exec* endCapture(soft_stream* stream) {
  soft_graph* graph = nullptr;
  soft_graph_exec* exec = nullptr;
  check(soft_stream_end_capture(stream, &graph));
  check(soft_graph_instantiate(graph, &exec));
  check(soft_graph_destroy(graph));
  return exec;
}

void order(soft_stream* earlier, soft_stream* later) {
  soft_event* event = nullptr;
  check(soft_event_create(0, SOFT_EVENT_DISABLE_TIMING, &event));
  check(soft_event_record(event, earlier));
  check(soft_stream_wait_event(later, event));
  check(soft_event_destroy(event));
}

void enqueueKernels(soft_stream* stream, const std::vector<char>& payload) {
  for (int i = 0; i < kKernels; ++i) {
    soft_launch(stream, doNothing, payload.data(), payload.size());
  }
}

// Enqueues `batch` times before it waits: what is measured must fit into a
// ring, and stopping the clock takes longer than one replay.
template <typename Enqueue>
void measureHost(benchmark::State& state, soft_stream* stream, int batch,
                 const Enqueue& enqueue) {
  for (auto _ : state) {
    for (int i = 0; i < batch; ++i) enqueue();
    state.PauseTiming();
    soft_stream_synchronize(stream);
    state.ResumeTiming();
  }
  state.counters["per_100_kernels"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * batch,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <typename Enqueue>
void measureEndToEnd(benchmark::State& state, soft_stream* stream,
                     const Enqueue& enqueue) {
  for (auto _ : state) {
    enqueue();
    soft_stream_synchronize(stream);
  }
}

// The kernels as a graph.
soft_graph_exec* captureKernels(soft_stream* stream,
                                const std::vector<char>& payload) {
  check(soft_stream_begin_capture(stream, SOFT_CAPTURE_THREAD_LOCAL));
  enqueueKernels(stream, payload);
  return endCapture(stream);
}

// Arguments: bytes of payload, whether to replay.
void BM_Host(benchmark::State& state) {
  soft_stream* stream = makeStream();
  const std::vector<char> payload(state.range(0));
  soft_graph_exec* exec = captureKernels(stream, payload);
  if (state.range(1) == 0) {
    measureHost(state, stream, 5, [&] { enqueueKernels(stream, payload); });
  } else {
    measureHost(state, stream, 500, [&] { soft_graph_launch(exec, stream); });
  }
  soft_graph_exec_destroy(exec);
  soft_stream_destroy(stream);
}
BENCHMARK(BM_Host)
    ->ArgNames({"bytes", "replay"})
    ->ArgsProduct({{16, 96, SOFT_INLINE_PAYLOAD}, {0, 1}});

void BM_EndToEnd(benchmark::State& state) {
  soft_stream* stream = makeStream();
  const std::vector<char> payload(state.range(0));
  soft_graph_exec* exec = captureKernels(stream, payload);
  if (state.range(1) == 0) {
    measureEndToEnd(state, stream, [&] { enqueueKernels(stream, payload); });
  } else {
    measureEndToEnd(state, stream, [&] { soft_graph_launch(exec, stream); });
  }
  soft_graph_exec_destroy(exec);
  soft_stream_destroy(stream);
}
BENCHMARK(BM_EndToEnd)
    ->ArgNames({"bytes", "replay"})
    ->ArgsProduct({{16, 96, SOFT_INLINE_PAYLOAD}, {0, 1}})
    ->UseRealTime();

// Kernels that take long, in so many branches.
void BM_Branches(benchmark::State& state) {
  soft_stream* stream = makeStream();
  std::vector<soft_stream*> others;
  check(soft_stream_begin_capture(stream, SOFT_CAPTURE_THREAD_LOCAL));
  for (int i = 1; i < state.range(0); ++i) {
    others.push_back(makeStream());
    order(stream, others.back());
    soft_launch(others.back(), workHard, nullptr, 0);
  }
  soft_launch(stream, workHard, nullptr, 0);
  for (soft_stream* other : others) order(other, stream);
  soft_graph_exec* exec = endCapture(stream);
  measureEndToEnd(state, stream, [&] { soft_graph_launch(exec, stream); });
  soft_graph_exec_destroy(exec);
  for (soft_stream* other : others) soft_stream_destroy(other);
  soft_stream_destroy(stream);
}
BENCHMARK(BM_Branches)->ArgName("count")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
