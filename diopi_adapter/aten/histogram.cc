// SPDX-License-Identifier: Apache-2.0
//
// torch.histogram: edges are made here, elements are counted by the device.
#include <ATen/native/Resize.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/histogram_ops.h>
#include <ATen/ops/linspace.h>

#include <cmath>
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
using OptionalTensor = std::optional<at::Tensor>;
using OptionalRange = std::optional<at::ArrayRef<double>>;
using Histogram = std::tuple<at::Tensor, at::Tensor>;
using HistogramOut = std::tuple<at::Tensor&, at::Tensor&>;

void checkInputs(const at::Tensor& self, const OptionalTensor& weight,
                 const at::Tensor& hist, const at::Tensor& bin_edges) {
  for (const at::Tensor* out : {&hist, &bin_edges}) {
    TORCH_CHECK(out->scalar_type() == self.scalar_type(),
                "torch.histogram: input tensor and outputs should have the "
                "same dtype, but got ",
                self.scalar_type(), " and ", out->scalar_type());
  }
  if (!weight.has_value() || !weight->defined()) return;
  TORCH_CHECK(weight->scalar_type() == self.scalar_type(),
              "torch.histogram: if weight tensor is provided, input tensor and "
              "weight tensor should have the same dtype, but got ",
              self.scalar_type(), " and ", weight->scalar_type());
  TORCH_CHECK(weight->sizes() == self.sizes(),
              "torch.histogram: if weight tensor is provided it should have "
              "the same shape as the input tensor, but got ",
              weight->sizes(), " and ", self.sizes());
}

bool countNatively(const at::Tensor& self, const at::Tensor& edges,
                   const OptionalTensor& weight, bool density,
                   const at::Tensor& hist) {
  const auto function = symbols().diopiExtHistogram;
  if (function == nullptr) {
    return noteRefusal("the vendor's operator library lacks diopiExtHistogram");
  }
  CallContext context(self.device().index());
  return context.accept(
      function(context, Out(hist), In(edges), In(self), In(weight), density),
      "histogram", {&self, &edges});
}

// The first and the last edge: `range`, or what the elements span; 0 and 1 when
// there are none.
std::pair<double, double> outerEdges(const at::Tensor& self,
                                     const OptionalRange& range) {
  double low = 0;
  double high = 0;
  if (range.has_value()) {
    TORCH_CHECK(range->size() == 2,
                "torch.histogram: range should have 2 elements, but got ",
                range->size());
    low = (*range)[0];
    high = (*range)[1];
  } else if (self.numel() > 0) {
    const auto [min, max] = at::aminmax(self);
    low = min.item<double>();
    high = max.item<double>();
  } else {
    high = 1;
  }
  TORCH_CHECK(std::isfinite(low) && std::isfinite(high),
              "torch.histogram: range [", low, ", ", high, "] is not finite");
  TORCH_CHECK(low <= high, "torch.histogram: min should not exceed max, but ",
              "got min ", low, " max ", high);
  if (low == high) return {low - 0.5, high + 0.5};
  return {low, high};
}

at::Tensor equalEdges(const at::Tensor& self, int64_t bins,
                      const OptionalRange& range) {
  TORCH_CHECK(bins > 0, "torch.histogram: bins should be positive, but got ",
              bins);
  const auto [low, high] = outerEdges(self, range);
  return at::linspace(low, high, bins + 1, self.options());
}

HistogramOut givenEdgesOut(const at::Tensor& self, const at::Tensor& edges,
                           const OptionalTensor& weight, bool density,
                           at::Tensor& hist, at::Tensor& bin_edges) {
  TORCH_CHECK(edges.dim() == 1 && edges.numel() > 0,
              "torch.histogram: bins tensor should have one dimension and at "
              "least one element, but got ",
              edges.sizes());
  TORCH_CHECK(edges.scalar_type() == self.scalar_type(),
              "torch.histogram: input tensor and bins tensors should have the "
              "same dtype, but got ",
              self.scalar_type(), " and ", edges.scalar_type());
  checkInputs(self, weight, hist, bin_edges);
  at::native::resize_output(bin_edges, edges.sizes());
  bin_edges.copy_(edges);
  at::native::resize_output(hist, {edges.numel() - 1});
  if (!countNatively(self, edges, weight, density, hist)) {
    return onCpu<at::_ops::histogram_bins_tensor_out>(self, edges, weight,
                                                      density, hist, bin_edges);
  }
  fallback::countNative("histogram.bins_tensor_out");
  return {hist, bin_edges};
}

Histogram givenEdges(const at::Tensor& self, const at::Tensor& edges,
                     const OptionalTensor& weight, bool density) {
  const c10::DeviceIndex device = self.device().index();
  at::Tensor hist = emptyContiguous({0}, self.scalar_type(), device);
  at::Tensor bin_edges = emptyContiguous({0}, self.scalar_type(), device);
  givenEdgesOut(self, edges, weight, density, hist, bin_edges);
  return {hist, bin_edges};
}

HistogramOut equalBinsOut(const at::Tensor& self, int64_t bins,
                          OptionalRange range, const OptionalTensor& weight,
                          bool density, at::Tensor& hist,
                          at::Tensor& bin_edges) {
  return givenEdgesOut(self, equalEdges(self, bins, range), weight, density,
                       hist, bin_edges);
}

Histogram equalBins(const at::Tensor& self, int64_t bins, OptionalRange range,
                    const OptionalTensor& weight, bool density) {
  return givenEdges(self, equalEdges(self, bins, range), weight, density);
}

}  // namespace

void registerHistogram(torch::Library& library) {
  bind<"histogram.bins_tensor", givenEdges>(library);
  bind<"histogram.bins_tensor_out", givenEdgesOut>(library);
  bind<"histogram.bin_ct", equalBins>(library);
  bind<"histogram.bin_ct_out", equalBinsOut>(library);
}

}  // namespace dipu::aten
