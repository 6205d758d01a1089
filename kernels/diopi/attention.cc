// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's attention whose statistics are tensors of the host: the flash
// attention functions and the older multi-head ones.
//
// Note [Dropout of a gradient]
// A backward pass reads the generator in the state in which the forward pass
// found it, draws the same numbers, and does not advance it.
#include "kernels/compute/attention/attention.h"

#include <diopi/functions.h>
#include <diopi/functions_ext.h>

#include "kernels/diopi/draw.h"
#include "kernels/diopi/tensor_args.h"

namespace {

using dipu::kernels::AttentionArguments;
using dipu::kernels::AttentionGradients;
using dipu::kernels::AttentionStatistics;
using dipu::kernels::fail;
using dipu::kernels::Queue;
using dipu::kernels::RandomSource;
using dipu::kernels::Status;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::draw;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

AttentionArguments argumentsOf(diopiConstTensorHandle_t q,
                               diopiConstTensorHandle_t k,
                               diopiConstTensorHandle_t v, double dropout,
                               double scale, bool causal) {
  AttentionArguments arguments;
  arguments.q = view(q);
  arguments.k = view(k);
  arguments.v = view(v);
  arguments.dropout = dropout;
  arguments.scale = scale;
  arguments.causal = causal;
  return arguments;
}

void setStarts(AttentionArguments* arguments, diopiConstTensorHandle_t q_starts,
               diopiConstTensorHandle_t k_starts, int64_t max_q,
               int64_t max_k) {
  arguments->q_starts = view(q_starts);
  arguments->k_starts = view(k_starts);
  arguments->max_q = max_q;
  arguments->max_k = max_k;
}

void setWindow(AttentionArguments* arguments, diopiConstTensorHandle_t slopes,
               int32_t left, int32_t right) {
  arguments->slopes = view(slopes);
  arguments->window_left = left;
  arguments->window_right = right;
}

diopiError_t forward(const Queue& queue, AttentionArguments* arguments,
                     diopiGeneratorHandle_t gen, diopiTensorHandle_t out,
                     diopiTensorHandle_t logsumexp) {
  AttentionStatistics statistics;
  statistics.logsumexp = view(logsumexp);
  const auto run = [&](RandomSource* source) {
    if (source != nullptr) takeAttentionNumbers(arguments, source);
    return attention(queue, *arguments, view(out), statistics);
  };
  return arguments->dropout == 0.0 ? done(run(nullptr)) : draw(gen, run);
}

struct Gradients {
  diopiTensorHandle_t q;
  diopiTensorHandle_t k;
  diopiTensorHandle_t v;
};

// See Note [Dropout of a gradient].
diopiError_t backward(const Queue& queue, AttentionArguments* arguments,
                      diopiGeneratorHandle_t gen,
                      diopiConstTensorHandle_t grad_out,
                      diopiConstTensorHandle_t out,
                      diopiConstTensorHandle_t logsumexp,
                      const Gradients& gradients) {
  if (arguments->dropout != 0.0) {
    uint64_t seed = 0;
    uint64_t offset = 0;
    const diopiError_t status =
        diopiGeneratorGetSeedAndOffset(gen, &seed, &offset);
    if (status != diopiSuccess) {
      fail(Status::kInvalid, "the generator has no seed");
      return status;
    }
    RandomSource source(seed, offset);
    takeAttentionNumbers(arguments, &source);
  }
  return done(attentionBackward(
      queue, *arguments, view(grad_out), view(out), view(logsumexp),
      {view(gradients.q), view(gradients.k), view(gradients.v)}));
}

diopiError_t refuseDebugMask() {
  fail(Status::kUnsupported,
       "attention has no debug mask: it would need memory for all pairs");
  return diopiNoImplement;
}

}  // namespace

extern "C" {

diopiError_t diopiFlashAttention(
    diopiContextHandle_t ctx, diopiTensorHandle_t attention_out,
    diopiTensorHandle_t softmax_lse, diopiGeneratorHandle_t gen,
    diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
    diopiConstTensorHandle_t v, diopiConstTensorHandle_t alibi_slopes,
    float p_dropout, float softmax_scale, bool is_causal,
    int32_t window_size_left, int32_t window_size_right) {
  AttentionArguments arguments =
      argumentsOf(q, k, v, p_dropout, softmax_scale, is_causal);
  setWindow(&arguments, alibi_slopes, window_size_left, window_size_right);
  return forward(queueOf(ctx), &arguments, gen, attention_out, softmax_lse);
}

diopiError_t diopiFlashAttentionBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_q,
    diopiTensorHandle_t grad_k, diopiTensorHandle_t grad_v,
    diopiConstTensorHandle_t grad_output, diopiGeneratorHandle_t gen,
    diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
    diopiConstTensorHandle_t v, diopiConstTensorHandle_t alibi_slopes,
    diopiConstTensorHandle_t attention_out,
    diopiConstTensorHandle_t softmax_lse, float p_dropout, float softmax_scale,
    bool is_causal, int32_t window_size_left, int32_t window_size_right) {
  AttentionArguments arguments =
      argumentsOf(q, k, v, p_dropout, softmax_scale, is_causal);
  setWindow(&arguments, alibi_slopes, window_size_left, window_size_right);
  return backward(queueOf(ctx), &arguments, gen, grad_output, attention_out,
                  softmax_lse, {grad_q, grad_k, grad_v});
}

