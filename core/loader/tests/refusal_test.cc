// SPDX-License-Identifier: Apache-2.0
//
// Files that are no vendor libraries for this host: the whole message for each,
// and nothing of them stays behind.
#include <elf.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "core/loader/loader.h"
#include "core/loader/start.h"
#include "core/loader/tests/files.h"

namespace dipu::loader {
namespace {

namespace fs = std::filesystem;

using testing::kFolder;
using testing::readFile;
using testing::writeFile;

constexpr dipu_host_services kHost = {sizeof(dipu_host_services),
                                      DIPU_ABI_VERSION, 0,
                                      [](dipu_log_level, const char*) {}};

// Whether code of the library has run when it is refused. Such a library stays
// mapped, see Library::open.
enum class Ran { kNo, kYes };

struct Case {
  const char* name;
  fs::path (*make)();
  // What follows "cannot load vendor library <path>: ". '@' is the path, '%'
  // the folder of this package.
  const char* reason;
  Ran ran = Ran::kNo;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// A library of this package.
template <const char* kName>
fs::path built() {
  return fs::absolute(std::string(kFolder) + kName);
}

// A good vendor with another ELF header.
fs::path patched(const char* name, void (*change)(Elf64_Ehdr& header)) {
  return writeFile(name, testing::withHeader("libgood_vendor.so", change));
}

fs::path withPermissions(const char* name, fs::perms permissions) {
  const fs::path path =
      writeFile(name, readFile(std::string(kFolder) + "libgood_vendor.so"));
  fs::permissions(path, permissions);
  return path;
}

constexpr char kNoEntry[] = "libno_entry.so";
constexpr char kMangledEntry[] = "libmangled_entry.so";
constexpr char kVariableEntry[] = "libvariable_entry.so";
constexpr char kNullEntry[] = "libnull_entry.so";
constexpr char kThrowingEntry[] = "libthrowing_entry.so";
constexpr char kStaticUnwinder[] = "libstatic_unwinder.so";
constexpr char kMissingDependency[] = "libmissing_dependency.so";
constexpr char kUndefinedSymbol[] = "libundefined_symbol.so";
constexpr char kIncompleteDependency[] = "libincomplete_dependency.so";
constexpr char kWrongMajor[] = "libwrong_major.so";
constexpr char kWrongTable[] = "libwrong_table.so";
constexpr char kShortVendor[] = "libshort_vendor.so";
constexpr char kShortTable[] = "libshort_table.so";
constexpr char kNullSlot[] = "libnull_slot.so";

#define DIPU_REPORT \
  ". The library breaks the vendor contract; report it to the vendor"
#define DIPU_BELONG                                                    \
  ". Install releases of torch_dipu and of the vendor's package that " \
  "belong together"
#if defined(__x86_64__)
#define DIPU_MACHINE "x86-64"
#else
#define DIPU_MACHINE "AArch64"
#endif
#define DIPU_THIS_MACHINE \
  ", this machine is " DIPU_MACHINE ". Install the package for this machine"

const Case kCases[] = {
    {"MissingFile", [] { return fs::path("/nowhere/libdipu_x.so"); },
     "the file does not exist. Install the vendor's package, or correct the "
     "path"},
    {"Folder", [] { return fs::path("/proc"); },
     "it is a folder. Name the .so file in it"},
    {"NoFile", [] { return fs::path("/dev/null"); },
     "it is not a regular file. Name the .so file"},
    {"UnreadableFile",
     [] { return withPermissions("secret.so", fs::perms::none); },
     "the file cannot be read: Permission denied. Give this user the right to "
     "read it"},
    {"WorldWritableFile",
     [] { return withPermissions("open.so", fs::perms::all); },
     "every user of this machine can change it, so it could run anybody's "
     "code. Take that right away: chmod o-w @"},
    {"EmptyFile", [] { return writeFile("empty.so", ""); },
     "the file is empty. Install its package anew"},
    {"NoElfFile", [] { return writeFile("text.so", "hello"); },
     "the file is not a shared object (no ELF header). Name the .so file, or "
     "install its package anew"},
    {"ObjectFile",
     [] {
       return patched("object.so",
                      [](Elf64_Ehdr& header) { header.e_type = ET_REL; });
     },
     "it is an ELF file of type 1, a shared object has type 3. Name the .so "
     "file, or link it with -shared"},
    {"OtherMachine",
     [] {
       return patched("riscv.so",
                      [](Elf64_Ehdr& header) { header.e_machine = EM_RISCV; });
     },
     "it was built for RISC-V" DIPU_THIS_MACHINE},
    {"OtherWordSize",
     [] {
       return patched("small.so", [](Elf64_Ehdr& header) {
         header.e_ident[EI_CLASS] = ELFCLASS32;
       });
     },
     "it was built for " DIPU_MACHINE " (32-bit)" DIPU_THIS_MACHINE},
    {"OtherByteOrder",
     [] {
       return patched("big.so", [](Elf64_Ehdr& header) {
         header.e_ident[EI_DATA] = ELFDATA2MSB;
         header.e_machine = __builtin_bswap16(header.e_machine);
       });
     },
     "it was built for " DIPU_MACHINE " (big-endian)" DIPU_THIS_MACHINE},
    {"UnnamedMachine",
     [] {
       return patched("alpha.so",
                      [](Elf64_Ehdr& header) { header.e_machine = EM_ALPHA; });
     },
     "it was built for ELF machine 36902" DIPU_THIS_MACHINE},
    {"UnknownWordSize",
     [] {
       return patched("wordless.so", [](Elf64_Ehdr& header) {
         header.e_ident[EI_CLASS] = ELFCLASSNONE;
       });
     },
     "the file is truncated or damaged. Install its package anew"},
    {"UnknownByteOrder",
     [] {
       return patched("orderless.so", [](Elf64_Ehdr& header) {
         header.e_ident[EI_DATA] = ELFDATANUM;
       });
     },
     "the file is truncated or damaged. Install its package anew"},
    {"NoEntry", built<kNoEntry>,
     "it does not export dipu_vendor_query, so it is not a vendor library of "
     "DIPU. Name the vendor's libdipu_<name>.so, not a library of its SDK"},
    {"MangledEntry", built<kMangledEntry>,
     "it exports dipu_vendor_query under a C++ name only. Include "
     "core/abi/vendor_api.h where it is defined"},
    {"VariableEntry", built<kVariableEntry>,
     "its dipu_vendor_query is a variable, not a function. Define the function "
     "of core/abi/vendor_api.h"},
    {"PrivateUnwinder", built<kStaticUnwinder>,
     "it contains a copy of libgcc's unwinder, so a C++ exception in it would "
     "end the process. Link it without -static-libgcc"},
    {"MissingDependency", built<kMissingDependency>,
     "it needs libgone.so, which was not found. Install what provides it (the "
     "vendor's SDK or driver) or add its folder to LD_LIBRARY_PATH"},
    {"UndefinedSymbol", built<kUndefinedSymbol>,
     "it uses the symbol _ZN3sdk8openCardEi (sdk::openCard(int)), which no "
     "library it needs defines. Install the version of the SDK that it was "
     "built for, or link it with -Wl,--no-undefined"},
    {"MissingSymbolInADependency", built<kIncompleteDependency>,
     "%libincomplete.so uses the symbol _ZN3sdk8openCardEi "
     "(sdk::openCard(int)), which no library it needs defines. Install the "
     "version of the SDK that it was built for, or link it with "
     "-Wl,--no-undefined"},
    {"EntryReturnsNull", built<kNullEntry>,
     "it cannot serve version 1.1 of the vendor contract, which this host has "
     "(dipu_vendor_query returned NULL)" DIPU_BELONG,
     Ran::kYes},
    {"EntryThrows", built<kThrowingEntry>,
     "its entry point threw a C++ exception: not expected here" DIPU_REPORT,
     Ran::kYes},
    {"WrongMajorVersion", built<kWrongMajor>,
     "it was built for version 2.3 of the vendor contract, this host has "
     "1.1" DIPU_BELONG,
     Ran::kYes},
    {"WrongMajorVersionOfATable", built<kWrongTable>,
     "the table 'memory' has version 2.0, this host has 1.1" DIPU_BELONG,
     Ran::kYes},
    {"ShortVendor", built<kShortVendor>,
     "its dipu_vendor has struct_size 80, at least 88 are needed; set it to "
     "sizeof(dipu_vendor)" DIPU_REPORT,
     Ran::kYes},
    {"ShortTable", built<kShortTable>,
     "the required slot memory.set_async lies beyond the table's struct_size "
     "72, at least 80 are needed" DIPU_REPORT,
     Ran::kYes},
    {"NullSlot", built<kNullSlot>,
     "the required slot memory.copy is NULL" DIPU_REPORT, Ran::kYes},
};

std::string expected(const Case& c, const fs::path& path) {
  std::string reason;
  for (const char* at = c.reason; *at != '\0'; ++at) {
    if (*at == '@') {
      reason += path.string();
    } else if (*at == '%') {
      reason += fs::absolute(kFolder).string();
    } else {
      reason += *at;
    }
  }
  return "cannot load vendor library " + path.string() + ": " + reason;
}

bool isMapped(const fs::path& path) {
  return readFile("/proc/self/maps").find(fs::canonical(path).string()) !=
         std::string::npos;
}

class Refusal : public ::testing::TestWithParam<Case> {};

TEST_P(Refusal, SaysAllAndLeavesNothingBehind) {
  const fs::path path = GetParam().make();
  {
    // Root may read everything.
    const testing::WithoutPrivilege plain;
    EXPECT_EQ(testing::refusal(path), expected(GetParam(), path));
    EXPECT_EQ(testing::refusal(path), expected(GetParam(), path)) << "again";
  }
  if (fs::is_regular_file(path)) {
    EXPECT_EQ(isMapped(path), GetParam().ran == Ran::kYes);
  }
  const Library good =
      Library::open(std::string(kFolder) + "libalpha_vendor.so");
  EXPECT_STREQ(good.vendor().name, "alpha");
  EXPECT_EQ(startVendor(good.vendor(), kHost).devices, 1);
  EXPECT_TRUE(isMapped(good.path()));
}

INSTANTIATE_TEST_SUITE_P(Files, Refusal, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(MendedFile, IsOpened) {
  const fs::path path = withPermissions("mended.so", fs::perms::all);
  EXPECT_NE(testing::refusal(path), "");
  fs::permissions(path, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_EQ(testing::refusal(path), "");
}

}  // namespace
}  // namespace dipu::loader
