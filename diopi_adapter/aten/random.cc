// SPDX-License-Identifier: Apache-2.0
//
// Filling tensors with random numbers. All of them come from the device's
// Philox generator, on the device or, by fallback, in its name.
#include <ATen/Dispatch.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/DistributionTemplates.h>
#include <ATen/ops/bernoulli_ops.h>
#include <ATen/ops/exponential_ops.h>
#include <ATen/ops/normal_ops.h>
#include <ATen/ops/random_ops.h>
#include <ATen/ops/uniform_ops.h>
#include <ATen/ops/view_as_real.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "diopi_adapter/aten/draw.h"
#include "diopi_adapter/aten/fill.h"
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
using OptionalGenerator = std::optional<at::Generator>;

at::Tensor& normal(at::Tensor& self, double mean, double std,
                   OptionalGenerator generator) {
  TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
  if (self.is_complex()) {
    // Real and imaginary part each have half of the variance.
    at::Tensor parts = at::view_as_real(self);
    normal(parts, mean, std / std::numbers::sqrt2, std::move(generator));
    return self;
  }
  const auto function = symbols().diopiNormalInp;
  const bool done =
      fill("normal_", function, self, generator,
           [&](CallContext& context, const at::Tensor& out, Draw& draw) {
             return function(context, Out(out), mean, std, draw);
           });
  if (!done) onCpu<at::_ops::normal_>(self, mean, std, generator);
  return self;
}

void checkUniform(const at::Tensor& self, double from, double to) {
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, self.scalar_type(), "check_uniform_bounds",
      [&] {
        const double largest = std::numeric_limits<scalar_t>::max();
        TORCH_CHECK(from >= -largest && from <= largest,
                    "from is out of bounds for ", self.dtype());
        TORCH_CHECK(to >= -largest && to <= largest, "to is out of bounds for ",
                    self.dtype());
        TORCH_CHECK(
            from <= to,
            "uniform_ expects to return a [from, to) range, but found from=",
            from, " > to=", to);
        TORCH_CHECK(to - from <= largest,
                    "uniform_ expects to-from <= std::numeric_limits<",
                    self.scalar_type(), ">::max(), but found to=", to,
                    " and from=", from,
                    " which result in to-from to exceed the limit");
      });
}

at::Tensor& uniform(at::Tensor& self, double from, double to,
                    OptionalGenerator generator) {
  if (self.is_complex()) {
    at::Tensor parts = at::view_as_real(self);
    uniform(parts, from, to, std::move(generator));
    return self;
  }
  checkUniform(self, from, to);
  const auto function = symbols().diopiUniformInp;
  const bool done =
      fill("uniform_", function, self, generator,
           [&](CallContext& context, const at::Tensor& out, Draw& draw) {
             return function(context, Out(out), from, to, draw);
           });
  if (!done) onCpu<at::_ops::uniform_>(self, from, to, generator);
  return self;
}

at::Tensor& bernoulliFloat(at::Tensor& self, double p,
                           OptionalGenerator generator) {
  TORCH_CHECK(0 <= p && p <= 1,
              "bernoulli_ expects p to be in [0, 1], but got p=", p);
  const auto function = symbols().diopiBernoulliScalar;
  const bool done =
      fill("bernoulli_.float", function, self, generator,
           [&](CallContext& context, const at::Tensor& out, Draw& draw) {
             return function(context, Out(out), p, draw);
           });
  if (!done) onCpu<at::_ops::bernoulli__float>(self, p, generator);
  return self;
}

at::Tensor& bernoulliTensor(at::Tensor& self, const at::Tensor& p,
                            OptionalGenerator generator) {
  const auto function = symbols().diopiBernoulli;
  const at::Tensor chances =
      p.to(self.device()).expand(self.sizes()).contiguous();
  const bool done =
      fill("bernoulli_.Tensor", function, self, generator,
           [&](CallContext& context, const at::Tensor& out, Draw& draw) {
             return function(context, Out(out), In(chances), draw);
           });
  if (!done) onCpu<at::_ops::bernoulli__Tensor>(self, p, generator);
  return self;
}

// The largest integer up to which `type` can tell all integers apart.
int64_t largestInteger(c10::ScalarType type) {
  int64_t largest = 0;
  AT_DISPATCH_V2(
      type, "random_", AT_WRAP([&] {
        using Limits = std::numeric_limits<scalar_t>;
        largest = Limits::is_integer ? static_cast<int64_t>(std::min<uint64_t>(
                                           static_cast<uint64_t>(Limits::max()),
                                           std::numeric_limits<int64_t>::max()))
                                     : int64_t{1} << Limits::digits;
      }),
      AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES),
      c10::kBool, c10::kHalf, c10::kBFloat16);
  return largest;
}

