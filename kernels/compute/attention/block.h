// SPDX-License-Identifier: Apache-2.0
//
// Blocks of attention: some queries of one head against some of its keys.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/compute/attention/plan.h"
#include "kernels/compute/gemm/problem.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/math.h"
#include "kernels/compute/random/philox.h"

namespace dipu::kernels::attention_detail {

// Queries and keys of a block; scores of a block fit into the first-level
// cache together with what they are made of.
inline constexpr int64_t kQueries = 64;
inline constexpr int64_t kKeys = 128;

// A matrix of the compute type.
template <typename C>
struct Matrix {
  C* data;
  int64_t row;
  int64_t column;

  Matrix transposed() const { return {data, column, row}; }
};

// c = alpha * a * b + beta * c.
template <typename C>
void multiply(const Matrix<C>& a, const Matrix<C>& b, const Matrix<C>& c,
              int64_t rows, int64_t columns, int64_t depth, double alpha,
              double beta) {
  gemm::Problem problem{};
  problem.a = a.data;
  problem.b = b.data;
  problem.c = c.data;
  problem.d = c.data;
  problem.batch = 1;
  problem.rows = rows;
  problem.columns = columns;
  problem.depth = depth;
  problem.a_strides = {0, a.row, a.column};
  problem.b_strides = {0, b.row, b.column};
  problem.c_strides = problem.d_strides = {0, c.row, c.column};
  problem.alpha = alpha;
  problem.beta = beta;
  gemm::runPacked(problem, kDTypeOf<C>);
}

// `count` tokens of an operand as a matrix: in place, or a copy in `buffer`.
template <typename T>
Matrix<ComputeType<T>> loadTokens(const Operand& operand, int64_t b, int64_t t,
                                  int64_t h, int64_t count, int64_t dim,
                                  ComputeType<T>* buffer) {
  T* from = operand.at<T>(b, t, h);
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    return {from, operand.token, operand.feature};
  } else {
    for (int64_t i = 0; i < count; ++i) {
      loadLine(from + i * operand.token, operand.feature, dim,
               buffer + i * dim);
    }
    return {buffer, dim, 1};
  }
}

// The position of a block, and its scores.
template <typename C>
struct Block {
  const Plan* plan;
  int64_t b;
  int64_t h;
  Sequence sequence;
  int64_t query;    // the first one
  int64_t queries;  // at most kQueries
  int64_t key;
  int64_t keys;  // at most kKeys
  C* scores;     // rows of kKeys

  C* row(int64_t i) const { return scores + i * kKeys; }
  Matrix<C> matrix(C* data) const { return {data, kKeys, 1}; }

  // The range of blocks that any query sees: keys [first, last).
  int64_t firstKey() const {
    return plan->firstKey(sequence, query) / kKeys * kKeys;
  }
  int64_t lastKey() const {
    return plan->lastKey(sequence, query + queries - 1);
  }

  // scores = scale * q k^T + bias, -infinity for pairs that are left out.
  void score(const Matrix<C>& q, const Matrix<C>& k) const {
    multiply(q, k.transposed(), matrix(scores), queries, keys, plan->dim,
             plan->scale, 0.0);
    for (int64_t i = 0; i < queries; ++i) {
      if (plan->slopes != nullptr) addBias(i);
      if (plan->mask != nullptr) applyMask(i);
      limitRange(i);
    }
  }

  // Writes for each pair of row `i` what dropout multiplies it with.
  void dropoutFactors(int64_t i, C* factors) const {
    const Plan& p = *plan;
    const uint64_t seed =
        p.saved == nullptr ? p.seed : static_cast<uint64_t>(p.saved[0]);
    const uint64_t start =
        p.saved == nullptr ? p.position : static_cast<uint64_t>(p.saved[1]);
    const int64_t line = (b * p.heads + h) * p.max_q + query + i;
    const int64_t offset = line * ((p.max_k + 3) / 4 * 4) + key;
    uint32_t numbers[kKeys];
    philox::fillNumbers(seed, start + static_cast<uint64_t>(offset), keys,
                        numbers);
    const auto bound = static_cast<uint64_t>(p.dropout * 0x1.0p32);
    const C kept = static_cast<C>(1.0 / (1.0 - p.dropout));
    for (int64_t j = 0; j < keys; ++j) {
      factors[j] = numbers[j] < bound ? C(0) : kept;
    }
  }

 private:
  void addBias(int64_t i) const {
    const C slope = static_cast<C>(plan->slopes[b * plan->slopes_batch + h]);
    const int64_t here = query + i + sequence.k_count - sequence.q_count - key;
    C* s = row(i);
    for (int64_t j = 0; j < keys; ++j) {
      s[j] -= slope * static_cast<C>(here > j ? here - j : j - here);
    }
  }

  void applyMask(int64_t i) const {
    const int64_t* strides = plan->mask_strides;
    const uint8_t* mask = plan->mask + b * strides[0] + h * strides[1] +
                          (query + i) * strides[2] + key * strides[3];
    C* s = row(i);
    for (int64_t j = 0; j < keys; ++j) {
      if (mask[j * strides[3]] != 0) {
        s[j] = -std::numeric_limits<C>::infinity();
      }
    }
  }

  void limitRange(int64_t i) const {
    const int64_t begin = plan->firstKey(sequence, query + i) - key;
    const int64_t end = plan->lastKey(sequence, query + i) - key;
    C* s = row(i);
    for (int64_t j = 0; j < keys; ++j) {
      if (j < begin || j >= end) s[j] = -std::numeric_limits<C>::infinity();
    }
  }
};

}  // namespace dipu::kernels::attention_detail
