// SPDX-License-Identifier: Apache-2.0
//
// Copies within one device. See Note [How tensors are copied].
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/view_as_real_native.h>

#include "core/runtime/device.h"
#include "core/runtime/memory.h"
#include "core/runtime/stream.h"
#include "diopi_adapter/aten/copy.h"
#include "diopi_adapter/aten/empty.h"
#include "diopi_adapter/fallback/accounting.h"
#include "diopi_adapter/fallback/counters.h"
#include "diopi_adapter/fallback/host_images.h"
#include "diopi_adapter/runtime/call.h"
#include "diopi_adapter/runtime/handles.h"
#include "diopi_adapter/runtime/symbol_table.h"

namespace dipu::aten {
namespace {

using adapter::CallContext;
using adapter::In;
using adapter::noteRefusal;
using adapter::Out;
using adapter::symbols;

constexpr char kLabel[] = "copy_";

// `tensor` as the numbers that lie in memory: a conjugate or negative view
// without its mark, and complex numbers as pairs of real ones.
at::Tensor memoryView(const at::Tensor& tensor) {
  at::Tensor plain = tensor;
  if (tensor.is_conj() || tensor.is_neg()) {
    plain = at::native::as_strided_tensorimpl(tensor, tensor.sizes(),
                                              tensor.strides());
    plain._set_conj(false);
    plain._set_neg(false);
  }
  return plain.is_complex() ? at::native::view_as_real(plain) : plain;
}

bool copyByOperator(const at::Tensor& dst, const at::Tensor& src);

// Casts when the library only casts between tensors of one layout: into a
// tensor laid out like `src`, which is then copied.
bool castInTwoSteps(const at::Tensor& dst, const at::Tensor& src) {
  if (sameLayout(dst, src)) return false;
  const at::Tensor cast =
      emptyLike(src, dst.scalar_type(), src.device().index());
  if (!sameLayout(cast, src)) {
    const at::Tensor dense =
        emptyLike(src, src.scalar_type(), src.device().index());
    return copyByOperator(dense, src) && copyByOperator(cast, dense) &&
           copyByOperator(dst, cast);
  }
  return copyByOperator(cast, src) && copyByOperator(dst, cast);
}

// Copies with the operator library. Returns false, with nothing enqueued that
// matters, when it does not cover the case.
bool copyByOperator(const at::Tensor& dst, const at::Tensor& src) {
  CallContext context(dst.device().index());
  if (dst.scalar_type() == src.scalar_type()) {
    if (symbols().diopiCopyInp == nullptr) {
      return noteRefusal("the vendor has no diopiCopyInp");
    }
    return context.accept(symbols().diopiCopyInp(context, In(src), Out(dst)),
                          kLabel, {&dst, &src});
  }
  if (symbols().diopiCastDtype == nullptr) {
    return noteRefusal("the vendor has no diopiCastDtype");
  }
  return context.accept(symbols().diopiCastDtype(context, Out(dst), In(src)),
                        kLabel, {&dst, &src}) ||
         castInTwoSteps(dst, src);
}

bool copyNatively(const at::Tensor& dst, const at::Tensor& src) {
  if (dst.is_conj() != src.is_conj() || dst.is_neg() != src.is_neg()) {
    return noteRefusal("a conjugate or negative view is resolved on the host");
  }
  if (dst.is_complex() != src.is_complex()) {
    return noteRefusal("real and complex numbers are converted on the host");
  }
  return copyByOperator(memoryView(dst), memoryView(src));
}

void copyMemory(const at::Tensor& dst, const at::Tensor& src) {
  if (dst.data_ptr() == src.const_data_ptr()) return;
  const c10::DeviceIndex device = dst.device().index();
  runtime::copyAsync(dst.mutable_data_ptr(), device, src.const_data_ptr(),
                     device, dst.nbytes(),
                     runtime::currentStreamHandle(device));
}

// A CPU tensor to be copied to `dst`: dense where `dst` is.
at::Tensor hostLike(const at::Tensor& dst) {
  const auto options = dst.options().device(c10::kCPU);
  return dst.is_non_overlapping_and_dense()
             ? at::empty_strided(dst.sizes(), dst.strides(), options)
             : at::empty(dst.sizes(), options);
}

// Correct for everything that the CPU can copy, and slow.
void copyThroughHost(const at::Tensor& dst, const at::Tensor& src) {
  const fallback::FallbackScope account(kLabel, adapter::refusalReason());
  fallback::HostImages images;
  images.add(src);
  if (dst.is_non_overlapping_and_dense()) {
    images.fetch();
    at::Tensor host = hostLike(dst);
    host._set_conj(dst.is_conj());
    host._set_neg(dst.is_neg());
    host.copy_(images.hostOf(src));
    copyTensor(dst, host, /*non_blocking=*/false);
    return;
  }
  // The gaps of `dst` are read and written back as they were.
  images.add(dst);
  images.fetch();
  at::Tensor host = images.hostOf(dst);
  host.copy_(images.hostOf(src));
  images.store(dst);
}

}  // namespace

bool sameLayout(const at::Tensor& a, const at::Tensor& b) {
  if (a.is_contiguous() && b.is_contiguous()) return a.sizes() == b.sizes();
  if (!a.is_non_overlapping_and_dense() || !b.is_non_overlapping_and_dense() ||
      a.sizes() != b.sizes()) {
    return false;
  }
  for (int64_t i = 0; i < a.dim(); ++i) {
    if (a.size(i) != 1 && a.stride(i) != b.stride(i)) return false;
  }
  return true;
}

bool sameBits(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.is_conj() == b.is_conj() &&
         a.is_neg() == b.is_neg();
}

void copyOnDevice(const at::Tensor& dst, const at::Tensor& src) {
  if (dst.numel() == 0) return;
  at::assert_no_internal_overlap(dst);
  at::assert_no_partial_overlap(dst, src);
  if (sameBits(dst, src) && sameLayout(dst, src)) {
    copyMemory(dst, src);
  } else if (!copyNatively(dst, src)) {
    copyThroughHost(dst, src);
    return;
  }
  fallback::countNative(kLabel);
}

}  // namespace dipu::aten
