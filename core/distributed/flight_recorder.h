// SPDX-License-Identifier: Apache-2.0
//
// The last operations of all groups of the process, for the time after a
// failure.
//
// Note [Flight recorder]
// dump() gives what PyTorch's analyser reads (`python -m
// torch.distributed.flight_recorder.fr_trace`): the pickle of a dictionary with
// "entries", "pg_config", "pg_status" and "version". The analyser knows the
// names of libraries, not of ours, so operations are called "nccl:...".
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/distributed/operation.h"

namespace dipu::distributed {

struct TensorFacts {
  std::vector<int64_t> sizes;
  c10::ScalarType dtype;
};

// What identifies a group in records.
struct GroupFacts {
  std::string name;
  std::string description;
  std::vector<uint64_t> global_ranks;
};

// Any thread.
class FlightRecorder {
 public:
  // The one of the process; never destroyed.
  static FlightRecorder& instance();

  // Keeps the last `entries`; 0 records nothing.
  void setCapacity(std::size_t entries);

  void addGroup(const GroupFacts& group);
  // `operation` is asked for its state when something is dumped.
  void record(const GroupFacts& group, std::shared_ptr<Operation> operation,
              const std::vector<at::Tensor>& inputs,
              const std::vector<at::Tensor>& outputs);

  // The records as a pickle. Does not need the interpreter.
  std::string dump();
  // Writes dump() to `path`. Throws when that fails.
  void dumpTo(const std::string& path);

 private:
  struct Entry {
    uint64_t id;
    std::string group_name;
    std::string group_description;
    std::shared_ptr<Operation> operation;
    int64_t created_ns;
    std::vector<TensorFacts> inputs;
    std::vector<TensorFacts> outputs;
  };

  static c10::IValue describe(const Entry& entry);

  std::mutex mutex_;  // guards all below
  std::size_t capacity_ = 0;
  uint64_t next_id_ = 0;
  std::deque<Entry> entries_;
  std::map<std::string, GroupFacts> groups_;
};

}  // namespace dipu::distributed
