// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's attention with a mask and several layouts, whose statistics are
// results that the library allocates.
//
// What backward needs of the forward pass: softmax_max and softmax_sum, the
// largest score of each query and the sum of exponentials relative to it, and
// dropout_mask, which holds the seed and position of the random numbers that
// both passes draw (int64, 2 elements; empty without dropout). softmax_out is
// empty, for probabilities are computed again.
#include <diopi/functions.h>
#include <diopi/functions_ext.h>

#include "kernels/compute/attention/attention.h"
#include "kernels/compute/binary.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/shaped_view.h"
#include "kernels/compute/unary.h"
#include "kernels/diopi/attention_layout.h"
#include "kernels/diopi/draw.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

struct Options {
  float dropout;
  float scale;
  bool causal;
  int32_t left;
  int32_t right;
};

AttentionArguments argumentsOf(const Options& options,
                               diopiConstTensorHandle_t slopes,
                               diopiConstTensorHandle_t mask) {
  AttentionArguments arguments;
  arguments.slopes = view(slopes);
  arguments.mask = view(mask);
  arguments.scale = options.scale;
  arguments.causal = options.causal;
  arguments.window_left = options.left;
  arguments.window_right = options.right;
  arguments.dropout = options.dropout;
  return arguments;
}

void setStarts(AttentionArguments* arguments, const Starts& starts,
               int64_t max_q, int64_t max_k) {
  arguments->q_starts = starts.q();
  arguments->k_starts = starts.k();
  arguments->max_q = max_q;
  arguments->max_k = max_k;
}

struct Results {
  diopiTensorHandle_t* dropout_mask;
  diopiTensorHandle_t* softmax_max;
  diopiTensorHandle_t* softmax_sum;
  diopiTensorHandle_t* softmax_out;
};

// Makes `results` and keeps the position of the random numbers in one of them.
diopiError_t require(diopiContextHandle_t ctx,
                     const AttentionArguments& arguments,
                     const Results& results) {
  const TensorView& q = arguments.q;
  const bool variable = arguments.q_starts.defined();
  if (q.ndim != (variable ? 3 : 4)) {
    return done(
        fail(Status::kInvalid, "attention: q has %d dimensions", q.ndim));
  }
  const int64_t sizes[3] = {q.sizes[0], q.sizes[2], q.sizes[1]};
  const int64_t packed[2] = {q.sizes[1], q.sizes[0]};
  const int64_t numbers = arguments.dropout > 0.0 ? 2 : 0;
  const int64_t none = 0;
  const DType compute = computeDType(q.dtype);
  for (diopiTensorHandle_t* statistic :
       {results.softmax_max, results.softmax_sum}) {
    const diopiError_t error = requireTensor(
        ctx, variable ? packed : sizes, variable ? 2 : 3, compute, statistic);
    if (error != diopiSuccess) return error;
  }
  const diopiError_t error =
      requireTensor(ctx, &none, 1, q.dtype, results.softmax_out);
  if (error != diopiSuccess) return error;
  return requireTensor(ctx, &numbers, 1, DType::kInt64, results.dropout_mask);
}

Status saveNumbers(const Queue& queue, const AttentionArguments& arguments,
                   const TensorView& to) {
  const int64_t numbers[2] = {static_cast<int64_t>(arguments.seed),
                              static_cast<int64_t>(arguments.position)};
  return soft_memcpy_async(to.data, numbers, sizeof(numbers), queue.stream()) ==
                 SOFT_OK
             ? Status::kOk
             : fail(Status::kFailed, "%s", soft_last_message());
}

diopiError_t forward(diopiContextHandle_t ctx, const Queue& queue,
                     AttentionArguments* arguments, diopiGeneratorHandle_t gen,
                     const TensorView& out, const Results& results) {
  const diopiError_t error = require(ctx, *arguments, results);
  if (error != diopiSuccess) return error;
  AttentionStatistics statistics;
  statistics.largest = view(*results.softmax_max);
  statistics.sum = view(*results.softmax_sum);
  const auto run = [&](RandomSource* source) {
    if (source != nullptr) {
      takeAttentionNumbers(arguments, source);
      const Status saved =
          saveNumbers(queue, *arguments, view(*results.dropout_mask));
      if (saved != Status::kOk) return saved;
    }
    return attention(queue, *arguments, out, statistics);
  };
  return arguments->dropout == 0.0 ? done(run(nullptr)) : draw(gen, run);
}

