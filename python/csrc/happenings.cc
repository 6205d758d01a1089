// SPDX-License-Identifier: Apache-2.0
#include "python/csrc/happenings.h"

#include <pthread.h>
#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/allocator/host_allocator.h"
#include "core/observe/observer.h"
#include "python/csrc/finalization.h"
#include "python/csrc/observed_call.h"

namespace py = pybind11;

namespace dipu::python {
namespace {

using observe::Range;
using observe::Stream;

enum class Kind {
  kRecord,
  kWait,
  kEventDone,
  kStreamDone,
  kDeviceDone,
  kAllocate,
  kFree
};

using Lines = std::vector<std::string>;

struct Happening {
  Kind kind;
  Stream stream{};              // whose work or memory it is about
  const void* ptr = nullptr;    // the event, or the memory
  std::size_t bytes = 0;        // of memory
  std::vector<Stream> users{};  // of memory that is freed
  Lines place{};                // where memory is allocated or freed
};

// Python is asked to take the happenings whenever so many more have piled up.
constexpr std::size_t kMany = 4096;

struct Functions {
  py::object place;
  py::object copied;
  py::object drain;
};

// Guarded by the interpreter's lock. Never destroyed: memory is freed while the
// interpreter ends.
Functions& functions() {
  static auto* const instance = new Functions;
  return *instance;
}

bool pythonRuns() { return Py_IsInitialized() != 0 && !isFinalizing(); }

// Where this thread is, as Python tells. An interrupt that comes meanwhile is
// left to what runs next.
Lines here() noexcept {
  if (!pythonRuns()) return {};
  const py::gil_scoped_acquire gil;
  const py::error_scope pending;  // memory may be freed while one is raised
  try {
    return functions().place().cast<Lines>();
  } catch (py::error_already_set& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) {
      PyErr_SetInterrupt();
    } else {
      error.discard_as_unraisable("where memory is allocated or freed");
    }
  } catch (const std::exception&) {  // lines that are no text
  }
  return {};
}

// Called by the interpreter on its main thread.
int drain(void* /*unused*/) noexcept {
  try {
    if (functions().drain) functions().drain();
  } catch (py::error_already_set& error) {
    error.restore();
    return -1;
  }
  return 0;
}

// What debug tools do themselves orders nothing in the program: it would not
// be done without them. Their memory is memory as any other.
class Recorder final : public observe::Observer {
 public:
  void onRecord(const void* event, Stream stream) noexcept override {
    order({Kind::kRecord, stream, event});
  }
  void onWait(Stream stream, const void* event) noexcept override {
    order({Kind::kWait, stream, event});
  }
  void onEventDone(const void* event) noexcept override {
    order({Kind::kEventDone, {}, event});
  }
  void onStreamDone(Stream stream) noexcept override {
    order({Kind::kStreamDone, stream});
  }
  void onDeviceDone(int32_t device) noexcept override {
    order({Kind::kDeviceDone, {device, 0}});
  }

  void onAllocate(const Range& memory, Stream owner) noexcept override {
    add({Kind::kAllocate, owner, memory.ptr, memory.bytes, {}, here()});
  }
  void onFree(const Range& memory, Stream owner,
              const std::vector<Stream>& users) noexcept override {
    add({Kind::kFree, owner, memory.ptr, memory.bytes, users, here()});
  }

  void onCopy(const Range& to, const Range& from, Stream stream) override {
    if (observerRuns() || !pythonRuns()) return;
    const py::gil_scoped_acquire gil;
    try {
      functions().copied(addressOf(to.ptr), to.device, addressOf(from.ptr),
                         from.device, to.bytes, pairOf(stream));
    } catch (py::error_already_set& error) {
      error.restore();
      python_error raised;
      raised.persist();
      throw raised;
    }
  }

  std::vector<Happening> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(happenings_, {});
  }

  std::size_t count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return happenings_.size();
  }

  // A child of fork() has a mutex that nobody holds, and no device to look at.
  void lockForFork() { mutex_.lock(); }
  void unlockAfterFork() { mutex_.unlock(); }

  static std::uintptr_t addressOf(const void* ptr) {
    return reinterpret_cast<std::uintptr_t>(ptr);
  }

  static std::pair<int32_t, int64_t> pairOf(const Stream& stream) {
    return {stream.device, stream.id};
  }

 private:
  void order(Happening happening) noexcept {
    if (!observerRuns()) add(std::move(happening));
  }

  // Whether the last one says the same; nothing is launched between the two.
  bool isRepeated(const Happening& it) const {
    if (it.kind == Kind::kAllocate || it.kind == Kind::kFree) return false;
    if (happenings_.empty()) return false;
    const Happening& last = happenings_.back();
    return last.kind == it.kind && last.ptr == it.ptr &&
           pairOf(last.stream) == pairOf(it.stream);
  }

  void add(Happening happening) noexcept {
    std::size_t count = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (isRepeated(happening)) return;
      happenings_.push_back(std::move(happening));
      count = happenings_.size();
    }
    // Should the interpreter have no room, it is asked again later.
    if (count % kMany == 0 && pythonRuns()) Py_AddPendingCall(&drain, nullptr);
  }

  std::mutex mutex_;  // nothing is locked under it
  std::vector<Happening> happenings_;
};

// Never destroyed, as observers must not be.
Recorder& recorder() {
  static auto* const instance = new Recorder;
  return *instance;
}

void surviveForks() {
  static const int registered = pthread_atfork(
      [] { recorder().lockForFork(); }, [] { recorder().unlockAfterFork(); },
      [] {
        recorder().unlockAfterFork();
        observe::setObserver(nullptr);
      });
  TORCH_CHECK(registered == 0, "pthread_atfork: error ", registered);
}

void observeHappenings(const py::object& place, const py::object& copied,
                       const py::object& drain) {
  if (copied.is_none()) {
    observe::setObserver(nullptr);
    recorder().take();
    return;
  }
  surviveForks();
  functions() = {place, copied, drain};
  observe::setObserver(&recorder());
}

std::vector<std::pair<int32_t, int64_t>> usersOf(const Happening& happening) {
  std::vector<std::pair<int32_t, int64_t>> users;
  for (const Stream& user : happening.users) {
    users.push_back(Recorder::pairOf(user));
  }
  return users;
}

void bindClasses(py::module_& m) {
  py::enum_<Kind>(m, "Happened")
      .value("RECORD", Kind::kRecord)
      .value("WAIT", Kind::kWait)
      .value("EVENT_DONE", Kind::kEventDone)
      .value("STREAM_DONE", Kind::kStreamDone)
      .value("DEVICE_DONE", Kind::kDeviceDone)
      .value("ALLOCATE", Kind::kAllocate)
      .value("FREE", Kind::kFree);
  py::class_<Happening>(m, "Happening")
      .def_readonly("kind", &Happening::kind)
      .def_readonly("bytes", &Happening::bytes)
      .def_property_readonly(
          "stream",
          [](const Happening& self) { return Recorder::pairOf(self.stream); })
      .def_property_readonly(
          "address",
          [](const Happening& self) { return Recorder::addressOf(self.ptr); })
      .def_property_readonly("users", &usersOf)
      .def_readonly("place", &Happening::place);
}

}  // namespace

void bindHappenings(py::module_& m) {
  bindClasses(m);
  m.def("_observe_happenings", &observeHappenings);
  m.def("_count_happenings", [] { return recorder().count(); });
  m.def("_take_happenings", [] { return recorder().take(); });
  m.def("_is_pinned", [](std::uintptr_t address) {
    return allocator::isPinned(reinterpret_cast<const void*>(address));
  });
}

}  // namespace dipu::python
