// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/reduce_task.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kStage = 256;    // elements staged at a time
constexpr int64_t kRun = 16384;    // elements of a row that a thread takes
constexpr int64_t kColumns = 512;  // accumulators of a block of columns

int64_t product(const ReduceDim* dims, int32_t count) {
  int64_t n = 1;
  for (int32_t i = 0; i < count; ++i) n *= dims[i].size;
  return n;
}

struct Offsets {
  int64_t in = 0;
  int64_t out = 0;
  int64_t index = 0;
};

// Offsets of the element numbered `number`, dims[0] running fastest.
Offsets offsetsOf(const ReduceDim* dims, int32_t count, int64_t number) {
  Offsets result;
  for (int32_t i = 0; i < count; ++i) {
    // A division takes as long as a hundred additions; the last needs none.
    const int64_t rest = i + 1 < count ? number / dims[i].size : 0;
    const int64_t at = number - rest * dims[i].size;
    number = rest;
    result.in += at * dims[i].in;
    result.out += at * dims[i].out;
    result.index += at * dims[i].index;
  }
  return result;
}

class Run {
 public:
  explicit Run(const ReduceTask& task) : t_(task), r_(*task.reducer) {}

  void rows() const;
  void columns() const;

 private:
  // Takes runs [begin, end) of the result whose input starts at `base`.
  void takeRuns(unsigned char* acc, const char* base, int64_t begin,
                int64_t end) const;
  void takeRun(unsigned char* acc, const char* x, int64_t count,
               int64_t index) const;
  // Takes rows [begin, end) of `count` columns that start at `base`.
  void takeRows(unsigned char* acc, const char* base, int64_t count,
                int64_t begin, int64_t end) const;
  // Results [begin, end), each of which is a single run.
  void shortRows(int64_t begin, int64_t end) const;
  // Writes `count` results, which lie side by side along `dim`.
  void finish(const unsigned char* acc, const Offsets& at, int64_t count,
              const ReduceDim& dim) const;

  int64_t runsPerResult() const {
    return product(t_.reduced(), t_.reduced_dims) * pieces();
  }
  int64_t pieces() const { return (t_.inner.size + kRun - 1) / kRun; }

  const ReduceTask& t_;
  const Reducer& r_;
};

void Run::takeRun(unsigned char* acc, const char* x, int64_t count,
                  int64_t index) const {
  if (t_.direct) {
    r_.row(t_.op, acc, x, count, index);
    return;
  }
  alignas(64) unsigned char stage[kStage * 8];
  for (int64_t done = 0; done < count; done += kStage) {
    const int64_t some = std::min(kStage, count - done);
    t_.load(stage, t_.item, x + done * t_.inner.in, t_.inner.in, some);
    r_.row(t_.op, acc, stage, some, index + done);
  }
}

void Run::takeRuns(unsigned char* acc, const char* base, int64_t begin,
                   int64_t end) const {
  const int64_t count = pieces();
  for (int64_t run = begin; run < end; ++run) {
    const int64_t number = count == 1 ? run : run / count;
    const int64_t first = (run - number * count) * kRun;
    const Offsets at = offsetsOf(t_.reduced(), t_.reduced_dims, number);
    takeRun(acc, base + at.in + first * t_.inner.in,
            std::min(kRun, t_.inner.size - first), first);
  }
}

void Run::finish(const unsigned char* acc, const Offsets& at, int64_t count,
                 const ReduceDim& dim) const {
  alignas(64) unsigned char values[kColumns * 8];
  int64_t positions[kColumns];
  r_.finish(t_.op, values, t_.indices != nullptr ? positions : nullptr, acc,
            count);
  const auto item = static_cast<int64_t>(itemSize(r_.output));
  if (t_.store != nullptr)
    t_.store(t_.out + at.out, dim.out, values, item, count);
  if (t_.indices != nullptr) {
    t_.store_index(t_.indices + at.index, dim.index, positions, 8, count);
  }
}

// Results are begun and finished some at a time, for that costs as much as a
// few hundred elements.
void Run::shortRows(int64_t begin, int64_t end) const {
  constexpr int64_t kBatch = 16;
  const ReduceDim& dim = t_.kept()[0];
  alignas(16) unsigned char acc[kBatch * kMaxAccBytes];
  while (begin < end) {
    const int64_t left = dim.size - begin % dim.size;
    const int64_t count = std::min({kBatch, end - begin, left});
    const Offsets at = offsetsOf(t_.kept(), t_.kept_dims, begin);
    r_.start(t_.op, acc, count);
    for (int64_t k = 0; k < count; ++k) {
      takeRun(acc + k * r_.acc_bytes, t_.input + at.in + k * dim.in,
              t_.inner.size, 0);
    }
    finish(acc, at, count, dim);
    begin += count;
  }
}

