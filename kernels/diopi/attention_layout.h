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

// Where the sequences of queries and keys begin and the last one ends, in
// device memory. Hosts give the ends of sequences, for queries and keys alike
// with or without a 0 in front of them.
class Starts {
 public:
  Status read(const Queue& queue, const diopiSize_t& q_ends,
              const diopiSize_t& k_ends) {
    if (!isList(q_ends) || !isList(k_ends)) {
      return fail(Status::kInvalid,
                  "attention: the ends of sequences are missing");
    }
    const bool led = leads(q_ends) && leads(k_ends);
    const Status status = q_.copy(queue, q_ends, led);
    return status == Status::kOk ? k_.copy(queue, k_ends, led) : status;
  }

  const TensorView& q() const { return q_.view; }
  const TensorView& k() const { return k_.view; }

 private:
  struct List {
    int64_t count = 0;
    int64_t one = 1;
    TensorView view;

    // `led`: with a 0 in front.
    Status copy(const Queue& queue, const diopiSize_t& ends, bool led) {
      std::vector<int64_t> values(led ? 0 : 1);
      values.insert(values.end(), ends.data, ends.data + ends.len);
      count = static_cast<int64_t>(values.size());
      view.numel = count;
      view.ndim = 1;
      view.sizes = &count;
      view.strides = &one;
      view.dtype = DType::kInt64;
      const std::size_t bytes = values.size() * sizeof(int64_t);
      view.data = queue.scratch(bytes);
      if (view.data == nullptr) return Status::kFailed;
      return soft_memcpy_async(view.data, values.data(), bytes,
                               queue.stream()) == SOFT_OK
                 ? Status::kOk
                 : fail(Status::kFailed, "%s", soft_last_message());
    }
  };

  static bool isList(const diopiSize_t& list) {
    return list.len == 0 || (list.len > 0 && list.data != nullptr);
  }
  static bool leads(const diopiSize_t& ends) {
    return ends.len > 0 && ends.data[0] == 0;
  }

  List q_;
  List k_;
};

}  // namespace dipu::kernels::diopi