diopiError_t diopiFlashAttentionVarLen(
    diopiContextHandle_t ctx, diopiTensorHandle_t attention_out,
    diopiTensorHandle_t softmax_lse, diopiGeneratorHandle_t gen,
    diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
    diopiConstTensorHandle_t v, diopiConstTensorHandle_t cum_seq_q,
    diopiConstTensorHandle_t cum_seq_kv, diopiConstTensorHandle_t alibi_slopes,
    int32_t max_seqlen_q, int32_t max_seqlen_kv, float p_dropout,
    float softmax_scale, bool is_causal, int32_t window_size_left,
    int32_t window_size_right) {
  AttentionArguments arguments =
      argumentsOf(q, k, v, p_dropout, softmax_scale, is_causal);
  setStarts(&arguments, cum_seq_q, cum_seq_kv, max_seqlen_q, max_seqlen_kv);
  setWindow(&arguments, alibi_slopes, window_size_left, window_size_right);
  return forward(queueOf(ctx), &arguments, gen, attention_out, softmax_lse);
}

diopiError_t diopiFlashAttentionVarLenBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_q,
    diopiTensorHandle_t grad_k, diopiTensorHandle_t grad_v,
    diopiConstTensorHandle_t grad_output, diopiGeneratorHandle_t gen,
    diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
    diopiConstTensorHandle_t v, diopiConstTensorHandle_t cum_seq_q,
    diopiConstTensorHandle_t cum_seq_kv, diopiConstTensorHandle_t alibi_slopes,
    diopiConstTensorHandle_t attention_out,
    diopiConstTensorHandle_t softmax_lse, int32_t max_seqlen_q,
    int32_t max_seqlen_kv, float p_dropout, float softmax_scale, bool is_causal,
    int32_t window_size_left, int32_t window_size_right) {
  AttentionArguments arguments =
      argumentsOf(q, k, v, p_dropout, softmax_scale, is_causal);
  setStarts(&arguments, cum_seq_q, cum_seq_kv, max_seqlen_q, max_seqlen_kv);
  setWindow(&arguments, alibi_slopes, window_size_left, window_size_right);
  return backward(queueOf(ctx), &arguments, gen, grad_output, attention_out,
                  softmax_lse, {grad_q, grad_k, grad_v});
}

diopiError_t diopiMultiHeadAttention(
    diopiContextHandle_t ctx, diopiTensorHandle_t q, diopiTensorHandle_t k,
    diopiTensorHandle_t v, double dropout_p, bool is_causal,
    bool return_debug_mask, double scale, diopiTensorHandle_t out,
    diopiTensorHandle_t softmax_lse, diopiGeneratorHandle_t gen,
    diopiTensorHandle_t /*debug_attn_mask*/) {
  if (return_debug_mask) return refuseDebugMask();
  AttentionArguments arguments =
      argumentsOf(q, k, v, dropout_p, scale, is_causal);
  return forward(queueOf(ctx), &arguments, gen, out, softmax_lse);
}

diopiError_t diopiMultiHeadAttentionBackward(
    diopiContextHandle_t ctx, diopiConstTensorHandle_t grad_out,
    diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
    diopiConstTensorHandle_t v, diopiConstTensorHandle_t out,
    diopiConstTensorHandle_t softmax_lse, double dropout_p, bool is_causal,
    diopiGeneratorHandle_t gen, double scale, diopiTensorHandle_t grad_q,
    diopiTensorHandle_t grad_k, diopiTensorHandle_t grad_v) {
  AttentionArguments arguments =
      argumentsOf(q, k, v, dropout_p, scale, is_causal);
  return backward(queueOf(ctx), &arguments, gen, grad_out, out, softmax_lse,
                  {grad_q, grad_k, grad_v});
}

diopiError_t diopiMultiHeadAttentionVarLen(
    diopiContextHandle_t ctx, diopiTensorHandle_t q, diopiTensorHandle_t k,
    diopiTensorHandle_t v, diopiConstTensorHandle_t cum_seq_q,
    diopiConstTensorHandle_t cum_seq_k, int64_t max_q, int64_t max_k,
    double dropout_p, bool is_causal, bool return_debug_mask, double scale,
    diopiTensorHandle_t out, diopiTensorHandle_t softmax_lse,
    diopiGeneratorHandle_t gen, diopiTensorHandle_t /*debug_attn_mask*/) {
  if (return_debug_mask) return refuseDebugMask();
  AttentionArguments arguments =
      argumentsOf(q, k, v, dropout_p, scale, is_causal);
  setStarts(&arguments, cum_seq_q, cum_seq_k, max_q, max_k);
  return forward(queueOf(ctx), &arguments, gen, out, softmax_lse);
}

diopiError_t diopiMultiHeadAttentionVarLenBackward(
    diopiContextHandle_t ctx, diopiConstTensorHandle_t grad_out,
    diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
    diopiConstTensorHandle_t v, diopiConstTensorHandle_t out,
    diopiConstTensorHandle_t softmax_lse, diopiConstTensorHandle_t cum_seq_q,
    diopiConstTensorHandle_t cum_seq_k, int64_t max_q, int64_t max_k,
    double dropout_p, bool is_causal, diopiGeneratorHandle_t gen, double scale,
    diopiTensorHandle_t grad_q, diopiTensorHandle_t grad_k,
    diopiTensorHandle_t grad_v) {
  AttentionArguments arguments =
      argumentsOf(q, k, v, dropout_p, scale, is_causal);
  setStarts(&arguments, cum_seq_q, cum_seq_k, max_q, max_k);
  return backward(queueOf(ctx), &arguments, gen, grad_out, out, softmax_lse,
                  {grad_q, grad_k, grad_v});
}

}  // extern "C"
