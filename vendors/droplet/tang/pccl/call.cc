// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/pccl/call.h"

namespace dipu::pccl {
namespace {

struct DataType {
  const char* name;
  std::size_t bytes;
};

constexpr DataType kDataTypes[] = {
    {"int8", 1},    {"uint8", 1},   {"int32", 4},
    {"uint32", 4},  {"int64", 8},   {"uint64", 8},
    {"float16", 2}, {"float32", 4}, {"bfloat16", 2},
};
constexpr const char* kOperations[] = {"sum", "prod", "max", "min", "avg"};
constexpr const char* kKinds[] = {
    "nothing",       "AllReduce", "Broadcast", "Reduce",
    "ReduceScatter", "AllGather", "Send",      "Recv",
};

template <typename T, std::size_t N>
const T* find(const T (&table)[N], int64_t index) {
  if (index < 0 || index >= static_cast<int64_t>(N)) return nullptr;
  return &table[index];
}

}  // namespace

bool operator==(const Call& a, const Call& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op &&
         a.root == b.root && a.count == b.count && a.sequence == b.sequence;
}

std::size_t sizeOf(int32_t dtype) {
  const DataType* type = find(kDataTypes, dtype);
  return type == nullptr ? 0 : type->bytes;
}

bool isOperation(int32_t op) { return find(kOperations, op) != nullptr; }

const char* nameOf(Kind kind) {
  const auto* name = find(kKinds, static_cast<int64_t>(kind));
  return name == nullptr ? "an unknown operation" : *name;
}

std::string describe(const Call& call) {
  std::string text = nameOf(call.kind);
  if (call.kind == Kind::kNone) return text;
  const DataType* type = find(kDataTypes, call.dtype);
  text += " #" + std::to_string(call.sequence) + " (" +
          std::to_string(call.count) + " x " +
          (type == nullptr ? "unknown type" : type->name);
  const auto* operation = find(kOperations, call.op);
  switch (call.kind) {
    case Kind::kAllReduce:
    case Kind::kReduce:
    case Kind::kReduceScatter:
      if (operation != nullptr) text += std::string(", ") + *operation;
      break;
    case Kind::kSend:
      text += ", to rank " + std::to_string(call.root);
      break;
    case Kind::kRecv:
      text += ", from rank " + std::to_string(call.root);
      break;
    default:
      break;
  }
  if (call.kind == Kind::kReduce || call.kind == Kind::kBroadcast) {
    text += ", root " + std::to_string(call.root);
  }
  return text + ")";
}

}  // namespace dipu::pccl
