// SPDX-License-Identifier: Apache-2.0
//
// Calls of small operators, whose instructions callgrind counts. The counted
// functions are called several times each and make kCalls calls. A debug tool
// was on before and is off again. off_cost.py runs it.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <c10/core/DeviceType.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/runtime/device.h"
#include "core/runtime/stream.h"
#include "diopi_adapter/load_vendor.h"
#include "diopi_adapter/runtime/slot.h"

namespace dipu::benchmarks {

constexpr int kCalls = 50;  // fewer than a stream's ring holds
constexpr int kBatches = 15;

struct Operands {
  at::Tensor a;
  at::Tensor b;
};

}  // namespace dipu::benchmarks

using dipu::adapter::SlotBase;
using dipu::benchmarks::kBatches;
using dipu::benchmarks::kCalls;
using dipu::benchmarks::Operands;

// What callgrind knows by name.
extern "C" {

[[gnu::noinline]] void countedAdd(const Operands& x) {
  for (int i = 0; i < kCalls; ++i) at::add(x.a, x.b);
}

[[gnu::noinline]] void countedMm(const Operands& x) {
  for (int i = 0; i < kCalls; ++i) at::mm(x.a, x.b);
}

[[gnu::noinline]] void countedRelu(const Operands& x) {
  for (int i = 0; i < kCalls; ++i) at::relu(x.a);
}

}  // extern "C"

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "set %s to the path of the library\n", name);
    std::exit(1);
  }
  return value;
}

bool g_hooked = false;

void hook(SlotBase& slot, torch::jit::Stack* stack) {
  g_hooked = true;
  dipu::adapter::callWrapper(slot, stack);
}

// Whether debug tools can see operators in this build: with slots they do.
bool toolsSeeCalls(const Operands& x) {
  dipu::adapter::setHook(&hook);
  for (SlotBase* slot : dipu::adapter::slots()) slot->setTools(1);
  at::add(x.a, x.b);
  for (SlotBase* slot : dipu::adapter::slots()) slot->setTools(0);
  return g_hooked;
}

void callAll(void (*counted)(const Operands&), const Operands& x) {
  for (int i = 0; i < kBatches; ++i) {
    counted(x);
    dipu::runtime::currentStream().synchronize();
  }
}

}  // namespace

int main() {
  dipu::adapter::loadVendor(variable("DIPU_VENDOR_LIBRARY"),
                            {variable("DIPU_DIOPI_RT"), "", true});
  const at::NoGradGuard no_grad;
  const at::Tensor ones = at::ones({8, 8}).to(dipu::runtime::kDeviceType);
  const Operands x{ones, ones};
  std::printf("slots: %s\n", toolsSeeCalls(x) ? "yes" : "no");
  callAll(&countedAdd, x);
  callAll(&countedMm, x);
  callAll(&countedRelu, x);
  return 0;
}
