// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/renorm.h"

#include <algorithm>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/reduce.h"

namespace dipu::kernels {
namespace {

// A view whose channels are two dimensions, the inner one of `inner` channels;
// with `swapped` the outer one comes last. Not copyable: the view points into
// it.
class SplitChannels {
 public:
  SplitChannels(const TensorView& tensor, int64_t inner, bool swapped)
      : view_(tensor) {
    const int64_t outer = tensor.sizes[1] / std::max<int64_t>(1, inner);
    const int64_t stride = tensor.strides[1];
    put(0, tensor.sizes[0], tensor.strides[0]);
    put(swapped ? 2 : 1, outer, stride * inner);
    put(swapped ? 1 : 2, inner, stride);
    for (int32_t d = 2; d < tensor.ndim; ++d) {
      put(d + 1, tensor.sizes[d], tensor.strides[d]);
    }
    view_.ndim = tensor.ndim + 1;
    view_.sizes = sizes_;
    view_.strides = strides_;
  }
  SplitChannels(const SplitChannels&) = delete;
  SplitChannels& operator=(const SplitChannels&) = delete;

  const TensorView& view() const { return view_; }

 private:
  void put(int32_t d, int64_t size, int64_t stride) {
    sizes_[d] = size;
    strides_[d] = stride;
  }

  int64_t sizes_[kMaxDims + 1];
  int64_t strides_[kMaxDims + 1];
  TensorView view_;
};

}  // namespace

Status renorm(const Queue& queue, const TensorView& out,
              const TensorView& input, double p, int64_t dim, double limit) {
  Status status = wrapDim("renorm", input.ndim, &dim);
  if (status != Status::kOk) return status;
  if (!isFloating(input.dtype)) return unsupportedDType("renorm", input.dtype);
  if (input.ndim < 2 || input.ndim > kMaxDims) {
    return fail(Status::kUnsupported, "renorm: %d dimensions", input.ndim);
  }
  if (out.numel == 0) return Status::kOk;
  int64_t sizes[kMaxDims];
  int64_t others[kMaxDims];
  int64_t count = 0;
  for (int64_t d = 0; d < input.ndim; ++d) {
    sizes[d] = d == dim ? input.sizes[d] : 1;
    if (d != dim) others[count++] = d;
  }
  TensorView shape = input;
  shape.sizes = sizes;
  shape.numel = input.sizes[dim];
  const ScratchTensor norms(queue, shape, computeDType(input.dtype));
  if (!norms.valid()) return Status::kFailed;
  status = norm(queue, norms.view(), input, p, Dims{others, count});
  if (status != Status::kOk) return status;
  dispatchReal(computeDType(input.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto f = [most = static_cast<T>(limit)](T x, T norm) {
      return norm > most ? x * (most / (norm + T(1e-7))) : x;
    };
    status = applyBinary<T, T>(queue, f, 2, out, input, norms.view());
  });
  return status;
}

Status channelShuffle(const Queue& queue, const TensorView& out,
                      const TensorView& input, int64_t groups) {
  if (input.ndim <= 2) {
    return fail(Status::kInvalid,
                "channel_shuffle: expected an input of more than 2 dimensions, "
                "but got %d",
                input.ndim);
  }
  if (groups <= 0 || input.sizes[1] % groups != 0) {
    return fail(Status::kInvalid,
                "channel_shuffle: the number of channels (%ld) must be "
                "divisible by that of groups (%ld)",
                long(input.sizes[1]), long(groups));
  }
  if (input.ndim > kMaxDims) {
    return fail(Status::kUnsupported,
                "channel_shuffle: more than %d "
                "dimensions",
                kMaxDims);
  }
  if (out.numel == 0) return Status::kOk;
  const SplitChannels from(input, input.sizes[1] / groups, /*swapped=*/true);
  const SplitChannels to(out, groups, /*swapped=*/false);
  return convertTensor(queue, to.view(), from.view());
}

}  // namespace dipu::kernels
