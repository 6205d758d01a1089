// SPDX-License-Identifier: Apache-2.0
//
// Operators without a DIOPI function that one or two others express.
#include <ATen/core/Tensor.h>
#include <ATen/ops/eq.h>

#include <limits>

#include "diopi_adapter/aten/kernels.h"

namespace dipu::aten {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// `infinity` has the sign that is asked for. Integers are never infinite.
at::Tensor& isInfinityOut(const at::Tensor& self, double infinity,
                          at::Tensor& out) {
  if (c10::isIntegralType(self.scalar_type(), /*includeBool=*/true)) {
    out.resize_(self.sizes());
    return out.fill_(false);
  }
  return at::eq_out(out, self, infinity);
}

at::Tensor& isNegInfOut(const at::Tensor& self, at::Tensor& out) {
  return isInfinityOut(self, -kInfinity, out);
}

at::Tensor& isPosInfOut(const at::Tensor& self, at::Tensor& out) {
  return isInfinityOut(self, kInfinity, out);
}

}  // namespace

void registerComposite(torch::Library& library) {
  // Part of attention: _safe_softmax looks for rows that are masked out.
  library.impl("isneginf.out", isNegInfOut);
  library.impl("isposinf.out", isPosInfOut);
}

}  // namespace dipu::aten
