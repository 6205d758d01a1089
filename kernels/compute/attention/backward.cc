// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/attention/attention.h"
#include "kernels/compute/attention/block.h"
#include "kernels/compute/pointwise.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace attention_detail {
namespace {

// One thread computes a sequence's key head and all query heads that share it,
// so that the gradients of its keys are summed in one order.
template <typename T>
struct Backward {
  using C = ComputeType<T>;
  Plan plan;
  Operand grad_out;
  Operand out;
  Operand grad_q;
  Operand grad_k;  // of the compute type, cleared
  Operand grad_v;
  const C* logsumexp;

  // Parts of a thread's buffer.
  struct Parts {
    C* scores;   // kQueries x kKeys
    C* slopes;   // likewise: gradients of the scores
    C* q;        // kQueries x dim
    C* dout;     // likewise
    C* dq;       // likewise
    C* k;        // kKeys x dim
    C* v;        // likewise
    C* product;  // kQueries: sum of out * grad_out
  };

  void run() const {
    const int64_t work =
        plan.max_q * plan.max_k * (plan.heads / plan.key_heads);
    parallelFor(plan.batch * plan.key_heads, grainFor(work, plan.dim / 4 + 1),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    keyHead(i / plan.key_heads, i % plan.key_heads);
                  }
                });
  }

  void keyHead(int64_t b, int64_t key_head) const {
    const int64_t dim = plan.dim;
    C* next = workerBuffer<kAttentionSlot>().template get<C>(
        2 * kQueries * kKeys + (3 * kQueries + 2 * kKeys) * dim + kQueries);
    const auto take = [&next](int64_t count) {
      C* part = next;
      next += count;
      return part;
    };
    Parts parts;
    parts.scores = take(kQueries * kKeys);
    parts.slopes = take(kQueries * kKeys);
    parts.q = take(kQueries * dim);
    parts.dout = take(kQueries * dim);
    parts.dq = take(kQueries * dim);
    parts.k = take(kKeys * dim);
    parts.v = take(kKeys * dim);
    parts.product = take(kQueries);
    Block<C> at{};
    at.plan = &plan;
    at.b = b;
    at.scores = parts.scores;
    if (!plan.sequence(b, &at.sequence)) return;
    const int64_t group = plan.heads / plan.key_heads;
    for (at.h = key_head * group; at.h < (key_head + 1) * group; ++at.h) {
      for (at.query = 0; at.query < at.sequence.q_count; at.query += kQueries) {
        at.queries = std::min(kQueries, at.sequence.q_count - at.query);
        queryBlock(&at, key_head, parts);
      }
    }
  }

  void queryBlock(Block<C>* at, int64_t key_head, const Parts& parts) const {
    const int64_t dim = plan.dim;
    const Sequence& s = at->sequence;
    const int64_t token = s.q_begin + at->query;
    const Matrix<C> q =
        loadTokens<T>(plan.q, at->b, token, at->h, at->queries, dim, parts.q);
    const Matrix<C> dout = loadTokens<T>(grad_out, at->b, token, at->h,
                                         at->queries, dim, parts.dout);
    sumProducts(*at, dout, parts);
    std::fill(parts.dq, parts.dq + at->queries * dim, C(0));
    const int64_t last = at->lastKey();
    for (at->key = at->firstKey(); at->key < last; at->key += kKeys) {
      at->keys = std::min(kKeys, s.k_count - at->key);
      keyBlock(*at, key_head, q, dout, parts);
    }
    for (int64_t i = 0; i < at->queries; ++i) {
      storeLine(parts.dq + i * dim, dim, grad_q.at<T>(at->b, token + i, at->h),
                grad_q.feature);
    }
  }

  // The part of a score's gradient that a query's keys have in common.
  void sumProducts(const Block<C>& at, const Matrix<C>& dout,
                   const Parts& parts) const {
    const int64_t token = at.sequence.q_begin + at.query;
    const Matrix<C> o =
        loadTokens<T>(out, at.b, token, at.h, at.queries, plan.dim, parts.dq);
    for (int64_t i = 0; i < at.queries; ++i) {
      C sum = 0;
      for (int64_t d = 0; d < plan.dim; ++d) {
        sum += o.data[i * o.row + d * o.column] *
               dout.data[i * dout.row + d * dout.column];
      }
      parts.product[i] = sum;
    }
  }

  void keyBlock(const Block<C>& at, int64_t key_head, const Matrix<C>& q,
                const Matrix<C>& dout, const Parts& parts) const {
    const int64_t dim = plan.dim;
    const int64_t token = at.sequence.k_begin + at.key;
    const Matrix<C> k =
        loadTokens<T>(plan.k, at.b, token, key_head, at.keys, dim, parts.k);
    const Matrix<C> v =
        loadTokens<T>(plan.v, at.b, token, key_head, at.keys, dim, parts.v);
    const Matrix<C> scores = at.matrix(parts.scores);
    const Matrix<C> slopes = at.matrix(parts.slopes);
    at.score(q, k);
    multiply(dout, v.transposed(), slopes, at.queries, at.keys, dim, 1.0, 0.0);
    for (int64_t i = 0; i < at.queries; ++i) differentiateRow(at, i, parts);
    const Matrix<C> dk = gradient(grad_k, at.b, token, key_head);
    const Matrix<C> dv = gradient(grad_v, at.b, token, key_head);
    multiply(scores.transposed(), dout, dv, at.keys, dim, at.queries, 1.0, 1.0);
    multiply(slopes.transposed(), q, dk, at.keys, dim, at.queries, plan.scale,
             1.0);
    multiply(slopes, k, {parts.dq, dim, 1}, at.queries, dim, at.keys,
             plan.scale, 1.0);
  }

  static Matrix<C> gradient(const Operand& operand, int64_t b, int64_t token,
                            int64_t head) {
    return {operand.at<C>(b, token, head), operand.token, operand.feature};
  }

  // Scores become probabilities, as dropout leaves them, and gradients of
  // probabilities become gradients of scores.
  void differentiateRow(const Block<C>& at, int64_t i,
                        const Parts& parts) const {
    C* p = at.row(i);
    C* g = parts.slopes + i * kKeys;
    const C lse =
        logsumexp[plan.statistic(at.b, at.h, at.sequence, at.query + i)];
    const C common = parts.product[i];
    if (lse == std::numeric_limits<C>::infinity()) {
      std::fill(p, p + at.keys, C(0));
      std::fill(g, g + at.keys, C(0));
      return;
    }
    if (plan.dropout > 0.0) {
      C factors[kKeys];
      at.dropoutFactors(i, factors);
      for (int64_t j = 0; j < at.keys; ++j) {
        const C weight = math::exp(p[j] - lse);
        p[j] = weight * factors[j];
        g[j] = weight * (g[j] * factors[j] - common);
      }
      return;
    }
#pragma omp simd
    for (int64_t j = 0; j < at.keys; ++j) {
      p[j] = math::exp(p[j] - lse);
      g[j] = p[j] * (g[j] - common);
    }
  }
};

