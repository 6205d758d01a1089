// SPDX-License-Identifier: Apache-2.0
//
// Matrix products whose result has a wider type than the matrices: these are
// converted first, which loses nothing.
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>

#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/aten/native_call.h"

namespace dipu::aten {
namespace {

// `matrix` as the type in which the product is asked for.
at::Tensor widen(const char* name, const at::Tensor& matrix,
                 at::ScalarType wanted) {
  const at::ScalarType own = matrix.scalar_type();
  const bool is_half = own == at::kHalf || own == at::kBFloat16;
  TORCH_CHECK(wanted == own || (is_half && wanted == at::kFloat), name,
              ": out_dtype may be the type of the matrices or, for float16 and "
              "bfloat16, float32; it is ",
              wanted, " for matrices of ", own);
  return matrix.to(wanted);
}

// The summand may have either type.
at::Tensor widenSummand(const char* name, const at::Tensor& summand,
                        at::ScalarType wanted) {
  return summand.scalar_type() == wanted ? summand
                                         : widen(name, summand, wanted);
}

void checkOut(const char* name, const at::Tensor& out, at::ScalarType wanted) {
  TORCH_CHECK(out.scalar_type() == wanted, name, ": out has the type ",
              out.scalar_type(), ", out_dtype is ", wanted);
}

at::Tensor mm(const at::Tensor& a, const at::Tensor& b, at::ScalarType type) {
  return at::mm(widen("mm", a, type), widen("mm", b, type));
}
at::Tensor& mmOut(const at::Tensor& a, const at::Tensor& b, at::ScalarType type,
                  at::Tensor& out) {
  checkOut("mm", out, type);
  return at::mm_out(out, widen("mm", a, type), widen("mm", b, type));
}

at::Tensor bmm(const at::Tensor& a, const at::Tensor& b, at::ScalarType type) {
  return at::bmm(widen("bmm", a, type), widen("bmm", b, type));
}
at::Tensor& bmmOut(const at::Tensor& a, const at::Tensor& b,
                   at::ScalarType type, at::Tensor& out) {
  checkOut("bmm", out, type);
  return at::bmm_out(out, widen("bmm", a, type), widen("bmm", b, type));
}

at::Tensor addmm(const at::Tensor& self, const at::Tensor& a,
                 const at::Tensor& b, at::ScalarType type,
                 const at::Scalar& beta, const at::Scalar& alpha) {
  return at::addmm(widenSummand("addmm", self, type), widen("addmm", a, type),
                   widen("addmm", b, type), beta, alpha);
}
at::Tensor& addmmOut(const at::Tensor& self, const at::Tensor& a,
                     const at::Tensor& b, at::ScalarType type,
                     const at::Scalar& beta, const at::Scalar& alpha,
                     at::Tensor& out) {
  checkOut("addmm", out, type);
  return at::addmm_out(out, widenSummand("addmm", self, type),
                       widen("addmm", a, type), widen("addmm", b, type), beta,
                       alpha);
}

at::Tensor baddbmm(const at::Tensor& self, const at::Tensor& a,
                   const at::Tensor& b, at::ScalarType type,
                   const at::Scalar& beta, const at::Scalar& alpha) {
  return at::baddbmm(widenSummand("baddbmm", self, type),
                     widen("baddbmm", a, type), widen("baddbmm", b, type), beta,
                     alpha);
}
at::Tensor& baddbmmOut(const at::Tensor& self, const at::Tensor& a,
                       const at::Tensor& b, at::ScalarType type,
                       const at::Scalar& beta, const at::Scalar& alpha,
                       at::Tensor& out) {
  checkOut("baddbmm", out, type);
  return at::baddbmm_out(out, widenSummand("baddbmm", self, type),
                         widen("baddbmm", a, type), widen("baddbmm", b, type),
                         beta, alpha);
}

}  // namespace

void registerProducts(torch::Library& library) {
  bindWithCpu<"mm.dtype", mm>(library);
  bindOutWithCpu<"mm.dtype_out", mmOut, mm>(library);
  bindWithCpu<"bmm.dtype", bmm>(library);
  bindOutWithCpu<"bmm.dtype_out", bmmOut, bmm>(library);
  bindWithCpu<"addmm.dtype", addmm>(library);
  bindOutWithCpu<"addmm.dtype_out", addmmOut, addmm>(library);
  bindWithCpu<"baddbmm.dtype", baddbmm>(library);
  bindOutWithCpu<"baddbmm.dtype_out", baddbmmOut, baddbmm>(library);
}

}  // namespace dipu::aten
