// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/convolution/convolution.h"

#include <algorithm>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/convolution/shape.h"
#include "kernels/compute/operands.h"

namespace dipu::kernels {
namespace {

using convolution::Addresses;
using convolution::kAxes;
using convolution::Layouts;
using convolution::Pass;
using convolution::refuse;
using convolution::Shape;
using convolution::shapeOf;

// How a call is computed: 16-bit types as float32, and products row-major.
struct Plan {
  DType compute;
  bool primitive;

  Order order(const TensorView& view) const {
    return primitive ? orderOf(view) : Order::kRowMajor;
  }
};

Plan planFor(const TensorView& image) {
  const DType compute = computeDType(image.dtype);
  return {compute, compute == DType::kFloat32};
}

Layouts layoutsOf(const DenseTensor& image, const DenseTensor& weight,
                  const DenseTensor& result) {
  const auto last = [](const DenseTensor& tensor) {
    return orderOf(tensor.view()) == Order::kChannelsLast;
  };
  return {last(image), last(weight), last(result)};
}

Status enqueue(const Queue& queue, const Plan& plan, Pass pass,
               const Shape& shape, const Layouts& layouts,
               const Addresses& addresses) {
  return plan.primitive ? convolution::enqueuePrimitive(queue, pass, shape,
                                                        layouts, addresses)
                        : convolution::enqueueProducts(queue, pass, shape,
                                                       plan.compute, addresses);
}

Status forward(const Queue& queue, const Plan& plan, const Shape& shape,
               const TensorView& out, const TensorView& input,
               const TensorView& weight, const TensorView& bias) {
  DenseTensor x(queue, input, plan.order(input), plan.compute);
  DenseTensor w(queue, weight, plan.order(weight), plan.compute);
  DenseTensor b(queue, bias, Order::kRowMajor, plan.compute);
  DenseTensor y(queue, out, plan.order(out), plan.compute);
  if (!x.load() || !w.load() || !b.load() || !y.open()) return Status::kFailed;
  const Status status =
      enqueue(queue, plan, Pass::kForward, shape, layoutsOf(x, w, y),
              {x.address(), w.address(), y.address(), b.address()});
  return status == Status::kOk ? y.store() : status;
}

// out += bias, one value per channel.
Status addBias(const Queue& queue, const TensorView& out,
               const TensorView& bias) {
  const int64_t sizes[] = {bias.numel, 1, 1, 1};
  const int64_t strides[] = {1, 0, 0, 0};
  TensorView channels = bias;
  channels.sizes = sizes;
  channels.strides = strides;
  channels.ndim = out.ndim - 1;
  Status status = Status::kOk;
  dispatchReal(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyBinary<T, T>(
        queue, [](T a, T b) { return a + b; }, 1, out, out, channels);
  });
  return status;
}

// The gradient of an image's input is the transposed convolution.
Status forwardTransposed(const Queue& queue, const Plan& plan,
                         const Shape& shape, const TensorView& out,
                         const TensorView& input, const TensorView& weight,
                         const TensorView& bias) {
  DenseTensor x(queue, input, plan.order(input), plan.compute);
  DenseTensor w(queue, weight, plan.order(weight), plan.compute);
  DenseTensor b(queue, bias, Order::kRowMajor, plan.compute);
  DenseTensor y(queue, out, plan.order(out), plan.compute);
  if (!x.load() || !w.load() || !b.load() || !y.open()) return Status::kFailed;
  Status status = enqueue(queue, plan, Pass::kInput, shape, layoutsOf(y, w, x),
                          {y.address(), w.address(), x.address(), nullptr});
  if (status == Status::kOk && bias.defined()) {
    status = addBias(queue, y.view(), b.view());
  }
  return status == Status::kOk ? y.store() : status;
}

// The three gradients of one call.
struct Gradients {
  TensorView input;
  TensorView weight;
  TensorView bias;
};

Status weightGradients(const Queue& queue, const Plan& plan, const Shape& shape,
                       const Gradients& gradients, const DenseTensor& x,
                       const DenseTensor& g) {
  DenseTensor dw(queue, gradients.weight, plan.order(gradients.weight),
                 plan.compute);
  DenseTensor db(queue, gradients.bias, Order::kRowMajor, plan.compute);
  if (!dw.open() || !db.open()) return Status::kFailed;
  if (gradients.weight.defined()) {
    const Addresses addresses{x.address(), dw.address(), g.address(),
                              plan.primitive ? db.address() : nullptr};
    const Status status = enqueue(queue, plan, Pass::kWeight, shape,
                                  layoutsOf(x, dw, g), addresses);
    if (status != Status::kOk) return status;
  }
  if (gradients.bias.defined() &&
      (!plan.primitive || !gradients.weight.defined())) {
    DenseTensor rows(queue, g.view(), Order::kRowMajor);
    if (!rows.load()) return Status::kFailed;
    const Status status = convolution::enqueueBiasSum(
        queue, shape, plan.compute,
        {nullptr, nullptr, rows.address(), db.address()});
    if (status != Status::kOk) return status;
  }
  return storeAll({&dw, &db});
}

Status backward(const Queue& queue, const Plan& plan, const Shape& shape,
                const Gradients& gradients, const TensorView& grad_output,
                const TensorView& input, const TensorView& weight) {
  DenseTensor g(queue, grad_output, plan.order(grad_output), plan.compute);
  if (!g.load()) return Status::kFailed;
  if (gradients.input.defined()) {
    DenseTensor w(queue, weight, plan.order(weight), plan.compute);
    DenseTensor dx(queue, gradients.input, plan.order(gradients.input),
                   plan.compute);
    if (!w.load() || !dx.open()) return Status::kFailed;
    Status status =
        enqueue(queue, plan, Pass::kInput, shape, layoutsOf(dx, w, g),
                {dx.address(), w.address(), g.address(), nullptr});
    if (status == Status::kOk) status = dx.store();
    if (status != Status::kOk) return status;
  }
  if (!gradients.weight.defined() && !gradients.bias.defined()) {
    return Status::kOk;
  }
  DenseTensor x(queue, input, plan.order(input), plan.compute);
  if (!x.load()) return Status::kFailed;
  return weightGradients(queue, plan, shape, gradients, x, g);
}

// With the roles of image and result exchanged.
Status backwardTransposed(const Queue& queue, const Plan& plan,
                          const Shape& shape, const Gradients& gradients,
                          const TensorView& grad_output,
                          const TensorView& input, const TensorView& weight) {
  Status status = Status::kOk;
  if (gradients.input.defined()) {
    status = forward(queue, plan, shape, gradients.input, grad_output, weight,
                     TensorView());
  }
  if (status == Status::kOk && gradients.weight.defined()) {
    DenseTensor g(queue, grad_output, plan.order(grad_output), plan.compute);
    DenseTensor x(queue, input, plan.order(input), plan.compute);
    if (!g.load() || !x.load()) return Status::kFailed;
    const Gradients only{TensorView(), gradients.weight, TensorView()};
    status = weightGradients(queue, plan, shape, only, g, x);
  }
  if (status != Status::kOk || !gradients.bias.defined()) return status;
  DenseTensor rows(queue, grad_output, Order::kRowMajor, plan.compute);
  DenseTensor db(queue, gradients.bias, Order::kRowMajor, plan.compute);
  if (!rows.load() || !db.open()) return Status::kFailed;
  Shape images = shape;
  images.features = shape.channels;
  std::copy_n(shape.in, kAxes, images.out);
  status = convolution::enqueueBiasSum(
      queue, images, plan.compute,
      {nullptr, nullptr, rows.address(), db.address()});
  return status == Status::kOk ? db.store() : status;
}

// Gradients of a convolution without images, or without pixels.
Status clearAll(const Queue& queue, const Gradients& gradients) {
  for (const TensorView* view :
       {&gradients.input, &gradients.weight, &gradients.bias}) {
    if (!view->defined() || view->numel == 0) continue;
    const std::size_t bytes = spanBytes(*view);
    if (soft_memset_async(view->data, 0, bytes, queue.stream()) != SOFT_OK) {
      return Status::kFailed;
    }
  }
  return Status::kOk;
}

// Runs compute(plan) with oneDNN, or with products where that has no kernel.
template <typename Compute>
Status withPlan(const TensorView& image, const Compute& compute) {
  Plan plan = planFor(image);
  const Status status = compute(plan);
  if (status != Status::kUnsupported || !plan.primitive) return status;
  plan.primitive = false;
  return compute(plan);
}

bool anyEmpty(const TensorView& a, const TensorView& b, const TensorView& c) {
  return a.numel == 0 || b.numel == 0 || c.numel == 0;
}

}  // namespace

