// SPDX-License-Identifier: Apache-2.0
//
// dipu_operators_api and the library that it names.
#include <string>

#include "core/loader/loader.h"
#include "core/loader/operator_library.h"
#include "tests/cts/backend.h"
#include "tests/cts/fixture.h"

namespace dipu::cts {
namespace {

using loader::OperatorLibrary;
using loader::Symbol;
using loader::SymbolState;

constexpr char kRuntime[] = "diopi_adapter/abi/libdipu_diopi_rt.so";

class Operators : public VendorTest {
 protected:
  void SetUp() override {
    VendorTest::SetUp();
    if (loader::Library::open(backend().plugin).operators() == nullptr) {
      GTEST_SKIP() << "the vendor has no operator library";
    }
  }

  static OperatorLibrary open() {
    return OperatorLibrary::openFor(loader::Library::open(backend().plugin),
                                    kRuntime);
  }
};

TEST_F(Operators, LibraryOpensWithoutWarnings) {
  const OperatorLibrary library = open();
  EXPECT_TRUE(library.revisionIsDeclared());
  for (const std::string& warning : library.warnings()) {
    ADD_FAILURE() << warning;
  }
  EXPECT_GT(library.count(SymbolState::kFound), 3u)
      << "no operator beside the functions that describe the library";
}

TEST_F(Operators, LibraryDescribesItself) {
  const OperatorLibrary library = open();
  for (const Symbol symbol :
       {Symbol::diopiGetVendorName, Symbol::diopiGetImplVersion,
        Symbol::diopiGetLastErrorString}) {
    auto* function = library.get<const char*()>(symbol);
    ASSERT_NE(function, nullptr) << loader::symbolName(symbol);
    EXPECT_NE(function(), nullptr) << loader::symbolName(symbol);
  }
}

}  // namespace
}  // namespace dipu::cts
