// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/abi/tests/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>

namespace {

// Spot checks of signatures against the public ones, one per parameter style.
static_assert(std::is_same_v<
              decltype(diopiAdd),
              diopiError_t(diopiContextHandle_t, diopiTensorHandle_t,
                           diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                           const diopiScalar_t*)>);
static_assert(
    std::is_same_v<decltype(diopiStd),
                   diopiError_t(diopiContextHandle_t, diopiTensorHandle_t,
                                diopiConstTensorHandle_t, diopiSize_t,
                                const diopiScalar_t*)>);
static_assert(std::is_same_v<
              decltype(diopiConvolution2dBackward),
              diopiError_t(diopiContextHandle_t, diopiTensorHandle_t,
                           diopiTensorHandle_t, diopiTensorHandle_t,
                           diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                           diopiConstTensorHandle_t, diopiSize_t*, diopiSize_t,
                           diopiSize_t, diopiSize_t, int64_t)>);

TEST(DiopiAbi, FunctionsDeclaredForCxxHaveCLinkage) {
  // Defined in layout_c.c; links only without name mangling.
  EXPECT_EQ(diopiReluInp(nullptr, nullptr), diopiErrorOccurred);
}

TEST(DiopiAbi, SymbolListNamesEveryFunctionOnce) {
  const char* const names[] = {
#define DIOPI_SYMBOL(name) #name,
#include <diopi/symbols.inc>
  };
  const std::set<std::string> unique(std::begin(names), std::end(names));
  EXPECT_EQ(unique.size(), std::size(names));
  const auto extensions = std::count_if(
      unique.begin(), unique.end(),
      [](const std::string& name) { return name.rfind("diopiExt", 0) == 0; });
  EXPECT_EQ(unique.size() - extensions, 541u) << "operators of DIOPI itself";
  EXPECT_EQ(unique.count("diopiSpMM") + unique.count("diopiGetVendorName"), 2u);
  EXPECT_EQ(unique.count("diopiGetTensorData"), 0u) << "a runtime function";
}

TEST(DiopiAbi, ChangedSignaturesAreMarked) {
  const std::set<std::string> changed = {
#define DIOPI_SYMBOL(name)
#define DIOPI_SYMBOL_CHANGED(name) #name,
#include <diopi/symbols.inc>
  };
  EXPECT_EQ(changed.count("diopiConvolution2dBackward"), 1u);
  EXPECT_EQ(changed.count("diopiDropout"), 1u);
  EXPECT_EQ(changed.count("diopiAdd"), 0u);
}

}  // namespace
