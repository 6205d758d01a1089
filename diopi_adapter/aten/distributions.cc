// SPDX-License-Identifier: Apache-2.0
//
// Random numbers whose parameters are tensors, and distributions that DIOPI
// lacks. They come from the device's Philox generator, like those of random.cc.
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_sample_dirichlet_ops.h>
#include <ATen/ops/_standard_gamma_ops.h>
#include <ATen/ops/bernoulli_ops.h>
#include <ATen/ops/binomial_ops.h>
#include <ATen/ops/cauchy_ops.h>
#include <ATen/ops/geometric_ops.h>
#include <ATen/ops/log_normal_ops.h>
#include <ATen/ops/normal_ops.h>
#include <ATen/ops/poisson_ops.h>

#include "diopi_adapter/aten/fill.h"
#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/runtime/handles.h"

namespace dipu::aten {
namespace {

using adapter::CallContext;
using adapter::In;
using adapter::Out;
using adapter::symbols;
using OptionalGenerator = std::optional<at::Generator>;

at::Tensor& bernoulliOut(const at::Tensor& self, OptionalGenerator generator,
                         at::Tensor& out) {
  at::native::resize_output(out, self.sizes());
  const auto function = symbols().diopiBernoulli;
  const bool done =
      at::isFloatingType(self.scalar_type()) &&
      fill("bernoulli.out", function, out, generator,
           [&](CallContext& context, const at::Tensor& target, Draw& draw) {
             return function(context, Out(target), In(self.contiguous()), draw);
           });
  if (!done) onCpu<at::_ops::bernoulli_out>(self, generator, out);
  return out;
}

// Distributions with numbers as parameters, filled in place.
at::Tensor& cauchy(at::Tensor& self, double median, double sigma,
                   OptionalGenerator generator) {
  TORCH_CHECK(sigma > 0.0,
              "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  const auto function = symbols().diopiExtCauchyInp;
  const bool done =
      fill("cauchy_", function, self, generator,
           [&](CallContext& context, const at::Tensor& out, Draw& draw) {
             return function(context, Out(out), median, sigma, draw);
           });
  if (!done) onCpu<at::_ops::cauchy_>(self, median, sigma, generator);
  return self;
}

at::Tensor& logNormal(at::Tensor& self, double mean, double std,
                      OptionalGenerator generator) {
  TORCH_CHECK(std > 0.0, "log_normal_ expects std > 0.0, but found std=", std);
  const auto function = symbols().diopiExtLogNormalInp;
  const bool done =
      fill("log_normal_", function, self, generator,
           [&](CallContext& context, const at::Tensor& out, Draw& draw) {
             return function(context, Out(out), mean, std, draw);
           });
  if (!done) onCpu<at::_ops::log_normal_>(self, mean, std, generator);
  return self;
}

at::Tensor& geometric(at::Tensor& self, double p, OptionalGenerator generator) {
  TORCH_CHECK(0 < p && p < 1,
              "geometric_ expects p to be in (0, 1), but got p=", p);
  const auto function = symbols().diopiExtGeometricInp;
  const bool done =
      fill("geometric_", function, self, generator,
           [&](CallContext& context, const at::Tensor& out, Draw& draw) {
             return function(context, Out(out), p, draw);
           });
  if (!done) onCpu<at::_ops::geometric_>(self, p, generator);
  return self;
}

void checkDeviation(const at::Tensor& std) {
  TORCH_CHECK(!std.is_complex(),
              "normal expects standard deviation to be non-complex");
  TORCH_CHECK(std.numel() == 0 || std.min().ge(0).item<bool>(),
              "normal expects all elements of std >= 0.0");
}

void checkDeviation(double std) {
  TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
}

// Whether the library could draw for all of these, whose types must be that of
// the result.
bool haveTypeOf(const at::Tensor& out, std::initializer_list<at::Tensor> all) {
  for (const at::Tensor& tensor : all) {
    if (tensor.scalar_type() != out.scalar_type() ||
        tensor.device() != out.device()) {
      return adapter::noteRefusal(
          "DIOPI has no such mixture of types or devices");
    }
  }
  return true;
}

at::Tensor& normalTensorsOut(const at::Tensor& mean, const at::Tensor& std,
                             OptionalGenerator generator, at::Tensor& out) {
  checkDeviation(std);
  at::native::resize_output(out, at::infer_size(mean.sizes(), std.sizes()));
  const auto function = symbols().diopiNormalTensor;
  const bool done =
      haveTypeOf(out, {mean, std}) &&
      fill("normal.Tensor_Tensor", function, out, generator,
           [&](CallContext& context, const at::Tensor& target, Draw& draw) {
             return function(context, Out(target),
                             In(mean.expand(target.sizes()).contiguous()),
                             In(std.expand(target.sizes()).contiguous()), draw);
           });
  if (!done) {
    onCpu<at::_ops::normal_Tensor_Tensor_out>(mean, std, generator, out);
  }
  return out;
}

at::Tensor& normalAroundOut(const at::Tensor& mean, double std,
                            OptionalGenerator generator, at::Tensor& out) {
  checkDeviation(std);
  at::native::resize_output(out, mean.sizes());
  const auto function = symbols().diopiNormalTensorScalar;
  const bool done =
      haveTypeOf(out, {mean}) &&
      fill("normal.Tensor_float", function, out, generator,
           [&](CallContext& context, const at::Tensor& target, Draw& draw) {
             return function(context, Out(target), In(mean.contiguous()), std,
                             draw);
           });
  if (!done) {
    onCpu<at::_ops::normal_Tensor_float_out>(mean, std, generator, out);
  }
  return out;
}

at::Tensor& normalSpreadOut(double mean, const at::Tensor& std,
                            OptionalGenerator generator, at::Tensor& out) {
  checkDeviation(std);
  at::native::resize_output(out, std.sizes());
  const auto function = symbols().diopiNormalScalarTensor;
  const bool done =
      haveTypeOf(out, {std}) &&
      fill("normal.float_Tensor", function, out, generator,
           [&](CallContext& context, const at::Tensor& target, Draw& draw) {
             return function(context, Out(target), mean, In(std.contiguous()),
                             draw);
           });
  if (!done) {
    onCpu<at::_ops::normal_float_Tensor_out>(mean, std, generator, out);
  }
  return out;
}

// Throws unless `tensor` is on the device: the other argument may be.
at::Tensor newLike(const at::Tensor& tensor, at::IntArrayRef sizes) {
  if (tensor.device().type() != runtime::kDeviceType) {
    adapter::throwNotOnDevice(tensor);
  }
  return emptyContiguous(sizes, tensor.scalar_type(), tensor.get_device());
}

at::Tensor normalTensors(const at::Tensor& mean, const at::Tensor& std,
                         OptionalGenerator generator) {
  at::Tensor out = newLike(mean, at::infer_size(mean.sizes(), std.sizes()));
  return normalTensorsOut(mean, std, std::move(generator), out);
}

at::Tensor normalAround(const at::Tensor& mean, double std,
                        OptionalGenerator generator) {
  at::Tensor out = newLike(mean, mean.sizes());
  return normalAroundOut(mean, std, std::move(generator), out);
}

at::Tensor normalSpread(double mean, const at::Tensor& std,
                        OptionalGenerator generator) {
  at::Tensor out = newLike(std, std.sizes());
  return normalSpreadOut(mean, std, std::move(generator), out);
}

// A variate for each element of `parameter`; undefined when the library does
// not cover the case.
template <typename Function>
at::Tensor drawOf(const char* label, Function* function,
                  const at::Tensor& parameter,
                  const OptionalGenerator& generator) {
  at::Tensor out = newLike(parameter, parameter.sizes());
  const bool done = fill(
      label, function, out, generator,
      [&](CallContext& context, const at::Tensor& target, Draw& draw) {
        return function(context, Out(target), In(parameter.contiguous()), draw);
      });
  return done ? out : at::Tensor();
}

at::Tensor poisson(const at::Tensor& self, OptionalGenerator generator) {
  const at::Tensor out =
      drawOf("poisson", symbols().diopiExtPoisson, self, generator);
  return out.defined() ? out : onCpu<at::_ops::poisson>(self, generator);
}

at::Tensor standardGamma(const at::Tensor& self, OptionalGenerator generator) {
  const at::Tensor out = drawOf(
      "_standard_gamma", symbols().diopiExtStandardGamma, self, generator);
  return out.defined() ? out
                       : onCpu<at::_ops::_standard_gamma>(self, generator);
}

at::Tensor sampleDirichlet(const at::Tensor& self,
                           OptionalGenerator generator) {
  const at::Tensor out =
      drawOf("_sample_dirichlet", symbols().diopiExtDirichlet, self, generator);
  return out.defined() ? out
                       : onCpu<at::_ops::_sample_dirichlet>(self, generator);
}

at::Tensor binomial(const at::Tensor& count, const at::Tensor& prob,
                    OptionalGenerator generator) {
  const auto function = symbols().diopiExtBinomial;
  at::Tensor out = newLike(count, count.sizes());
  const bool done =
      haveTypeOf(out, {prob}) &&
      fill("binomial", function, out, generator,
           [&](CallContext& context, const at::Tensor& target, Draw& draw) {
             return function(context, Out(target), In(count.contiguous()),
                             In(prob.expand(target.sizes()).contiguous()),
                             draw);
           });
  return done ? out : onCpu<at::_ops::binomial>(count, prob, generator);
}

}  // namespace

void registerDistributions(torch::Library& library) {
  bind<"bernoulli.out", bernoulliOut>(library);
  bind<"cauchy_", cauchy>(library);
  bind<"log_normal_", logNormal>(library);
  bind<"geometric_", geometric>(library);
  bind<"normal.Tensor_Tensor", normalTensors>(library);
  bind<"normal.Tensor_Tensor_out", normalTensorsOut>(library);
  bind<"normal.Tensor_float", normalAround>(library);
  bind<"normal.Tensor_float_out", normalAroundOut>(library);
  bind<"normal.float_Tensor", normalSpread>(library);
  bind<"normal.float_Tensor_out", normalSpreadOut>(library);
  bind<"poisson", poisson>(library);
  bind<"binomial", binomial>(library);
  bind<"_standard_gamma", standardGamma>(library);
  bind<"_sample_dirichlet", sampleDirichlet>(library);
}

}  // namespace dipu::aten
