// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/element_type.h"

#include <c10/util/Exception.h>

#include "core/distributed/communicator.h"
#include "core/runtime/vendor.h"

namespace dipu::distributed {
namespace {

struct Word {
  dipu_dtype dtype;
  std::size_t bytes;
};

// The widest first.
constexpr Word kWords[] = {{DIPU_DTYPE_UINT64, 8}, {DIPU_DTYPE_INT64, 8},
                           {DIPU_DTYPE_UINT32, 4}, {DIPU_DTYPE_INT32, 4},
                           {DIPU_DTYPE_UINT16, 2}, {DIPU_DTYPE_INT16, 2},
                           {DIPU_DTYPE_UINT8, 1},  {DIPU_DTYPE_INT8, 1}};

}  // namespace

std::optional<dipu_dtype> dtypeOf(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Char:
      return DIPU_DTYPE_INT8;
    case c10::ScalarType::Byte:
      return DIPU_DTYPE_UINT8;
    case c10::ScalarType::Short:
      return DIPU_DTYPE_INT16;
    case c10::ScalarType::UInt16:
      return DIPU_DTYPE_UINT16;
    case c10::ScalarType::Int:
      return DIPU_DTYPE_INT32;
    case c10::ScalarType::UInt32:
      return DIPU_DTYPE_UINT32;
    case c10::ScalarType::Long:
      return DIPU_DTYPE_INT64;
    case c10::ScalarType::UInt64:
      return DIPU_DTYPE_UINT64;
    case c10::ScalarType::Half:
      return DIPU_DTYPE_FLOAT16;
    case c10::ScalarType::Float:
      return DIPU_DTYPE_FLOAT32;
    case c10::ScalarType::Double:
      return DIPU_DTYPE_FLOAT64;
    case c10::ScalarType::Bool:
      return DIPU_DTYPE_BOOL;
    case c10::ScalarType::BFloat16:
      return DIPU_DTYPE_BFLOAT16;
    case c10::ScalarType::ComplexHalf:
      return DIPU_DTYPE_COMPLEX32;
    case c10::ScalarType::ComplexFloat:
      return DIPU_DTYPE_COMPLEX64;
    case c10::ScalarType::ComplexDouble:
      return DIPU_DTYPE_COMPLEX128;
    default:
      return std::nullopt;
  }
}

Wire wireOf(c10::ScalarType type) {
  const std::optional<dipu_dtype> dtype = dtypeOf(type);
  if (dtype && Communicator::hasType(*dtype)) return {*dtype, 1};
  const std::size_t bytes = c10::elementSize(type);
  for (const Word& word : kWords) {
    if (bytes % word.bytes == 0 && Communicator::hasType(word.dtype)) {
      return {word.dtype, bytes / word.bytes};
    }
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "the collectives of ", runtime::vendor().name, " have neither ",
      type, " nor an integer of which its ", bytes,
      " bytes consist; convert the tensor before the collective");
}

}  // namespace dipu::distributed
