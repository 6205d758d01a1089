// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/attention/attention.h"
#include "kernels/compute/attention/block.h"
#include "kernels/compute/pointwise.h"
#include "kernels/compute/softmax/line_kernels.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace attention_detail {
namespace {

// What the softmax knows of a query so far.
template <typename C>
struct Running {
  C top;  // largest score
  C sum;  // of exponentials relative to it
};

// Scores become exponentials relative to the largest score so far; the sum and
// the partial result `out` follow it.
template <typename C>
void absorb(C* scores, int64_t keys, C* out, int64_t dim, Running<C>* state) {
  constexpr C kNone = -std::numeric_limits<C>::infinity();
  const C top = std::max(state->top, largest(scores, keys));
  C sum = 0;
  if (top == kNone) {
    // No key yet, unless NaN hides.
    for (int64_t j = 0; j < keys; ++j) {
      scores[j] = scores[j] == kNone ? C(0) : scores[j];
      sum += scores[j];
    }
    state->sum += sum;
    return;
  }
  const C decay = state->top == kNone ? C(0) : math::exp(state->top - top);
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < keys; ++j) {
    scores[j] = math::exp(scores[j] - top);
    sum += scores[j];
  }
  state->top = top;
  state->sum = state->sum * decay + sum;
  for (int64_t d = 0; d < dim; ++d) out[d] *= decay;
}

template <typename T>
struct Forward {
  using C = ComputeType<T>;
  Plan plan;
  Operand out;
  C* logsumexp;
  C* largest_score;
  C* sum;

  // Blocks of queries per sequence and head; one at least, which finds
  // sequences that are longer than max_q = 0.
  int64_t blocks() const {
    return std::max<int64_t>(1, (plan.max_q + kQueries - 1) / kQueries);
  }

  void run() const {
    const int64_t lines = plan.batch * plan.heads;
    const int64_t work = std::min(plan.max_q, kQueries) * plan.max_k;
    parallelFor(lines * blocks(), grainFor(work, 1 + plan.dim / 8),
                [this, lines](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    block(i % lines, ordered(i / lines));
                  }
                });
  }

  // Blocks by turns from both ends, so that threads get equal parts of a
  // triangle.
  int64_t ordered(int64_t i) const {
    return i % 2 == 0 ? i / 2 : blocks() - 1 - i / 2;
  }

  void block(int64_t line, int64_t index) const {
    Block<C> at{};
    at.plan = &plan;
    at.b = line / plan.heads;
    at.h = line % plan.heads;
    at.query = index * kQueries;
    if (!plan.sequence(at.b, &at.sequence)) return;
    at.queries = std::min(kQueries, at.sequence.q_count - at.query);
    if (at.queries <= 0) return;
    const int64_t dim = plan.dim;
    C* buffer = workerBuffer<kAttentionSlot>().template get<C>(
        kQueries * kKeys + 2 * (kQueries + kKeys) * dim);
    at.scores = buffer;
    C* result = buffer + kQueries * kKeys;
    C* rest = result + kQueries * dim;
    std::fill(result, result + kQueries * dim, C(0));
    Running<C> states[kQueries];
    for (Running<C>& state : states) {
      state = {-std::numeric_limits<C>::infinity(), C(0)};
    }
    accumulate(&at, result, rest, states);
    store(at, result, states);
  }

  void accumulate(Block<C>* at, C* result, C* buffer,
                  Running<C>* states) const {
    const int64_t dim = plan.dim;
    const Sequence& s = at->sequence;
    const int64_t key_head = at->h / (plan.heads / plan.key_heads);
    const Matrix<C> q = loadTokens<T>(plan.q, at->b, s.q_begin + at->query,
                                      at->h, at->queries, dim, buffer);
    C* tokens = buffer + kQueries * dim;
    const int64_t last = at->lastKey();
    for (at->key = at->firstKey(); at->key < last; at->key += kKeys) {
      at->keys = std::min(kKeys, s.k_count - at->key);
      at->score(q, loadTokens<T>(plan.k, at->b, s.k_begin + at->key, key_head,
                                 at->keys, dim, tokens));
      for (int64_t i = 0; i < at->queries; ++i) {
        absorb(at->row(i), at->keys, result + i * dim, dim, &states[i]);
        if (plan.dropout > 0.0) drop(*at, i);
      }
      const Matrix<C> v = loadTokens<T>(plan.v, at->b, s.k_begin + at->key,
                                        key_head, at->keys, dim, tokens);
      multiply(at->matrix(at->scores), v, {result, dim, 1}, at->queries, dim,
               at->keys, 1.0, 1.0);
    }
  }

  void drop(const Block<C>& at, int64_t i) const {
    C factors[kKeys];
    at.dropoutFactors(i, factors);
    C* s = at.row(i);
    for (int64_t j = 0; j < at.keys; ++j) s[j] *= factors[j];
  }

  void store(const Block<C>& at, C* result, const Running<C>* states) const {
    const Sequence& s = at.sequence;
    for (int64_t i = 0; i < at.queries; ++i) {
      const Running<C>& state = states[i];
      const bool none = state.sum == C(0);
      C* line = result + i * plan.dim;
      const C scale = none ? C(0) : C(1) / state.sum;
      for (int64_t d = 0; d < plan.dim; ++d) line[d] *= scale;
      storeLine(line, plan.dim, out.at<T>(at.b, s.q_begin + at.query + i, at.h),
                out.feature);
      const int64_t to = plan.statistic(at.b, at.h, s, at.query + i);
      const C lse = none ? std::numeric_limits<C>::infinity()
                         : state.top + std::log(state.sum);
      if (logsumexp != nullptr) logsumexp[to] = lse;
      if (largest_score != nullptr) {
        largest_score[to] = none ? lse : state.top;
      }
      if (sum != nullptr) sum[to] = none ? C(1) : state.sum;
    }
  }
};

