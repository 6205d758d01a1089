// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/reduction.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/view_as_real.h>
#include <c10/util/Exception.h>

#include <optional>

#include "core/distributed/communicator.h"
#include "core/distributed/element_type.h"
#include "core/runtime/vendor.h"

namespace dipu::distributed {
namespace {

using Op = c10d::ReduceOp;

[[noreturn]] void refuse(Op::RedOpType op, c10::ScalarType type,
                         const char* why) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "the process group of ",
                              runtime::vendor().name, " cannot reduce ", type,
                              " by ", nameOf(op), ": ", why);
}

bool isBitwise(Op::RedOpType op) {
  return op == Op::BAND || op == Op::BOR || op == Op::BXOR;
}

void checkMeaning(Op::RedOpType op, c10::ScalarType type) {
  const bool is_float = c10::isFloatingType(type);
  const bool is_complex = c10::isComplexType(type);
  if (c10::isFloat8Type(type) ||
      !(is_float || is_complex || c10::isIntegralType(type, true))) {
    refuse(op, type, "there is no arithmetic for it; convert it to float16");
  }
  if (isBitwise(op) && (is_float || is_complex)) {
    refuse(op, type, "only integers and bool have bits to combine");
  }
  if (is_complex && (op == Op::MIN || op == Op::MAX)) {
    refuse(op, type,
           "complex numbers have no order; reduce their absolute "
           "values");
  }
  if (type == c10::ScalarType::Bool && op == Op::AVG) {
    refuse(op, type, "the average is not a bool; convert it to float32");
  }
  if (op == Op::PREMUL_SUM && !is_float && !is_complex) {
    refuse(op, type, "factors are for floating-point numbers");
  }
}

std::optional<dipu_reduce_op> vendorOp(Op::RedOpType op) {
  switch (op) {
    case Op::SUM:
    case Op::PREMUL_SUM:
      return DIPU_REDUCE_SUM;
    case Op::AVG:
      return DIPU_REDUCE_AVG;
    case Op::PRODUCT:
      return DIPU_REDUCE_PROD;
    case Op::MIN:
      return DIPU_REDUCE_MIN;
    case Op::MAX:
      return DIPU_REDUCE_MAX;
    default:
      return std::nullopt;
  }
}

// The operation on 0 and 1 that bool's is; XOR has none.
std::optional<dipu_reduce_op> vendorOpOfBool(Op::RedOpType op) {
  switch (op) {
    case Op::SUM:
    case Op::MAX:
    case Op::BOR:
      return DIPU_REDUCE_MAX;
    case Op::PRODUCT:
    case Op::MIN:
    case Op::BAND:
      return DIPU_REDUCE_MIN;
    default:
      return std::nullopt;
  }
}

bool isUnsignedWord(c10::ScalarType type) {
  return type == c10::ScalarType::UInt16 || type == c10::ScalarType::UInt32 ||
         type == c10::ScalarType::UInt64;
}

bool vendorHas(c10::ScalarType type, std::optional<dipu_reduce_op> op) {
  const std::optional<dipu_dtype> dtype = dtypeOf(type);
  return dtype && op && Communicator::hasType(*dtype) &&
         Communicator::hasReduction(*op);
}

// Puts `part` into `sum`, which has the precision to add up.
void combine(Op::RedOpType op, at::Tensor& sum, const at::Tensor& part) {
  switch (op) {
    case Op::PRODUCT:
      sum.mul_(part);
      return;
    case Op::MIN:
      sum.copy_(sum.minimum(part));
      return;
    case Op::MAX:
      sum.copy_(sum.maximum(part));
      return;
    case Op::BAND:
      sum.bitwise_and_(part);
      return;
    case Op::BOR:
      sum.bitwise_or_(part);
      return;
    case Op::BXOR:
      sum.bitwise_xor_(part);
      return;
    default:
      sum.add_(part);
  }
}

c10::ScalarType precisionOf(c10::ScalarType type) {
  return c10::isReducedFloatingType(type) ? c10::ScalarType::Float : type;
}

}  // namespace

const char* nameOf(Op::RedOpType op) {
  switch (op) {
    case Op::SUM:
      return "SUM";
    case Op::AVG:
      return "AVG";
    case Op::PRODUCT:
      return "PRODUCT";
    case Op::MIN:
      return "MIN";
    case Op::MAX:
      return "MAX";
    case Op::BAND:
      return "BAND";
    case Op::BOR:
      return "BOR";
    case Op::BXOR:
      return "BXOR";
    case Op::PREMUL_SUM:
      return "PREMUL_SUM";
    default:
      return "an unknown operation";
  }
}

Reduction planReduction(const Op& op, c10::ScalarType type) {
  checkMeaning(op.op_, type);
  Reduction reduction{op, type};
  std::optional<dipu_reduce_op> wanted = vendorOp(op.op_);
  if (type == c10::ScalarType::Bool) {
    wanted = vendorOpOfBool(op.op_);
    if (wanted) reduction.type = c10::ScalarType::Byte;
  } else if (c10::isComplexType(type) && op.op_ != Op::PRODUCT) {
    reduction.type = c10::toRealValueType(type);
  }
  reduction.multiply_first = op.op_ == Op::PREMUL_SUM;
  if (wanted == DIPU_REDUCE_AVG && !vendorHas(reduction.type, wanted)) {
    wanted = DIPU_REDUCE_SUM;
    reduction.divide_last = true;
  }
  reduction.is_native = vendorHas(reduction.type, wanted);
  if (reduction.is_native) {
    reduction.vendor_op = *wanted;
  } else if (isUnsignedWord(reduction.type)) {
    refuse(op.op_, type,
           "neither the vendor's collectives nor PyTorch's "
           "operators compute with it; convert it to int64");
  } else if (reduction.type == c10::ScalarType::Byte) {
    reduction.type = type;  // bool has operators of its own
  }
  return reduction;
}

at::Tensor viewFor(const Reduction& reduction, const at::Tensor& tensor) {
  if (tensor.scalar_type() == reduction.type) return tensor.view({-1});
  if (tensor.is_complex()) return at::view_as_real(tensor).view({-1});
  return tensor.view({-1}).view(reduction.type);
}

at::Tensor multiplied(const Reduction& reduction, const at::Tensor& tensor) {
  if (!reduction.multiply_first) return tensor;
  const auto* factor = dynamic_cast<const c10d::PreMulSumSupplement*>(
      reduction.op.supplement_.get());
  TORCH_CHECK_VALUE(factor != nullptr,
                    "PREMUL_SUM has no factor; make the operation with "
                    "torch.distributed._make_nccl_premul_sum(factor)");
  if (!factor->tensor_factor.defined()) {
    return tensor.mul(factor->double_factor);
  }
  const at::Tensor value = factor->tensor_factor.reshape({}).to(
      tensor.device(), tensor.scalar_type());
  return tensor.mul(value);
}

at::Tensor combined(const Reduction& reduction, const at::Tensor& parts) {
  at::Tensor sum = parts.select(0, 0).to(precisionOf(parts.scalar_type()),
                                         /*non_blocking=*/false, /*copy=*/true);
  for (int64_t rank = 1; rank < parts.size(0); ++rank) {
    combine(reduction.op.op_, sum, parts.select(0, rank));
  }
  return sum;
}

void finishReduction(const Reduction& reduction, at::Tensor& result, int size) {
  if (!reduction.divide_last) return;
  if (c10::isIntegralType(result.scalar_type(), true)) {
    result.div_(size, "trunc");
  } else {
    result.div_(size);
  }
}

}  // namespace dipu::distributed
