// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/padding.h"

#include <algorithm>

#include "kernels/compute/pointwise.h"
#include "kernels/compute/pooling/volume.h"

namespace dipu::kernels {
namespace {

using pooling::AxisMaps;
using pooling::AxisTables;
using pooling::kAxes;
using pooling::Volume;
using pooling::Weighting;

// How a volume is padded, as plain values.
struct Padding {
  PadMode mode;
  int64_t before[kAxes];

  AxisMaps maps(const Volume& v) const {
    AxisMaps result;
    for (int i = 0; i < kAxes; ++i) {
      result[i] = pooling::paddingMap(v.axes[i], mode, before[i]);
    }
    return result;
  }
};

Status refuse(const TensorView& in, int64_t count) {
  return fail(Status::kInvalid,
              "pad: %ld numbers do not pad %d dimensions, or not to the size "
              "of the result",
              long(count), in.ndim);
}

// Whether the sizes of `out` are those of `in` with the padding.
bool fits(const TensorView& in, const TensorView& out,
          const PadArguments& arguments) {
  const int64_t padded = arguments.count / 2;
  if (arguments.count % 2 != 0 || padded > in.ndim || out.ndim != in.ndim ||
      out.dtype != in.dtype) {
    return false;
  }
  for (int32_t i = 0; i < in.ndim; ++i) {
    const int64_t k = in.ndim - 1 - i;
    const int64_t* pads = arguments.pads + 2 * k;
    const int64_t more = k < padded ? pads[0] + pads[1] : 0;
    if (out.sizes[i] != in.sizes[i] + more) return false;
  }
  return true;
}

// Whether each mode finds an element for every place.
bool reaches(const Volume& v, const Padding& padding) {
  for (int i = 0; i < kAxes; ++i) {
    const int64_t before = padding.before[i];
    const int64_t behind = v.axes[i].out - v.axes[i].in - before;
    const int64_t limit = v.axes[i].in - 1;
    const bool mirrors = padding.mode == PadMode::kReflect;
    if (mirrors && std::max(before, behind) > limit) return false;
  }
  return true;
}

// Plans a padding that takes its elements from the tensor itself.
Status plan(const TensorView& in, const TensorView& out, Order order,
            const PadArguments& arguments, Volume* volume, Padding* padding) {
  const auto spatial = static_cast<int32_t>(arguments.count / 2);
  if (!fits(in, out, arguments)) return refuse(in, arguments.count);
  const Status status =
      pooling::volumeOf("pad", in, out, spatial, order, volume);
  if (status != Status::kOk) return status;
  *padding = {arguments.mode, {}};
  for (int32_t i = 0; i < spatial; ++i) {
    padding->before[kAxes - 1 - i] = arguments.pads[2 * i];
  }
  return reaches(*volume, *padding) ? Status::kOk : refuse(in, arguments.count);
}

// Channels-last images are padded as they are.
Order orderFor(const TensorView& view, const PadArguments& arguments) {
  return view.ndim == arguments.count / 2 + 2 ? orderOf(view)
                                              : Order::kRowMajor;
}

// Fills the result and copies what both tensors share.
Status padConstant(const Queue& queue, const TensorView& out,
                   const TensorView& input, const PadArguments& arguments) {
  if (!fits(input, out, arguments) || input.ndim > kMaxDims) {
    return refuse(input, arguments.count);
  }
  Status status =
      out.numel == 0 ? Status::kOk : fill(queue, out, arguments.value);
  TensorView from = input;
  TensorView to = out;
  int64_t shared[kMaxDims];
  char* source = static_cast<char*>(input.data);
  char* target = static_cast<char*>(out.data);
  const auto item = static_cast<int64_t>(itemSize(input.dtype));
  from.numel = 1;
  for (int32_t i = 0; i < input.ndim; ++i) {
    const int64_t k = input.ndim - 1 - i;
    const bool padded = k < arguments.count / 2;
    const int64_t before = padded ? arguments.pads[2 * k] : 0;
    const int64_t behind = padded ? arguments.pads[2 * k + 1] : 0;
    shared[i] =
        std::max<int64_t>(0, input.sizes[i] + std::min<int64_t>(before, 0) +
                                 std::min<int64_t>(behind, 0));
    source += std::max<int64_t>(-before, 0) * input.strides[i] * item;
    target += std::max<int64_t>(before, 0) * out.strides[i] * item;
    from.numel *= shared[i];
  }
  if (status != Status::kOk || from.numel == 0) return status;
  from.sizes = to.sizes = shared;
  from.data = source;
  to.data = target;
  to.numel = from.numel;
  return convertTensor(queue, to, from);
}

}  // namespace

Status pad(const Queue& queue, const TensorView& out, const TensorView& input,
           const PadArguments& arguments) {
  if (arguments.mode == PadMode::kConstant) {
    return padConstant(queue, out, input, arguments);
  }
  const Order order = orderFor(input, arguments);
  Volume volume;
  Padding padding;
  const Status status = plan(input, out, order, arguments, &volume, &padding);
  if (status != Status::kOk || out.numel == 0) return status;
  DenseTensor x(queue, input, order);
  DenseTensor y(queue, out, order);
  if (!x.load() || !y.open()) return Status::kFailed;
  bool sent = false;
  const bool known = dispatchWidth(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sent = queue.launch(
        [volume, padding, x = x.address<const T>(), y = y.address<T>()] {
          moveElements(volume, padding.maps(volume), x, y);
        });
  });
  if (!known) return unsupportedDType("pad", input.dtype);
  return sent ? y.store() : Status::kFailed;
}

Status padBackward(const Queue& queue, const TensorView& grad_input,
                   const TensorView& grad_output,
                   const PadArguments& arguments) {
  const Order order = orderFor(grad_output, arguments);
  Volume volume;
  Padding padding;
  const Status status =
      plan(grad_input, grad_output, order, arguments, &volume, &padding);
  if (status != Status::kOk || grad_input.numel == 0) return status;
  DenseTensor g(queue, grad_output, order);
  DenseTensor dx(queue, grad_input, order);
  if (!g.load() || !dx.open()) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "pad_backward", grad_input.dtype,
      [volume, padding, g = g.address(), dx = dx.address()](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        const AxisMaps maps = padding.maps(volume);
        AxisTables<C> tables;
        for (int i = 0; i < kAxes; ++i) {
          tables[i] = pooling::tableOf<C>(maps[i]);
        }
        Weighting<T>(volume, tables, /*transposed=*/true)
            .run(static_cast<const T*>(g), static_cast<T*>(dx));
      });
  return sent == Status::kOk ? dx.store() : sent;
}

}  // namespace dipu::kernels
