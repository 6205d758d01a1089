// SPDX-License-Identifier: Apache-2.0
//
// torch.autocast for the device: which operators run in the lower precision,
// which in float32 and which in the widest type of their arguments. The lists
// are PyTorch's own for accelerators.
#include "diopi_adapter/aten/autocast.h"

#include <ATen/autocast_mode.h>

namespace dipu::aten {
namespace {

at::Tensor refuseBinaryCrossEntropy(const at::Tensor&, const at::Tensor&,
                                    const std::optional<at::Tensor>&, int64_t) {
  TORCH_CHECK(false,
              "binary_cross_entropy is unsafe to autocast: its input may round "
              "to 0 or 1. Use binary_cross_entropy_with_logits or "
              "torch.nn.BCEWithLogitsLoss instead of a sigmoid before it.");
}

}  // namespace

// One operator of a list, with its overload if it has one: DIPU_LOWER(mm),
// DIPU_LOWER(scaled_dot_product_attention).
#define DIPU_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define DIPU_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define DIPU_FP32_DTYPE(...) \
  KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define DIPU_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

// PyTorch's macros name the library `m`.
void registerAutocast(torch::Library& m) {
  using namespace at;            // NOLINT: the lists name types of at ...
  using namespace at::autocast;  // NOLINT: ... and policies of at::autocast
  AT_FORALL_LOWER_PRECISION_FP(DIPU_LOWER)
  AT_FORALL_FP32(DIPU_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(DIPU_FP32_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(
      KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(DIPU_PROMOTE)
  m.impl("binary_cross_entropy", refuseBinaryCrossEntropy);
}

}  // namespace dipu::aten
