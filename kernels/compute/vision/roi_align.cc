// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/pointwise.h"
#include "kernels/compute/refusal.h"
#include "kernels/compute/vision/detection.h"

namespace dipu::kernels {
namespace {

// The pixels around a point, and their shares in it.
template <typename C>
struct Point {
  int64_t pixels[4];
  C weights[4];
};

// A coordinate between two pixels of an axis.
template <typename C>
struct Between {
  int64_t low;
  int64_t high;
  C fraction;   // of the way to `high`
  bool inside;  // no further than one pixel outside of the image
};

template <typename C>
Between<C> between(C at, int64_t size) {
  if (!(at >= C(-1) && at <= static_cast<C>(size))) return {0, 0, C(0), false};
  const C place = std::max(at, C(0));
  const auto low = static_cast<int64_t>(place);
  if (low >= size - 1) return {size - 1, size - 1, C(0), true};
  return {low, low + 1, place - static_cast<C>(low), true};
}

constexpr int64_t kPart = 128;  // points that are computed at a time
constexpr int64_t kMostPoints = int64_t{1} << 24;  // of a bin

// One box: where its bins lie in the features, and how many points they have.
template <typename C>
struct Box {
  C x;  // of the first bin's corner
  C y;
  C bin_width;
  C bin_height;
  int64_t columns;  // points of a bin
  int64_t rows;
};

template <typename C>
struct RoiTask {
  C* out;    // forward: of the boxes; backward: gradients of these
  C* input;  // forward: the images; backward: their gradients
  const C* boxes;
  int64_t count;
  int64_t batch;
  int64_t channels;
  int64_t height;
  int64_t width;
  int64_t bin_rows;
  int64_t bin_columns;
  RoiOptions options;

  // The image of a box; -1 after a failure of the task.
  int64_t imageOf(int64_t box) const {
    const C image = boxes[5 * box];
    if (image >= C(0) && image < static_cast<C>(batch)) {
      return static_cast<int64_t>(image);
    }
    refuse("box %lld is in image %g of %lld", static_cast<long long>(box),
           static_cast<double>(image), static_cast<long long>(batch));
    return -1;
  }

  Box<C> boxAt(int64_t index) const {
    const C* corners = boxes + 5 * index + 1;
    const auto scale = static_cast<C>(options.scale);
    const C offset = options.aligned ? C(0.5) : C(0);
    Box<C> box;
    box.x = corners[0] * scale - offset;
    box.y = corners[1] * scale - offset;
    const C wide = corners[2] * scale - offset - box.x;
    const C high = corners[3] * scale - offset - box.y;
    const C box_width = options.aligned ? wide : std::max(wide, C(1));
    const C box_height = options.aligned ? high : std::max(high, C(1));
    box.bin_width = box_width / static_cast<C>(bin_columns);
    box.bin_height = box_height / static_cast<C>(bin_rows);
    box.columns = pointsAlong(box.bin_width);
    box.rows = pointsAlong(box.bin_height);
    return box;
  }

  // Points along an axis of a bin, kMostPoints + 1 for more; none for NaN.
  int64_t pointsAlong(C size) const {
    constexpr int64_t kTooMany = kMostPoints + 1;
    if (options.sampling > 0) return std::min(options.sampling, kTooMany);
    const C count = std::ceil(size);
    if (!(count > C(0))) return 0;
    return count < static_cast<C>(kTooMany) ? static_cast<int64_t>(count)
                                            : kTooMany;
  }

  // Whether a bin has no more points than can be computed; if not, the task
  // fails.
  bool isLimited(int64_t index, const Box<C>& box) const {
    if (box.rows * box.columns <= kMostPoints) return true;
    refuse(
        "a bin of box %lld has more than %lld points; clip the boxes or choose "
        "a smaller sampling ratio",
        static_cast<long long>(index), static_cast<long long>(kMostPoints));
    return false;
  }

  // Calls body(points, their number) for parts of the points of a bin that lie
  // in the image.
  template <typename Body>
  void forEachPart(const Box<C>& box, int64_t bin, const Body& body) const {
    Point<C> points[kPart];
    const C x = box.x + static_cast<C>(bin % bin_columns) * box.bin_width;
    const C y = box.y + static_cast<C>(bin / bin_columns) * box.bin_height;
    int64_t found = 0;
    for (int64_t i = 0; i < box.rows; ++i) {
      const C down = (static_cast<C>(i) + C(0.5)) / static_cast<C>(box.rows);
      const Between<C> row = between(y + down * box.bin_height, height);
      for (int64_t j = 0; row.inside && j < box.columns; ++j) {
        const C along =
            (static_cast<C>(j) + C(0.5)) / static_cast<C>(box.columns);
        const Between<C> column = between(x + along * box.bin_width, width);
        if (!column.inside) continue;
        const C v = row.fraction;
        const C h = column.fraction;
        if (found == kPart) {
          body(points, found);
          found = 0;
        }
        points[found++] = {
            {row.low * width + column.low, row.low * width + column.high,
             row.high * width + column.low, row.high * width + column.high},
            {(1 - v) * (1 - h), (1 - v) * h, v * (1 - h), v * h}};
      }
    }
    if (found > 0) body(points, found);
  }

  // Calls body(first element of the bin, image, points, number of points,
  // share of a point) for the points of each bin of a box, part by part.
  template <typename Body>
  void forEachBin(int64_t index, const Body& body) const {
    const int64_t image = imageOf(index);
    if (image < 0) return;
    const Box<C> box = boxAt(index);
    if (!isLimited(index, box)) return;
    const C share =
        C(1) / static_cast<C>(std::max<int64_t>(1, box.rows * box.columns));
    const int64_t first = index * channels * bin_rows * bin_columns;
    for (int64_t bin = 0; bin < bin_rows * bin_columns; ++bin) {
      forEachPart(box, bin, [&](const Point<C>* points, int64_t found) {
        body(first + bin, image, points, found, share);
      });
    }
  }

