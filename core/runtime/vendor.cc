// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/vendor.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <c10/util/StringUtil.h>
#include <pthread.h>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/loader/start.h"
#include "core/runtime/device.h"
#include "core/runtime/error.h"
#include "core/runtime/host_services.h"
#include "core/runtime/vendor_state.h"
#include "core/vendor_call/call.h"

namespace dipu::runtime {
namespace {

constexpr char kNoVendor[] =
    "no vendor is loaded; install torch_dipu_<vendor> and set DIPU_DEVICE";
constexpr char kBadFork[] =
    "a device cannot be used in a forked child; start the process with the "
    "multiprocessing start method 'spawn'";
constexpr char kEnded[] = "devices cannot be used while the process is ending";
constexpr char kStarting[] =
    "the vendor asked for a device while it was being started, which it must "
    "not; report it to the vendor";

enum class Phase { kEmpty, kLoaded, kReady, kFailed };

// Everything but the atomics is guarded by `mutex`. A forked child must not
// take it: another thread of the parent may have held it.
struct State {
  std::mutex mutex;
  std::atomic<Phase> phase{Phase::kEmpty};
  std::atomic<const loader::Library*> library{nullptr};
  std::atomic<c10::DeviceIndex> device_count{0};
  std::atomic<bool> bad_fork{false};
  // The thread that runs the vendor's `initialize` under the mutex, so that a
  // vendor which calls back finds an error there and not a deadlock.
  std::atomic<std::thread::id> starter{};
  std::string failure;
  detail::Tables tables{};
};

// Never destroyed: tensors may be freed after static objects are gone.
State& state() {
  static auto* const instance = new State;
  return *instance;
}

void onForkInChild() {
  state().bad_fork.store(true);
  detail::g_tables.store(nullptr);
  // Forget what this thread cached, so that its hot paths ask again.
  detail::t_state = {-1, nullptr};
}

bool isStarting(const State& s) {
  return s.starter.load() == std::this_thread::get_id();
}

// Tells the user what of a vendor that has started is not used.
void warnOfUnused(const loader::Library& library, int32_t devices) {
  for (const std::string& note : library.notes()) {
    LOG(WARNING) << "vendor " << library.vendor().name << ": " << note;
  }
  if (devices > kMaxDevices) {
    LOG(WARNING) << "vendor " << library.vendor().name << " has " << devices
                 << " devices, of which the first " << kMaxDevices
                 << " are used: one process can use no more. The vendor's SDK "
                 << "may have a setting that chooses which ones it shows";
  }
}

// Requires s.mutex and phase kLoaded.
void initialize(State& s) {
  const loader::Library& library = *s.library.load();
  const dipu_vendor& v = library.vendor();
  s.starter.store(std::this_thread::get_id());
  const loader::Started started = loader::startVendor(v, hostServices());
  s.starter.store({});
  if (!started.problem.empty()) {
    s.failure = c10::str("vendor ", v.name, " (", library.path(), ") ",
                         started.problem);
    s.phase.store(Phase::kFailed);
    return;
  }
  s.device_count.store(
      static_cast<c10::DeviceIndex>(std::min(started.devices, kMaxDevices)));
  s.tables = {v.device, v.memory, v.stream, v.event};
  pthread_atfork(nullptr, nullptr, &onForkInChild);
  // In this order: who sees kReady goes on to use the tables.
  detail::g_tables.store(&s.tables, std::memory_order_release);
  s.phase.store(Phase::kReady);
  warnOfUnused(library, started.devices);
}

// Makes `library` the vendor of the process.
void install(loader::Library library) {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (const loader::Library* current = s.library.load()) {
    if (&current->vendor() == &library.vendor()) return;
    TORCH_CHECK(false, "vendor ", library.vendor().name, " (", library.path(),
                ") cannot be loaded: this process already uses vendor ",
                current->vendor().name, " (", current->path(),
                "); choose one with DIPU_DEVICE and start anew");
  }
  s.library.store(new loader::Library(std::move(library)));
  s.failure.clear();
  s.phase.store(Phase::kLoaded);
}

// Runs `step`, for `limit` at most. What the vendor does may never come to an
// end, so a thread does it which is left behind if need be; `unfinished` says
// then how the process ends. Returns whether the step has ended.
bool endsWithin(std::chrono::milliseconds limit, const char* unfinished,
                std::function<void()> step) noexcept {
  try {
    auto done = std::make_shared<std::promise<void>>();
    std::thread([done, step = std::move(step)] {
      step();
      done->set_value();
    }).detach();
    if (done->get_future().wait_for(limit) == std::future_status::ready) {
      return true;
    }
    LOG(WARNING) << deviceLabel(DIPU_HOST) << ": the process ends "
                 << unfinished << " after " << limit.count() << " ms";
  } catch (...) {
    // No thread could be started; then nobody waits.
  }
  return false;
}

void awaitDevices() {
  for (c10::DeviceIndex i = 0; i < detail::countedDevices(); ++i) {
    if (hasContext(i)) {
      succeeded(vendor_call::call("device.synchronize",
                                  vendor().device->synchronize, i),
                "the last wait");
    }
  }
}

}  // namespace

namespace detail {

std::atomic<const Tables*> g_tables{nullptr};

const Tables& initializedTables() {
  ensureInitialized();
  const Tables* tables = g_tables.load(std::memory_order_acquire);
  // Null after all when another thread has ended the use of devices since.
  TORCH_CHECK(tables != nullptr, initializationError());
  return *tables;
}

c10::DeviceIndex countedDevices() noexcept {
  return state().device_count.load(std::memory_order_relaxed);
}

}  // namespace detail

void loadVendor(const std::string& plugin_path) {
  try {
    install(loader::Library::open(plugin_path));
  } catch (const loader::LoadError& error) {
    TORCH_CHECK(false, error.what());
  }
}

void adoptVendor(const dipu_vendor* vendor, const std::string& origin) {
  try {
    install(loader::Library::adopt(vendor, origin));
  } catch (const loader::LoadError& error) {
    TORCH_CHECK(false, error.what());
  }
}

void explainMissingVendor(std::string reason) {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (s.phase.load() == Phase::kEmpty) s.failure = std::move(reason);
}

bool isLoaded() noexcept { return state().library.load() != nullptr; }

const loader::Library& vendorLibrary() {
  const loader::Library* library = state().library.load();
  TORCH_CHECK(library != nullptr, initializationError());
  return *library;
}

bool tryInitialize() noexcept {
  State& s = state();
  if (s.bad_fork.load() || isStarting(s)) return false;
  if (s.phase.load() == Phase::kLoaded) {
    const std::lock_guard<std::mutex> lock(s.mutex);
    if (s.phase.load() == Phase::kLoaded) initialize(s);
  }
  return s.phase.load() == Phase::kReady;
}

void ensureInitialized() {
  if (!tryInitialize()) TORCH_CHECK(false, initializationError());
}

void shutdown(std::chrono::milliseconds limit) noexcept {
  State& s = state();
  if (!isInitialized()) return;
  const dipu_vendor& v = vendor();
  const bool idle = endsWithin(limit, "with work in flight, which was not done",
                               &awaitDevices);
  {
    const std::lock_guard<std::mutex> lock(s.mutex);
    s.failure = kEnded;
    s.phase.store(Phase::kFailed);
    detail::g_tables.store(nullptr);
    detail::t_state = {-1, nullptr};
  }
  if (!idle || !DIPU_HAS(&v, shutdown)) return;
  endsWithin(limit, "inside the vendor's shutdown, which had not returned",
             [&v] {
               succeeded(vendor_call::call("shutdown", v.shutdown),
                         "the vendor's shutdown");
             });
}

std::string initializationError() {
  State& s = state();
  if (s.bad_fork.load()) return kBadFork;
  if (isStarting(s)) return kStarting;
  const std::lock_guard<std::mutex> lock(s.mutex);
  const bool unexplained = s.phase.load() == Phase::kEmpty && s.failure.empty();
  return unexplained ? kNoVendor : s.failure;
}

std::string deviceLabel(int32_t device) {
  const loader::Library* library = state().library.load();
  const std::string name = library == nullptr ? "dipu" : library->vendor().name;
  return device < 0 ? name : c10::str(name, ":", device);
}

bool inBadFork() noexcept {
  return state().bad_fork.load(std::memory_order_relaxed);
}

c10::DeviceIndex deviceCount() noexcept {
  tryInitialize();
  return detail::countedDevices();
}

}  // namespace dipu::runtime
