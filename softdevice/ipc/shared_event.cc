// SPDX-License-Identifier: Apache-2.0
#include "softdevice/ipc/shared_event.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <new>

#include "softdevice/base/status.h"
#include "softdevice/debug/schedule.h"
#include "softdevice/graph/capture.h"
#include "softdevice/stream/enqueue.h"
#include "softdevice/stream/order.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {
namespace {

// How often a waiter looks whether the recording process still lives.
constexpr long kLookNanoseconds = 50'000'000;

// Payload of the tasks.
struct RecordTask {
  std::shared_ptr<SharedEvent> event;
  uint64_t number;
};

void reachTask(void* payload) {
  auto* record = static_cast<RecordTask*>(payload);
  record->event->reach(record->number);
  record->~RecordTask();
}

void awaitTask(void* payload) {
  auto* record = static_cast<RecordTask*>(payload);
  soft_stream* const stream = soft_stream::current();
  stream->setWaiting(true);
  const soft_status status = record->event->await("wait", record->number);
  stream->setWaiting(false);
  record->~RecordTask();
  if (status != SOFT_OK) soft_task_fail(status, soft_last_message());
}

bool awaitIsOver(const void* payload) {
  const auto* record = static_cast<const RecordTask*>(payload);
  return record->event->isReached(record->number) ||
         record->event->isOrphan(record->number);
}

constexpr const char* kNotForGraphs =
    "an event that other processes may use is recorded or waited for, which no "
    "graph can hold,";

}  // namespace

SharedEvent::Page* SharedEvent::map(const SharedFile& file) {
  if (file.bytes() < sizeof(Page)) return nullptr;
  void* page = mmap(nullptr, file.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
                    file.fd(), 0);
  return page == MAP_FAILED ? nullptr : static_cast<Page*>(page);
}

// The page is zero, which is right for everything but the mutex.
bool SharedEvent::initialize(Page* page) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const bool done = pthread_mutex_init(&page->mutex, &attributes) == 0;
  pthread_mutexattr_destroy(&attributes);
  return done;
}

soft_status SharedEvent::create(const char* function,
                                std::shared_ptr<SharedEvent>* out) {
  std::shared_ptr<SharedFile> file;
  if (soft_status status = SharedFile::create(function, sizeof(Page), &file)) {
    return status;
  }
  std::shared_ptr<SharedEvent> event(new SharedEvent(std::move(file), true));
  if (event->page_ == nullptr || !initialize(event->page_)) {
    return fail(SOFT_OUT_OF_MEMORY,
                "%s: the system refused to map a shared page", function);
  }
  *out = std::move(event);
  return SOFT_OK;
}

std::shared_ptr<SharedEvent> SharedEvent::open(
    std::shared_ptr<SharedFile> file) {
  std::shared_ptr<SharedEvent> event(new SharedEvent(std::move(file), false));
  return event->page_ != nullptr ? event : nullptr;
}

SharedEvent::~SharedEvent() {
  if (page_ != nullptr) munmap(page_, file_->bytes());
}

uint64_t SharedEvent::last() const {
  const uint64_t number = page_->published.load(std::memory_order_acquire);
  const uint64_t taken = page_->taken.load(std::memory_order_acquire);
  // A record whose place has been taken again was reached before.
  return number + kPlaces > taken ? number : 0;
}

uint64_t SharedEvent::takeNumber(uint64_t* out_busy) {
  if (pthread_mutex_lock(&page_->mutex) == EOWNERDEAD) {
    // Its owner died before it published a number.
    pthread_mutex_consistent(&page_->mutex);
  }
  uint64_t number = page_->taken.load(std::memory_order_relaxed) + 1;
  const uint64_t former = number <= kPlaces ? 0 : number - kPlaces;
  if (former != 0 && !isReached(former) && !isOrphan(former)) {
    *out_busy = former;
    number = 0;
  } else {
    const ProcessIdentity self = thisProcess();
    Place& place = placeOf(number);
    place.pid.store(self.pid, std::memory_order_relaxed);
    place.pid_namespace.store(self.pid_namespace, std::memory_order_relaxed);
    place.start_time.store(self.start_time, std::memory_order_relaxed);
    page_->taken.store(number, std::memory_order_release);
  }
  pthread_mutex_unlock(&page_->mutex);
  return number;
}

soft_status SharedEvent::begin(const char* function, uint64_t* out_number) {
  uint64_t busy = 0;
  while ((*out_number = takeNumber(&busy)) == 0) {
    if (soft_stream::current() != nullptr) {
      return fail(SOFT_NOT_PERMITTED,
                  "%s: a task recorded an event whose %d places are taken by "
                  "records that have not been reached; it must not wait for "
                  "them",
                  function, static_cast<int>(kPlaces));
    }
    const Position known = positionOf(busy);
    if (known.stream == nullptr) {
      await(function, busy);
    } else {
      known.stream->waitFor(known.position, 0);
    }
  }
  return SOFT_OK;
}

