// SPDX-License-Identifier: Apache-2.0
//
// The operators behind torch.unique and torch.unique_consecutive. Their DIOPI
// functions allocate two results, whose sizes are known only afterwards.
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/_unique2_ops.h>
#include <ATen/ops/_unique_ops.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/unique_consecutive_ops.h>
#include <ATen/ops/unique_dim_consecutive_ops.h>
#include <ATen/ops/unique_dim_ops.h>

#include <tuple>
#include <utility>

#include "diopi_adapter/aten/empty.h"
#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/aten/native_call.h"
#include "diopi_adapter/runtime/handles.h"

namespace dipu::aten {
namespace {

using adapter::CallContext;
using adapter::In;
using adapter::noteRefusal;
using adapter::Out;
using adapter::symbols;

using UniqueResult = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using OptionalDim = std::optional<int64_t>;

// What differs between the operators.
struct Request {
  const char* label;
  OptionalDim dim;  // none: the elements of the flattened tensor
  bool consecutive;
  bool inverse;
  bool counts;
};

// The group of each member; without elements, or when it is not wanted, as
// torch makes it.
at::Tensor makeInverse(const at::Tensor& self, const Request& request) {
  const c10::DeviceIndex device = self.device().index();
  if (!request.inverse) return emptyContiguous({0}, at::kLong, device);
  if (request.dim.has_value()) {
    return emptyContiguous({self.size(*request.dim)}, at::kLong, device);
  }
  return emptyContiguous(self.sizes(), at::kLong, device);
}

bool callUnique(const at::Tensor& self, const Request& request,
                UniqueResult& result) {
  const auto sorted = symbols().diopiUnique;
  const auto consecutive = symbols().diopiExtUniqueConsecutive;
  if (request.consecutive ? consecutive == nullptr : sorted == nullptr) {
    return noteRefusal(kLacksFunction);
  }
  auto& [values, inverse, counts] = result;
  inverse = makeInverse(self, request);
  const at::Tensor groups = request.inverse ? inverse : at::Tensor();
  CallContext context(self.device().index());
  diopiTensorHandle_t values_handle = nullptr;
  diopiTensorHandle_t counts_handle = nullptr;
  const int64_t* dim = request.dim.has_value() ? &*request.dim : nullptr;
  const diopiError_t status =
      request.consecutive
          ? consecutive(context, &values_handle, In(self), dim, request.counts,
                        Out(groups), &counts_handle)
          : sorted(context, &values_handle, In(self), dim, /*sorted=*/true,
                   request.counts, Out(groups), &counts_handle);
  if (!context.accept(status, request.label, {&self})) return false;
  values = context.take(values_handle, request.label);
  counts = request.counts
               ? context.take(counts_handle, request.label)
               : emptyContiguous({0}, at::kLong, self.device().index());
  fallback::countNative(request.label);
  return true;
}

// A tensor without elements has no groups.
UniqueResult uniqueOfNothing(const at::Tensor& self, const Request& request) {
  const c10::DeviceIndex device = self.device().index();
  const at::Tensor none = emptyContiguous({0}, at::kLong, device);
  if (!request.dim.has_value()) {
    return {emptyContiguous({0}, self.scalar_type(), device),
            makeInverse(self, request), none};
  }
  TORCH_CHECK(self.size(*request.dim) == 0,
              "There are 0 sized dimensions, and they aren't selected, so "
              "unique cannot be applied");
  return {at::empty_like(self), none, none};
}

// Op, a class of at::_ops, computes what the device cannot.
template <typename Op, typename... Args>
UniqueResult uniqueOr(const at::Tensor& self, Request request, Args... args) {
  if (request.dim.has_value()) {
    request.dim = at::maybe_wrap_dim(*request.dim, self.dim(),
                                     /*wrap_scalar=*/false);
  }
  if (self.numel() == 0) return uniqueOfNothing(self, request);
  UniqueResult result;
  if (callUnique(self, request, result)) return result;
  return onCpu<Op>(self, args...);
}

std::tuple<at::Tensor, at::Tensor> uniqueOld(const at::Tensor& self,
                                             bool sorted, bool inverse) {
  const Request request{"_unique", std::nullopt, false, inverse, false};
  UniqueResult result;
  if (self.numel() == 0) {
    result = uniqueOfNothing(self, request);
  } else if (!callUnique(self, request, result)) {
    return onCpu<at::_ops::_unique>(self, sorted, inverse);
  }
  return {std::get<0>(result), std::get<1>(result)};
}

UniqueResult unique2(const at::Tensor& self, bool sorted, bool inverse,
                     bool counts) {
  return uniqueOr<at::_ops::_unique2>(
      self, {"_unique2", std::nullopt, false, inverse, counts}, sorted, inverse,
      counts);
}

UniqueResult uniqueConsecutive(const at::Tensor& self, bool inverse,
                               bool counts, OptionalDim dim) {
  // Along a dimension torch returns all three, whatever is asked for.
  return uniqueOr<at::_ops::unique_consecutive>(
      self,
      {"unique_consecutive", dim, true, inverse || dim.has_value(),
       counts || dim.has_value()},
      inverse, counts, dim);
}

UniqueResult uniqueDim(const at::Tensor& self, int64_t dim, bool sorted,
                       bool inverse, bool counts) {
  return uniqueOr<at::_ops::unique_dim>(self,
                                        {"unique_dim", dim, false, true, true},
                                        dim, sorted, inverse, counts);
}

UniqueResult uniqueDimConsecutive(const at::Tensor& self, int64_t dim,
                                  bool inverse, bool counts) {
  return uniqueOr<at::_ops::unique_dim_consecutive>(
      self, {"unique_dim_consecutive", dim, true, true, true}, dim, inverse,
      counts);
}

}  // namespace

void registerUnique(torch::Library& library) {
  bind<"_unique", uniqueOld>(library);
  bind<"_unique2", unique2>(library);
  bind<"unique_consecutive", uniqueConsecutive>(library);
  bind<"unique_dim", uniqueDim>(library);
  bind<"unique_dim_consecutive", uniqueDimConsecutive>(library);
}

}  // namespace dipu::aten
