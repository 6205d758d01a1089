// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/stream.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "core/observe/observer.h"
#include "core/runtime/error.h"
#include "core/runtime/vendor_state.h"
#include "core/vendor_call/call.h"

namespace dipu::runtime {
namespace {

using vendor_call::call;

constexpr int kPools = 2;  // normal and high priority
constexpr int kMaxStreams = 1 + kPools * kPoolStreams + kMaxNewStreams;

// The streams of one device. `records` is indexed by stream id and read without
// the lock: an entry is written once, before its id is handed out.
class DeviceStreams {
 public:
  explicit DeviceStreams(c10::DeviceIndex device) : device_(device) {
    dipu_stream* handle = nullptr;
    check(call("stream.get_default", streamApi().get_default, device, &handle),
          device);
    add(handle, 0);
    readPriorityRange();
    detail::markUsed(device);
  }

  StreamRecord* find(c10::StreamId id) const {
    if (id < 0 || id >= kMaxStreams) return nullptr;
    return records_[id].load(std::memory_order_acquire);
  }

  StreamRecord& fromPool(bool high_priority) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Pool& pool = pools_[high_priority ? 1 : 0];
    StreamRecord*& slot = pool.streams[pool.next];
    if (slot == nullptr) slot = &create(high_priority ? greatest_ : 0);
    pool.next = (pool.next + 1) % kPoolStreams;
    return *slot;
  }

  StreamRecord& createOrReuse(int priority) {
    // "Greatest" is the lowest number.
    priority = std::clamp(priority, greatest_, least_);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (new_count_ < kMaxNewStreams) {
      StreamRecord& record = create(priority);
      new_streams_[new_count_++] = &record;
      return record;
    }
    return nextNewStream(priority);
  }

 private:
  struct Pool {
    std::array<StreamRecord*, kPoolStreams> streams{};
    int next = 0;
  };

  void readPriorityRange() {
    const dipu_stream_api& api = streamApi();
    if (!DIPU_HAS(&api, get_priority_range)) return;
    check(call("stream.get_priority_range", api.get_priority_range, device_,
               &least_, &greatest_),
          device_);
    if (greatest_ > least_) std::swap(greatest_, least_);
  }

  StreamRecord& create(int priority) {
    dipu_stream* handle = nullptr;
    const dipu_stream_create_args args{sizeof(args), device_, priority};
    check(call("stream.create", streamApi().create, &args, &handle), device_);
    return add(handle, priority);
  }

  StreamRecord& add(dipu_stream* handle, int priority) {
    auto* record = new StreamRecord{handle, count_, device_, priority};
    records_[count_++].store(record, std::memory_order_release);
    return *record;
  }

  // The next one in turn, of the same priority when there is one.
  StreamRecord& nextNewStream(int priority) {
    for (int tried = 0; tried < kMaxNewStreams; ++tried) {
      StreamRecord* record = new_streams_[advance()];
      if (record->priority == priority) return *record;
    }
    return *new_streams_[advance()];
  }

  int advance() {
    const int index = new_next_;
    new_next_ = (new_next_ + 1) % kMaxNewStreams;
    return index;
  }

  const c10::DeviceIndex device_;
  int32_t least_ = 0;
  int32_t greatest_ = 0;
  std::array<std::atomic<StreamRecord*>, kMaxStreams> records_{};
  std::mutex mutex_;  // guards everything below and the creation of records
  int count_ = 0;
  std::array<Pool, kPools> pools_{};
  std::array<StreamRecord*, kMaxNewStreams> new_streams_{};
  int new_count_ = 0;
  int new_next_ = 0;
};

// Null until the device is first used. Never destroyed.
std::array<std::atomic<DeviceStreams*>, kMaxDevices> g_streams{};

DeviceStreams& createStreams(c10::DeviceIndex device) {
  static auto* const mutex = new std::mutex;
  const std::lock_guard<std::mutex> lock(*mutex);
  DeviceStreams* streams = g_streams[device].load();
  if (streams == nullptr) {
    streams = new DeviceStreams(device);
    g_streams[device].store(streams, std::memory_order_release);
  }
  return *streams;
}

DeviceStreams& streamsOf(c10::DeviceIndex device) {
  checkDeviceIndex(device);
  DeviceStreams* streams = g_streams[device].load(std::memory_order_acquire);
  return streams != nullptr ? *streams : createStreams(device);
}

// Tells the observer, if there is one, that all work of the stream is done.
void tellDone(const StreamRecord& stream) {
  if (auto* observer = observe::observer()) {
    observer->onStreamDone({stream.device, stream.id});
  }
}

// Owns the table that t_state.streams points to. Apart from t_state because a
// destructor needs dynamic initialisation.
struct CurrentStreams {
  std::array<StreamRecord*, kMaxDevices> by_device{};
  ~CurrentStreams() { detail::t_state.streams = nullptr; }
};

StreamRecord** threadTable() {
  if (detail::t_state.streams == nullptr) {
    static thread_local CurrentStreams streams;
    detail::t_state.streams = streams.by_device.data();
  }
  return detail::t_state.streams;
}

}  // namespace

namespace detail {

StreamRecord& initCurrentStream(c10::DeviceIndex device) {
  StreamRecord* record = streamsOf(device).find(0);
  // After a fork the table may still name streams of the parent.
  threadTable()[device] = record;
  return *record;
}

}  // namespace detail

StreamRecord& recordOf(const c10::Stream& stream) {
  TORCH_CHECK(stream.device_type() == kDeviceType,
              "expected a stream of dipu, ", "got one of ", stream.device());
  StreamRecord* record = streamsOf(stream.device_index()).find(stream.id());
  TORCH_CHECK(record != nullptr, "unknown stream id ", stream.id(), " on ",
              stream.device(),
              "; streams come from torch.Stream or torch.dipu.Stream");
  return *record;
}

c10::Stream currentStream(c10::DeviceIndex device) {
  return currentStreamRecord(resolveDevice(device)).stream();
}

c10::Stream defaultStream(c10::DeviceIndex device) {
  return c10::Stream(c10::Stream::DEFAULT,
                     c10::Device(kDeviceType, resolveDevice(device)));
}

c10::Stream exchangeCurrentStream(const c10::Stream& stream) {
  StreamRecord& record = recordOf(stream);
  StreamRecord& previous = currentStreamRecord(record.device);
  threadTable()[record.device] = &record;
  return previous.stream();
}

c10::Stream streamFromPool(c10::DeviceIndex device, bool high_priority) {
  return streamsOf(resolveDevice(device)).fromPool(high_priority).stream();
}

c10::Stream newStream(c10::DeviceIndex device, int priority) {
  return streamsOf(resolveDevice(device)).createOrReuse(priority).stream();
}

bool queryStream(const c10::Stream& stream) {
  const StreamRecord& record = recordOf(stream);
  int32_t done = 0;
  check(call("stream.query", streamApi().query, record.handle, &done),
        record.device);
  if (done != 0) tellDone(record);
  return done != 0;
}

void synchronizeStream(const c10::Stream& stream) {
  const StreamRecord& record = recordOf(stream);
  check(call("stream.synchronize", streamApi().synchronize, record.handle),
        record.device);
  tellDone(record);
}

}  // namespace dipu::runtime