void SharedEvent::publish(const Position& record) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    positions_[record.number % kPlaces] = record;
  }
  uint64_t last = page_->published.load(std::memory_order_relaxed);
  while (last < record.number &&
         !page_->published.compare_exchange_weak(last, record.number,
                                                 std::memory_order_release)) {
  }
}

soft_status SharedEvent::record(const char* function, soft_stream* stream) {
  if (soft_status status = checkNotCaptured(function, stream, kNotForGraphs)) {
    return status;
  }
  uint64_t number = 0;
  if (soft_status status = begin(function, &number)) return status;
  uint64_t position = 0;
  const Task task{TaskKind::kTimeStamp, "event", reachTask, sizeof(RecordTask)};
  const soft_status status = enqueue(
      stream, task,
      [&](void* payload) {
        new (payload) RecordTask{shared_from_this(), number};
      },
      &position);
  if (status == SOFT_OK) {
    publish({number, stream, position});
  } else {
    reach(number);  // frees its place
  }
  return status;
}

void SharedEvent::reach(uint64_t number) {
  placeOf(number).reached.store(number, std::memory_order_release);
  page_->progress.fetch_add(1, std::memory_order_seq_cst);
  if (page_->sleepers.load(std::memory_order_seq_cst) != 0) {
    syscall(SYS_futex, &page_->progress, FUTEX_WAKE, INT_MAX, nullptr, nullptr,
            0);
  }
}

bool SharedEvent::isReached(uint64_t number) const {
  return placeOf(number).reached.load(std::memory_order_acquire) >= number;
}

bool SharedEvent::isOrphan(uint64_t number) const {
  const Place& place = placeOf(number);
  const ProcessIdentity owner{
      place.pid.load(std::memory_order_relaxed),
      place.pid_namespace.load(std::memory_order_relaxed),
      place.start_time.load(std::memory_order_relaxed)};
  // It may have been reached just before its process ended.
  return !isAlive(owner) && !isReached(number);
}

SharedEvent::Position SharedEvent::positionOf(uint64_t number) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const Position& known = positions_[number % kPlaces];
  return known.number == number ? known : Position{};
}

soft_status SharedEvent::failOrphan(const char* function,
                                    uint64_t number) const {
  return fail(SOFT_LAUNCH_FAILURE,
              "%s: the event was recorded by process %d, which has ended "
              "before the record was reached",
              function, placeOf(number).pid.load(std::memory_order_relaxed));
}

soft_status SharedEvent::query(const char* function) {
  const uint64_t number = last();
  if (number == 0 || isReached(number)) return SOFT_OK;
  schedulePoint();
  if (isReached(number)) return SOFT_OK;
  return isOrphan(number) ? failOrphan(function, number) : SOFT_NOT_READY;
}

soft_status SharedEvent::synchronize(const char* function, int64_t spin_us) {
  const uint64_t number = last();
  if (number == 0) return SOFT_OK;
  const Position known = positionOf(number);
  if (known.stream == nullptr) return await(function, number);
  known.stream->waitFor(known.position, spin_us);
  return SOFT_OK;
}

soft_status SharedEvent::enqueueWaitOn(const char* function,
                                       soft_stream* stream) {
  if (soft_status status = checkNotCaptured(function, stream, kNotForGraphs)) {
    return status;
  }
  const uint64_t number = last();
  if (number == 0 || isReached(number)) return SOFT_OK;
  const Position known = positionOf(number);
  if (known.stream != nullptr) {
    return enqueueWait(stream, known.stream, known.position);
  }
  const Task task{TaskKind::kWait,    "wait", awaitTask,
                  sizeof(RecordTask), 0,      awaitIsOver};
  return enqueue(stream, task, [&](void* payload) {
    new (payload) RecordTask{shared_from_this(), number};
  });
}

soft_status SharedEvent::await(const char* function, uint64_t number) {
  while (!isReached(number)) {
    if (!sleepUntilProgress(number) && isOrphan(number)) {
      return failOrphan(function, number);
    }
  }
  return SOFT_OK;
}

// False when nothing has been reached for a while.
bool SharedEvent::sleepUntilProgress(uint64_t number) {
  page_->sleepers.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t progress = page_->progress.load(std::memory_order_seq_cst);
  bool progressed = true;
  if (!isReached(number)) {
    const timespec limit{0, kLookNanoseconds};
    progressed = syscall(SYS_futex, &page_->progress, FUTEX_WAIT, progress,
                         &limit, nullptr, 0) == 0 ||
                 errno != ETIMEDOUT;
  }
  page_->sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return progressed;
}

}  // namespace dipu::softdevice
