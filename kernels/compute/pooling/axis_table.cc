// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/axis_table.h"

#include <algorithm>
#include <cmath>

namespace dipu::kernels::pooling {
namespace {

constexpr double kPi = 3.14159265358979323846;

template <typename C>
struct Filter {
  Interpolation mode;

  // Elements of the source under the filter when nothing shrinks.
  int64_t width() const {
    switch (mode) {
      case Interpolation::kCubic:
        return 4;
      case Interpolation::kLanczos:
        return 6;
      default:
        return 2;
    }
  }

  C at(C x) const {
    x = std::abs(x);
    switch (mode) {
      case Interpolation::kCubic:
        return cubic(x, C(-0.5));
      case Interpolation::kLanczos:
        return x < C(3) ? sinc(x) * sinc(x / C(3)) : C(0);
      default:
        return x < C(1) ? C(1) - x : C(0);
    }
  }

  // The piecewise cubic of Keys with slope `a` at 1.
  static C cubic(C x, C a) {
    if (x < C(1)) return ((a + C(2)) * x - (a + C(3))) * x * x + C(1);
    if (x < C(2)) return ((x - C(5)) * x + C(8)) * x * a - C(4) * a;
    return C(0);
  }

  static C sinc(C x) {
    if (x == C(0)) return C(1);
    const C angle = static_cast<C>(kPi) * x;
    return std::sin(angle) / angle;
  }
};

// Elements of the source per element of the result.
template <typename C>
C stepOf(const Axis& axis, bool align_corners) {
  if (align_corners) {
    return axis.out > 1
               ? static_cast<C>(axis.in - 1) / static_cast<C>(axis.out - 1)
               : C(0);
  }
  if (axis.scale > 0) return static_cast<C>(1.0 / axis.scale);
  return static_cast<C>(axis.in) / static_cast<C>(axis.out);
}

// The whole part of `place`, between `low` and `high`; `low` for NaN.
template <typename C>
int64_t wholeWithin(C place, int64_t low, int64_t high) {
  constexpr auto kFar = static_cast<C>(int64_t{1} << 62);
  if (!(place > static_cast<C>(low))) return low;
  return place < kFar ? std::min(static_cast<int64_t>(place), high) : high;
}

// A position between two elements of the source.
template <typename C>
struct Position {
  int64_t index;
  C fraction;
};

template <typename C>
Position<C> positionOf(const Axis& axis, C step, int64_t out,
                       const ResampleArguments& arguments) {
  const auto o = static_cast<C>(out);
  C at = arguments.align_corners ? step * o : step * (o + C(0.5)) - C(0.5);
  const bool clamped = arguments.mode == Interpolation::kLinear;
  if (!arguments.align_corners && clamped) at = std::max(at, C(0));
  const int64_t index =
      wholeWithin(std::floor(static_cast<float>(at)), -1, axis.in - 1);
  return {index, std::clamp(at - static_cast<C>(index), C(0), C(1))};
}

template <typename C>
class Builder {
 public:
  Builder(const Axis& axis, const ResampleArguments& arguments)
      : axis_(axis),
        arguments_(arguments),
        step_(stepOf<C>(axis, arguments.align_corners)) {}

  AxisTable<C> build() {
    for (int64_t o = 0; o < axis_.out; ++o) {
      table_.begin.push_back(static_cast<int64_t>(table_.index.size()));
      if (arguments_.antialias) {
        addFiltered(o);
      } else if (arguments_.mode == Interpolation::kCubic) {
        addCubic(o);
      } else {
        addLinear(o);
      }
    }
    table_.begin.push_back(static_cast<int64_t>(table_.index.size()));
    return std::move(table_);
  }

 private:
  void add(int64_t index, C weight) {
    table_.index.push_back(std::clamp<int64_t>(index, 0, axis_.in - 1));
    table_.weight.push_back(weight);
  }