struct Saved {
  diopiConstTensorHandle_t dropout_mask;
  diopiConstTensorHandle_t softmax_max;
  diopiConstTensorHandle_t softmax_sum;
};

diopiError_t backward(const Queue& queue, AttentionArguments* arguments,
                      const TensorView& grad_out, const TensorView& out,
                      const Saved& saved, const AttentionGradients& gradients) {
  const TensorView largest = view(saved.softmax_max);
  const TensorView sum = view(saved.softmax_sum);
  if (!largest.defined() || !sum.defined() ||
      (arguments->dropout > 0.0 && saved.dropout_mask == nullptr)) {
    return done(fail(Status::kInvalid,
                     "attention_backward: results of the forward pass are "
                     "missing"));
  }
  if (arguments->dropout > 0.0) arguments->saved = view(saved.dropout_mask);
  const ScratchTensor lse(queue, sum, sum.dtype);
  if (!lse.valid()) return diopiErrorOccurred;
  Status status = unary(queue, UnaryOp::kLog, lse.view(), sum);
  if (status == Status::kOk) {
    status = add(queue, lse.view(), lse.view(), largest, {true, 1, 1.0});
  }
  if (status != Status::kOk) return done(status);
  return done(attentionBackward(queue, *arguments, grad_out, out, lse.view(),
                                gradients));
}

}  // namespace

extern "C" {

diopiError_t diopiCustomizedFlashAttention(
    diopiContextHandle_t ctx, diopiTensorHandle_t attention_out,
    diopiTensorHandle_t* dropout_mask, diopiTensorHandle_t* softmax_max,
    diopiTensorHandle_t* softmax_sum, diopiTensorHandle_t* softmax_out,
    diopiGeneratorHandle_t gen, diopiConstTensorHandle_t q,
    diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
    diopiConstTensorHandle_t alibi_slopes,
    diopiConstTensorHandle_t attention_mask, float p_dropout,
    float softmax_scale, bool is_causal, int32_t window_size_left,
    int32_t window_size_right, int32_t head_num, const char* input_layout) {
  AttentionArguments arguments =
      argumentsOf({p_dropout, softmax_scale, is_causal, window_size_left,
                   window_size_right},
                  alibi_slopes, attention_mask);
  Layout layout;
  Status status = layout.read(input_layout, view(q), head_num);
  const TensorView plain[] = {view(q), view(k), view(v), view(attention_out)};
  ShapedView shaped[] = {ShapedView(plain[0]), ShapedView(plain[1]),
                         ShapedView(plain[2]), ShapedView(plain[3])};
  if (status == Status::kOk) status = layout.applyAll(plain, shaped, 4);
  if (status != Status::kOk) return done(status);
  arguments.q = shaped[0].view;
  arguments.k = shaped[1].view;
  arguments.v = shaped[2].view;
  return forward(ctx, queueOf(ctx), &arguments, gen, shaped[3].view,
                 {dropout_mask, softmax_max, softmax_sum, softmax_out});
}

diopiError_t diopiCustomizedFlashAttentionBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_q,
    diopiTensorHandle_t grad_k, diopiTensorHandle_t grad_v,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t q,
    diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
    diopiConstTensorHandle_t alibi_slopes,
    diopiConstTensorHandle_t attention_out,
    diopiConstTensorHandle_t attention_mask,
    diopiConstTensorHandle_t dropout_mask, diopiConstTensorHandle_t softmax_max,
    diopiConstTensorHandle_t softmax_sum,
    diopiConstTensorHandle_t /*softmax_out*/, float p_dropout,
    float softmax_scale, bool is_causal, int32_t window_size_left,
    int32_t window_size_right, int32_t head_num, const char* input_layout) {
  AttentionArguments arguments =
      argumentsOf({p_dropout, softmax_scale, is_causal, window_size_left,
                   window_size_right},
                  alibi_slopes, attention_mask);
  const TensorView plain[8] = {view(q),
                               view(k),
                               view(v),
                               view(grad_output),
                               view(attention_out),
                               view(grad_q),
                               view(grad_k),
                               view(grad_v)};
  ShapedView shaped[8] = {ShapedView(plain[0]), ShapedView(plain[1]),
                          ShapedView(plain[2]), ShapedView(plain[3]),
                          ShapedView(plain[4]), ShapedView(plain[5]),
                          ShapedView(plain[6]), ShapedView(plain[7])};
  Layout layout;
  Status status = layout.read(input_layout, plain[0], head_num);
  if (status == Status::kOk) status = layout.applyAll(plain, shaped, 8);
  if (status != Status::kOk) return done(status);
  arguments.q = shaped[0].view;
  arguments.k = shaped[1].view;
  arguments.v = shaped[2].view;
  return backward(queueOf(ctx), &arguments, shaped[3].view, shaped[4].view,
                  {dropout_mask, softmax_max, softmax_sum},
                  {shaped[5].view, shaped[6].view, shaped[7].view});
}