Status convolve(const Queue& queue, const TensorView& out,
                const TensorView& input, const TensorView& weight,
                const TensorView& bias, const ConvolutionArguments& arguments) {
  if (!isFloating(input.dtype)) {
    return unsupportedDType("convolution", input.dtype);
  }
  Shape shape;
  const Status status =
      shapeOf(input, weight, out, arguments, /*transposed=*/false, &shape);
  if (status != Status::kOk || out.numel == 0) return status;
  if (bias.defined() && bias.numel != shape.features) {
    return refuse("bias has a number of elements:", bias.numel);
  }
  return withPlan(input, [&](const Plan& plan) {
    return forward(queue, plan, shape, out, input, weight, bias);
  });
}

Status convolveBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad_weight,
                        const TensorView& grad_bias,
                        const TensorView& grad_output, const TensorView& input,
                        const TensorView& weight,
                        const ConvolutionArguments& arguments) {
  if (!isFloating(input.dtype)) {
    return unsupportedDType("convolution_backward", input.dtype);
  }
  Shape shape;
  const Status status = shapeOf(input, weight, grad_output, arguments,
                                /*transposed=*/false, &shape);
  if (status != Status::kOk) return status;
  const Gradients gradients{grad_input, grad_weight, grad_bias};
  if (anyEmpty(grad_output, input, weight)) return clearAll(queue, gradients);
  return withPlan(input, [&](const Plan& plan) {
    return backward(queue, plan, shape, gradients, grad_output, input, weight);
  });
}

