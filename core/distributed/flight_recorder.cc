// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/flight_recorder.h"

#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <utility>

namespace dipu::distributed {
namespace {

// Of the format, as the analyser of this PyTorch expects it.
constexpr char kVersion[] = "2.10";

c10::Dict<c10::IValue, c10::IValue> newDict() {
  return c10::Dict<c10::IValue, c10::IValue>(c10::AnyType::get(),
                                             c10::AnyType::get());
}

c10::List<c10::IValue> newList() {
  return c10::List<c10::IValue>(c10::AnyType::get());
}

std::string pickled(const c10::IValue& value) {
  std::string text;
  torch::jit::Pickler pickler(
      [&](const char* data, std::size_t size) { text.append(data, size); },
      nullptr, nullptr, nullptr, nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(value);
  pickler.stop();
  return text;
}

int64_t nowNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::vector<TensorFacts> factsOf(const std::vector<at::Tensor>& tensors) {
  std::vector<TensorFacts> facts;
  facts.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    facts.push_back({tensor.sizes().vec(), tensor.scalar_type()});
  }
  return facts;
}

c10::IValue sizesOf(const std::vector<TensorFacts>& tensors) {
  auto list = newList();
  for (const TensorFacts& tensor : tensors) {
    auto sizes = newList();
    for (int64_t size : tensor.sizes) sizes.push_back(size);
    list.push_back(sizes);
  }
  return list;
}

c10::IValue dtypesOf(const std::vector<TensorFacts>& tensors) {
  auto list = newList();
  for (const TensorFacts& tensor : tensors) {
    list.push_back(std::string(c10::toString(tensor.dtype)));
  }
  return list;
}

std::string stateOf(Operation& operation) {
  if (!operation.isOver()) return "scheduled";
  return operation.exception() == nullptr ? "completed" : "scheduled";
}

c10::IValue groupConfig(const GroupFacts& group) {
  auto config = newDict();
  config.insert("name", group.name);
  config.insert("desc", group.description);
  config.insert("ranks", c10::str(c10::ArrayRef<uint64_t>(group.global_ranks)));
  return config;
}

}  // namespace

FlightRecorder& FlightRecorder::instance() {
  static auto* const recorder = new FlightRecorder;
  return *recorder;
}

void FlightRecorder::setCapacity(std::size_t entries) {
  const std::lock_guard<std::mutex> lock(mutex_);
  capacity_ = entries;
  while (entries_.size() > capacity_) entries_.pop_front();
}

void FlightRecorder::addGroup(const GroupFacts& group) {
  const std::lock_guard<std::mutex> lock(mutex_);
  groups_[group.name] = group;
}

void FlightRecorder::record(const GroupFacts& group,
                            std::shared_ptr<Operation> operation,
                            const std::vector<at::Tensor>& inputs,
                            const std::vector<at::Tensor>& outputs) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capacity_ == 0) return;
  if (entries_.size() == capacity_) entries_.pop_front();
  entries_.push_back({next_id_++, group.name, group.description,
                      std::move(operation), nowNs(), factsOf(inputs),
                      factsOf(outputs)});
}

c10::IValue FlightRecorder::describe(const Entry& entry) {
  const Description& description = entry.operation->description();
  const auto sequence = static_cast<int64_t>(description.sequence);
  auto dict = newDict();
  dict.insert("record_id", static_cast<int64_t>(entry.id));
  dict.insert("pg_id", int64_t{0});
  dict.insert("process_group", c10::IValue(std::make_tuple(
                                   entry.group_name, entry.group_description)));
  dict.insert("collective_seq_id", description.is_message ? 0 : sequence);
  dict.insert("p2p_seq_id", description.is_message ? sequence : 0);
  dict.insert("op_id", sequence);
  dict.insert("profiling_name", "nccl:" + description.name);
  dict.insert("time_created_ns", entry.created_ns);
  dict.insert("input_sizes", sizesOf(entry.inputs));
  dict.insert("input_dtypes", dtypesOf(entry.inputs));
  dict.insert("output_sizes", sizesOf(entry.outputs));
  dict.insert("output_dtypes", dtypesOf(entry.outputs));
  dict.insert("state", stateOf(*entry.operation));
  dict.insert("is_p2p", description.is_message);
  dict.insert("timeout_ms",
              static_cast<int64_t>(entry.operation->timeout().count()));
  dict.insert("retired", entry.operation->isOver());
  return dict;
}

std::string FlightRecorder::dump() {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto entries = newList();
  for (const Entry& entry : entries_) entries.push_back(describe(entry));
  auto groups = newDict();
  for (const auto& [name, group] : groups_) {
    groups.insert(name, groupConfig(group));
  }
  auto dict = newDict();
  dict.insert("version", std::string(kVersion));
  dict.insert("entries", entries);
  dict.insert("pg_config", groups);
  dict.insert("pg_status", newDict());
  return pickled(dict);
}

void FlightRecorder::dumpTo(const std::string& path) {
  const std::string records = dump();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(records.data(), static_cast<std::streamsize>(records.size()));
  file.close();
  TORCH_CHECK(file.good(), "the flight recorder cannot write ", records.size(),
              " bytes to ", path,
              "; see DICL_FLIGHT_RECORDER_DUMP, which names the files");
}

}  // namespace dipu::distributed
