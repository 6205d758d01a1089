// SPDX-License-Identifier: Apache-2.0
//
// A vendor's communicator, owned: one rank of a group, on one device.
//
// All collectives enqueue on a stream and are called by every rank in the same
// order. Counts are in elements, addresses are the device's. A call that the
// vendor refuses throws what core/runtime/error.h says, with the vendor's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/abi/communicator.h"
#include "core/runtime/device.h"
#include "core/runtime/stream.h"

namespace dipu::distributed {

// The vendor's table. Initialises the vendor; throws the vendor's name and what
// to do when it offers no collectives.
const dipu_communicator_api& communicatorApi();

class Communicator {
 public:
  // What rank 0 makes and all ranks pass to the constructor. Any bytes.
  static std::string newUniqueId();

  // Joins the other ranks: blocks until all have called it.
  Communicator(c10::DeviceIndex device, int rank, int size,
               const std::string& unique_id);
  // Enqueued work goes on unless it has been aborted. Leaves the communicator
  // to the operating system when devices can no longer be used.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  c10::DeviceIndex device() const { return device_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  // Ends pending work of this rank with an error; streams go on. Any thread, at
  // most one at a time; the first call counts.
  void abort() noexcept;

  // Why enqueued work has failed; "" as long as none has. Any thread, does not
  // block.
  std::string asyncError();

  // What the vendor can do itself.
  static bool hasType(dipu_dtype dtype);
  static bool hasReduction(dipu_reduce_op op);
  static bool hasAllToAll();

  void allReduce(const void* send, void* recv, std::size_t count,
                 dipu_dtype dtype, dipu_reduce_op op,
                 const runtime::StreamRecord& stream);
  // Only the root's `recv` is used.
  void reduce(const void* send, void* recv, std::size_t count, dipu_dtype dtype,
              dipu_reduce_op op, int root, const runtime::StreamRecord& stream);
  // `send` holds size() * count elements, in rank order.
  void reduceScatter(const void* send, void* recv, std::size_t count,
                     dipu_dtype dtype, dipu_reduce_op op,
                     const runtime::StreamRecord& stream);
  void broadcast(void* buffer, std::size_t count, dipu_dtype dtype, int root,
                 const runtime::StreamRecord& stream);
  // `recv` holds size() * count elements, in rank order.
  void allGather(const void* send, void* recv, std::size_t count,
                 dipu_dtype dtype, const runtime::StreamRecord& stream);
  // `count` elements with every rank. Call it if hasAllToAll() only.
  void allToAll(const void* send, void* recv, std::size_t count,
                dipu_dtype dtype, const runtime::StreamRecord& stream);
  void send(const void* buffer, std::size_t count, dipu_dtype dtype, int peer,
            const runtime::StreamRecord& stream);
  void recv(void* buffer, std::size_t count, dipu_dtype dtype, int peer,
            const runtime::StreamRecord& stream);

  // What the thread calls during its life is issued as one by end(). Without
  // end(), as when an exception passes, it ends all the same, and what the
  // vendor then says is lost. Nests.
  class Group {
   public:
    Group();
    ~Group();
    void end();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

   private:
    bool is_open_ = true;
  };

 private:
  const c10::DeviceIndex device_;
  const int rank_;
  const int size_;
  dipu_communicator* handle_ = nullptr;
};

}  // namespace dipu::distributed
