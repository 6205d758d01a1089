// SPDX-License-Identifier: Apache-2.0
//
// Prepared oneDNN kernels and the cache that keeps them.
#pragma once

#include <atomic>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/compute/convolution/shape.h"

namespace dipu::kernels::convolution {

// One convolution with the copies into and out of the layouts that oneDNN
// prefers. Immutable once built, so any number of workers may run it.
//
// Thread-safety: the count of pending runs is atomic; the rest is read only.
class Primitive {
 public:
  // Throws dnnl::error when oneDNN has no kernel.
  Primitive(Pass pass, const Shape& shape, const Layouts& layouts,
            bool has_bias);

  // Bytes of scratch memory that a run needs.
  int64_t scratchBytes() const { return scratch_bytes_; }
  // Runs on the calling thread and its OpenMP team. Throws dnnl::error.
  void run(const Addresses& addresses, void* scratch) const;

  // A primitive with pending runs stays in the cache.
  void acquire() { pending_.fetch_add(1, std::memory_order_relaxed); }
  void release() { pending_.fetch_sub(1, std::memory_order_release); }
  bool idle() const { return pending_.load(std::memory_order_acquire) == 0; }

 private:
  // A tensor in the user's layout and in the one the kernel works on.
  struct Operand {
    int argument = 0;  // DNNL_ARG_*
    bool is_output = false;
    dnnl::memory::desc given;
    dnnl::memory::desc used;
    dnnl::reorder reorder;  // empty when the layouts are the same
    int64_t offset = 0;     // of the copy in the scratch memory
  };
  enum { kImage, kWeight, kResult, kOperands };

  void chooseForward(const Shape& shape);
  void chooseInput(const Shape& shape);
  void chooseWeight(const Shape& shape);
  void planScratch(const dnnl::memory::desc& scratchpad);
  dnnl::convolution_forward::primitive_desc forwardDesc(
      const Shape& shape) const;

  Operand operands_[kOperands];
  dnnl::memory::desc bias_;
  int bias_argument_ = 0;
  dnnl::memory::desc scratchpad_;
  int64_t scratchpad_offset_ = 0;
  int64_t scratch_bytes_ = 0;
  dnnl::primitive kernel_;
  std::atomic<int64_t> pending_{0};
};

// The prepared kernel for a shape, acquired for one run; nullptr when oneDNN
// has none. `threads` is the size of the team that will run it. Thread-safe;
// may take milliseconds the first time.
Primitive* acquirePrimitive(Pass pass, const Shape& shape,
                            const Layouts& layouts, bool has_bias,
                            int32_t threads);

// oneDNN's CPU engine.
const dnnl::engine& cpuEngine();

}  // namespace dipu::kernels::convolution
