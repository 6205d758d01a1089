// SPDX-License-Identifier: Apache-2.0
//
// An attention call as plain values, for the worker.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute/attention/attention.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels::attention_detail {

// A tensor of tokens; strides in elements.
struct Operand {
  void* data = nullptr;
  int64_t batch = 0;  // 0 where sequences lie one after the other
  int64_t token = 0;
  int64_t head = 0;
  int64_t feature = 0;

  template <typename T>
  T* at(int64_t b, int64_t t, int64_t h) const {
    return static_cast<T*>(data) + b * batch + t * token + h * head;
  }
};

// One sequence: the tokens of its queries and of its keys.
struct Sequence {
  int64_t q_begin;
  int64_t q_count;
  int64_t k_begin;
  int64_t k_count;
};

struct Plan {
  int64_t batch;
  int64_t heads;
  int64_t key_heads;
  int64_t dim;
  int64_t max_q;
  int64_t max_k;
  int64_t q_tokens;  // rows of q: all of them with starts, else of a sequence
  int64_t k_tokens;
  Operand q;
  Operand k;
  Operand v;
  const int64_t* q_starts;  // nullptr for sequences of one length
  const int64_t* k_starts;
  const float* slopes;
  int64_t slopes_batch;  // stride
  const uint8_t* mask;
  int64_t mask_strides[4];
  double scale;
  int64_t left;
  int64_t right;
  double dropout;
  uint64_t seed;
  uint64_t position;
  const int64_t* saved;
  bool packed_statistics;  // [heads, tokens] instead of [batch, heads, max_q]

  bool variable() const { return q_starts != nullptr; }

  // False, after a failure of the task, where the starts make no sense.
  bool sequence(int64_t b, Sequence* result) const {
    if (!variable()) {
      *result = {0, max_q, 0, max_k};
      return true;
    }
    *result = {q_starts[b], q_starts[b + 1] - q_starts[b], k_starts[b],
               k_starts[b + 1] - k_starts[b]};
    const Sequence& s = *result;
    if (s.q_begin >= 0 && s.k_begin >= 0 && s.q_count >= 0 && s.k_count >= 0 &&
        s.q_count <= max_q && s.k_count <= max_k &&
        s.q_begin + s.q_count <= q_tokens &&
        s.k_begin + s.k_count <= k_tokens) {
      return true;
    }
    failTask(SOFT_LAUNCH_FAILURE,
             "the starts of the sequences do not ascend, or a sequence is "
             "longer than its maximum");
    return false;
  }

  // The statistics of query `i` of a sequence.
  int64_t statistic(int64_t b, int64_t h, const Sequence& s, int64_t i) const {
    return packed_statistics ? h * q_tokens + s.q_begin + i
                             : (b * heads + h) * max_q + i;
  }

  // The keys [first, last) that query `i` sees; last < first for none.
  int64_t firstKey(const Sequence& s, int64_t i) const {
    return std::max<int64_t>(0, i + s.k_count - s.q_count - left);
  }
  int64_t lastKey(const Sequence& s, int64_t i) const {
    return std::min(s.k_count, i + s.k_count - s.q_count + right + 1);
  }
};

// Checks the arguments and fills a plan. Owns what the plan points to that is
// not a tensor of the caller; keep it until the work is enqueued.
class Planner {
 public:
  Planner(const Queue& queue, const AttentionArguments& arguments);

  Status prepare(const AttentionStatistics& statistics);
  // `tensor` as an operand with the shape of `like`, which is q, k or v.
  Status bind(const char* name, const TensorView& tensor,
              const TensorView& like, Operand* operand);

  const Plan& plan() const { return plan_; }
  // Whether there is nothing to compute.
  bool empty() const { return arguments_.q.numel == 0; }

 private:
  Status checkShapes();
  Status checkStatistics(const AttentionStatistics& statistics);
  bool isStatistic(const TensorView& view, bool packed) const;
  Status readLimits();
  Status readStarts();
  Status readBias();
  Status readMask();

  const Queue& queue_;
  const AttentionArguments& arguments_;
  DenseTensor q_starts_;
  DenseTensor k_starts_;
  DenseTensor slopes_;
  Plan plan_{};
};

}  // namespace dipu::kernels::attention_detail
