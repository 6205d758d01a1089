// SPDX-License-Identifier: Apache-2.0
//
// Opens a vendor library and checks that it can serve this host.
//
// The text of a LoadError is complete: it names the file, what is wrong with
// which values, and what to do. It is meant to be shown to the user as it is
// and is valid UTF-8. Whatever can be known from the file itself is checked
// before any of its code runs.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core/abi/vendor_api.h"

namespace dipu::loader {

// Why a library cannot be used.
class LoadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A vendor library that is open and valid. A cheap value: the library itself
// stays open until the process ends, because torch keeps pointers into it.
// Immutable, so any thread may use it.
class Library {
 public:
  // Opens the file at `path` and checks it. Opening the same file again is
  // legal and gives the same tables. Does not touch the vendor's SDK beyond
  // what its static initialisers do. Blocks while the file is read. A library
  // that calls this while it is being opened itself gets an error.
  //
  // A file that is refused before its code runs is not mapped afterwards. One
  // that is refused later, for what its entry point says, stays mapped without
  // being used: its threads, if it has started any, must not lose their code.
  // Throws LoadError.
  static Library open(const std::string& path);

  // Checks a vendor that is linked into the program. `vendor` lives as long as
  // the process; `origin` stands for the path in messages.
  // Throws LoadError.
  static Library adopt(const dipu_vendor* vendor, const std::string& origin);

  // All fields up to `event` may be read; test later ones with DIPU_HAS, and
  // take optional tables from the functions below.
  const dipu_vendor& vendor() const { return *vendor_; }

  // Absolute path, links not resolved; or the origin.
  const std::string& path() const { return path_; }

  // Optional tables. Null when the vendor has none, one whose provisional
  // version is not the host's, or one that lacks a required slot.
  const dipu_operators_api* operators() const { return operators_; }
  const dipu_communicator_api* communicator() const { return communicator_; }
  const dipu_graph_api* graph() const { return graph_; }
  const dipu_ipc_api* ipc() const { return ipc_; }
  const dipu_virtual_memory_api* virtualMemory() const {
    return virtual_memory_;
  }
  const dipu_profiler_api* profiler() const { return profiler_; }
  const dipu_generator_api* generator() const { return generator_; }

  // One line for each optional table that is left out, with the reason.
  const std::vector<std::string>& notes() const { return notes_; }

  // Absolute path of the library that the operators table names; "" without
  // that table.
  std::string operatorLibraryPath() const;

 private:
  Library(const dipu_vendor* vendor, std::string path);

  const dipu_vendor* vendor_;
  std::string path_;
  std::vector<std::string> notes_;
  const dipu_operators_api* operators_;
  const dipu_communicator_api* communicator_;
  const dipu_graph_api* graph_;
  const dipu_ipc_api* ipc_;
  const dipu_virtual_memory_api* virtual_memory_;
  const dipu_profiler_api* profiler_;
  const dipu_generator_api* generator_;
};

}  // namespace dipu::loader
