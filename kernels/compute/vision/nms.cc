// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/read_back.h"
#include "kernels/compute/vision/detection.h"

namespace dipu::kernels {
namespace {

// Coordinates of sorted boxes as columns, so that the innermost loop
// vectorises.
template <typename C>
struct Columns {
  C* x1;
  C* y1;
  C* x2;
  C* y2;
  C* area;

  static constexpr int64_t kCount = 5;
  Columns(C* memory, int64_t n)
      : x1(memory),
        y1(memory + n),
        x2(memory + 2 * n),
        y2(memory + 3 * n),
        area(memory + 4 * n) {}

  // Marks the boxes of [begin, end) that box `i` covers.
  void suppress(int64_t i, int64_t begin, int64_t end, C threshold,
                uint8_t* __restrict gone) const {
    for (int64_t j = begin; j < end; ++j) {
      const C width = std::min(x2[i], x2[j]) - std::max(x1[i], x1[j]);
      const C height = std::min(y2[i], y2[j]) - std::max(y1[i], y1[j]);
      const C common = std::max(C(0), width) * std::max(C(0), height);
      const C joined = area[i] + area[j] - common;
      gone[j] |= common / joined > threshold ? 1 : 0;
    }
  }
};

template <typename C>
struct SuppressTask {
  const C* boxes;
  const C* scores;
  int64_t* kept;
  int64_t* count;
  int64_t* order;
  C* memory;
  uint8_t* gone;
  int64_t n;
  double threshold;

  void operator()() const {
    std::iota(order, order + n, int64_t{0});
    // NaN comes first, as in a descending sort.
    const auto rank = [this](int64_t i) { return scores[i] != scores[i]; };
    std::stable_sort(order, order + n, [&](int64_t a, int64_t b) {
      return rank(a) != rank(b) ? rank(a) : scores[a] > scores[b];
    });
    const Columns<C> columns(memory, n);
    for (int64_t i = 0; i < n; ++i) {
      const C* box = boxes + 4 * order[i];
      columns.x1[i] = box[0];
      columns.y1[i] = box[1];
      columns.x2[i] = box[2];
      columns.y2[i] = box[3];
      columns.area[i] = (box[2] - box[0]) * (box[3] - box[1]);
    }
    std::fill_n(gone, n, uint8_t{0});
    int64_t found = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (gone[i] != 0) continue;
      kept[found++] = order[i];
      columns.suppress(i, i + 1, n, static_cast<C>(threshold), gone);
    }
    *count = found;
  }
};

template <typename C>
Status suppress(const Queue& queue, const TensorView& kept,
                const DenseTensor& boxes, const DenseTensor& scores,
                double threshold, int64_t* out_count) {
  const int64_t n = kept.numel;
  int64_t* count = static_cast<int64_t*>(queue.scratch(sizeof(int64_t)));
  void* order = scratchAddress(queue, n * 8);
  void* memory = scratchAddress(
      queue, Columns<C>::kCount * n * static_cast<int64_t>(sizeof(C)));
  void* gone = scratchAddress(queue, n);
  if (count == nullptr || order == nullptr || memory == nullptr ||
      gone == nullptr) {
    return Status::kFailed;
  }
  const SuppressTask<C> task{boxes.address<const C>(),
                             scores.address<const C>(),
                             translateView<int64_t>(queue, kept),
                             queue.translate<int64_t>(count, sizeof(int64_t)),
                             static_cast<int64_t*>(order),
                             static_cast<C*>(memory),
                             static_cast<uint8_t*>(gone),
                             n,
                             threshold};
  if (task.kept == nullptr || !queue.launch(task)) return Status::kFailed;
  return readBack(queue, out_count, count, sizeof(int64_t));
}

}  // namespace

Status nonMaximumSuppression(const Queue& queue, const TensorView& kept,
                             const TensorView& boxes, const TensorView& scores,
                             double threshold, int64_t* out_count) {
  *out_count = 0;
  if (!isFloating(boxes.dtype)) return unsupportedDType("nms", boxes.dtype);
  if (boxes.ndim != 2 || boxes.sizes[1] != 4 || scores.ndim != 1 ||
      scores.sizes[0] != boxes.sizes[0] || scores.dtype != boxes.dtype) {
    return fail(Status::kInvalid,
                "nms: boxes are not [n, 4] with [n] scores of the same dtype");
  }
  if (boxes.numel == 0) return Status::kOk;
  const DType compute = computeDType(boxes.dtype);
  DenseTensor b(queue, boxes, Order::kRowMajor, compute);
  DenseTensor s(queue, scores, Order::kRowMajor, compute);
  if (!b.load() || !s.load()) return Status::kFailed;
  return compute == DType::kFloat64
             ? suppress<double>(queue, kept, b, s, threshold, out_count)
             : suppress<float>(queue, kept, b, s, threshold, out_count);
}

}  // namespace dipu::kernels