Status convolveTransposed(const Queue& queue, const TensorView& out,
                          const TensorView& input, const TensorView& weight,
                          const TensorView& bias,
                          const ConvolutionArguments& arguments) {
  if (!isFloating(input.dtype)) {
    return unsupportedDType("transposed convolution", input.dtype);
  }
  Shape shape;
  const Status status =
      shapeOf(out, weight, input, arguments, /*transposed=*/true, &shape);
  if (status != Status::kOk || out.numel == 0) return status;
  if (bias.defined() && bias.numel != shape.channels) {
    return refuse("bias has a number of elements:", bias.numel);
  }
  if (anyEmpty(input, weight, out)) {
    return fail(Status::kUnsupported, "convolution of no elements");
  }
  return withPlan(input, [&](const Plan& plan) {
    return forwardTransposed(queue, plan, shape, out, input, weight, bias);
  });
}

Status convolveTransposedBackward(
    const Queue& queue, const TensorView& grad_input,
    const TensorView& grad_weight, const TensorView& grad_bias,
    const TensorView& grad_output, const TensorView& input,
    const TensorView& weight, const ConvolutionArguments& arguments) {
  if (!isFloating(input.dtype)) {
    return unsupportedDType("transposed convolution_backward", input.dtype);
  }
  Shape shape;
  const Status status = shapeOf(grad_output, weight, input, arguments,
                                /*transposed=*/true, &shape);
  if (status != Status::kOk) return status;
  const Gradients gradients{grad_input, grad_weight, grad_bias};
  if (anyEmpty(grad_output, input, weight)) return clearAll(queue, gradients);
  return withPlan(input, [&](const Plan& plan) {
    return backwardTransposed(queue, plan, shape, gradients, grad_output, input,
                              weight);
  });
}

}  // namespace dipu::kernels
