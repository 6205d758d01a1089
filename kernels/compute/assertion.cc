// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/assertion.h"

#include <cstdio>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

template <typename T>
struct Assertion {
  const T* condition;
  char message[200];

  void operator()() const {
    if (convertValue<bool>(*condition)) return;
    failTask(SOFT_LAUNCH_FAILURE, message);
  }
};

}  // namespace

Status assertNonZero(const Queue& queue, const TensorView& condition,
                     const char* message) {
  if (condition.numel != 1) {
    return fail(Status::kInvalid, "assert: %ld values, expected one",
                long(condition.numel));
  }
  bool sent = false;
  const bool known = dispatchAll(condition.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Assertion<T> assertion{};
    assertion.condition = translateView<const T>(queue, condition);
    std::snprintf(assertion.message, sizeof(assertion.message),
                  "assertion failed: %s", message);
    sent = assertion.condition == nullptr || queue.launch(assertion);
  });
  if (!known) return unsupportedDType("assert", condition.dtype);
  return sent ? Status::kOk : Status::kFailed;
}

}  // namespace dipu::kernels
