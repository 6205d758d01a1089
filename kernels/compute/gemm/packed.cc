// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/compute/dtype.h"
#include "kernels/compute/gemm/micro_kernel.h"
#include "kernels/compute/gemm/pack.h"
#include "kernels/compute/gemm/problem.h"
#include "kernels/compute/gemm/tasks.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels::gemm {
namespace {

// A packed block of A (rows x depth), one of B and one of the result fit into
// a second-level cache of 512 KiB together.
constexpr int64_t kMaxRows = 144;
constexpr int64_t kMaxColumns = 256;
constexpr int64_t kMaxDepth = 256;
// Products with fewer multiplications run on one thread.
constexpr int64_t kParallelWork = 128 * 1024;

int64_t roundUp(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

// How the result is cut into blocks that threads compute independently.
struct Blocking {
  int64_t rows;
  int64_t columns;
  int64_t row_blocks;
  int64_t column_blocks;
};

template <typename T>
Blocking chooseBlocking(const Problem& p, int64_t team) {
  Blocking blocking;
  blocking.rows = std::min(kMaxRows, roundUp(p.rows, Tile<T>::kRows));
  blocking.columns =
      std::min(kMaxColumns, roundUp(p.columns, Tile<T>::kColumns));
  for (;;) {
    blocking.row_blocks = (p.rows + blocking.rows - 1) / blocking.rows;
    blocking.column_blocks =
        (p.columns + blocking.columns - 1) / blocking.columns;
    const int64_t blocks =
        p.batch * blocking.row_blocks * blocking.column_blocks;
    if (blocks >= team) return blocking;
    const bool cut_rows = blocking.rows >= blocking.columns;
    int64_t& side = cut_rows ? blocking.rows : blocking.columns;
    const int64_t step = cut_rows ? Tile<T>::kRows : Tile<T>::kColumns;
    if (side <= step) return blocking;
    side = roundUp(side / 2, step);
  }
}

// One block of the result: addresses of its first elements and its extent.
template <typename In>
struct Block {
  const In* a;
  const In* b;
  const In* d;
  In* c;
  int64_t rows;
  int64_t columns;
};

// c = alpha * tile + beta * d for the part of a tile that lies inside.
template <typename T, typename In>
void storeTile(const Problem& p, const T* tile, int64_t rows, int64_t columns,
               const In* d, In* c) {
  const T alpha = static_cast<T>(p.alpha);
  const T beta = static_cast<T>(p.beta);
  for (int64_t i = 0; i < rows; ++i) {
    const T* from = tile + i * Tile<T>::kColumns;
    In* to = c + i * p.c_strides.row;
    const int64_t step = p.c_strides.column;
    if (beta == T(0)) {
      if (step == 1) {
        for (int64_t j = 0; j < columns; ++j) {
          to[j] = static_cast<In>(alpha * from[j]);
        }
      } else {
        for (int64_t j = 0; j < columns; ++j) {
          to[j * step] = static_cast<In>(alpha * from[j]);
        }
      }
      continue;
    }
    const In* add = d + i * p.d_strides.row;
    for (int64_t j = 0; j < columns; ++j) {
      const T added = static_cast<T>(add[j * p.d_strides.column]);
      to[j * step] = static_cast<In>(alpha * from[j] + beta * added);
    }
  }
}

template <typename T, typename In>
void storeBlock(const Problem& p, const Block<In>& block, const T* sums) {
  using Shape = Tile<T>;
  for (int64_t j = 0; j < block.columns; j += Shape::kColumns) {
    const int64_t columns =
        std::min<int64_t>(Shape::kColumns, block.columns - j);
    for (int64_t i = 0; i < block.rows; i += Shape::kRows) {
      const int64_t rows = std::min<int64_t>(Shape::kRows, block.rows - i);
      const In* d = p.beta == 0.0 ? nullptr
                                  : block.d + i * p.d_strides.row +
                                        j * p.d_strides.column;
      storeTile(p, sums, rows, columns, d,
                block.c + i * p.c_strides.row + j * p.c_strides.column);
      sums += Shape::kElements;
    }
  }
}

// Adds one slice of the depth to the sums of a block.
template <typename T>
void multiplySlice(const T* a, const T* b, int64_t row_panels,
                   int64_t column_panels, int64_t depth, bool first, T* sums) {
  using Shape = Tile<T>;
  for (int64_t j = 0; j < column_panels; ++j) {
    for (int64_t i = 0; i < row_panels; ++i) {
      multiplyTile(depth, a + i * Shape::kRows * depth,
                   b + j * Shape::kColumns * depth, first, sums);
      sums += Shape::kElements;
    }
  }
}

template <typename T, typename In>
void computeBlock(const Problem& p, const Block<In>& block) {
  using Shape = Tile<T>;
  const int64_t rows = roundUp(block.rows, Shape::kRows);
  const int64_t columns = roundUp(block.columns, Shape::kColumns);
  const int64_t slice = std::min(kMaxDepth, p.depth);
  T* a = workerBuffer<kGemmRowsSlot>().get<T>(rows * slice);
  T* b = workerBuffer<kGemmColumnsSlot>().get<T>(columns * slice);
  T* sums = workerBuffer<kGemmResultSlot>().get<T>(rows * columns);
  if (p.depth == 0) std::fill(sums, sums + rows * columns, T(0));
  for (int64_t k = 0; k < p.depth; k += kMaxDepth) {
    const int64_t depth = std::min(kMaxDepth, p.depth - k);
    packBlock<Shape::kRows>(block.a + k * p.a_strides.column, p.a_strides.row,
                            p.a_strides.column, block.rows, depth, a);
    packBlock<Shape::kColumns>(block.b + k * p.b_strides.row,
                               p.b_strides.column, p.b_strides.row,
                               block.columns, depth, b);
    multiplySlice(a, b, rows / Shape::kRows, columns / Shape::kColumns, depth,
                  k == 0, sums);
  }
  storeBlock(p, block, sums);
}

template <typename In>
Block<In> blockAt(const Problem& p, const Blocking& blocking, int64_t index) {
  const int64_t i = index % blocking.row_blocks * blocking.rows;
  index /= blocking.row_blocks;
  const int64_t j = index % blocking.column_blocks * blocking.columns;
  const int64_t n = index / blocking.column_blocks;
  const auto at = [n](const Strides& s, int64_t row, int64_t column) {
    return n * s.batch + row * s.row + column * s.column;
  };
  Block<In> block;
  block.a = static_cast<const In*>(p.a) + at(p.a_strides, i, 0);
  block.b = static_cast<const In*>(p.b) + at(p.b_strides, 0, j);
  block.d = p.beta == 0.0 ? nullptr
                          : static_cast<const In*>(p.d) + at(p.d_strides, i, j);
  block.c = static_cast<In*>(p.c) + at(p.c_strides, i, j);
  block.rows = std::min(blocking.rows, p.rows - i);
  block.columns = std::min(blocking.columns, p.columns - j);
  return block;
}

template <typename T, typename In>
void runTyped(const Problem& p) {
  const int64_t work = p.batch * p.rows * p.columns * (p.depth + 1);
  Blocking blocking;
  const auto plan = [&](int64_t threads) {
    blocking = chooseBlocking<T>(p, threads);
    return p.batch * blocking.row_blocks * blocking.column_blocks;
  };
  runTasks(work >= kParallelWork, plan, [&](int64_t index) {
    computeBlock<T, In>(p, blockAt<In>(p, blocking, index));
  });
}

}  // namespace

void runPacked(const Problem& problem, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return runTyped<float, float>(problem);
    case DType::kFloat64:
      return runTyped<double, double>(problem);
    case DType::kFloat16:
      return runTyped<float, Float16>(problem);
    default:
      return runTyped<float, BFloat16>(problem);
  }
}

}  // namespace dipu::kernels::gemm
