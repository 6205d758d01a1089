// SPDX-License-Identifier: Apache-2.0
//
// Volumes of up to three axes, and the two things that resampling and padding
// do to them: move elements, and add weighted elements axis by axis.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/pooling/axis_table.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels::pooling {

// `planes` volumes one after the other, with `inner` elements side by side at
// each place (the channels of channels-last tensors). Axes that a tensor lacks
// have size 1 and come first.
struct Volume {
  int64_t planes = 1;
  int64_t inner = 1;
  Axis axes[kAxes];

  int64_t inSize() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t outSize() const { return axes[0].out * axes[1].out * axes[2].out; }
};

// The volume between two tensors whose last `spatial` dimensions differ and
// that lie in `order`. Checks in the name of `operation` that they fit.
Status volumeOf(const char* operation, const TensorView& in,
                const TensorView& out, int32_t spatial, Order order,
                Volume* volume);

// result[o] = source[maps(o)] for elements of any type.
template <typename T>
void moveElements(const Volume& v, const AxisMaps& maps, const T* source,
                  T* result) {
  const int64_t line = v.axes[2].out * v.inner;
  const auto moveRow = [&](int64_t row) {
    const int64_t h = row % v.axes[1].out;
    const int64_t d = row / v.axes[1].out % v.axes[0].out;
    const int64_t plane = row / (v.axes[1].out * v.axes[0].out);
    const T* from =
        source +
        ((plane * v.axes[0].in + maps[0][d]) * v.axes[1].in + maps[1][h]) *
            v.axes[2].in * v.inner;
    T* to = result + row * line;
    for (int64_t w = 0; w < v.axes[2].out; ++w) {
      if (v.inner == 1) {
        to[w] = from[maps[2][w]];
      } else {
        std::copy_n(from + maps[2][w] * v.inner, v.inner, to + w * v.inner);
      }
    }
  };
  parallelFor(v.planes * v.axes[0].out * v.axes[1].out, grainFor(line, 2),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) moveRow(row);
              });
}

// One axis of a volume of `outer` x axis x `inner` elements.
template <typename C>
struct AxisPass {
  const AxisTable<C>& table;
  int64_t outer;
  int64_t in;
  int64_t out;
  int64_t inner;

  void forward(const C* from, C* to) const {
    if (inner == 1) return forwardLines(from, to);
    for (int64_t r = 0; r < outer; ++r, from += in * inner) {
      for (int64_t o = 0; o < out; ++o, to += inner) {
        std::fill(to, to + inner, C(0));
        for (int64_t k = table.begin[o]; k < table.begin[o + 1]; ++k) {
          add(from + table.index[k] * inner, table.weight[k], to);
        }
      }
    }
  }

  void transposed(const C* from, C* to) const {
    std::fill(to, to + outer * in * inner, C(0));
    for (int64_t r = 0; r < outer; ++r, to += in * inner) {
      for (int64_t o = 0; o < out; ++o, from += inner) {
        for (int64_t k = table.begin[o]; k < table.begin[o + 1]; ++k) {
          add(from, table.weight[k], to + table.index[k] * inner);
        }
      }
    }
  }

 private:
  void forwardLines(const C* from, C* to) const {
    for (int64_t r = 0; r < outer; ++r, from += in) {
      for (int64_t o = 0; o < out; ++o, ++to) {
        C sum = 0;
        for (int64_t k = table.begin[o]; k < table.begin[o + 1]; ++k) {
          sum += table.weight[k] * from[table.index[k]];
        }
        *to = sum;
      }
    }
  }

  void add(const C* from, C weight, C* to) const {
#pragma GCC ivdep
    for (int64_t i = 0; i < inner; ++i) to[i] += weight * from[i];
  }
};

// result = the tables of all axes applied to source; or, transposed, source
// and result change places, for gradients.
template <typename T>
class Weighting {
 public:
  using C = ComputeType<T>;

  Weighting(const Volume& volume, const AxisTables<C>& tables, bool transposed)
      : v_(volume), tables_(tables), transposed_(transposed) {
    for (int i = 0; i < kAxes; ++i) {
      const int axis = transposed ? i : kAxes - 1 - i;
      if (!tables[axis].isIdentity(v_.axes[axis])) {
        order_[passes_++] = axis;
      }
    }
  }

  void run(const T* source, T* result) const {
    const int64_t small = v_.inSize() * v_.inner;
    const int64_t large = v_.outSize() * v_.inner;
    const int64_t from = transposed_ ? large : small;
    const int64_t to = transposed_ ? small : large;
    parallelFor(v_.planes, grainFor(std::max(from, to), 2 * kAxes),
                [&](int64_t begin, int64_t end) {
                  for (int64_t p = begin; p < end; ++p) {
                    plane(source + p * from, result + p * to, from, to);
                  }
                });
  }

 private:
  void plane(const T* source, T* result, int64_t from_size,
             int64_t to_size) const {
    // Only what lies between source and result takes memory.
    const int64_t room = largest();
    constexpr bool kConverts = !std::is_same_v<T, C>;
    const int used = kConverts ? passes_ + 1 : passes_ - 1;
    C* buffers[] = {
        used > 0 ? workerBuffer<kResampleSlot>().get<C>(room) : nullptr,
        used > 1 ? workerBuffer<kOtherResampleSlot>().get<C>(room) : nullptr};
    const C* current = load(source, from_size, buffers[0]);
    int64_t sizes[kAxes];
    for (int i = 0; i < kAxes; ++i) {
      sizes[i] = transposed_ ? v_.axes[i].out : v_.axes[i].in;
    }
    for (int i = 0; i < passes_; ++i) {
      C* next = buffers[current == buffers[0] ? 1 : 0];
      if constexpr (std::is_same_v<T, C>) {
        if (i + 1 == passes_) next = result;
      }
      apply(order_[i], sizes, current, next);
      current = next;
    }
    if (static_cast<const void*>(current) == result) return;
    for (int64_t i = 0; i < to_size; ++i) {
      result[i] = static_cast<T>(current[i]);
    }
  }

  static const C* load(const T* source, int64_t size, C* buffer) {
    if constexpr (std::is_same_v<T, C>) {
      return source;
    } else {
      for (int64_t i = 0; i < size; ++i) buffer[i] = static_cast<C>(source[i]);
      return buffer;
    }
  }

  void apply(int axis, int64_t (&sizes)[kAxes], const C* from, C* to) const {
    AxisPass<C> pass{tables_[axis], 1, v_.axes[axis].in, v_.axes[axis].out,
                     v_.inner};
    for (int i = 0; i < axis; ++i) pass.outer *= sizes[i];
    for (int i = axis + 1; i < kAxes; ++i) pass.inner *= sizes[i];
    if (transposed_) {
      pass.transposed(from, to);
    } else {
      pass.forward(from, to);
    }
    sizes[axis] = transposed_ ? pass.in : pass.out;
  }

  // Elements of the largest volume between two passes.
  int64_t largest() const {
    int64_t size = v_.inner;
    for (const Axis& axis : v_.axes) size *= std::max(axis.in, axis.out);
    return size;
  }

  const Volume& v_;
  const AxisTables<C>& tables_;
  const bool transposed_;
  int passes_ = 0;
  int order_[kAxes] = {};
};

}  // namespace dipu::kernels::pooling
