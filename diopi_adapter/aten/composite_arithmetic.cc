// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic that another operator of the device expresses. Type promotion,
// broadcasting and errors are those of that operator.
#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/add.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mvlgamma.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/sub.h>
#include <c10/util/Exception.h>

#include <limits>

#include "diopi_adapter/aten/kernels.h"

namespace dipu::aten {
namespace {

at::Tensor rsub(const at::Tensor& self, const at::Tensor& other,
                const at::Scalar& alpha) {
  return at::sub(other, self, alpha);
}

at::Tensor remainderOfNumber(const at::Scalar& self, const at::Tensor& other) {
  return at::remainder(at::native::wrapped_scalar_tensor(self), other);
}

at::Tensor floorDivide(const at::Tensor& self, const at::Tensor& other) {
  return at::div(self, other, "floor");
}
at::Tensor& floorDivideInplace(at::Tensor& self, const at::Tensor& other) {
  return self.div_(other, "floor");
}
at::Tensor& floorDivideOut(const at::Tensor& self, const at::Tensor& other,
                           at::Tensor& out) {
  return at::div_out(out, self, other, "floor");
}

at::Tensor shiftLeft(const at::Tensor& self, const at::Tensor& other) {
  return at::bitwise_left_shift(self, other);
}
at::Tensor& shiftLeftInplace(at::Tensor& self, const at::Tensor& other) {
  return self.bitwise_left_shift_(other);
}
at::Tensor shiftLeftByNumber(const at::Tensor& self, const at::Scalar& other) {
  return at::bitwise_left_shift(self, other);
}
at::Tensor& shiftLeftByNumberInplace(at::Tensor& self,
                                     const at::Scalar& other) {
  return self.bitwise_left_shift_(other);
}

at::Tensor shiftRight(const at::Tensor& self, const at::Tensor& other) {
  return at::bitwise_right_shift(self, other);
}
at::Tensor& shiftRightInplace(at::Tensor& self, const at::Tensor& other) {
  return self.bitwise_right_shift_(other);
}
at::Tensor shiftRightByNumber(const at::Tensor& self, const at::Scalar& other) {
  return at::bitwise_right_shift(self, other);
}
at::Tensor& shiftRightByNumberInplace(at::Tensor& self,
                                      const at::Scalar& other) {
  return self.bitwise_right_shift_(other);
}

// The largest number that a rectified sum of a tensor of type `type` keeps.
at::Scalar rectifiedLimit(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return std::numeric_limits<float>::max();
    case at::kDouble:
      return std::numeric_limits<double>::max();
    case at::kChar:
      return std::numeric_limits<int8_t>::max();
    case at::kShort:
      return std::numeric_limits<int16_t>::max();
    case at::kInt:
      return std::numeric_limits<int32_t>::max();
    case at::kLong:
      return std::numeric_limits<int64_t>::max();
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "_add_relu has no kernel for ", type,
                                  "; use relu(a + b)");
  }
}

at::Tensor addRelu(const at::Tensor& self, const at::Tensor& other,
                   const at::Scalar& alpha) {
  const at::Scalar limit = rectifiedLimit(self.scalar_type());
  return at::add(self, other, alpha).clamp_(0, limit);
}
at::Tensor& addReluInplace(at::Tensor& self, const at::Tensor& other,
                           const at::Scalar& alpha) {
  const at::Scalar limit = rectifiedLimit(self.scalar_type());
  return self.add_(other, alpha).clamp_(0, limit);
}
at::Tensor& addReluOut(const at::Tensor& self, const at::Tensor& other,
                       const at::Scalar& alpha, at::Tensor& out) {
  const at::Scalar limit = rectifiedLimit(self.scalar_type());
  return at::add_out(out, self, other, alpha).clamp_(0, limit);
}
at::Tensor addReluNumber(const at::Tensor& self, const at::Scalar& other,
                         const at::Scalar& alpha) {
  const at::Scalar limit = rectifiedLimit(self.scalar_type());
  return at::add(self, other, alpha).clamp_(0, limit);
}
at::Tensor& addReluNumberInplace(at::Tensor& self, const at::Scalar& other,
                                 const at::Scalar& alpha) {
  const at::Scalar limit = rectifiedLimit(self.scalar_type());
  return self.add_(other, alpha).clamp_(0, limit);
}

at::Tensor& mvlgammaOut(const at::Tensor& self, int64_t p, at::Tensor& out) {
  const at::Tensor result = at::mvlgamma(self, p);
  TORCH_CHECK(at::canCast(result.scalar_type(), out.scalar_type()),
              "mvlgamma: result type ", result.scalar_type(),
              " can't be cast to the desired output type ", out.scalar_type());
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

void checkIsNumber(const char* name, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0, name,
              " only supports 0-dimension value tensor but got tensor with ",
              value.dim(), " dimensions.");
}

at::Tensor& fillWithTensor(at::Tensor& self, const at::Tensor& value) {
  checkIsNumber("fill_", value);
  if (value.device() != self.device()) return self.fill_(value.item());
  return self.copy_(value);
}

at::Tensor& indexFillWithTensor(at::Tensor& self, int64_t dim,
                                const at::Tensor& index,
                                const at::Tensor& value) {
  checkIsNumber("index_fill_", value);
  return self.index_fill_(dim, index, value.item());
}

}  // namespace

void registerCompositeArithmetic(torch::Library& library) {
  bind<"rsub.Tensor", rsub>(library);
  bind<"remainder.Scalar_Tensor", remainderOfNumber>(library);
  bind<"floor_divide", floorDivide>(library);
  bind<"floor_divide_.Tensor", floorDivideInplace>(library);
  bind<"floor_divide.out", floorDivideOut>(library);
  bind<"__lshift__.Tensor", shiftLeft>(library);
  bind<"__ilshift__.Tensor", shiftLeftInplace>(library);
  bind<"__lshift__.Scalar", shiftLeftByNumber>(library);
  bind<"__ilshift__.Scalar", shiftLeftByNumberInplace>(library);
  bind<"__rshift__.Tensor", shiftRight>(library);
  bind<"__irshift__.Tensor", shiftRightInplace>(library);
  bind<"__rshift__.Scalar", shiftRightByNumber>(library);
  bind<"__irshift__.Scalar", shiftRightByNumberInplace>(library);
  bind<"_add_relu.Tensor", addRelu>(library);
  bind<"_add_relu_.Tensor", addReluInplace>(library);
  bind<"_add_relu.out", addReluOut>(library);
  bind<"_add_relu.Scalar", addReluNumber>(library);
  bind<"_add_relu_.Scalar", addReluNumberInplace>(library);
  bind<"mvlgamma.out", mvlgammaOut>(library);
  bind<"fill_.Tensor", fillWithTensor>(library);
  bind<"index_fill_.int_Tensor", indexFillWithTensor>(library);
}

}  // namespace dipu::aten