  void forward() const {
    const int64_t bins = bin_rows * bin_columns;
    parallelFor(count, grainFor(channels * bins, 8),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) readBox(i, bins);
                });
  }

  void readBox(int64_t index, int64_t bins) const {
    const int64_t plane = height * width;
    std::fill_n(out + index * channels * bins, channels * bins, C(0));
    forEachBin(index, [&](int64_t at, int64_t image, const Point<C>* points,
                          int64_t found, C share) {
      for (int64_t c = 0; c < channels; ++c) {
        const C* pixels = input + (image * channels + c) * plane;
        C sum = 0;
        for (int64_t k = 0; k < found; ++k) {
          for (int q = 0; q < 4; ++q) {
            sum += points[k].weights[q] * pixels[points[k].pixels[q]];
          }
        }
        out[at + c * bins] += sum * share;
      }
    });
  }

  // Boxes overlap, so threads share out the channels.
  void backward() const {
    const int64_t bins = bin_rows * bin_columns;
    parallelFor(channels, grainFor(count * bins, 8),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = 0; i < count; ++i) {
                    addBox(i, bins, begin, end);
                  }
                });
  }

  void addBox(int64_t index, int64_t bins, int64_t begin, int64_t end) const {
    const int64_t plane = height * width;
    forEachBin(index, [&](int64_t at, int64_t image, const Point<C>* points,
                          int64_t found, C share) {
      for (int64_t c = begin; c < end; ++c) {
        C* pixels = input + (image * channels + c) * plane;
        const C slope = out[at + c * bins] * share;
        for (int64_t k = 0; k < found; ++k) {
          for (int q = 0; q < 4; ++q) {
            pixels[points[k].pixels[q]] += points[k].weights[q] * slope;
          }
        }
      }
    });
  }
};

Status check(const TensorView& out, const TensorView& input,
             const TensorView& boxes) {
  if (!isFloating(input.dtype)) {
    return unsupportedDType("roi_align", input.dtype);
  }
  if (out.ndim == 4 && input.ndim == 4 && boxes.ndim == 2 &&
      boxes.sizes[1] == 5 && boxes.sizes[0] == out.sizes[0] &&
      out.sizes[1] == input.sizes[1] && isFloating(boxes.dtype) &&
      out.dtype == input.dtype) {
    return Status::kOk;
  }
  return fail(Status::kInvalid,
              "roi_align: features [n, c, h, w] and boxes [k, 5] give "
              "[k, c, rows, columns] of the same dtype");
}

// A task over dense tensors of the compute type.
template <typename C>
RoiTask<C> taskOf(const DenseTensor& out, const DenseTensor& input,
                  const DenseTensor& boxes, const RoiOptions& options) {
  const int64_t* sizes = input.view().sizes;
  return {out.address<C>(),
          input.address<C>(),
          boxes.address<const C>(),
          boxes.view().sizes[0],
          sizes[0],
          sizes[1],
          sizes[2],
          sizes[3],
          out.view().sizes[2],
          out.view().sizes[3],
          options};
}

// Enqueues run(task).
template <typename Run>
Status launch(const Queue& queue, DType compute, const DenseTensor& out,
              const DenseTensor& input, const DenseTensor& boxes,
              const RoiOptions& options, const Run& run) {
  bool sent = false;
  dispatchAmong<float, double>(compute, [&](auto tag) {
    using C = typename decltype(tag)::type;
    sent = queue.launch(
        [task = taskOf<C>(out, input, boxes, options), run] { run(task); });
  });
  return sent ? Status::kOk : Status::kFailed;
}

}  // namespace

Status roiAlign(const Queue& queue, const TensorView& out,
                const TensorView& input, const TensorView& boxes,
                const RoiOptions& options) {
  const Status status = check(out, input, boxes);
  if (status != Status::kOk || out.numel == 0) return status;
  if (input.numel == 0) {
    return fail(Status::kInvalid, "roi_align: features without pixels");
  }
  const DType compute = computeDType(input.dtype);
  DenseTensor y(queue, out, Order::kRowMajor, compute);
  DenseTensor x(queue, input, Order::kRowMajor, compute);
  DenseTensor b(queue, boxes, Order::kRowMajor, compute);
  if (!y.open() || !x.load() || !b.load()) return Status::kFailed;
  const Status sent = launch(queue, compute, y, x, b, options,
                             [](const auto& task) { task.forward(); });
  return sent == Status::kOk ? y.store() : sent;
}

Status roiAlignBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad, const TensorView& boxes,
                        const RoiOptions& options) {
  const Status status = check(grad, grad_input, boxes);
  if (status != Status::kOk || grad_input.numel == 0) return status;
  const DType compute = computeDType(grad.dtype);
  DenseTensor g(queue, grad, Order::kRowMajor, compute);
  DenseTensor dx(queue, grad_input, Order::kRowMajor, compute);
  DenseTensor b(queue, boxes, Order::kRowMajor, compute);
  if (!dx.open()) return Status::kFailed;
  Status sent = fill(queue, dx.view(), {true, 0, 0.0});
  if (sent == Status::kOk && grad.numel > 0) {
    if (!g.load() || !b.load()) return Status::kFailed;
    sent = launch(queue, compute, g, dx, b, options,
                  [](const auto& task) { task.backward(); });
  }
  return sent == Status::kOk ? dx.store() : sent;
}

}  // namespace dipu::kernels
