// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/aten/registration.h"

#include <mutex>
#include <vector>

#include "diopi_adapter/aten/autocast.h"
#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/fallback/cpu_fallback.h"

namespace dipu::aten {
namespace {

using torch::CppFunction;
using torch::Library;

// Keys of tensors that the device has not got.
constexpr c10::DispatchKey kRefusedKeys[] = {
    c10::DispatchKey::SparsePrivateUse1, c10::DispatchKey::SparseCsrPrivateUse1,
    c10::DispatchKey::QuantizedPrivateUse1,
    c10::DispatchKey::NestedTensorPrivateUse1};

void registerOperators(Library& library) {
  registerFactories(library);
  registerViews(library);
  registerResize(library);
  registerCopy(library);
  registerScalar(library);
  registerRandom(library);
  registerSampling(library);
  registerDistributions(library);
  registerConvolution(library);
  registerSlowConvolution(library);
  registerOptimizers(library);
  registerRecurrent(library);
  registerSearching(library);
  registerUnique(library);
  registerHistogram(library);
  registerComposite(library);
  registerActivations(library);
  registerCtcLoss(library);
  registerCompositeArithmetic(library);
  registerProducts(library);
  registerAttention(library);
}

// Registers for as long as the process lives: a Library withdraws its
// kernels when it is destroyed, and operators may run until the very end.
Library& makeLibrary(const char* name, c10::DispatchKey key) {
  return *new Library(Library::IMPL, name, key, __FILE__, __LINE__);
}

void registerAll() {
  registerOperators(makeLibrary("aten", c10::DispatchKey::PrivateUse1));
  // The copy kernels honour the marks of conjugate and negative views. Without
  // these, resolving a mark would copy and so resolve it again, for ever.
  for (const auto key :
       {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}) {
    makeLibrary("aten", key).impl("_copy_from", CppFunction::makeFallthrough());
  }
  makeLibrary("_", c10::DispatchKey::PrivateUse1)
      .fallback(CppFunction::makeFromBoxedFunction<&fallback::cpuFallback>());
  for (const auto key : kRefusedKeys) {
    makeLibrary("_", key).fallback(
        CppFunction::makeFromBoxedFunction<&fallback::refuseLayout>());
  }
  makeLibrary("_", c10::DispatchKey::AutocastPrivateUse1)
      .fallback(CppFunction::makeFallthrough());
  registerAutocast(makeLibrary("aten", c10::DispatchKey::AutocastPrivateUse1));
}

}  // namespace

void registerAtenKernels() {
  static std::once_flag once;
  std::call_once(once, registerAll);
}

}  // namespace dipu::aten