void Run::rows() const {
  const int64_t results = product(t_.kept(), t_.kept_dims);
  const int64_t runs = runsPerResult();
  const int64_t run_length = std::min(kRun, t_.inner.size);
  constexpr int64_t kFew = 8;
  if (runs == 1 && t_.kept_dims > 0) {
    parallelFor(results, grainFor(run_length),
                [this](int64_t begin, int64_t end) { shortRows(begin, end); });
    return;
  }
  if (results >= kFew || runs == 1) {
    parallelFor(results, grainFor(runs * run_length),
                [&](int64_t begin, int64_t end) {
                  alignas(16) unsigned char acc[kMaxAccBytes];
                  for (int64_t i = begin; i < end; ++i) {
                    const Offsets at = offsetsOf(t_.kept(), t_.kept_dims, i);
                    r_.start(t_.op, acc, 1);
                    takeRuns(acc, t_.input + at.in, 0, runs);
                    finish(acc, at, 1, t_.inner);
                  }
                });
    return;
  }
  for (int64_t i = 0; i < results; ++i) {
    const Offsets at = offsetsOf(t_.kept(), t_.kept_dims, i);
    alignas(16) unsigned char partial[kMaxTeam * kMaxAccBytes];
    bool used[kMaxTeam] = {};
    parallelPieces(runs, grainFor(run_length),
                   [&](int64_t begin, int64_t end, int64_t piece) {
                     unsigned char* acc = partial + piece * kMaxAccBytes;
                     r_.start(t_.op, acc, 1);
                     takeRuns(acc, t_.input + at.in, begin, end);
                     used[piece] = true;
                   });
    for (int64_t piece = 1; piece < kMaxTeam; ++piece) {
      if (!used[piece]) continue;
      r_.merge(t_.op, partial, partial + piece * kMaxAccBytes, 1);
    }
    finish(partial, at, 1, t_.inner);
  }
}

void Run::takeRows(unsigned char* acc, const char* base, int64_t count,
                   int64_t begin, int64_t end) const {
  const int64_t inner = t_.reduced_dims > 0 ? t_.reduced()[0].size : 1;
  const int64_t stride = t_.reduced_dims > 0 ? t_.reduced()[0].in : 0;
  while (begin < end) {
    const int64_t first = begin % inner;
    const int64_t rows = std::min(end - begin, inner - first);
    const Offsets at = offsetsOf(t_.reduced(), t_.reduced_dims, begin);
    const char* x = base + at.in;
    if (t_.direct) {
      r_.columns(t_.op, acc, x, stride, rows, count, first);
    } else {
      alignas(64) unsigned char stage[kColumns * 8];
      for (int64_t row = 0; row < rows; ++row) {
        t_.load(stage, t_.item, x + row * stride, t_.inner.in, count);
        r_.columns(t_.op, acc, stage, 0, 1, count, first + row);
      }
    }
    begin += rows;
  }
}

void Run::columns() const {
  const int64_t blocks = (t_.inner.size + kColumns - 1) / kColumns;
  const int64_t units = product(t_.kept(), t_.kept_dims) * blocks;
  const int64_t rows = product(t_.reduced(), t_.reduced_dims);
  const int64_t width = std::min(kColumns, t_.inner.size);
  const auto place = [&](int64_t unit, int64_t* first, int64_t* count) {
    *first = unit % blocks * kColumns;
    *count = std::min(kColumns, t_.inner.size - *first);
    Offsets at = offsetsOf(t_.kept(), t_.kept_dims, unit / blocks);
    at.in += *first * t_.inner.in;
    at.out += *first * t_.inner.out;
    at.index += *first * t_.inner.index;
    return at;
  };
  const int64_t acc_row = kColumns * r_.acc_bytes;
  constexpr int64_t kFew = 8;
  if (units >= kFew || rows * width < 2 * kGrain) {
    parallelFor(units, grainFor(rows * width), [&](int64_t begin, int64_t end) {
      alignas(64) unsigned char acc[kColumns * kMaxAccBytes];
      for (int64_t unit = begin; unit < end; ++unit) {
        int64_t first = 0;
        int64_t count = 0;
        const Offsets at = place(unit, &first, &count);
        r_.start(t_.op, acc, count);
        takeRows(acc, t_.input + at.in, count, 0, rows);
        finish(acc, at, count, t_.inner);
      }
    });
    return;
  }
  const std::unique_ptr<unsigned char, decltype(&std::free)> partial(
      static_cast<unsigned char*>(std::aligned_alloc(
          64, static_cast<std::size_t>((kMaxTeam * acc_row + 63) / 64 * 64))),
      &std::free);
  if (partial == nullptr) throw std::bad_alloc();
  for (int64_t unit = 0; unit < units; ++unit) {
    int64_t first = 0;
    int64_t count = 0;
    const Offsets at = place(unit, &first, &count);
    bool used[kMaxTeam] = {};
    parallelPieces(rows, grainFor(count),
                   [&](int64_t begin, int64_t end, int64_t piece) {
                     unsigned char* acc = partial.get() + piece * acc_row;
                     r_.start(t_.op, acc, count);
                     takeRows(acc, t_.input + at.in, count, begin, end);
                     used[piece] = true;
                   });
    for (int64_t piece = 1; piece < kMaxTeam; ++piece) {
      if (!used[piece]) continue;
      r_.merge(t_.op, partial.get(), partial.get() + piece * acc_row, count);
    }
    finish(partial.get(), at, count, t_.inner);
  }
}

}  // namespace

void ReduceTask::operator()() const {
  const Run run(*this);
  if (inner_reduced) {
    run.rows();
  } else {
    run.columns();
  }
}

}  // namespace dipu::kernels
