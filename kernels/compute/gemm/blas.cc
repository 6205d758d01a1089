// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/compute/gemm/one_thread.h"
#include "kernels/compute/gemm/problem.h"
#include "kernels/compute/gemm/tasks.h"

// The entry points used, declared here because OpenBLAS's own header
// claims the unprefixed names of every BLAS.
extern "C" {
void scipy_cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k,
                       float alpha, const float* a, int lda, const float* b,
                       int ldb, float beta, float* c, int ldc);
void scipy_cblas_dgemm(int order, int trans_a, int trans_b, int m, int n, int k,
                       double alpha, const double* a, int lda, const double* b,
                       int ldb, double beta, double* c, int ldc);
void scipy_openblas_set_num_threads(int count);
}

namespace dipu::kernels::gemm {
namespace {

constexpr int kRowMajor = 101;
constexpr int kPlain = 111;
constexpr int kTransposed = 112;
// Below this many multiplications per matrix the packed kernels are faster.
constexpr int64_t kMinWork = 64 * 64 * 64;
// Products with fewer multiplications run on one thread.
constexpr int64_t kParallelWork = 256 * 1024;
// Parts start at a multiple of this many rows or columns. OpenBLAS works on 12
// rows at once and rounds float32 otherwise in what is left, so the last bits
// depend on the number of threads. Steps of 12 rows would prevent that, at 3 to
// 6 % of the time of products of 64 to 256 rows, but nothing does for columns.
constexpr int64_t kCutStep = 16;

void blasGemm(bool ta, bool tb, int m, int n, int k, float alpha,
              const float* a, int lda, const float* b, int ldb, float beta,
              float* c, int ldc) {
  scipy_cblas_sgemm(kRowMajor, ta ? kTransposed : kPlain,
                    tb ? kTransposed : kPlain, m, n, k, alpha, a, lda, b, ldb,
                    beta, c, ldc);
}

void blasGemm(bool ta, bool tb, int m, int n, int k, double alpha,
              const double* a, int lda, const double* b, int ldb, double beta,
              double* c, int ldc) {
  scipy_cblas_dgemm(kRowMajor, ta ? kTransposed : kPlain,
                    tb ? kTransposed : kPlain, m, n, k, alpha, a, lda, b, ldb,
                    beta, c, ldc);
}

// How BLAS sees a matrix: the distance between its rows, or between its
// columns when it is transposed.
struct Layout {
  bool transposed = false;
  int64_t leading = 0;  // 0: BLAS cannot address it
};

Layout layoutOf(const Strides& s, int64_t rows, int64_t columns) {
  const auto fits = [](int64_t value, int64_t least) {
    return value >= least && value <= std::numeric_limits<int>::max();
  };
  const int64_t row = rows == 1 ? std::max<int64_t>(columns, 1) : s.row;
  const int64_t column = columns == 1 ? std::max<int64_t>(rows, 1) : s.column;
  if ((s.column == 1 || columns == 1) && fits(row, columns)) {
    return {false, row};
  }
  if ((s.row == 1 || rows == 1) && fits(column, rows)) return {true, column};
  return {};
}

// The problem whose result is the transposed one: c' = b' a'.
Problem transposed(const Problem& p) {
  const auto flip = [](Strides s) {
    std::swap(s.row, s.column);
    return s;
  };
  Problem t = p;
  std::swap(t.rows, t.columns);
  t.a = p.b;
  t.b = p.a;
  t.a_strides = flip(p.b_strides);
  t.b_strides = flip(p.a_strides);
  t.c_strides = flip(p.c_strides);
  t.d_strides = flip(p.d_strides);
  return t;
}

// A part of the rows and columns of one matrix of the batch.
struct Part {
  int64_t matrix;
  int64_t row;
  int64_t rows;
  int64_t column;
  int64_t columns;
};

template <typename T>
void addend(const Problem& p, const Part& part, const T* d, T* c) {
  if (d == c) return;
  for (int64_t i = 0; i < part.rows; ++i) {
    const T* from = d + i * p.d_strides.row;
    T* to = c + i * p.c_strides.row;
    if (p.d_strides.column == 1) {
      std::copy(from, from + part.columns, to);
    } else {
      for (int64_t j = 0; j < part.columns; ++j) {
        to[j] = from[j * p.d_strides.column];
      }
    }
  }
}

template <typename T>
void multiplyPart(const Problem& p, const Part& part) {
  const Layout a = layoutOf(p.a_strides, p.rows, p.depth);
  const Layout b = layoutOf(p.b_strides, p.depth, p.columns);
  const Layout c = layoutOf(p.c_strides, p.rows, p.columns);
  const T* from_a = static_cast<const T*>(p.a) +
                    part.matrix * p.a_strides.batch +
                    part.row * p.a_strides.row;
  const T* from_b = static_cast<const T*>(p.b) +
                    part.matrix * p.b_strides.batch +
                    part.column * p.b_strides.column;
  const auto at = [&part](const Strides& s) {
    return part.matrix * s.batch + part.row * s.row + part.column * s.column;
  };
  T* to = static_cast<T*>(p.c) + at(p.c_strides);
  if (p.beta != 0.0) {
    addend(p, part, static_cast<const T*>(p.d) + at(p.d_strides), to);
  }
  blasGemm(a.transposed, b.transposed, static_cast<int>(part.rows),
           static_cast<int>(part.columns), static_cast<int>(p.depth),
           static_cast<T>(p.alpha), from_a, static_cast<int>(a.leading), from_b,
           static_cast<int>(b.leading), static_cast<T>(p.beta), to,
           static_cast<int>(c.leading));
}

// Cuts the longer side of the result, so that each thread reads the whole of
// the smaller operand only.
template <typename T>
void runTyped(const Problem& p) {
  const bool cut_rows = p.rows >= p.columns;
  const int64_t side = cut_rows ? p.rows : p.columns;
  int64_t step = side;
  int64_t parts = 1;
  const auto plan = [&](int64_t threads) {
    const int64_t wanted =
        std::max<int64_t>(1, (threads + p.batch - 1) / p.batch);
    step = ((side + wanted - 1) / wanted + kCutStep - 1) / kCutStep * kCutStep;
    parts = (side + step - 1) / step;
    return p.batch * parts;
  };
  const int64_t work = p.batch * p.rows * p.columns * p.depth;
  runTasks(work >= kParallelWork, plan, [&](int64_t index) {
    const int64_t start = index % parts * step;
    Part part{index / parts, 0, p.rows, 0, p.columns};
    (cut_rows ? part.row : part.column) = start;
    (cut_rows ? part.rows : part.columns) = std::min(step, side - start);
    multiplyPart<T>(p, part);
  });
}

}  // namespace

void useOneThread() {
  static const bool done = [] {
    scipy_openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(done);
}

bool blasAccepts(const Problem& p, DType dtype) {
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return false;
  if (p.depth == 0 || p.rows * p.columns * p.depth < kMinWork) return false;
  if (std::max({p.rows, p.columns, p.depth}) >
      std::numeric_limits<int>::max()) {
    return false;
  }
  return layoutOf(p.a_strides, p.rows, p.depth).leading != 0 &&
         layoutOf(p.b_strides, p.depth, p.columns).leading != 0 &&
         layoutOf(p.c_strides, p.rows, p.columns).leading != 0;
}

void runBlas(const Problem& problem, DType dtype) {
  useOneThread();
  const bool flip =
      layoutOf(problem.c_strides, problem.rows, problem.columns).transposed;
  const Problem p = flip ? transposed(problem) : problem;
  if (dtype == DType::kFloat32) {
    runTyped<float>(p);
  } else {
    runTyped<double>(p);
  }
}

}  // namespace dipu::kernels::gemm
