// SPDX-License-Identifier: Apache-2.0
//
// The copy operators, and copies that cross a device's border. See
// Note [How tensors are copied].
#include "diopi_adapter/aten/copy.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include "core/allocator/host_allocator.h"
#include "core/runtime/device.h"
#include "core/runtime/memory.h"
#include "core/runtime/stream.h"
#include "diopi_adapter/aten/empty.h"
#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/fallback/accounting.h"
#include "diopi_adapter/fallback/host_images.h"

namespace dipu::aten {
namespace {

// A view that spans more than this many times its own bytes is gathered on the
// device before it is copied to the host.
constexpr std::size_t kMaxSpan = 4;

bool onDevice(const at::Tensor& tensor) {
  return tensor.device().type() == runtime::kDeviceType;
}

bool sameMemory(const at::Tensor& a, const at::Tensor& b) {
  return sameBits(a, b) && sameLayout(a, b);
}

void copyMarks(const at::Tensor& from, const at::Tensor& to) {
  to._set_conj(from.is_conj());
  to._set_neg(from.is_neg());
}

// Keeps pinned memory from reuse until the stream has reached this point.
void holdPinned(const at::Tensor& host, const c10::Stream& stream) {
  const c10::DataPtr& data = host.storage().data_ptr();
  allocator::hostAllocator().record_event(const_cast<void*>(data.get()),
                                          data.get_context(), stream);
}

// After a copy from or to `host` was enqueued: what the caller may rely on when
// copy_ returns.
void settle(const at::Tensor& host, c10::DeviceIndex device, bool pinned,
            bool non_blocking) {
  const c10::Stream stream = runtime::currentStream(device);
  if (pinned && non_blocking) {
    holdPinned(host, stream);
  } else {
    runtime::synchronizeStream(stream);
  }
}

void upload(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  const c10::DeviceIndex device = dst.device().index();
  runtime::copyAsync(dst.mutable_data_ptr(), device, src.const_data_ptr(),
                     DIPU_HOST, dst.nbytes(),
                     runtime::currentStreamHandle(device));
  fallback::countBytesToDevice(dst.nbytes());
  // The vendor has consumed pageable memory when copyAsync returns.
  if (allocator::isPinned(src.const_data_ptr())) {
    settle(src, device, /*pinned=*/true, non_blocking);
  }
}

void download(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  const c10::DeviceIndex device = src.device().index();
  runtime::copyAsync(dst.mutable_data_ptr(), DIPU_HOST, src.const_data_ptr(),
                     device, dst.nbytes(),
                     runtime::currentStreamHandle(device));
  fallback::countBytesToHost(dst.nbytes());
  settle(dst, device, allocator::isPinned(dst.const_data_ptr()), non_blocking);
}

void copyFromHost(const at::Tensor& dst, const at::Tensor& src,
                  bool non_blocking) {
  if (sameMemory(dst, src)) {
    upload(dst, src, non_blocking);
    return;
  }
  const bool dense = dst.is_non_overlapping_and_dense();
  const auto options = dst.options().device(c10::kCPU);
  at::Tensor host = dense
                        ? at::empty_strided(dst.sizes(), dst.strides(), options)
                        : at::empty(dst.sizes(), options);
  copyMarks(dst, host);
  host.copy_(src);
  if (dense) {
    upload(dst, host, /*non_blocking=*/false);
    return;
  }
  const at::Tensor device =
      emptyContiguous(dst.sizes(), dst.scalar_type(), dst.device().index());
  copyMarks(dst, device);
  upload(device, host, /*non_blocking=*/false);
  copyOnDevice(dst, device);
}

std::size_t spanBytes(const at::Tensor& tensor) {
  return at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(),
                                          tensor.element_size());
}

void copyToHost(const at::Tensor& dst, const at::Tensor& src,
                bool non_blocking) {
  if (sameMemory(dst, src)) {
    download(dst, src, non_blocking);
    return;
  }
  at::Tensor source = src;
  if (spanBytes(src) > kMaxSpan * src.nbytes()) {
    source =
        emptyContiguous(src.sizes(), src.scalar_type(), src.device().index());
    copyMarks(src, source);
    copyOnDevice(source, src);
  }
  fallback::HostImages images;
  images.add(source);
  images.fetch();
  dst.copy_(images.hostOf(source));
}

// `dst` or, when it has gaps, a dense tensor to be copied to it.
at::Tensor denseTarget(const at::Tensor& dst) {
  if (dst.is_non_overlapping_and_dense()) return dst;
  const at::Tensor dense =
      emptyContiguous(dst.sizes(), dst.scalar_type(), dst.device().index());
  copyMarks(dst, dense);
  return dense;
}

void copyBetween(const at::Tensor& dst, const at::Tensor& src) {
  const at::Tensor target = denseTarget(dst);
  at::Tensor source = src;
  if (!sameMemory(target, src)) {
    source = emptyLike(target, target.scalar_type(), src.device().index());
    copyMarks(target, source);
    const runtime::DeviceScope scope(src.device().index());
    copyOnDevice(source, src);
  }
  runtime::copyBetweenDevices(target.mutable_data_ptr(),
                              target.device().index(), source.const_data_ptr(),
                              source.device().index(), target.nbytes());
  if (!target.is_same(dst)) {
    const runtime::DeviceScope scope(dst.device().index());
    copyOnDevice(dst, target);
  }
}

at::Tensor& copyKernel(at::Tensor& self, const at::Tensor& src,
                       bool non_blocking) {
  copyTensor(self, src, non_blocking);
  return self;
}

at::Tensor copyFrom(const at::Tensor& self, const at::Tensor& dst,
                    bool non_blocking) {
  copyTensor(dst, self, non_blocking);
  return dst;
}

at::Tensor copyFromAndResize(const at::Tensor& self, const at::Tensor& dst) {
  if (dst.sizes() != self.sizes()) dst.resize_(self.sizes());
  copyTensor(dst, self, /*non_blocking=*/false);
  return dst;
}

}  // namespace

void copyTensor(const at::Tensor& dst, const at::Tensor& src,
                bool non_blocking) {
  TORCH_CHECK(dst.defined() && src.defined(), "copy_: undefined tensor");
  TORCH_CHECK_NOT_IMPLEMENTED(!src.is_meta(),
                              "Cannot copy out of meta tensor; no data!");
  TORCH_CHECK(!dst._is_zerotensor(),
              "ZeroTensors are immutable. Please materialize the tensor using "
              "`.clone()`, if you want a mutable zero tensor.");
  if (dst.is_same(src)) return;
  if (src._is_zerotensor()) {
    dst.zero_();
    return;
  }
  if (dst.sizes() != src.sizes()) {
    copyTensor(dst, src.expand(dst.sizes()), non_blocking);
    return;
  }
  if (dst.numel() == 0) return;
  if (!onDevice(src)) {
    const runtime::DeviceScope scope(dst.device().index());
    copyFromHost(dst, src, non_blocking);
  } else if (!onDevice(dst)) {
    const runtime::DeviceScope scope(src.device().index());
    copyToHost(dst, src, non_blocking);
  } else if (dst.device() == src.device()) {
    const runtime::DeviceScope scope(dst.device().index());
    copyOnDevice(dst, src);
  } else {
    copyBetween(dst, src);
  }
}

void registerCopy(torch::Library& library) {
  // For tools that look at copies (debug::copyOperators).
  bind<"copy_", copyKernel>(library);
  bind<"_copy_from", copyFrom>(library);
  bind<"_copy_from_and_resize", copyFromAndResize>(library);
}

}  // namespace dipu::aten
