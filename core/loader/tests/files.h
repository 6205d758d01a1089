// SPDX-License-Identifier: Apache-2.0
//
// Files for the loader to refuse.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/loader/loader.h"

namespace dipu::loader::testing {

// Where the libraries of this package are.
constexpr char kFolder[] = "core/loader/tests/";

// The text with which the library at `path` is refused; "" when it loads.
inline std::string refusal(const std::filesystem::path& path) {
  try {
    Library::open(path.string());
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

inline std::string readFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Writes a file of this test; returns its path.
inline std::filesystem::path writeFile(const std::string& name,
                                       const std::string& bytes) {
  const auto path = std::filesystem::path(::testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// The bytes of a library of this package whose ELF header `change` has changed.
template <typename Change>
std::string withHeader(const char* name, Change change) {
  std::string bytes = readFile(std::string(kFolder) + name);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
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

}  // namespace dipu::loader::testing
