// SPDX-License-Identifier: Apache-2.0
#include "core/loader/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace dipu::loader {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kHostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kHostMachine = EM_AARCH64;
#else
#error "name this machine's ELF code here"
#endif

constexpr char kUnreadable[] =
    "the file cannot be read to its end. Check its disk, or install its "
    "package anew";
constexpr char kDamaged[] =
    "the file is truncated or damaged. Install its package anew";

std::string machineName(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "AArch64";
    case EM_386:
      return "x86";
    case EM_RISCV:
      return "RISC-V";
    default:
      return "ELF machine " + std::to_string(machine);
  }
}

// What a file was built for. The identification comes first in every ELF file
// and says how to read the rest; the machine lies at one place in all of them.
std::string targetName(const Elf64_Ehdr& header) {
  const bool is_big = header.e_ident[EI_DATA] == ELFDATA2MSB;
  const uint16_t machine =
      is_big ? __builtin_bswap16(header.e_machine) : header.e_machine;
  return machineName(machine) +
         (header.e_ident[EI_CLASS] == ELFCLASS32 ? " (32-bit)" : "") +
         (is_big ? " (big-endian)" : "");
}

// Reads pieces of a file; every piece is checked against the file's length. Of
// one that cannot be opened the first piece cannot be read.
class File {
 public:
  explicit File(const std::string& path)
      : stream_(path, std::ios::binary | std::ios::ate) {
    size_ = static_cast<uint64_t>(stream_.tellg());
  }

  uint64_t size() const { return size_; }

  template <typename T>
  std::vector<T> read(uint64_t offset, uint64_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!holds(offset, count, sizeof(T))) {
      throw std::runtime_error(kDamaged);
    }
    std::vector<T> values(count);
    stream_.seekg(static_cast<std::streamoff>(offset));
    stream_.read(reinterpret_cast<char*>(values.data()),
                 static_cast<std::streamsize>(count * sizeof(T)));
    if (!stream_) throw std::runtime_error(kUnreadable);
    return values;
  }

  bool holds(uint64_t offset, uint64_t count, uint64_t bytes = 1) const {
    return offset <= size_ && count <= (size_ - offset) / bytes;
  }

 private:
  std::ifstream stream_;
  uint64_t size_ = 0;
};

void checkIdentification(const Elf64_Ehdr& header) {
  const auto is_one_of_two = [](unsigned char value) {
    return value == 1 || value == 2;
  };
  if (!is_one_of_two(header.e_ident[EI_CLASS]) ||
      !is_one_of_two(header.e_ident[EI_DATA])) {
    throw std::runtime_error(kDamaged);
  }
}

Elf64_Ehdr readHeader(File& file) {
  if (file.size() < SELFMAG ||
      std::memcmp(file.read<char>(0, SELFMAG).data(), ELFMAG, SELFMAG) != 0) {
    throw std::runtime_error(
        file.size() == 0
            ? "the file is empty. Install its package anew"
            : "the file is not a shared object (no ELF header). Name the .so "
              "file, or install its package anew");
  }
  const Elf64_Ehdr header = file.read<Elf64_Ehdr>(0, 1)[0];
  checkIdentification(header);
  const bool is_native = header.e_ident[EI_CLASS] == ELFCLASS64 &&
                         header.e_ident[EI_DATA] == ELFDATA2LSB &&
                         header.e_machine == kHostMachine;
  if (!is_native) {
    throw std::runtime_error("it was built for " + targetName(header) +
                             ", this machine is " + machineName(kHostMachine) +
                             ". Install the package for this machine");
  }
  if (header.e_type != ET_DYN) {
    throw std::runtime_error(
        "it is an ELF file of type " + std::to_string(header.e_type) +
        ", a shared object has type " + std::to_string(ET_DYN) +
        ". Name the .so file, or link it with -shared");
  }
  return header;
}

// A segment beyond the end would raise a signal when it is touched.
void checkSegments(File& file, const Elf64_Ehdr& header) {
  for (const auto& segment :
       file.read<Elf64_Phdr>(header.e_phoff, header.e_phnum)) {
    if (segment.p_type == PT_LOAD &&
        !file.holds(segment.p_offset, segment.p_filesz)) {
      throw TruncatedElf(kDamaged);
    }
  }
}

