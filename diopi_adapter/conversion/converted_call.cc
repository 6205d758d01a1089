// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/conversion/converted_call.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "diopi_adapter/runtime/arena.h"
#include "diopi_adapter/runtime/call.h"
#include "diopi_adapter/runtime/dtype.h"
#include "diopi_adapter/runtime/handles.h"

namespace dipu::conversion {
namespace {

at::Tensor tensorOf(const diopiTensor& handle) {
  auto* const impl = static_cast<c10::TensorImpl*>(handle.owner);
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(impl));
}

// Whether `host` keeps its values in `type`: integers exactly, and a floating
// point number unless it becomes infinite.
bool fits(const at::Tensor& host, c10::ScalarType type) {
  const at::Tensor smaller = host.to(type);
  if (host.is_floating_point()) {
    return at::equal(smaller.isinf(), host.isinf());
  }
  return at::equal(smaller.to(host.scalar_type()), host);
}

// Functions that update tensors although their name does not say so.
constexpr std::string_view kUpdating[] = {
    "diopiAdadelta",
    "diopiAdam",
    "diopiAdamW",
    "diopiClipGradNorm",
    "diopiExtEmbeddingRenorm",
    "diopiExtFusedAdagrad",
    "diopiFusedAdamW",
    "diopiRmsprop",
    "diopiSgd",
};

// Functions that work in place read what they write; of others, what an output
// holds before is of no interest and may not even be initialised. In place are
// diopiAddInp, diopiAddInpScalar and diopiUpdate_, but not diopiInput.
bool readsOutputs(std::string_view function) {
  const std::size_t at = function.find("Inp");
  const bool in_place =
      at != std::string_view::npos &&
      function.substr(at + 3).find_first_of("abcdefghijklmnopqrstuvwxyz") != 0;
  return in_place || function.back() == '_' ||
         std::find(std::begin(kUpdating), std::end(kUpdating), function) !=
             std::end(kUpdating);
}

uint32_t bitOf(int32_t type) {
  return type >= 0 && type < 32 ? uint32_t{1} << type : 0;
}

}  // namespace

diopiConstTensorHandle_t ConvertedCall::input(diopiConstTensorHandle_t tensor) {
  return convert(tensor, /*written=*/false);
}

diopiTensorHandle_t ConvertedCall::output(diopiTensorHandle_t tensor) {
  return const_cast<diopiTensorHandle_t>(convert(tensor, /*written=*/true));
}

diopiConstTensorHandle_t* ConvertedCall::inputs(
    diopiConstTensorHandle_t* tensors, int64_t count) {
  if (tensors == nullptr) return nullptr;
  auto& list = lists_.emplace_back();
  for (int64_t i = 0; i < count; ++i) {
    list.push_back(const_cast<diopiTensorHandle_t>(input(tensors[i])));
  }
  return const_cast<diopiConstTensorHandle_t*>(list.data());
}

diopiTensorHandle_t* ConvertedCall::outputs(diopiTensorHandle_t* tensors,
                                            int64_t count) {
  if (tensors == nullptr) return nullptr;
  auto& list = lists_.emplace_back();
  for (int64_t i = 0; i < count; ++i) list.push_back(output(tensors[i]));
  return list.data();
}

diopiTensorHandle_t* ConvertedCall::made(diopiTensorHandle_t* tensor) {
  if (tensor != nullptr) made_.push_back(tensor);
  return tensor;
}

const diopiTensor* ConvertedCall::convert(const diopiTensor* tensor,
                                          bool written) {
  if (tensor == nullptr || tensor->device_index < 0) return tensor;
  given_types_ |= bitOf(tensor->dtype);
  const auto type = static_cast<diopiDtype_t>(tensor->dtype);
  const diopiDtype_t taken = function_.rule->typeFor(type);
  at::Tensor original = tensorOf(*tensor);
  const bool same_type = taken == type;
  if (same_type &&
      (!function_.rule->contiguous() || original.is_contiguous())) {
    return tensor;
  }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::ScalarType torch_type = adapter::torchDtype(taken);
  if (!same_type && (!written || readsOutputs(function_.name))) {
    check(original, torch_type);
  }
  Replacement& made = replacements_.emplace_back();
  made.tensor = original.to(torch_type).contiguous();
  made.original = std::move(original);
  made.written = written;
  adapter::describe(made.tensor, made.tensor.device().index(),
                    made.tensor.storage().mutable_data(), made.handle);
  function_.conversions->add();
  return &made.handle;
}

void ConvertedCall::check(const at::Tensor& original, c10::ScalarType type) {
  if (!function_.checked || refused_ || original.numel() == 0) return;
  if (fits(original.cpu(), type)) return;
  adapter::noteRefusal("a value does not fit the type that the vendor takes");
  refused_ = true;
}

// A tensor that has the type of a replaced argument is a result of it. When no
// argument had either type, it holds positions, which torch wants in the
// larger.
diopiDtype_t ConvertedCall::expectedType(diopiDtype_t type) const {
  const diopiDtype_t larger = function_.rule->replacedBy(type);
  const bool from_argument = (given_types_ & bitOf(larger)) != 0;
  const bool own_type = (given_types_ & bitOf(type)) != 0;
  return from_argument || !own_type ? larger : type;
}

diopiError_t ConvertedCall::finish(diopiError_t status) {
  if (status != diopiSuccess) return status;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  for (const Replacement& replacement : replacements_) {
    if (replacement.written) replacement.original.copy_(replacement.tensor);
  }
  for (diopiTensorHandle_t* const made : made_) {
    if (*made == nullptr) continue;
    const auto type = static_cast<diopiDtype_t>((*made)->dtype);
    const diopiDtype_t expected = expectedType(type);
    if (expected == type) continue;
    *made = adapter::TensorArena::of(*context_).add(
        tensorOf(**made).to(adapter::torchDtype(expected)));
    function_.conversions->add();
  }
  return status;
}

}  // namespace dipu::conversion
