// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/pccl/group.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "softdevice/softdevice.h"
#include "vendors/droplet/tang/pccl/failure.h"
#include "vendors/droplet/tang/tang_kernel.h"

namespace dipu::pccl {
namespace {

struct Work {
  std::shared_ptr<Communicator> communicator;
  std::vector<Operation> operations;
  uint64_t number = 0;
};

struct Group {
  int depth = 0;
  pcclResult_t error = pcclSuccess;
  std::string failure;
  std::vector<Request> requests;
};

// NULL outside of groups.
thread_local Group* current_group = nullptr;

bool isMessage(const Operation& operation) {
  return operation.call.kind == Kind::kSend ||
         operation.call.kind == Kind::kRecv;
}

// Work that streams have been given, by a number that the stream keeps. A
// stream whose device fails may never run it. Never destroyed, like the
// streams.
class PendingWork {
 public:
  uint64_t add(std::unique_ptr<Work> work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_[++last_] = std::move(work);
    return last_;
  }
  // NULL when it has been dropped.
  std::unique_ptr<Work> take(uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = work_.find(number);
    if (found == work_.end()) return nullptr;
    std::unique_ptr<Work> work = std::move(found->second);
    work_.erase(found);
    return work;
  }
  std::vector<std::unique_ptr<Work>> takeAll(const Communicator& communicator) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::unique_ptr<Work>> taken;
    for (auto it = work_.begin(); it != work_.end();) {
      if (it->second->communicator.get() == &communicator) {
        taken.push_back(std::move(it->second));
        it = work_.erase(it);
      } else {
        ++it;
      }
    }
    return taken;
  }

 private:
  std::mutex mutex_;  // guards all below
  uint64_t last_ = 0;
  std::map<uint64_t, std::unique_ptr<Work>> work_;
};

PendingWork& pendingWork() {
  static auto* const instance = new PendingWork;
  return *instance;
}

void runWork(void* payload) {
  const std::unique_ptr<Work> work =
      pendingWork().take(*static_cast<uint64_t*>(payload));
  if (work == nullptr) return;
  Communicator& communicator = *work->communicator;
  if (communicator.begin(work->number)) {
    const Operation& first = work->operations.front();
    communicator.setCurrent(first.call);
    if (isMessage(first)) {
      runMessages(communicator, work->operations);
    } else {
      runCollective(communicator, first);
    }
  }
  communicator.end();
}

// Streams that take part in messages of another stream.
class Joined {
 public:
  explicit Joined(tangStream_t main) : main_(main) {}
  ~Joined() {
    if (event_ != nullptr) tangEventDestroy(event_);
  }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

  void add(tangStream_t stream) {
    if (stream == main_) return;
    if (std::count(others_.begin(), others_.end(), stream) != 0) return;
    others_.push_back(stream);
  }
  // The stream waits for the others.
  tangError_t begin() {
    for (const tangStream_t other : others_) {
      if (tangError_t error = order(other, main_)) return error;
    }
    return tangSuccess;
  }
  // The others wait for the stream.
  tangError_t end() {
    for (const tangStream_t other : others_) {
      if (tangError_t error = order(main_, other)) return error;
    }
    return tangSuccess;
  }

 private:
  // The record may be replaced while others wait for it.
  tangError_t order(tangStream_t first, tangStream_t second) {
    if (event_ == nullptr) {
      if (tangError_t error =
              tangEventCreateWithFlags(&event_, tangEventDisableTiming)) {
        return error;
      }
    }
    if (tangError_t error = tangEventRecord(event_, first)) return error;
    return tangStreamWaitEvent(second, event_, 0);
  }