// An operand over a dense tensor with the shape of a key tensor.
Operand operandOf(const DenseTensor& tensor) {
  const TensorView& view = tensor.view();
  const int32_t last = view.ndim - 1;
  return {tensor.address(), view.ndim == 4 ? view.strides[0] : 0,
          view.strides[last - 2], view.strides[last - 1], view.strides[last]};
}

// Tensors of queries, by their own strides.
struct QueryOperands {
  Operand grad_out;
  Operand out;
  Operand grad_q;
};

// Dense tensors of the compute type.
struct DenseOperands {
  const DenseTensor* grad_k;
  const DenseTensor* grad_v;
  const DenseTensor* logsumexp;
};

Status launchBackward(const Queue& queue, const Plan& plan,
                      const QueryOperands& queries, const DenseOperands& dense,
                      DType dtype) {
  return launchFloating(queue, "attention_backward", dtype,
                        [plan, queries, dk = operandOf(*dense.grad_k),
                         dv = operandOf(*dense.grad_v),
                         lse = dense.logsumexp->address()](auto tag) {
                          using T = typename decltype(tag)::type;
                          Backward<T>{plan,
                                      queries.grad_out,
                                      queries.out,
                                      queries.grad_q,
                                      dk,
                                      dv,
                                      static_cast<const ComputeType<T>*>(lse)}
                              .run();
                        });
}

// Whether gradients have the dtypes and shapes of what they belong to.
Status checkGradients(const AttentionGradients& gradients,
                      const AttentionArguments& arguments) {
  const auto fits = [](const TensorView& gradient, const TensorView& of) {
    return gradient.defined() && sameShape(gradient, of);
  };
  if (fits(gradients.q, arguments.q) && fits(gradients.k, arguments.k) &&
      fits(gradients.v, arguments.v)) {
    return Status::kOk;
  }
  return fail(Status::kInvalid,
              "attention_backward: a gradient differs from its operand in "
              "dtype or shape");
}

}  // namespace
}  // namespace attention_detail

Status attentionBackward(const Queue& queue,
                         const AttentionArguments& arguments,
                         const TensorView& grad_out, const TensorView& out,
                         const TensorView& logsumexp,
                         const AttentionGradients& gradients) {
  using namespace attention_detail;  // NOLINT(build/namespaces)
  const DType compute = computeDType(arguments.q.dtype);
  if (!logsumexp.defined()) {
    return fail(Status::kInvalid, "attention_backward: no softmax_lse");
  }
  Planner planner(queue, arguments);
  Status status = planner.prepare({logsumexp, {}, {}});
  if (status == Status::kOk) status = checkGradients(gradients, arguments);
  if (status != Status::kOk) return status;
  DenseTensor dk(queue, gradients.k, Order::kRowMajor, compute);
  DenseTensor dv(queue, gradients.v, Order::kRowMajor, compute);
  DenseTensor lse(queue, logsumexp, Order::kRowMajor, compute);
  if (!dk.open() || !dv.open() || !lse.load()) return Status::kFailed;
  // Tokens outside of all sequences get 0.
  for (const TensorView* cleared : {&gradients.q, &dk.view(), &dv.view()}) {
    status = fill(queue, *cleared, {true, 0, 0.0});
    if (status != Status::kOk) return status;
  }
  if (planner.empty()) return storeAll({&dk, &dv});
  Operand g;
  Operand o;
  Operand dq;
  status = planner.bind("grad_output", grad_out, arguments.q, &g);
  if (status == Status::kOk) {
    status = planner.bind("out", out, arguments.q, &o);
  }
  if (status == Status::kOk) {
    status = planner.bind("grad_q", gradients.q, arguments.q, &dq);
  }
  if (status != Status::kOk) return status;
  status = launchBackward(queue, planner.plan(), {g, o, dq}, {&dk, &dv, &lse},
                          arguments.q.dtype);
  return status == Status::kOk ? storeAll({&dk, &dv}) : status;
}

}  // namespace dipu::kernels