  void addLinear(int64_t o) {
    if (axis_.in == axis_.out) return add(o, C(1));
    const Position<C> p = positionOf(axis_, step_, o, arguments_);
    add(p.index, C(1) - p.fraction);
    add(p.index + 1, p.fraction);
  }

  void addCubic(int64_t o) {
    constexpr C kSlope = C(-0.75);
    const Position<C> p = positionOf(axis_, step_, o, arguments_);
    for (int64_t k = -1; k <= 2; ++k) {
      const C distance = std::abs(p.fraction - static_cast<C>(k));
      add(p.index + k, Filter<C>::cubic(distance, kSlope));
    }
  }

  // The filter widens with the step, so that every element of the source
  // counts; its weights are made to add up to 1.
  void addFiltered(int64_t o) {
    const Filter<C> filter{arguments_.mode};
    const C stretch = std::max(step_, C(1));
    const C support = static_cast<C>(filter.width()) * C(0.5) * stretch;
    const C center = step_ * (static_cast<C>(o) + C(0.5));
    const int64_t first = wholeWithin(center - support + C(0.5), 0, axis_.in);
    const int64_t end = wholeWithin(center + support + C(0.5), 0, axis_.in);
    const std::size_t before = table_.weight.size();
    C total = 0;
    for (int64_t i = first; i < end; ++i) {
      const C weight =
          filter.at((static_cast<C>(i) - center + C(0.5)) / stretch);
      total += weight;
      add(i, weight);
    }
    if (total == C(0)) return;
    for (std::size_t k = before; k < table_.weight.size(); ++k) {
      table_.weight[k] /= total;
    }
  }

  const Axis axis_;
  const ResampleArguments arguments_;
  const C step_;
  AxisTable<C> table_;
};

int64_t reflected(int64_t i, int64_t size) {
  if (i < 0) return -i;
  return i < size ? i : 2 * (size - 1) - i;
}

}  // namespace

template <typename C>
AxisMap nearestMap(const Axis& axis, bool exact) {
  const C step = stepOf<C>(axis, /*align_corners=*/false);
  const C half = exact ? C(0.5) : C(0);
  AxisMap map;
  for (int64_t o = 0; o < axis.out; ++o) {
    const C at = step * (static_cast<C>(o) + half);
    map.push_back(
        wholeWithin(std::floor(static_cast<float>(at)), 0, axis.in - 1));
  }
  return map;
}

AxisMap paddingMap(const Axis& axis, PadMode mode, int64_t before) {
  AxisMap map;
  for (int64_t o = 0; o < axis.out; ++o) {
    const int64_t i = o - before;
    switch (mode) {
      case PadMode::kReflect:
        map.push_back(reflected(i, axis.in));
        break;
      case PadMode::kCircular:
        map.push_back((i % axis.in + axis.in) % axis.in);
        break;
      default:
        map.push_back(std::clamp<int64_t>(i, 0, axis.in - 1));
    }
  }
  return map;
}

template <typename C>
AxisTable<C> tableOf(const AxisMap& map) {
  AxisTable<C> table;
  table.index = map;
  table.weight.assign(map.size(), C(1));
  for (std::size_t i = 0; i <= map.size(); ++i) {
    table.begin.push_back(static_cast<int64_t>(i));
  }
  return table;
}

template <typename C>
AxisTable<C> interpolationTable(const Axis& axis,
                                const ResampleArguments& arguments) {
  return Builder<C>(axis, arguments).build();
}

template AxisMap nearestMap<float>(const Axis&, bool);
template AxisMap nearestMap<double>(const Axis&, bool);
template AxisTable<float> tableOf<float>(const AxisMap&);
template AxisTable<double> tableOf<double>(const AxisMap&);
template AxisTable<float> interpolationTable<float>(const Axis&,
                                                    const ResampleArguments&);
template AxisTable<double> interpolationTable<double>(const Axis&,
                                                      const ResampleArguments&);

}  // namespace dipu::kernels::pooling