std::string stringAt(const std::vector<char>& strings, uint64_t offset) {
  const uint64_t start = std::min<uint64_t>(offset, strings.size());
  const auto first = strings.begin() + static_cast<std::ptrdiff_t>(start);
  const auto end = std::find(first, strings.end(), '\0');
  if (end == strings.end()) throw std::runtime_error(kDamaged);
  return std::string(first, end);
}

void readDynamic(File& file, const Elf64_Shdr& section,
                 const std::vector<char>& strings, ElfInfo& info) {
  for (const auto& entry : file.read<Elf64_Dyn>(
           section.sh_offset, section.sh_size / sizeof(Elf64_Dyn))) {
    if (entry.d_tag == DT_NEEDED) {
      info.needed.push_back(stringAt(strings, entry.d_un.d_val));
    } else if (entry.d_tag == DT_RPATH) {
      info.rpath = stringAt(strings, entry.d_un.d_val);
    } else if (entry.d_tag == DT_RUNPATH) {
      info.runpath = stringAt(strings, entry.d_un.d_val);
    }
  }
}

bool isVariable(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return type == STT_OBJECT || type == STT_TLS || type == STT_COMMON;
}

void readSymbols(File& file, const Elf64_Shdr& section,
                 const std::vector<char>& strings, ElfInfo& info) {
  for (const auto& symbol : file.read<Elf64_Sym>(
           section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
    const std::string name = stringAt(strings, symbol.st_name);
    const bool is_exported = symbol.st_shndx != SHN_UNDEF;
    (is_exported ? info.exported : info.undefined).push_back(name);
    if (is_exported && isVariable(symbol)) info.variables.push_back(name);
  }
}

// Whether one of the common entries of .eh_frame names a personality routine: a
// 'P' in its augmentation string (System V ABI for x86-64, section 4.2.4, and
// the Linux Standard Base, "Exception Frames"). Records whose length takes 64
// bits end the search; compilers do not write them.
bool namesPersonality(const std::vector<char>& frames) {
  constexpr uint64_t kWord = sizeof(uint32_t);
  constexpr uint64_t kAugmentation = 2 * kWord + 1;  // after id and version
  const auto word = [&](uint64_t at) {
    uint32_t value;
    std::memcpy(&value, frames.data() + at, kWord);
    return value;
  };
  uint64_t at = 0;
  while (at + kAugmentation < frames.size()) {
    const uint32_t length = word(at);
    if (length == 0 || length == UINT32_MAX) break;
    const bool is_common = word(at + kWord) == 0;
    const char* const begin = frames.data() + at + kAugmentation;
    const char* const end = frames.data() + frames.size();
    if (is_common && std::find(begin, std::find(begin, end, '\0'), 'P') !=
                         std::find(begin, end, '\0')) {
      return true;
    }
    at += kWord + length;
  }
  return false;
}

void readFrames(File& file, const std::vector<Elf64_Shdr>& sections,
                const Elf64_Ehdr& header, ElfInfo& info) {
  if (header.e_shstrndx >= sections.size()) return;
  const Elf64_Shdr& table = sections[header.e_shstrndx];
  const auto names = file.read<char>(table.sh_offset, table.sh_size);
  for (const auto& section : sections) {
    if (stringAt(names, section.sh_name) != ".eh_frame") continue;
    info.handles_exceptions =
        namesPersonality(file.read<char>(section.sh_offset, section.sh_size));
  }
}

}  // namespace

ElfInfo readElf(const std::string& path) {
  File file(path);
  const Elf64_Ehdr header = readHeader(file);
  checkSegments(file, header);
  ElfInfo info;
  // A file without section headers is legal; it just tells less.
  const auto sections = file.read<Elf64_Shdr>(header.e_shoff, header.e_shnum);
  // The headers are the last thing in the file. They are zero when the rest of
  // it was never written, which the dynamic linker would crash on.
  bool is_whole = sections.empty();
  for (const auto& section : sections) {
    const bool is_dynamic = section.sh_type == SHT_DYNAMIC;
    if (!is_dynamic && section.sh_type != SHT_DYNSYM) continue;
    is_whole = is_whole || is_dynamic;
    if (section.sh_link >= sections.size()) {
      throw std::runtime_error(kDamaged);
    }
    const Elf64_Shdr& linked = sections[section.sh_link];
    const auto strings = file.read<char>(linked.sh_offset, linked.sh_size);
    (is_dynamic ? readDynamic : readSymbols)(file, section, strings, info);
  }
  if (!is_whole) throw std::runtime_error(kDamaged);
  readFrames(file, sections, header, info);
  return info;
}

}  // namespace dipu::loader
