// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "kernels/compute/convolution/primitive.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/status.h"

namespace dipu::kernels::convolution {
namespace {

// A network has up to a few hundred different convolutions, in three passes.
constexpr std::size_t kCapacity = 2048;

struct Key {
  int64_t pass;
  int64_t flags;
  int64_t threads;
  Shape shape;

  bool operator==(const Key& other) const {
    return std::memcmp(this, &other, sizeof(Key)) == 0;
  }
};
static_assert(sizeof(Key) % sizeof(int64_t) == 0, "compared word by word");

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    int64_t words[sizeof(Key) / sizeof(int64_t)];
    std::memcpy(words, &key, sizeof(Key));
    uint64_t hash = 0;
    for (int64_t word : words) {
      hash = (hash ^ static_cast<uint64_t>(word)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

// oneDNN divides the work among the calling thread's OpenMP maximum at the
// time a primitive is made.
class ThreadLimit {
 public:
  explicit ThreadLimit(int32_t threads) {
#ifdef _OPENMP
    before_ = omp_get_max_threads();
    omp_set_num_threads(threads);
#else
    static_cast<void>(threads);
#endif
  }
  ~ThreadLimit() {
#ifdef _OPENMP
    omp_set_num_threads(before_);
#endif
  }
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_ = 1;
};

// Least recently used first out, except what is still to run. All members are
// guarded by mutex_.
class Cache {
 public:
  Primitive* acquire(const Key& key, const Layouts& layouts, bool has_bias) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = index_.find(key);
    if (found != index_.end()) {
      entries_.splice(entries_.end(), entries_, found->second);
    } else {
      trim();
      entries_.push_back({key, build(key, layouts, has_bias)});
      index_[key] = std::prev(entries_.end());
    }
    Primitive* primitive = entries_.back().primitive.get();
    if (primitive != nullptr) primitive->acquire();
    return primitive;
  }

 private:
  // The absence of a kernel is remembered too.
  struct Entry {
    Key key;
    std::unique_ptr<Primitive> primitive;
  };

  static std::unique_ptr<Primitive> build(const Key& key,
                                          const Layouts& layouts,
                                          bool has_bias) {
    const ThreadLimit limit(static_cast<int32_t>(key.threads));
    try {
      return std::make_unique<Primitive>(static_cast<Pass>(key.pass), key.shape,
                                         layouts, has_bias);
    } catch (const dnnl::error&) {
      return nullptr;
    }
  }

  void trim() {
    auto entry = entries_.begin();
    while (entries_.size() >= kCapacity && entry != entries_.end()) {
      const bool idle = entry->primitive == nullptr || entry->primitive->idle();
      if (!idle) {
        ++entry;
        continue;
      }
      index_.erase(entry->key);
      entry = entries_.erase(entry);
    }
  }

  std::mutex mutex_;
  std::list<Entry> entries_;
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> index_;
};

Cache& cache() {
  // Never destroyed: workers may still run its primitives at exit.
  static auto* instance = new Cache;
  return *instance;
}

int32_t teamThreads(soft_stream* stream) {
  soft_device_info info{};
  const soft_status status =
      soft_device_get_info(soft_stream_device(stream), &info);
  return status == SOFT_OK && info.worker_threads > 0 ? info.worker_threads : 1;
}

struct Releaser {
  void operator()(Primitive* primitive) const { primitive->release(); }
};

// What it throws becomes a failure of the task.
struct Run {
  Primitive* primitive;
  Addresses addresses;
  void* scratch;

  void operator()() const {
    const std::unique_ptr<Primitive, Releaser> acquired(primitive);
    const Team team;
#ifdef _OPENMP
    omp_set_num_threads(static_cast<int>(team.size()));
#endif
    primitive->run(addresses, scratch);
  }
};

}  // namespace

Primitive* acquirePrimitive(Pass pass, const Shape& shape,
                            const Layouts& layouts, bool has_bias,
                            int32_t threads) {
  Key key;
  key.pass = static_cast<int64_t>(pass);
  key.flags = (layouts.image ? 1 : 0) | (layouts.weight ? 2 : 0) |
              (layouts.result ? 4 : 0) | (has_bias ? 8 : 0);
  key.threads = threads;
  key.shape = shape;
  return cache().acquire(key, layouts, has_bias);
}

Status enqueuePrimitive(const Queue& queue, Pass pass, const Shape& shape,
                        const Layouts& layouts, const Addresses& addresses) {
  Primitive* primitive =
      acquirePrimitive(pass, shape, layouts, addresses.bias != nullptr,
                       teamThreads(queue.stream()));
  if (primitive == nullptr) {
    return fail(Status::kUnsupported, "oneDNN has no such convolution");
  }
  void* scratch = scratchAddress(queue, primitive->scratchBytes());
  if (scratch != nullptr && queue.launch(Run{primitive, addresses, scratch})) {
    return Status::kOk;
  }
  primitive->release();
  return Status::kFailed;
}

}  // namespace dipu::kernels::convolution
