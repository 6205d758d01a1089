// SPDX-License-Identifier: Apache-2.0
//
// Files that are, or are not, vendor libraries: one clear message for each.
#include "core/loader/loader.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/loader/dl_error.h"

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
            "not exist. Install the vendor's package, or correct the path");
}

TEST(Loader, NamesAPathThatIsNoText) {
  EXPECT_EQ(refusal("/nowhere/\xff.so")
                .find("cannot load vendor library "
                      "/nowhere/\\xff.so: "),
            0u);
}

TEST(Loader, RefusesAFolder) { EXPECT_REFUSED(kFolder, "it is a folder"); }

TEST(Loader, RefusesALoopOfLinks) {
  const fs::path first = fs::path(::testing::TempDir()) / "first.so";
  const fs::path second = fs::path(::testing::TempDir()) / "second.so";
  fs::create_symlink(second, first);
  fs::create_symlink(first, second);
  EXPECT_REFUSED(first, "the file cannot be reached: Too many levels");
}

TEST(Loader, RefusesWhatIsNoFile) {
  EXPECT_REFUSED("/dev/null", "it is not a regular file");
}

TEST(Loader, RefusesAFileThatEverybodyCanChange) {
  const fs::path path = writeFile(
      "open.so", readFile(std::string(kFolder) + "libgood_vendor.so"));
  fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
  EXPECT_REFUSED(path, "every user of this machine can change it");
  EXPECT_REFUSED(path, "chmod o-w");
  fs::permissions(path, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_EQ(refusal(path), "");
}

// Root may read everything. Takes that power from this thread for a scope.
class WithoutPrivilege {
 public:
  WithoutPrivilege() {
    EXPECT_EQ(syscall(SYS_capget, &header_, before_), 0);
    __user_cap_data_struct reduced[2] = {before_[0], before_[1]};
    reduced[0].effective &=
        ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
    EXPECT_EQ(syscall(SYS_capset, &header_, reduced), 0);
  }
  ~WithoutPrivilege() { EXPECT_EQ(syscall(SYS_capset, &header_, before_), 0); }

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2]{};
};

TEST(Loader, RefusesAFileThatCannotBeRead) {
  const fs::path path = writeFile("secret.so", "secret");
  fs::permissions(path, fs::perms::none);
  const WithoutPrivilege plain;
  EXPECT_REFUSED(path, "the file cannot be read: Permission denied");
}

TEST(Loader, RefusesWhatIsNoElfFile) {
  EXPECT_REFUSED(writeFile("text.so", "hello"), "no ELF header");
  EXPECT_REFUSED(writeFile("empty.so", ""), "the file is empty");
}

TEST(Loader, RefusesAProgram) {
  std::string bytes = readFile(std::string(kFolder) + "libgood_vendor.so");
  bytes.at(offsetof(Elf64_Ehdr, e_type)) = static_cast<char>(ET_REL);
  EXPECT_REFUSED(writeFile("object.so", bytes), "no shared object");
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

// As after a download or a copy that was cut short: the file has its length.
TEST(Loader, RefusesAFileWhoseEndWasNeverWritten) {
  std::string bytes = readFile(std::string(kFolder) + "libgood_vendor.so");
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2),
            bytes.end(), '\0');
  EXPECT_REFUSED(writeFile("hollow.so", bytes), "truncated or damaged");
}

TEST(Loader, NamesTheMissingDependency) {
  EXPECT_REFUSED(std::string(kFolder) + "libmissing_dependency.so",
                 "it needs libgone.so, which was not found");
}

TEST(Loader, NamesTheUndefinedSymbol) {
  EXPECT_REFUSED(std::string(kFolder) + "libundefined_symbol.so",
                 "it uses the symbol _ZN3sdk8openCardEi (sdk::openCard(int))");
}

TEST(Loader, NamesTheSymbolThatADependencyLacks) {
  const std::string path = std::string(kFolder) + "libincomplete_dependency.so";
  EXPECT_REFUSED(path,
                 "libincomplete.so uses the symbol "
                 "_ZN3sdk8openCardEi (sdk::openCard(int))");
  EXPECT_REFUSED(path, "Install the version of the SDK");
}

TEST(Loader, NamesTheVersionThatADependencyLacks) {
  EXPECT_EQ(explainDlError("/lib/libsdk.so.2: version `SDK_2.7' not found "
                           "(required by /opt/libdipu_x.so)",
                           "/opt/libdipu_x.so"),
            "it needs SDK_2.7 of a library, but /lib/libsdk.so.2, which was "
            "found, does not have it. Install the version of the SDK or system "
            "that it was built for");
}

TEST(Loader, PassesOnWhatItDoesNotUnderstand) {
  EXPECT_EQ(explainDlError("invalid mode", "/opt/libdipu_x.so"),
            "invalid mode");
}

TEST(Loader, RefusesAnEntryPointUnderACxxName) {
  EXPECT_REFUSED(std::string(kFolder) + "libmangled_entry.so",
                 "exports dipu_vendor_query under a C++ name only");
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
