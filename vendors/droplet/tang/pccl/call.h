// SPDX-License-Identifier: Apache-2.0
//
// What a rank has called, as other ranks see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "vendors/droplet/tang/pccl/pccl.h"

namespace dipu::pccl {

enum class Kind : uint32_t {
  kNone,
  kAllReduce,
  kBroadcast,
  kReduce,
  kReduceScatter,
  kAllGather,
  kSend,
  kRecv,
};

// Lies in memory that processes share. Collectives of a communicator are
// numbered from 1, and so are the messages from one rank to another.
struct Call {
  Kind kind = Kind::kNone;
  int32_t dtype = 0;
  int32_t op = 0;    // 0 where nothing is reduced
  int32_t root = 0;  // the other rank of a message; 0 where there is none
  uint64_t count = 0;
  uint64_t sequence = 0;
};

// Whether two ranks mean the same collective.
bool operator==(const Call& a, const Call& b);

// 0 for what is no type.
std::size_t sizeOf(int32_t dtype);
bool isOperation(int32_t op);

const char* nameOf(Kind kind);
// "AllReduce #3 (1024 x float32, sum)".
std::string describe(const Call& call);

}  // namespace dipu::pccl
