// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/strided_task.h"

#include <algorithm>

#include "kernels/compute/convert.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

// Elements staged at a time, see Note [Dense loops].
constexpr int64_t kBlock = 256;

// One operand of a running StridedTask.
struct Stage {
  Convert load = nullptr;
  Convert store = nullptr;
  int64_t stride = 0;
  int64_t item = 0;
  bool direct = false;           // dense and of the loop's type
  const char* filled = nullptr;  // broadcast source the buffer holds
  int64_t filled_count = 0;
  alignas(64) unsigned char buffer[kBlock * 8];
};

class Runner {
 public:
  explicit Runner(const StridedTask& task) : task_(task) {
    for (int k = 0; k < task.operands; ++k) {
      const auto own = static_cast<DType>(task.tensor_types[k]);
      const auto inner = static_cast<DType>(task.loop_types[k]);
      Stage& stage = stages_[k];
      stage.load = convertFunction(inner, own);
      stage.store = convertFunction(own, inner);
      stage.stride = task.stride(0, k);
      stage.item = static_cast<int64_t>(itemSize(inner));
      stage.direct = own == inner && stage.stride == stage.item;
      all_direct_ = all_direct_ && stage.direct;
    }
    convert_ = convertFunction(static_cast<DType>(task.tensor_types[0]),
                               static_cast<DType>(task.tensor_types[1]));
  }

  // `count` elements along dimension 0, the operands starting at `p`.
  void run(char* const* p, int64_t count) {
    if (task_.loop == nullptr) {
      convert_(p[0], stages_[0].stride, p[1], stages_[1].stride, count);
      return;
    }
    if (all_direct_) {
      task_.loop(task_.op, reinterpret_cast<void* const*>(p), count);
      return;
    }
    for (int64_t done = 0; done < count; done += kBlock) {
      runBlock(p, done, std::min(kBlock, count - done));
    }
  }

 private:
  void load(Stage* stage, char* source, int64_t count) {
    const bool broadcast = stage->stride == 0;
    if (broadcast && stage->filled == source && stage->filled_count >= count) {
      return;
    }
    stage->load(stage->buffer, stage->item, source, stage->stride, count);
    stage->filled = broadcast ? source : nullptr;
    stage->filled_count = count;
  }

  void runBlock(char* const* p, int64_t first, int64_t count) {
    void* q[kMaxOperands];
    for (int k = 0; k < task_.operands; ++k) {
      Stage& stage = stages_[k];
      char* source = p[k] + first * stage.stride;
      if (stage.direct) {
        q[k] = source;
        continue;
      }
      q[k] = stage.buffer;
      if (k >= task_.outputs || task_.update) load(&stage, source, count);
    }
    task_.loop(task_.op, q, count);
    for (int k = 0; k < task_.outputs; ++k) {
      const Stage& stage = stages_[k];
      if (stage.direct) continue;
      stage.store(p[k] + first * stage.stride, stage.stride, q[k], stage.item,
                  count);
    }
  }

  const StridedTask& task_;
  Stage stages_[kMaxOperands];
  bool all_direct_ = true;
  Convert convert_ = nullptr;  // of a kernel without a loop
};

}  // namespace

// A row is one piece of dimension 0. Rows are numbered with dimension 1
// fastest, then the pieces, then the other dimensions.
void StridedTask::operator()() const {
  const int64_t length = size(0);
  const int64_t chunks = (length + chunk - 1) / chunk;
  const int64_t inner = size(1);
  int64_t rows = chunks * inner;
  for (int dim = 2; dim < ndim; ++dim) rows *= size(dim);
  const int64_t grain = grainFor(std::min(chunk, length), cost);
  parallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    Runner runner(*this);
    char* p[kMaxOperands];
    for (int64_t row = begin; row < end;) {
      int64_t rest = row;
      const int64_t i1 = rest % inner;
      rest /= inner;
      const int64_t first = rest % chunks * chunk;
      rest /= chunks;
      for (int k = 0; k < operands; ++k) {
        p[k] = address(k) + first * stride(0, k) + i1 * stride(1, k);
      }
      for (int dim = 2; dim < ndim; ++dim) {
        const int64_t index = rest % size(dim);
        rest /= size(dim);
        for (int k = 0; k < operands; ++k) p[k] += index * stride(dim, k);
      }
      const int64_t count = std::min(chunk, length - first);
      const int64_t stop = std::min(end, row + inner - i1);
      for (; row < stop; ++row) {
        runner.run(p, count);
        for (int k = 0; k < operands; ++k) p[k] += stride(1, k);
      }
    }
  });
}

}  // namespace dipu::kernels