  tangStream_t main_;
  tangEvent_t event_ = nullptr;
  std::vector<tangStream_t> others_;
};

// Other ranks wait for what this one could not enqueue.
pcclResult_t giveUp(Communicator& communicator, const Call& call,
                    const char* why) {
  const std::string text = describe(call) + " was not enqueued: " + why;
  communicator.fail(pcclUnhandledTangError, text);
  return fail(pcclUnhandledTangError, "%s", text.c_str());
}

bool translate(soft_stream* stream, const Request& request,
               Operation* operation) {
  *operation = request.operation;
  if (request.send_bytes != 0) {
    operation->send = static_cast<const char*>(
        soft_translate(stream, request.operation.send, request.send_bytes));
    if (operation->send == nullptr) return false;
  }
  if (request.recv_bytes != 0) {
    operation->recv = static_cast<char*>(
        soft_translate(stream, request.operation.recv, request.recv_bytes));
    if (operation->recv == nullptr) return false;
  }
  return true;
}

void number(Communicator& communicator, Operation* operation) {
  Call& call = operation->call;
  call.sequence = isMessage(*operation)
                      ? communicator.nextMessage(call.kind, call.root)
                      : communicator.nextCollective();
}

// Enqueues the requests, which are of one communicator, as one piece of work.
pcclResult_t launch(soft_stream* stream,
                    const std::vector<const Request*>& requests) {
  Communicator& communicator = *requests.front()->communicator;
  auto work = std::make_unique<Work>();
  work->communicator = requests.front()->communicator;
  bool is_legal = true;
  for (const Request* request : requests) {
    Operation operation;
    if (!translate(stream, *request, &operation)) is_legal = false;
    work->operations.push_back(operation);
  }
  Call first = requests.front()->operation.call;
  const tangError_t error = communicator.enqueue([&](uint64_t place) {
    for (Operation& operation : work->operations) {
      number(communicator, &operation);
    }
    first = work->operations.front().call;
    if (!is_legal) return tangErrorIllegalAddress;
    work->number = place;
    const uint64_t payload = pendingWork().add(std::move(work));
    const tangError_t launched = tangEnqueueLaunch(
        stream, nameOf(first.kind), runWork, &payload, sizeof(payload));
    if (launched != tangSuccess) pendingWork().take(payload);
    return launched;
  });
  if (error == tangSuccess) return pcclSuccess;
  const char* why = is_legal ? tangGetErrorString(error)
                             : "a buffer is no memory that its device can use";
  return giveUp(communicator, first, why);
}

pcclResult_t launchOn(tangStream_t handle,
                      const std::vector<const Request*>& requests) {
  Communicator& communicator = *requests.front()->communicator;
  soft_stream* stream = nullptr;
  const dim3 one{1, 1, 1};
  tangError_t error =
      tangCheckLaunch(&one, &one, nullptr, 0, 0, handle, &stream);
  Joined joined(handle);
  for (const Request* request : requests) joined.add(request->stream);
  if (error == tangSuccess) error = joined.begin();
  if (error != tangSuccess) {
    return giveUp(communicator, requests.front()->operation.call,
                  tangGetErrorString(error));
  }
  if (pcclResult_t result = launch(stream, requests)) return result;
  error = joined.end();
  return error == tangSuccess ? pcclSuccess : failOfTang("pcclGroupEnd", error);
}

// Collectives one by one, and all messages of a communicator as one.
pcclResult_t launchAll(const std::vector<Request>& requests) {
  std::vector<const Communicator*> with_messages;
  pcclResult_t result = pcclSuccess;
  for (const Request& request : requests) {
    std::vector<const Request*> together{&request};
    const Communicator* communicator = request.communicator.get();
    if (isMessage(request.operation)) {
      if (std::count(with_messages.begin(), with_messages.end(),
                     communicator) != 0) {
        continue;
      }
      with_messages.push_back(communicator);
      together.clear();
      for (const Request& other : requests) {
        if (other.communicator.get() == communicator &&
            isMessage(other.operation)) {
          together.push_back(&other);
        }
      }
    }
    const pcclResult_t launched = launchOn(request.stream, together);
    if (result == pcclSuccess) result = launched;
  }
  return result;
}

}  // namespace

void dropWork(const Communicator& communicator) {
  // Ends outside of the lock.
  pendingWork().takeAll(communicator);
}

pcclResult_t submit(Request request) {
  if (current_group == nullptr) return launchOn(request.stream, {&request});
  current_group->requests.push_back(std::move(request));
  return pcclSuccess;
}

pcclResult_t spoilGroup(pcclResult_t code) {
  Group* const group = current_group;
  if (group != nullptr && code != pcclSuccess && group->error == pcclSuccess) {
    group->error = code;
    group->failure = lastFailure();
  }
  return code;
}

bool isGroupOpen() { return current_group != nullptr; }

void startGroup() {
  if (current_group == nullptr) current_group = new Group;
  ++current_group->depth;
}

pcclResult_t endGroup() {
  if (current_group == nullptr) {
    return fail(pcclInvalidUsage, "pcclGroupEnd without pcclGroupStart");
  }
  if (--current_group->depth > 0) return pcclSuccess;
  const std::unique_ptr<Group> group(std::exchange(current_group, nullptr));
  if (group->error == pcclSuccess) return launchAll(group->requests);
  return fail(group->error, "nothing of the group was enqueued: %s",
              group->failure.c_str());
}

}  // namespace dipu::pccl
