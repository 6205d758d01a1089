// SPDX-License-Identifier: Apache-2.0
//
// How hosts describe the tensors of attention: by the name of a layout, or by
// where sequences end.
#pragma once

#include <diopi/diopirt.h>

#include <cstring>
#include <vector>

#include "kernels/compute/queue.h"
#include "kernels/compute/shaped_view.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels::diopi {

// Tensors of one layout as [batch, tokens, heads, dim]. The heads of q tell how
// many features a head has, which BSH and SBH leave open.
class Layout {
 public:
  // kUnsupported for names other than BSND, BNSD, BSH and SBH.
  Status read(const char* name, const TensorView& q, int64_t heads) {
    name_ = name == nullptr ? "" : name;
    const bool joined = is("BSH") || is("SBH");
    if (!joined && !is("BSND") && !is("BNSD")) {
      return fail(Status::kUnsupported, "attention has no layout '%s'", name_);
    }
    ndim_ = joined ? 3 : 4;
    if (q.ndim != ndim_ || heads <= 0 || (joined && q.sizes[2] % heads != 0)) {
      return fail(Status::kInvalid,
                  "attention: q of %d dimensions has not layout %s with %ld "
                  "heads",
                  q.ndim, name_, long(heads));
    }
    dim_ = joined ? q.sizes[2] / heads : q.sizes[3];
    return Status::kOk;
  }

  // shaped[i] becomes tensors[i].
  Status applyAll(const TensorView* tensors, ShapedView* shaped,
                  int count) const {
    Status status = Status::kOk;
    for (int i = 0; i < count && status == Status::kOk; ++i) {
      status = apply(tensors[i], &shaped[i]);
    }
    return status;
  }

 private:
  Status apply(const TensorView& tensor, ShapedView* result) const {
    if (tensor.ndim != ndim_ ||
        (ndim_ == 3 && (dim_ == 0 || tensor.sizes[2] % dim_ != 0))) {
      return fail(Status::kInvalid, "attention: a tensor has not layout %s",
                  name_);
    }
    const auto append = [&](int32_t d) {
      result->append(tensor.sizes[d], tensor.strides[d]);
    };
    append(is("SBH") ? 1 : 0);
    append(is("SBH") ? 0 : is("BNSD") ? 2 : 1);
    if (ndim_ == 4) {
      append(is("BNSD") ? 1 : 2);
      append(3);
    } else {
      const int64_t step = tensor.strides[2];
      result->append(tensor.sizes[2] / dim_, dim_ * step).append(dim_, step);
    }
    return Status::kOk;
  }

  bool is(const char* name) const { return std::strcmp(name_, name) == 0; }

  const char* name_ = "";
  int32_t ndim_ = 0;
  int64_t dim_ = 0;
};

// Ends of sequences, with or without a leading 0, as starts in device memory.
// One more sequence without tokens does no harm.
class Starts {
 public:
  Status read(const Queue& queue, const diopiSize_t& ends) {
    std::vector<int64_t> values{0};
    values.insert(values.end(), ends.data, ends.data + ends.len);
    count_ = static_cast<int64_t>(values.size());
    view_.numel = count_;
    view_.ndim = 1;
    view_.sizes = &count_;
    view_.strides = &one_;
    view_.dtype = DType::kInt64;
    const std::size_t bytes = values.size() * sizeof(int64_t);
    view_.data = queue.scratch(bytes);
    if (view_.data == nullptr) return Status::kFailed;
    return soft_memcpy_async(view_.data, values.data(), bytes,
                             queue.stream()) == SOFT_OK
               ? Status::kOk
               : fail(Status::kFailed, "%s", soft_last_message());
  }

  const TensorView& view() const { return view_; }

 private:
  int64_t count_ = 0;
  int64_t one_ = 1;
  TensorView view_;
};

}  // namespace dipu::kernels::diopi
