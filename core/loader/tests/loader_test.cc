// SPDX-License-Identifier: Apache-2.0
//
// Files that are vendor libraries, and damaged ones; refusal_test.cc has the
// messages.
#include "core/loader/loader.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "core/loader/dl_error.h"
#include "core/loader/elf.h"
#include "core/loader/tests/files.h"

namespace dipu::loader {
namespace {

namespace fs = std::filesystem;

using testing::kFolder;
using testing::readFile;
using testing::refusal;
using testing::withHeader;
using testing::writeFile;

// Evaluates its arguments once: writing a file that is mapped pulls the memory
// from under the dynamic linker.
#define EXPECT_REFUSED(path, part) \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, refusal(path))

// A library of this package without its section headers, which is legal.
std::string withoutSections(const char* name) {
  return withHeader(name, [](Elf64_Ehdr& header) {
    header.e_shoff = 0;
    header.e_shnum = 0;
    header.e_shstrndx = 0;
  });
}

// The byte of the file after the last one that is mapped.
size_t endOfSegments(const std::string& bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  size_t end = 0;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof(segment),
                sizeof(segment));
    if (segment.p_type == PT_LOAD) {
      end = std::max<size_t>(end, segment.p_offset + segment.p_filesz);
    }
  }
  return end;
}

// The good vendor after `change` of each of its section headers.
template <typename Change>
std::string withSections(Change change) {
  std::string bytes = readFile(std::string(kFolder) + "libgood_vendor.so");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (size_t i = 0; i < header.e_shnum; ++i) {
    char* const at = bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, at, sizeof(section));
    change(section, header);
    std::memcpy(at, &section, sizeof(section));
  }
  return bytes;
}

TEST(Loader, OpensAVendorLibrary) {
  const std::string path = std::string(kFolder) + "libgood_vendor.so";
  const Library library = Library::open(path);
  EXPECT_STREQ(library.vendor().name, "test_vendor");
  EXPECT_EQ(library.path(), fs::absolute(path));
  EXPECT_EQ(library.operatorLibraryPath(),
            fs::absolute(kFolder) / "libthird_party_operators.so");
  const Library again =
      Library::open(std::string(kFolder) + "../tests/libgood_vendor.so");
  EXPECT_EQ(&again.vendor(), &library.vendor()) << "opened twice";
  EXPECT_EQ(again.path(), library.path());
}

TEST(Loader, NamesAPathThatIsNoText) {
  EXPECT_EQ(refusal("/nowhere/\xff.so")
                .find("cannot load vendor library "
                      "/nowhere/\\xff.so: "),
            0u);
}

TEST(Loader, RefusesALoopOfLinks) {
  const fs::path first = fs::path(::testing::TempDir()) / "first.so";
  const fs::path second = fs::path(::testing::TempDir()) / "second.so";
  fs::create_symlink(second, first);
  fs::create_symlink(first, second);
  EXPECT_REFUSED(first, "the file cannot be reached: Too many levels");
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

TEST(Loader, OpensALibraryWithoutSectionHeaders) {
  EXPECT_EQ(refusal(writeFile("bare.so", withoutSections("libgood_vendor.so"))),
            "");
  EXPECT_REFUSED(
      writeFile("bare_no_entry.so", withoutSections("libno_entry.so")),
      "it does not export dipu_vendor_query");
}

// Touching what is missing would raise SIGBUS.
TEST(Loader, RefusesATruncatedFileWithoutSectionHeaders) {
  const std::string bytes = withoutSections("libgood_vendor.so");
  const size_t end = endOfSegments(bytes);
  EXPECT_REFUSED(writeFile("bare_cut.so", bytes.substr(0, end - 1)),
                 "truncated or damaged");
  EXPECT_EQ(refusal(writeFile("bare_end.so", bytes.substr(0, end))), "")
      << "nothing that is mapped is missing";
}

TEST(Loader, RefusesASectionThatNamesNoSection) {
  for (const bool is_far : {false, true}) {
    const std::string bytes =
        withSections([&](Elf64_Shdr& section, const Elf64_Ehdr& header) {
          section.sh_link = is_far ? 0x7fffffff : header.e_shnum;
        });
    EXPECT_REFUSED(writeFile("linkless.so", bytes), "truncated or damaged");
  }
}

TEST(Loader, RefusesHeadersBeyondTheEnd) {
  constexpr Elf64_Off kBeyond = 1 << 30;
  const auto refuse = [](const std::string& bytes) {
    EXPECT_REFUSED(writeFile("beyond.so", bytes), "truncated or damaged");
  };
  refuse(withHeader("libgood_vendor.so",
                    [](Elf64_Ehdr& header) { header.e_shoff = kBeyond; }));
  refuse(withHeader("libgood_vendor.so",
                    [](Elf64_Ehdr& header) { header.e_phoff = kBeyond; }));
}

// The machine's number is in the other order.
TEST(Loader, RefusesAContradictoryHeader) {
  const std::string bytes = withHeader(
      "libgood_vendor.so",
      [](Elf64_Ehdr& header) { header.e_ident[EI_DATA] = ELFDATA2MSB; });
  EXPECT_REFUSED(writeFile("mixed.so", bytes), " (big-endian), this machine");
}

// As one that is removed after its permissions were checked.
TEST(Elf, RefusesAFileThatCannotBeRead) {
  try {
    readElf("/nowhere/libdipu_x.so");
    ADD_FAILURE() << "accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "the file cannot be read to its end. Check its disk, or "
                 "install its package anew");
  }
}

