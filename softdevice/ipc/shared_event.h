// SPDX-License-Identifier: Apache-2.0
//
// The state of an event that several processes record and wait for.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "softdevice/ipc/process_identity.h"
#include "softdevice/ipc/shared_file.h"
#include "softdevice/softdevice.h"

namespace dipu::softdevice {

// Note [Shared events]
// Records of one event are numbered from 1, across processes. Each takes the
// place `number % kPlaces` of a page that all of them map, and its recording
// stream writes the number there when it is reached. A record is published once
// its task is in the ring, so nobody waits for one that is not on its way: "the
// last record" is the highest number published, and waiting for it is waiting
// for its place. A place is taken again only after its former record has been
// reached.
//
// A place also names the process that recorded, so that those who wait learn of
// its end: nobody else could reach the record then.
//
// Where the last record is of this process, its position (Note [Positions] in
// stream.h) is as good, and needs no look at the page.
class SharedEvent : public std::enable_shared_from_this<SharedEvent> {
 public:
  // SOFT_OUT_OF_MEMORY when the system refuses; the message says what ran out.
  static soft_status create(const char* function,
                            std::shared_ptr<SharedEvent>* out);
  // nullptr when the system refuses.
  static std::shared_ptr<SharedEvent> open(std::shared_ptr<SharedFile> file);
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  const SharedFile& file() const { return *file_; }
  // Whether this process created it.
  bool isOwn() const { return own_; }

  // Enqueues; blocks while kPlaces records are pending, which for a task is
  // SOFT_NOT_PERMITTED.
  soft_status record(const char* function, soft_stream* stream);
  // About the last record: SOFT_OK, SOFT_NOT_READY, or SOFT_LAUNCH_FAILURE
  // when its process has ended.
  soft_status query(const char* function);
  soft_status synchronize(const char* function, int64_t spin_us);
  // Enqueues a wait for the last record.
  soft_status enqueueWaitOn(const char* function, soft_stream* stream);

  // For the tasks: of one record.
  void reach(uint64_t number);
  bool isReached(uint64_t number) const;
  bool isOrphan(uint64_t number) const;
  soft_status await(const char* function, uint64_t number);

 private:
  static constexpr uint64_t kPlaces = 64;

  struct Place {
    std::atomic<uint64_t> reached;  // number of the last record reached here
    std::atomic<int32_t> pid;
    std::atomic<uint32_t> pid_namespace;
    std::atomic<uint64_t> start_time;
  };
  // What the processes share.
  struct Page {
    pthread_mutex_t mutex;            // held to take a number; robust
    std::atomic<uint64_t> taken;      // the last number taken, 0: none
    std::atomic<uint64_t> published;  // the last record enqueued, 0: none
    std::atomic<uint32_t> progress;   // futex: changes when one is reached
    std::atomic<uint32_t> sleepers;
    Place places[kPlaces];
  };
  // A record of this process.
  struct Position {
    uint64_t number = 0;
    soft_stream* stream = nullptr;
    uint64_t position = 0;
  };

  SharedEvent(std::shared_ptr<SharedFile> file, bool own)
      : file_(std::move(file)), page_(map(*file_)), own_(own) {}
  static Page* map(const SharedFile& file);
  static bool initialize(Page* page);
  // The last record; 0: none, or it has been reached.
  uint64_t last() const;
  Place& placeOf(uint64_t number) const {
    return page_->places[number % kPlaces];
  }
  // Takes a number for a record.
  soft_status begin(const char* function, uint64_t* out_number);
  // Makes the record, which this process has enqueued, known to all.
  void publish(const Position& record);
  // 0: the place of the next number, *out_busy, is not free.
  uint64_t takeNumber(uint64_t* out_busy);
  bool sleepUntilProgress(uint64_t number);
  Position positionOf(uint64_t number) const;
  soft_status failOrphan(const char* function, uint64_t number) const;

  const std::shared_ptr<SharedFile> file_;
  Page* const page_;  // nullptr: the system refused
  const bool own_;
  mutable std::mutex mutex_;  // guards positions_; nothing is locked under it
  Position positions_[kPlaces];
};

}  // namespace dipu::softdevice
