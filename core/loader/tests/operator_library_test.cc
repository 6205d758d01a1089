// SPDX-License-Identifier: Apache-2.0
#include "core/loader/operator_library.h"

#include <diopi/functions.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "core/loader/tests/test_vendor.h"
#include "diopi_adapter/abi/diopi_host.h"

namespace dipu::loader {
namespace {

constexpr char kRuntime[] = "diopi_adapter/abi/libdipu_diopi_rt.so";
constexpr char kThirdParty[] = "core/loader/tests/libthird_party_operators.so";

OperatorLibrary::Options thirdParty(uint32_t revision) {
  OperatorLibrary::Options options;
  options.path = kThirdParty;
  options.runtime_path = kRuntime;
  options.revision = revision;
  return options;
}

std::string refusal(const OperatorLibrary::Options& options) {
  try {
    OperatorLibrary::open(options);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

class OperatorLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("DIPU_DIOPI_REVISION"); }
  void TearDown() override { unsetenv("DIPU_DIOPI_REVISION"); }
};

TEST_F(OperatorLibraryTest, RunsALibraryThatKnowsThePublicHeadersOnly) {
  const OperatorLibrary library = OperatorLibrary::open(thirdParty(1));
  EXPECT_EQ(library.state(Symbol::diopiAdd), SymbolState::kFound);
  auto* add = library.get<decltype(diopiAdd)>(Symbol::diopiAdd);
  ASSERT_NE(add, nullptr);

  float left[] = {1, 2, 3};
  float right[] = {10, 20, 30};
  float result[3] = {};
  const int64_t sizes[] = {3};
  const int64_t strides[] = {1};
  const auto tensor = [&](float* data) {
    return diopiTensor{data,   sizes, strides, 3,    1, diopi_dtype_float32,
                       -1,     4,     0,       data, 0, sizeof(left),
                       nullptr};
  };
  const diopiTensor a = tensor(left);
  const diopiTensor b = tensor(right);
  diopiTensor out = tensor(result);
  diopiContext context{};
  diopiScalar_t alpha{};
  alpha.stype = diopi_dtype_float64;
  alpha.fval = 2;
  ASSERT_EQ(add(&context, &out, &a, &b, &alpha), diopiSuccess);
  EXPECT_EQ(result[0], 21);
  EXPECT_EQ(result[2], 63);
  auto* negate = library.get<decltype(diopiNegInp)>(Symbol::diopiNegInp);
  EXPECT_EQ(negate(&context, &out), diopiSuccess)
      << "weak runtime functions are there as well";
}

TEST_F(OperatorLibraryTest, ListsWhatIsMissing) {
  const OperatorLibrary library = OperatorLibrary::open(thirdParty(1));
  EXPECT_EQ(library.state(Symbol::diopiMul), SymbolState::kMissing);
  EXPECT_EQ(library.address(Symbol::diopiMul), nullptr);
  EXPECT_EQ(library.count(SymbolState::kFound), 4u);
  EXPECT_EQ(library.count(SymbolState::kMissing), kSymbolCount - 5);
  EXPECT_STREQ(symbolName(Symbol::diopiMul), "diopiMul");
}

TEST_F(OperatorLibraryTest, ReportsFunctionsUnderCxxNames) {
  const OperatorLibrary library = OperatorLibrary::open(thirdParty(1));
  EXPECT_EQ(library.state(Symbol::diopiAbs), SymbolState::kMangled);
  EXPECT_EQ(library.address(Symbol::diopiAbs), nullptr);
  ASSERT_EQ(library.warnings().size(), 1u);
  EXPECT_NE(library.warnings()[0].find("diopiAbs"), std::string::npos);
}

TEST_F(OperatorLibraryTest, SaysNothingAboutALibraryWithoutFunctions) {
  auto options = thirdParty(1);
  options.path = "core/loader/tests/libgood_vendor.so";
  const OperatorLibrary library = OperatorLibrary::open(options);
  EXPECT_EQ(library.count(SymbolState::kMissing), kSymbolCount);
  EXPECT_TRUE(library.warnings().empty());
}

TEST_F(OperatorLibraryTest, UndeclaredRevisionRefusesChangedFunctions) {
  const OperatorLibrary library = OperatorLibrary::open(thirdParty(0));
  EXPECT_EQ(library.revision(), 1u);
  EXPECT_FALSE(library.revisionIsDeclared());
  EXPECT_EQ(library.state(Symbol::diopiStd), SymbolState::kRefused);
  EXPECT_EQ(library.address(Symbol::diopiStd), nullptr);
  EXPECT_EQ(library.state(Symbol::diopiAdd), SymbolState::kFound);
  ASSERT_EQ(library.warnings().size(), 2u);
  EXPECT_NE(library.warnings()[0].find("revision 1 is assumed"),
            std::string::npos);
}

TEST_F(OperatorLibraryTest, TheUserMayConfirmTheRevision) {
  setenv("DIPU_DIOPI_REVISION", "1", 1);
  const OperatorLibrary library = OperatorLibrary::open(thirdParty(0));
  EXPECT_TRUE(library.revisionIsDeclared());
  EXPECT_EQ(library.state(Symbol::diopiStd), SymbolState::kFound);
}

TEST_F(OperatorLibraryTest, RefusesABadRevision) {
  EXPECT_NE(refusal(thirdParty(2)).find("Upgrade torch_dipu"),
            std::string::npos);
  setenv("DIPU_DIOPI_REVISION", "\xff", 1);
  EXPECT_EQ(refusal(thirdParty(1)),
            "DIPU_DIOPI_REVISION is '\\xff', which is no revision of the DIOPI "
            "signatures. Set it to a number from 1 to 1, or unset it");
  for (const char* text : {"x", "-1", "+1", " 1", "0", "1x", "9"}) {
    setenv("DIPU_DIOPI_REVISION", text, 1);
    EXPECT_NE(refusal(thirdParty(1)).find("DIPU_DIOPI_REVISION is '"),
              std::string::npos)
        << text;
  }
}

TEST_F(OperatorLibraryTest, AnEmptyRevisionIsNone) {
  setenv("DIPU_DIOPI_REVISION", "", 1);
  EXPECT_TRUE(OperatorLibrary::open(thirdParty(1)).revisionIsDeclared());
  EXPECT_FALSE(OperatorLibrary::open(thirdParty(0)).revisionIsDeclared());
}

TEST_F(OperatorLibraryTest, LeavesOutDisabledFunctions) {
  auto options = thirdParty(1);
  options.disabled_functions = "diopiMul, diopiAdd ,";
  const OperatorLibrary library = OperatorLibrary::open(options);
  EXPECT_EQ(library.state(Symbol::diopiAdd), SymbolState::kDisabled);
  EXPECT_EQ(library.address(Symbol::diopiAdd), nullptr);
  EXPECT_EQ(library.state(Symbol::diopiMul), SymbolState::kMissing);
}

TEST_F(OperatorLibraryTest, NamesAnUndefinedRuntimeFunction) {
  auto options = thirdParty(1);
  options.path = "core/loader/tests/libundefined_operators.so";
  EXPECT_NE(refusal(options).find("uses the symbol diopiGetTensorColour"),
            std::string::npos)
      << refusal(options);
}

TEST_F(OperatorLibraryTest, NamesTheFileThatIsMissing) {
  auto options = thirdParty(1);
  options.runtime_path = "/nowhere/libdipu_diopi_rt.so";
  constexpr char kReason[] =
      ": the file does not exist. Install the vendor's package, or correct the "
      "path";
  EXPECT_EQ(refusal(options),
            "cannot load DIOPI runtime " + options.runtime_path + kReason);
  options = thirdParty(1);
  options.path = "/nowhere/libdiopi_impl.so";
  EXPECT_EQ(refusal(options),
            "cannot load operator library " + options.path + kReason);
}

TEST_F(OperatorLibraryTest, FollowsTheVendorsTable) {
  const Library vendor = Library::open("core/loader/tests/libgood_vendor.so");
  const OperatorLibrary library = OperatorLibrary::openFor(vendor, kRuntime);
  EXPECT_TRUE(library.revisionIsDeclared());
  EXPECT_EQ(library.state(Symbol::diopiStd), SymbolState::kFound);
}

TEST_F(OperatorLibraryTest, HeedsWhatTheVendorDisables) {
  testing::TestVendor tables;
  tables.operators.disabled_functions = "diopiAdd";
  const Library vendor = Library::adopt(
      &tables.vendor, std::filesystem::absolute(kThirdParty).string());
  EXPECT_EQ(OperatorLibrary::openFor(vendor, kRuntime).state(Symbol::diopiAdd),
            SymbolState::kDisabled);
  tables.operators.struct_size =
      offsetof(dipu_operators_api, disabled_functions);
  EXPECT_EQ(OperatorLibrary::openFor(vendor, kRuntime).state(Symbol::diopiAdd),
            SymbolState::kFound)
      << "an older table does not have the field";
}

TEST_F(OperatorLibraryTest, RefusesAVendorWithoutOperators) {
  testing::TestVendor tables;
  tables.vendor.operators = nullptr;
  const Library vendor = Library::adopt(&tables.vendor, "/opt/libdipu_x.so");
  try {
    OperatorLibrary::openFor(vendor, kRuntime);
    ADD_FAILURE() << "accepted";
  } catch (const LoadError& error) {
    EXPECT_STREQ(error.what(),
                 "cannot load operators of /opt/libdipu_x.so: the vendor "
                 "offers no operator library that this host can use. Install a "
                 "release of its package that has one");
  }
}

}  // namespace
}  // namespace dipu::loader