diopiError_t diopiCustomizedFlashAttentionVarLen(
    diopiContextHandle_t ctx, diopiTensorHandle_t attention_out,
    diopiTensorHandle_t* dropout_mask, diopiTensorHandle_t* softmax_max,
    diopiTensorHandle_t* softmax_sum, diopiTensorHandle_t* softmax_out,
    diopiGeneratorHandle_t gen, diopiConstTensorHandle_t q,
    diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
    diopiSize_t cum_seq_q, diopiSize_t cum_seq_kv,
    diopiConstTensorHandle_t alibi_slopes,
    diopiConstTensorHandle_t attention_mask, int32_t max_seqlen_q,
    int32_t max_seqlen_kv, float p_dropout, float softmax_scale, bool is_causal,
    int32_t window_size_left, int32_t window_size_right) {
  AttentionArguments arguments =
      argumentsOf({p_dropout, softmax_scale, is_causal, window_size_left,
                   window_size_right},
                  alibi_slopes, attention_mask);
  const Queue queue = queueOf(ctx);
  Starts starts;
  const Status status = starts.read(queue, cum_seq_q, cum_seq_kv);
  if (status != Status::kOk) return done(status);
  arguments.q = view(q);
  arguments.k = view(k);
  arguments.v = view(v);
  setStarts(&arguments, starts, max_seqlen_q, max_seqlen_kv);
  return forward(ctx, queue, &arguments, gen, view(attention_out),
                 {dropout_mask, softmax_max, softmax_sum, softmax_out});
}

diopiError_t diopiCustomizedFlashAttentionVarLenBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_q,
    diopiTensorHandle_t grad_k, diopiTensorHandle_t grad_v,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t q,
    diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
    diopiSize_t cum_seq_q, diopiSize_t cum_seq_kv,
    diopiConstTensorHandle_t alibi_slopes,
    diopiConstTensorHandle_t attention_out,
    diopiConstTensorHandle_t attention_mask,
    diopiConstTensorHandle_t dropout_mask, diopiConstTensorHandle_t softmax_max,
    diopiConstTensorHandle_t softmax_sum,
    diopiConstTensorHandle_t /*softmax_out*/, int32_t max_seqlen_q,
    int32_t max_seqlen_kv, float p_dropout, float softmax_scale, bool is_causal,
    int32_t window_size_left, int32_t window_size_right) {
  AttentionArguments arguments =
      argumentsOf({p_dropout, softmax_scale, is_causal, window_size_left,
                   window_size_right},
                  alibi_slopes, attention_mask);
  const Queue queue = queueOf(ctx);
  Starts starts;
  const Status status = starts.read(queue, cum_seq_q, cum_seq_kv);
  if (status != Status::kOk) return done(status);
  arguments.q = view(q);
  arguments.k = view(k);
  arguments.v = view(v);
  setStarts(&arguments, starts, max_seqlen_q, max_seqlen_kv);
  return backward(queue, &arguments, view(grad_output), view(attention_out),
                  {dropout_mask, softmax_max, softmax_sum},
                  {view(grad_q), view(grad_k), view(grad_v)});
}

}  // extern "C"
