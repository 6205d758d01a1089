// SPDX-License-Identifier: Apache-2.0
//
// One sample of a CTC loss as the worker sees it. Internal to ctc_loss.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/compute/index_check.h"
#include "kernels/compute/refusal.h"

namespace dipu::kernels::ctc {

template <typename T>
inline constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b) + exp(c)).
template <typename T>
inline T logSum(T a, T b, T c) {
  const T most = std::max(a, std::max(b, c));
  if (most == kNever<T>) return most;
  return most +
         std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

// Plain values, for the worker.
struct Problem {
  const void* log_probs;  // [steps, samples, classes]
  IndexReader targets;
  IndexReader input_lengths;
  IndexReader target_lengths;
  int64_t steps;
  int64_t samples;
  int64_t classes;
  int64_t states;  // of log_alpha
  int64_t padded;  // length of a row of targets, 0 when they are joined
  int64_t blank;
};

// One sample. Even states are blanks, odd ones labels.
template <typename T>
class Sample {
 public:
  Sample(const Problem& p, int64_t i)
      : problem_(p),
        first_(static_cast<const T*>(p.log_probs) + i * p.classes),
        steps_(p.input_lengths.at(i)),
        labels_(p.target_lengths.at(i)) {
    begin_ = i * p.padded;
    for (int64_t k = 0; p.padded == 0 && k < i; ++k) {
      begin_ += p.target_lengths.at(k);
    }
  }

  int64_t steps() const { return steps_; }
  int64_t states() const { return 2 * labels_ + 1; }

  // Whether the lengths fit and labels exist; reports what is wrong.
  bool valid() const {
    if (steps_ < 0 || steps_ > problem_.steps) {
      refuse("input length %lld does not lie between 0 and %lld",
             static_cast<long long>(steps_),
             static_cast<long long>(problem_.steps));
      return false;
    }
    if (labels_ < 0 || states() > problem_.states) {
      refuse("target length %lld does not lie between 0 and %lld",
             static_cast<long long>(labels_),
             static_cast<long long>(problem_.states / 2));
      return false;
    }
    for (int64_t k = 0; k < labels_; ++k) {
      const int64_t label = problem_.targets.at(begin_ + k);
      if (label >= 0 && label < problem_.classes) continue;
      refuse("label %lld is not among %lld classes",
             static_cast<long long>(label),
             static_cast<long long>(problem_.classes));
      return false;
    }
    return true;
  }

  int64_t classOf(int64_t state) const {
    return state % 2 == 0 ? problem_.blank
                          : problem_.targets.at(begin_ + state / 2);
  }
  T probability(int64_t step, int64_t state) const {
    return first_[step * problem_.samples * problem_.classes + classOf(state)];
  }
  // Whether a path may go from state - 2 straight to `state`.
  bool skips(int64_t state) const {
    return state % 2 == 1 && state >= 3 && classOf(state) != classOf(state - 2);
  }

 private:
  const Problem& problem_;
  const T* first_;
  int64_t steps_;
  int64_t labels_;
  int64_t begin_;
};

}  // namespace dipu::kernels::ctc
