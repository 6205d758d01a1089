// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/convolution/convolution.h"

#include "kernels/compute/convolution/shape.h"
#include "kernels/compute/operands.h"

namespace dipu::kernels {
namespace {

using convolution::Addresses;
using convolution::Layouts;
using convolution::Pass;
using convolution::Shape;

// Size of the result along an axis.
int64_t outSize(const ConvolutionArguments& a, int axis, int64_t in,
                int64_t kernel) {
  const int64_t room =
      in + 2 * a.padding[axis] - a.dilation[axis] * (kernel - 1) - 1;
  return room < 0 ? 0 : room / a.stride[axis] + 1;
}

Status refuse(const char* what, int64_t value) {
  return fail(Status::kInvalid, "convolution2d: %s %ld", what, long(value));
}

// The shape of a convolution, or what is wrong with it.
Status shapeOf(const TensorView& image, const TensorView& weight,
               const TensorView& result, const ConvolutionArguments& a,
               Shape* shape) {
  if (image.ndim != 4 || weight.ndim != 4 || result.ndim != 4) {
    return refuse("takes 4-D tensors, not", image.ndim);
  }
  *shape = {image.sizes[0],
            image.sizes[1],
            image.sizes[2],
            image.sizes[3],
            weight.sizes[0],
            result.sizes[2],
            result.sizes[3],
            weight.sizes[2],
            weight.sizes[3],
            {},
            {},
            {},
            a.groups};
  for (int axis = 0; axis < 2; ++axis) {
    if (a.stride[axis] < 1) return refuse("stride", a.stride[axis]);
    if (a.dilation[axis] < 1) return refuse("dilation", a.dilation[axis]);
    if (a.padding[axis] < 0) return refuse("padding", a.padding[axis]);
    shape->stride[axis] = a.stride[axis];
    shape->padding[axis] = a.padding[axis];
    shape->dilation[axis] = a.dilation[axis];
    const int64_t out =
        outSize(a, axis, image.sizes[2 + axis], weight.sizes[2 + axis]);
    if (out != result.sizes[2 + axis]) {
      return refuse("gives a result of size", out);
    }
  }
  if (a.groups < 1 || image.sizes[1] != weight.sizes[1] * a.groups ||
      weight.sizes[0] % a.groups != 0) {
    return refuse("cannot divide its channels into groups:", a.groups);
  }
  if (result.sizes[0] != image.sizes[0] || result.sizes[1] != weight.sizes[0]) {
    return refuse("gives a number of features:", weight.sizes[0]);
  }
  if (image.dtype != weight.dtype || image.dtype != result.dtype) {
    return refuse("takes tensors of one dtype, not", int64_t(image.dtype));
  }
  return Status::kOk;
}

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

// The three gradients of one call.
struct Gradients {
  const TensorView& input;
  const TensorView& weight;
  const TensorView& bias;
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

}  // namespace

Status convolution2d(const Queue& queue, const TensorView& out,
                     const TensorView& input, const TensorView& weight,
                     const TensorView& bias,
                     const ConvolutionArguments& arguments) {
  if (!isFloating(input.dtype)) {
    return unsupportedDType("convolution2d", input.dtype);
  }
  Shape shape;
  Status status = shapeOf(input, weight, out, arguments, &shape);
  if (status != Status::kOk || out.numel == 0) return status;
  if (bias.defined() && bias.numel != shape.features) {
    return refuse("bias has a number of elements:", bias.numel);
  }
  Plan plan = planFor(input);
  status = forward(queue, plan, shape, out, input, weight, bias);
  if (status != Status::kUnsupported) return status;
  plan.primitive = false;
  return forward(queue, plan, shape, out, input, weight, bias);
}

Status convolution2dBackward(const Queue& queue, const TensorView& grad_input,
                             const TensorView& grad_weight,
                             const TensorView& grad_bias,
                             const TensorView& grad_output,
                             const TensorView& input, const TensorView& weight,
                             const ConvolutionArguments& arguments) {
  if (!isFloating(input.dtype)) {
    return unsupportedDType("convolution2d_backward", input.dtype);
  }
  Shape shape;
  Status status = shapeOf(input, weight, grad_output, arguments, &shape);
  if (status != Status::kOk) return status;
  const Gradients gradients{grad_input, grad_weight, grad_bias};
  if (grad_output.numel == 0 || input.numel == 0 || weight.numel == 0) {
    return clearAll(queue, gradients);
  }
  Plan plan = planFor(input);
  status = backward(queue, plan, shape, gradients, grad_output, input, weight);
  if (status != Status::kUnsupported) return status;
  plan.primitive = false;
  return backward(queue, plan, shape, gradients, grad_output, input, weight);
}

}  // namespace dipu::kernels
