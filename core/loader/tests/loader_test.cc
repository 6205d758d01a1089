// SPDX-License-Identifier: Apache-2.0
//
// Files that are, or are not, vendor libraries: one clear message for each.
#include "core/loader/loader.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace dipu::loader {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "core/loader/tests/";

// The text with which the library at `path` is refused; "" when it loads.
std::string refusal(const fs::path& path) {
  try {
    Library::open(path.string());
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_REFUSED(path, part) \
  EXPECT_NE(refusal(path).find(part), std::string::npos) << refusal(path)

std::string readFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

fs::path writeFile(const std::string& name, const std::string& bytes) {
  const fs::path path = fs::path(::testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(Loader, OpensAVendorLibrary) {
  const std::string path = std::string(kFolder) + "libgood_vendor.so";
  const Library library = Library::open(path);
  EXPECT_STREQ(library.vendor().name, "test_vendor");
  EXPECT_EQ(library.path(), fs::absolute(path));
  EXPECT_EQ(library.operatorLibraryPath(),
            fs::absolute(kFolder) / "libthird_party_operators.so");
  EXPECT_EQ(&Library::open(path).vendor(), &library.vendor()) << "opened twice";
}

TEST(Loader, NamesAMissingFile) {
  EXPECT_EQ(refusal("/nowhere/libdipu_x.so"),
            "cannot load vendor library /nowhere/libdipu_x.so: the file does "
            "not exist");
}

TEST(Loader, RefusesAFolder) { EXPECT_REFUSED(kFolder, "it is a folder"); }

TEST(Loader, RefusesWhatIsNoElfFile) {
  EXPECT_REFUSED(writeFile("text.so", "hello"), "no ELF header");
  EXPECT_REFUSED(writeFile("empty.so", ""), "no ELF header");
}

TEST(Loader, RefusesAnotherArchitecture) {
  std::string bytes = readFile(std::string(kFolder) + "libgood_vendor.so");
  bytes.at(offsetof(Elf64_Ehdr, e_machine)) = static_cast<char>(EM_RISCV);
  EXPECT_REFUSED(writeFile("riscv.so", bytes), "it was built for RISC-V");
}

TEST(Loader, RefusesATruncatedFile) {
  const std::string bytes =
      readFile(std::string(kFolder) + "libgood_vendor.so");
  for (const size_t length : {size_t{32}, size_t{100}, bytes.size() / 2}) {
    EXPECT_REFUSED(writeFile("cut.so", bytes.substr(0, length)),
                   "truncated or damaged");
  }
}

TEST(Loader, NamesTheMissingDependency) {
  EXPECT_REFUSED(std::string(kFolder) + "libmissing_dependency.so",
                 "it needs libgone.so, which was not found");
}

TEST(Loader, NamesTheUndefinedSymbol) {
  EXPECT_REFUSED(std::string(kFolder) + "libundefined_symbol.so",
                 "it uses the symbol _ZN3sdk8openCardEi (sdk::openCard(int))");
}

TEST(Loader, RefusesALibraryWithoutEntryPoint) {
  EXPECT_REFUSED(std::string(kFolder) + "libno_entry.so",
                 "it does not export dipu_vendor_query");
}

TEST(Loader, NamesTheHostsVersionWhenTheVendorDeclines) {
  EXPECT_REFUSED(std::string(kFolder) + "libnull_entry.so",
                 "it cannot serve version 1.0");
}

TEST(Loader, CatchesAnExceptionOfTheEntryPoint) {
  EXPECT_REFUSED(std::string(kFolder) + "libthrowing_entry.so",
                 "its entry point threw a C++ exception");
}

TEST(Loader, RefusesAPrivateUnwinder) {
  EXPECT_REFUSED(std::string(kFolder) + "libstatic_unwinder.so",
                 "Link it without -static-libgcc");
}

}  // namespace
}  // namespace dipu::loader