// What queries get that belong to no sequence: the result of no keys.
Status clear(const Queue& queue, const TensorView& out,
             const AttentionStatistics& statistics) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::pair<const TensorView*, double> values[] = {
      {&out, 0.0},
      {&statistics.logsumexp, kInfinity},
      {&statistics.largest, kInfinity},
      {&statistics.sum, 1.0}};
  for (const auto& [view, value] : values) {
    if (!view->defined()) continue;
    const Status status = fill(queue, *view, {false, 0, value});
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

}  // namespace
}  // namespace attention_detail

Status attention(const Queue& queue, const AttentionArguments& arguments,
                 const TensorView& out, const AttentionStatistics& statistics) {
  using namespace attention_detail;  // NOLINT(build/namespaces)
  const DType compute = computeDType(arguments.q.dtype);
  Planner planner(queue, arguments);
  Status status = planner.prepare(statistics);
  if (status != Status::kOk) return status;
  DenseTensor lse(queue, statistics.logsumexp, Order::kRowMajor, compute);
  DenseTensor top(queue, statistics.largest, Order::kRowMajor, compute);
  DenseTensor sum(queue, statistics.sum, Order::kRowMajor, compute);
  if (!lse.open() || !top.open() || !sum.open()) return Status::kFailed;
  Operand result;
  status = planner.bind("out", out, arguments.q, &result);
  if (status != Status::kOk) return status;
  if (arguments.q_starts.defined()) {
    status = clear(queue, out, {lse.view(), top.view(), sum.view()});
    if (status != Status::kOk) return status;
  }
  if (planner.empty()) return storeAll({&lse, &top, &sum});
  status =
      launchFloating(queue, "attention", arguments.q.dtype,
                     [plan = planner.plan(), result, lse = lse.address(),
                      top = top.address(), sum = sum.address()](auto tag) {
                       using T = typename decltype(tag)::type;
                       using C = ComputeType<T>;
                       Forward<T>{plan, result, static_cast<C*>(lse),
                                  static_cast<C*>(top), static_cast<C*>(sum)}
                           .run();
                     });
  return status == Status::kOk ? storeAll({&lse, &top, &sum}) : status;
}

}  // namespace dipu::kernels