// Names may end anywhere, or begin behind the end.
TEST(Loader, RefusesNamesThatEndTooEarly) {
  for (const size_t size : {0, 1, 2, 5, 20}) {
    const std::string bytes =
        withSections([&](Elf64_Shdr& section, const Elf64_Ehdr&) {
          if (section.sh_type == SHT_STRTAB) section.sh_size = size;
        });
    EXPECT_REFUSED(writeFile("nameless.so", bytes), "truncated or damaged");
  }
}

// Which asks for the tables in another way.
TEST(Loader, RefusesThePrivateUnwinderOfAnOlderCompiler) {
  constexpr char kNewer[] = "_dl_find_object";
  constexpr char kOlder[] = "dl_iterate_phdr";
  static_assert(sizeof(kNewer) == sizeof(kOlder));
  std::string bytes = readFile(std::string(kFolder) + "libstatic_unwinder.so");
  for (size_t at = 0; (at = bytes.find(kNewer, at)) != std::string::npos;) {
    bytes.replace(at, sizeof(kOlder) - 1, kOlder);
  }
  EXPECT_REFUSED(writeFile("unwinder.so", bytes),
                 "a copy of libgcc's unwinder");
}

// They have one of those symbols, but no copy.
TEST(Loader, OpensALibraryThatWalksTheLibraries) {
  for (const char* name :
       {"libwalking_vendor.so", "libwalking_without_exceptions.so"}) {
    EXPECT_EQ(refusal(std::string(kFolder) + name), "");
  }
}

// Opening it would raise a signal.
TEST(Loader, NamesATruncatedLibraryThatItNeeds) {
  const std::string needed =
      readFile(std::string(kFolder) + "libincomplete.so");
  const fs::path path =
      writeFile("libneeding.so",
                readFile(std::string(kFolder) + "libincomplete_dependency.so"));
  const fs::path cut =
      writeFile("libincomplete.so", needed.substr(0, needed.size() / 4));
  EXPECT_REFUSED(path, "it needs " + cut.string() +
                           ", which is truncated. Install the package of that "
                           "file anew");
}

TEST(Loader, NamesAFileOfAFolderThatIsGone) {
  const fs::path before = fs::current_path();
  const fs::path folder = fs::path(::testing::TempDir()) / "gone";
  fs::create_directory(folder);
  fs::current_path(folder);
  fs::remove(folder);
  const std::string text = refusal("libdipu_x.so");
  fs::current_path(before);
  EXPECT_EQ(text.find("cannot load vendor library libdipu_x.so: the file does "
                      "not exist"),
            0u)
      << text;
}

TEST(DlError, NamesTheVersionThatADependencyLacks) {
  EXPECT_EQ(explainDlError("/lib/libsdk.so.2: version `SDK_2.7' not found "
                           "(required by /opt/libdipu_x.so)",
                           "/opt/libdipu_x.so"),
            "it needs SDK_2.7 of a library, but /lib/libsdk.so.2, which was "
            "found, does not have it. Install the version of the SDK or system "
            "that it was built for");
}

TEST(DlError, NamesTheVersionThatTheFileItselfLacks) {
  EXPECT_EQ(explainDlError("/opt/libdipu_x.so: version `DIPU_2' not found "
                           "(required by /opt/libdiopi_impl.so)",
                           "/opt/libdipu_x.so"),
            "it needs DIPU_2 of a library, but the file itself, which was "
            "found, does not have it. Install the version of the SDK or system "
            "that it was built for");
}

TEST(DlError, NamesASymbolWithoutItsVersion) {
  EXPECT_EQ(explainDlError("/opt/libdipu_x.so: undefined symbol: openCard, "
                           "version SDK_2.7",
                           "/opt/libdipu_x.so"),
            "it uses the symbol openCard, which no library it needs defines. "
            "Install the version of the SDK that it was built for, or link it "
            "with -Wl,--no-undefined");
}

TEST(DlError, PassesOnWhatItDoesNotUnderstand) {
  for (const std::string text :
       {"invalid mode",
        "/opt/libdipu_x.so: cannot open shared object file: Stale handle"}) {
    EXPECT_EQ(explainDlError(text, "/opt/libdipu_x.so"),
              "the dynamic linker refuses it: " + text +
                  ". Run ldd on it to see what it lacks, or install its "
                  "package anew");
  }
}

}  // namespace
}  // namespace dipu::loader
