// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/attention/plan.h"

#include "kernels/compute/status.h"

namespace dipu::kernels {
namespace attention_detail {
namespace {

// Far from overflow, beyond any position.
constexpr int64_t kUnlimited = int64_t{1} << 40;

int64_t widthOf(int64_t window) { return window < 0 ? kUnlimited : window; }

bool isStarts(const TensorView& view) {
  return view.ndim == 1 && view.numel > 0 &&
         (view.dtype == DType::kInt32 || view.dtype == DType::kInt64);
}

}  // namespace

Planner::Planner(const Queue& queue, const AttentionArguments& arguments)
    : queue_(queue),
      arguments_(arguments),
      q_starts_(queue, arguments.q_starts, Order::kRowMajor, DType::kInt64),
      k_starts_(queue, arguments.k_starts, Order::kRowMajor, DType::kInt64),
      slopes_(queue, arguments.slopes, Order::kRowMajor, DType::kFloat32) {}

Status Planner::prepare(const AttentionStatistics& statistics) {
  Status status = checkShapes();
  if (status == Status::kOk) status = checkStatistics(statistics);
  if (status == Status::kOk) status = readLimits();
  if (status != Status::kOk || empty()) return status;
  status = bind("q", arguments_.q, arguments_.q, &plan_.q);
  if (status == Status::kOk) {
    status = bind("k", arguments_.k, arguments_.k, &plan_.k);
  }
  if (status == Status::kOk) {
    status = bind("v", arguments_.v, arguments_.k, &plan_.v);
  }
  if (status == Status::kOk) status = readStarts();
  if (status == Status::kOk) status = readBias();
  return status == Status::kOk ? readMask() : status;
}

Status Planner::checkShapes() {
  const AttentionArguments& a = arguments_;
  const bool variable = a.q_starts.defined();
  const int32_t ndim = variable ? 3 : 4;
  if (!isFloating(a.q.dtype)) return unsupportedDType("attention", a.q.dtype);
  if (a.q.ndim != ndim || a.k.ndim != ndim) {
    return fail(Status::kInvalid,
                "attention: q and k have %d and %d dimensions, not %d",
                a.q.ndim, a.k.ndim, ndim);
  }
  if (variable != a.k_starts.defined()) {
    return fail(Status::kInvalid, "attention: starts of q or k are missing");
  }
  if (variable && (!isStarts(a.q_starts) || !isStarts(a.k_starts) ||
                   a.q_starts.numel != a.k_starts.numel)) {
    return fail(Status::kInvalid,
                "attention: starts are no integer vectors of one length");
  }
  plan_.dim = a.q.sizes[ndim - 1];
  plan_.heads = a.q.sizes[ndim - 2];
  plan_.key_heads = a.k.sizes[ndim - 2];
  plan_.q_tokens = a.q.sizes[ndim - 3];
  plan_.k_tokens = a.k.sizes[ndim - 3];
  plan_.batch = variable ? a.q_starts.numel - 1 : a.q.sizes[0];
  plan_.max_q = variable ? a.max_q : plan_.q_tokens;
  plan_.max_k = variable ? a.max_k : plan_.k_tokens;
  if (a.k.sizes[ndim - 1] != plan_.dim ||
      (!variable && a.k.sizes[0] != plan_.batch)) {
    return fail(Status::kInvalid, "attention: the sizes of q and k differ");
  }
  if (plan_.key_heads == 0 || plan_.heads % plan_.key_heads != 0) {
    return fail(Status::kInvalid, "attention: %ld heads of q for %ld of k",
                long(plan_.heads), long(plan_.key_heads));
  }
  return Status::kOk;
}

bool Planner::isStatistic(const TensorView& view, bool packed) const {
  const int64_t packed_sizes[] = {plan_.heads, plan_.q_tokens};
  const int64_t sizes[] = {plan_.batch, plan_.heads, plan_.max_q};
  const int32_t ndim = packed ? 2 : 3;
  return isFloating(view.dtype) && view.ndim == ndim &&
         std::equal(view.sizes, view.sizes + ndim,
                    packed ? packed_sizes : sizes);
}

// All that are wanted have one form.
Status Planner::checkStatistics(const AttentionStatistics& statistics) {
  const TensorView* const views[] = {&statistics.logsumexp, &statistics.largest,
                                     &statistics.sum};
  for (const TensorView* view : views) {
    if (view->defined() && view->ndim == 2) plan_.packed_statistics = true;
  }
  const bool packed = plan_.packed_statistics;
  const bool allowed = !packed || arguments_.q_starts.defined();
  for (const TensorView* view : views) {
    if (!view->defined() || (allowed && isStatistic(*view, packed))) continue;
    return fail(Status::kInvalid,
                "attention: softmax_lse, softmax_max or softmax_sum is not "
                "[%ld, %ld, %ld] floats",
                long(plan_.batch), long(plan_.heads), long(plan_.max_q));
  }
  return Status::kOk;
}

Status Planner::readLimits() {
  if (plan_.max_q < 0 || plan_.max_k < 0) {
    return fail(Status::kInvalid,
                "attention: sequences of at most %ld queries and %ld keys",
                long(plan_.max_q), long(plan_.max_k));
  }
  plan_.scale = arguments_.scale;
  plan_.left = widthOf(arguments_.window_left);
  plan_.right = widthOf(arguments_.window_right);
  if (arguments_.causal) plan_.right = 0;
  plan_.dropout = arguments_.dropout;
  plan_.seed = arguments_.seed;
  plan_.position = arguments_.position;
  if (!(plan_.dropout >= 0.0 && plan_.dropout < 1.0)) {
    return fail(Status::kInvalid, "attention: dropout of %g", plan_.dropout);
  }
  const TensorView& saved = arguments_.saved;
  if (!saved.defined() || plan_.dropout == 0.0) return Status::kOk;
  if (saved.dtype != DType::kInt64 || saved.numel != 2 ||
      !isContiguous(saved)) {
    return fail(Status::kInvalid,
                "attention: dropout_mask is not a result of "
                "the forward pass");
  }
  plan_.saved = translateView<const int64_t>(queue_, saved);
  return plan_.saved == nullptr ? Status::kFailed : Status::kOk;
}

Status Planner::readStarts() {
  if (!q_starts_.load() || !k_starts_.load()) return Status::kFailed;
  plan_.q_starts = q_starts_.address<const int64_t>();
  plan_.k_starts = k_starts_.address<const int64_t>();
  return Status::kOk;
}

Status Planner::readBias() {
  const TensorView& slopes = arguments_.slopes;
  if (!slopes.defined()) return Status::kOk;
  const bool fits = (slopes.ndim == 1 && slopes.sizes[0] == plan_.heads) ||
                    (slopes.ndim == 2 && slopes.sizes[0] == plan_.batch &&
                     slopes.sizes[1] == plan_.heads);
  if (!fits || !isFloating(slopes.dtype)) {
    return fail(Status::kInvalid,
                "attention: alibi_slopes are not [%ld] or [%ld, %ld] floats",
                long(plan_.heads), long(plan_.batch), long(plan_.heads));
  }
  if (!slopes_.load()) return Status::kFailed;
  plan_.slopes = slopes_.address<const float>();
  plan_.slopes_batch = slopes.ndim == 2 ? plan_.heads : 0;
  return Status::kOk;
}

Status Planner::readMask() {
  const TensorView& mask = arguments_.mask;
  if (!mask.defined()) return Status::kOk;
  if (mask.dtype != DType::kBool && mask.dtype != DType::kUInt8) {
    return unsupportedDType("attention_mask", mask.dtype);
  }
  const int64_t sizes[4] = {plan_.batch, plan_.heads, plan_.max_q, plan_.max_k};
  bool fits = mask.ndim <= 4;
  for (int32_t d = 0; fits && d < mask.ndim; ++d) {
    const int32_t to = d + 4 - mask.ndim;
    fits = mask.sizes[d] == 1 || mask.sizes[d] == sizes[to];
    plan_.mask_strides[to] = mask.sizes[d] == 1 ? 0 : mask.strides[d];
  }
  if (!fits) {
    return fail(Status::kInvalid,
                "attention: the mask does not broadcast to [%ld, %ld, %ld, "
                "%ld]",
                long(sizes[0]), long(sizes[1]), long(sizes[2]), long(sizes[3]));
  }
  plan_.mask = translateView<const uint8_t>(queue_, mask);
  return plan_.mask == nullptr ? Status::kFailed : Status::kOk;
}

Status Planner::bind(const char* name, const TensorView& tensor,
                     const TensorView& like, Operand* operand) {
  if (tensor.ndim != like.ndim || tensor.dtype != arguments_.q.dtype ||
      !std::equal(like.sizes, like.sizes + like.ndim, tensor.sizes)) {
    return fail(Status::kInvalid,
                "attention: %s differs in dtype or shape from its counterpart",
                name);
  }
  if (tensor.numel == 0) return Status::kOk;
  operand->data = translateView(queue_, tensor);
  if (operand->data == nullptr) return Status::kFailed;
  const int32_t last = tensor.ndim - 1;
  operand->batch = tensor.ndim == 4 ? tensor.strides[0] : 0;
  operand->token = tensor.strides[last - 2];
  operand->head = tensor.strides[last - 1];
  operand->feature = tensor.strides[last];
  return Status::kOk;
}

}  // namespace attention_detail

void takeAttentionNumbers(AttentionArguments* arguments, RandomSource* source) {
  if (arguments->dropout == 0.0) return;
  const bool variable = arguments->q_starts.defined();
  const TensorView& q = arguments->q;
  const TensorView& k = arguments->k;
  if (q.ndim != (variable ? 3 : 4) || k.ndim != q.ndim) return;
  const int64_t batch = variable ? arguments->q_starts.numel - 1 : q.sizes[0];
  const int64_t rows = variable ? arguments->max_q : q.sizes[1];
  const int64_t keys = variable ? arguments->max_k : k.sizes[1];
  arguments->seed = source->seed();
  arguments->position =
      source->take(batch * q.sizes[q.ndim - 2] * rows * ((keys + 3) / 4 * 4));
}

}  // namespace dipu::kernels