// Fills with integers of [from, to), or up to the largest integer that the
// dtype holds when `to` is missing.
bool fillIntegers(const char* label, const at::Tensor& self, int64_t from,
                  std::optional<int64_t> to,
                  const OptionalGenerator& generator) {
  const auto function = symbols().diopiRandomInp;
  const int64_t largest = largestInteger(self.scalar_type());
  // The exclusive end of all int64 is not an int64: the function's own default.
  if (!to && largest < std::numeric_limits<int64_t>::max()) to = largest + 1;
  return fill(label, function, self, generator,
              [&](CallContext& context, const at::Tensor& out, Draw& draw) {
                return function(context, Out(out), from, to ? &*to : nullptr,
                                draw);
              });
}

struct Range {
  int64_t from;
  int64_t to;
};

// The integers from `from` to below `to` that `self` can hold. Floating types
// have gaps: the bounds move to numbers that stay inside when they are rounded.
Range rangeFor(const at::Tensor& self, int64_t from, int64_t to) {
  TORCH_CHECK(from < to,
              "random_ expects 'from' to be less than 'to', but got from=",
              from, " >= to=", to);
  if (at::isFloatingType(self.scalar_type())) {
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, self.scalar_type(), "random_update_from_to",
        [&] {
          from = at::native::templates::update_from<scalar_t>(from);
          to = at::native::templates::update_to<scalar_t>(to);
        });
    TORCH_CHECK(from < to,
                "random_ expects 'from' casted to dtype to be less than 'to' "
                "casted to dtype, but got from=",
                from, " >= to=", to);
  }
  at::native::templates::check_from_to_in_range(from, to - 1, self.dtype());
  return {from, to};
}

// The same up to the largest integer, see fillIntegers.
void checkFrom(const at::Tensor& self, int64_t from) {
  const int64_t largest = largestInteger(self.scalar_type());
  TORCH_CHECK(!at::isFloatingType(self.scalar_type()) || from < largest,
              "random_ expects 'from' casted to dtype to be less than or equal "
              "to 'to_inc' casted to dtype, but got from=",
              from, " > to_inc=", largest);
  at::native::templates::check_from_to_in_range(from, largest, self.dtype());
}

at::Tensor& randomAll(at::Tensor& self, OptionalGenerator generator) {
  if (!fillIntegers("random_", self, 0, std::nullopt, generator)) {
    onCpu<at::_ops::random_>(self, generator);
  }
  return self;
}

at::Tensor& randomTo(at::Tensor& self, int64_t to,
                     OptionalGenerator generator) {
  const Range range = rangeFor(self, 0, to);
  if (!fillIntegers("random_.to", self, range.from, range.to, generator)) {
    onCpu<at::_ops::random__to>(self, to, generator);
  }
  return self;
}

at::Tensor& randomFrom(at::Tensor& self, int64_t from,
                       std::optional<int64_t> to, OptionalGenerator generator) {
  if (to) {
    const Range range = rangeFor(self, from, *to);
    from = range.from;
    to = range.to;
  } else if (from != std::numeric_limits<int64_t>::lowest()) {
    checkFrom(self, from);
  }
  if (!fillIntegers("random_.from", self, from, to, generator)) {
    onCpu<at::_ops::random__from>(self, from, to, generator);
  }
  return self;
}

// By inversion, -log(1 - u) / lambda for uniform u of [0, 1). Zero is left
// out, so that it can be divided by.
at::Tensor& exponential(at::Tensor& self, double lambda,
                        OptionalGenerator generator) {
  TORCH_CHECK(at::isFloatingType(self.scalar_type()),
              "Exponential distribution is a continuous probability "
              "distribution. dtype must be a floating point but you specified ",
              self.scalar_type());
  TORCH_CHECK(lambda > 0.0,
              "exponential_ expects lambda > 0.0, but found lambda=", lambda);
  if (symbols().diopiUniformInp == nullptr) {
    noteRefusal("the vendor's operator library lacks diopiUniformInp");
    onCpu<at::_ops::exponential_>(self, lambda, generator);
    return self;
  }
  constexpr double kSmallest = std::numeric_limits<float>::epsilon() / 2;
  uniform(self, 0.0, 1.0, std::move(generator));
  return self.neg_().add_(1).log_().neg_().clamp_min_(kSmallest).div_(lambda);
}

}  // namespace

void registerRandom(torch::Library& library) {
  bind<"normal_", normal>(library);
  bind<"uniform_", uniform>(library);
  bind<"bernoulli_.float", bernoulliFloat>(library);
  bind<"bernoulli_.Tensor", bernoulliTensor>(library);
  bind<"random_", randomAll>(library);
  bind<"random_.to", randomTo>(library);
  bind<"random_.from", randomFrom>(library);
  bind<"exponential_", exponential>(library);
}

}  // namespace dipu::aten
