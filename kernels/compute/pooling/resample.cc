// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/resample.h"

#include "kernels/compute/pooling/volume.h"

namespace dipu::kernels {
namespace {

using pooling::AxisMaps;
using pooling::AxisTables;
using pooling::kAxes;
using pooling::Volume;
using pooling::Weighting;

bool isNearest(Interpolation mode) {
  return mode == Interpolation::kNearest ||
         mode == Interpolation::kNearestExact;
}

template <typename C>
AxisMaps mapsOf(const Volume& v, Interpolation mode) {
  AxisMaps maps;
  for (int i = 0; i < kAxes; ++i) {
    maps[i] =
        pooling::nearestMap<C>(v.axes[i], mode == Interpolation::kNearestExact);
  }
  return maps;
}

template <typename C>
AxisTables<C> tablesOf(const Volume& v, const ResampleArguments& arguments) {
  AxisTables<C> tables;
  if (isNearest(arguments.mode)) {
    // Where the elements come from does not depend on their type here.
    const AxisMaps maps = mapsOf<float>(v, arguments.mode);
    for (int i = 0; i < kAxes; ++i) {
      tables[i] = pooling::tableOf<C>(maps[i]);
    }
    return tables;
  }
  // Axes that the tensor lacks have one element, which nothing may weigh.
  for (int i = 0; i < kAxes; ++i) {
    const bool absent = v.axes[i].in == 1 && v.axes[i].out == 1;
    tables[i] = absent ? pooling::tableOf<C>({0})
                       : pooling::interpolationTable<C>(v.axes[i], arguments);
  }
  return tables;
}

Status volumeFor(const char* operation, const TensorView& in,
                 const TensorView& out, Order order,
                 const ResampleArguments& arguments, Volume* volume) {
  if (arguments.mode == Interpolation::kLanczos && !arguments.antialias) {
    return fail(Status::kInvalid, "%s: lanczos needs antialiasing", operation);
  }
  const Status status =
      pooling::volumeOf(operation, in, out, in.ndim - 2, order, volume);
  for (int i = 0; i < kAxes; ++i) volume->axes[i].scale = arguments.scales[i];
  return status;
}

Status moveNearest(const Queue& queue, const Volume& volume, DType dtype,
                   Interpolation mode, const void* x, void* y) {
  bool sent = false;
  const bool wide = dtype == DType::kFloat64;
  dispatchWidth(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sent = queue.launch([=] {
      const AxisMaps maps =
          wide ? mapsOf<double>(volume, mode) : mapsOf<float>(volume, mode);
      moveElements(volume, maps, static_cast<const T*>(x), static_cast<T*>(y));
    });
  });
  return sent ? Status::kOk : Status::kFailed;
}

template <typename T>
void weigh(const Volume& volume, const ResampleArguments& arguments,
           bool transposed, const void* source, void* result) {
  using C = ComputeType<T>;
  const AxisTables<C> tables = tablesOf<C>(volume, arguments);
  Weighting<T>(volume, tables, transposed)
      .run(static_cast<const T*>(source), static_cast<T*>(result));
}

Status launchWeighing(const Queue& queue, const char* operation, DType dtype,
                      const Volume& volume, const ResampleArguments& arguments,
                      bool transposed, const void* source, void* result) {
  return launchFloating(queue, operation, dtype, [=](auto tag) {
    weigh<typename decltype(tag)::type>(volume, arguments, transposed, source,
                                        result);
  });
}

}  // namespace

Status resample(const Queue& queue, const TensorView& out,
                const TensorView& input, const ResampleArguments& arguments) {
  constexpr char kName[] = "upsample";
  const bool nearest = isNearest(arguments.mode);
  const bool moves = nearest && input.dtype == DType::kUInt8;
  if (!isFloating(input.dtype) && !moves) {
    return unsupportedDType(kName, input.dtype);
  }
  const Order order = orderOf(input);
  Volume volume;
  const Status status = volumeFor(kName, input, out, order, arguments, &volume);
  if (status != Status::kOk || out.numel == 0) return status;
  DenseTensor x(queue, input, order);
  DenseTensor y(queue, out, order);
  if (!x.load() || !y.open()) return Status::kFailed;
  const Status sent =
      nearest ? moveNearest(queue, volume, input.dtype, arguments.mode,
                            x.address(), y.address())
              : launchWeighing(queue, kName, input.dtype, volume, arguments,
                               /*transposed=*/false, x.address(), y.address());
  return sent == Status::kOk ? y.store() : sent;
}

Status resampleBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad_output,
                        const ResampleArguments& arguments) {
  constexpr char kName[] = "upsample_backward";
  if (!isFloating(grad_output.dtype)) {
    return unsupportedDType(kName, grad_output.dtype);
  }
  const Order order = orderOf(grad_output);
  Volume volume;
  const Status status =
      volumeFor(kName, grad_input, grad_output, order, arguments, &volume);
  if (status != Status::kOk || grad_input.numel == 0) return status;
  DenseTensor g(queue, grad_output, order);
  DenseTensor dx(queue, grad_input, order);
  if (!g.load() || !dx.open()) return Status::kFailed;
  const Status sent =
      launchWeighing(queue, kName, grad_input.dtype, volume, arguments,
                     /*transposed=*/true, g.address(), dx.address());
  return sent == Status::kOk ? dx.store() : sent;
}

}  // namespace dipu::kernels
