// SPDX-License-Identifier: Apache-2.0
//
// Life of a group, and how its operations are enqueued.
#include "core/distributed/process_group.h"

#include <ATen/ops/isnan.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>
#include <unistd.h>

#include <numeric>
#include <set>
#include <utility>

#include "core/allocator/device_allocator.h"
#include "core/distributed/bulletin.h"
#include "core/distributed/work.h"
#include "core/runtime/device.h"
#include "core/runtime/event.h"

namespace dipu::distributed {
namespace {

// The groups of the process, for its end. Never destroyed.
struct Groups {
  std::mutex mutex;
  std::set<ProcessGroupDICL*> all;  // guarded by mutex
};

Groups& groups() {
  static auto* const instance = new Groups;
  return *instance;
}

// Makes a stream current for a scope.
class StreamScope {
 public:
  explicit StreamScope(const runtime::StreamRecord& stream)
      : previous_(runtime::exchangeCurrentStream(stream.stream())) {}
  ~StreamScope() { runtime::exchangeCurrentStream(previous_); }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  const c10::Stream previous_;
};

// `stream` waits for what `other` has been given so far.
void follow(const runtime::StreamRecord& stream,
            const runtime::StreamRecord& other) {
  const runtime::PooledEvent event = runtime::acquireEvent(other.device);
  runtime::recordEvent(*event, other);
  runtime::waitEvent(stream, *event);
}

void tellAllocator(const std::vector<at::Tensor>& tensors,
                   const runtime::StreamRecord& stream) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    allocator::recordStream(tensor.storage().data(), stream.stream());
  }
}

}  // namespace

ProcessGroupDICL::ProcessGroupDICL(c10::intrusive_ptr<c10d::Store> store,
                                   int rank, int size,
                                   c10::intrusive_ptr<Options> options)
    : Backend(rank, size),
      store_(std::move(store)),
      options_(std::move(options)),
      process_(getpid()),
      has_timing_(options_->timing) {
  TORCH_CHECK_VALUE(rank >= 0 && rank < size, "rank ", rank,
                    " is not one of a group of ", size);
  init();
  const std::lock_guard<std::mutex> lock(groups().mutex);
  groups().all.insert(this);
}

ProcessGroupDICL::~ProcessGroupDICL() {
  {
    const std::lock_guard<std::mutex> lock(groups().mutex);
    groups().all.erase(this);
  }
  stopWatchdog();
  leaveConnection();
}

// What threads waited for when the process forked cannot be destroyed in the
// child.
void ProcessGroupDICL::leaveConnection() {
  const std::lock_guard<std::mutex> lock(connection_mutex_);
  if (getpid() == process_) {
    connection_.reset();
  } else if (connection_ != nullptr) {
    new std::shared_ptr<Connection>(std::move(connection_));
  }
}

void ProcessGroupDICL::stopAll() {
  const std::lock_guard<std::mutex> lock(groups().mutex);
  for (ProcessGroupDICL* group : groups().all) group->stopWatchdog();
}

void ProcessGroupDICL::stopWatchdog() {
  if (const auto connection = this->connection()) connection->watchdog->stop();
}

std::string ProcessGroupDICL::who() const {
  std::string text = c10::str("rank ", rank_, " of ", size_,
                              " of the process group ", facts().name);
  const auto& global = options_->global_ranks_in_group;
  const auto own = static_cast<std::size_t>(rank_);
  if (own < global.size() && global[own] != own) {
    text += c10::str(" (global rank ", global[own], ")");
  }
  return text;
}

GroupFacts ProcessGroupDICL::facts() const {
  GroupFacts facts{getGroupUid(), getGroupDesc(),
                   options_->global_ranks_in_group};
  if (facts.name.empty()) facts.name = options_->group_name;
  if (facts.global_ranks.empty()) {
    facts.global_ranks.resize(size_);
    std::iota(facts.global_ranks.begin(), facts.global_ranks.end(), 0);
  }
  return facts;
}

// ------------------------------------------------------------ connection

std::shared_ptr<ProcessGroupDICL::Connection> ProcessGroupDICL::connection()
    const {
  const std::lock_guard<std::mutex> lock(connection_mutex_);
  return connection_;
}

std::shared_ptr<ProcessGroupDICL::Connection> ProcessGroupDICL::connect(
    c10::DeviceIndex device) {
  const auto connection = this->connection();
  if (connection == nullptr) return makeConnection(device);
  const c10::DeviceIndex own = connection->communicator->device();
  TORCH_CHECK_VALUE(
      own == device, who(), " works on dipu:", int{own},
      ", the device of its first operation, but was given a tensor of dipu:",
      int{device},
      "; a rank has one device, which torch.dipu.set_device() makes the "
      "current one");
  return connection;
}

std::shared_ptr<ProcessGroupDICL::Connection> ProcessGroupDICL::makeConnection(
    c10::DeviceIndex device) {
  const std::string unique_id =
      meet(*store_, rank_, size_, options_->timeout,
           [] { return Communicator::newUniqueId(); });
  auto communicator =
      std::make_shared<Communicator>(device, rank_, size_, unique_id);
  leaveMeeting(*store_, rank_);
  const c10::Stream stream =
      runtime::streamFromPool(device, options_->is_high_priority_stream);
  FlightRecorder::instance().addGroup(facts());
  auto connection = std::make_shared<Connection>(
      Connection{facts(), communicator, &runtime::recordOf(stream),
                 makeWatchdog(communicator, unique_id)});
  const std::lock_guard<std::mutex> lock(connection_mutex_);
  connection_ = connection;
  return connection;
}

std::unique_ptr<Watchdog> ProcessGroupDICL::makeWatchdog(
    const std::shared_ptr<Communicator>& communicator,
    const std::string& unique_id) {
  Watchdog::Settings settings;
  settings.who = who();
  settings.rank = rank_;
  settings.size = size_;
  settings.heartbeat_limit = options_->heartbeat_limit;
  if (!options_->dump_prefix.empty()) {
    settings.dump_path =
        c10::str(options_->dump_prefix, facts().global_ranks[rank_]);
  }
  auto bulletin = std::make_unique<Bulletin>(*store_, unique_id, rank_, size_);
  return std::make_unique<Watchdog>(std::move(settings), health_, communicator,
                                    std::move(bulletin), onDone());
}

Watchdog::Done ProcessGroupDICL::onDone() {
  return [this](const std::shared_ptr<Operation>& operation) {
    if (!hasHooks()) return;
    std::chrono::duration<float> active{};
    if (operation->hasTiming()) {
      active = std::chrono::duration<float, std::milli>(operation->duration());
    }
    hook_.call(std::make_shared<c10d::WorkInfo>(
        operation->type(), operation->description().sequence,
        operation->begin(), Clock::now(), active));
  };
}

void ProcessGroupDICL::eagerConnectSingleDevice(at::Device device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  connect(runtime::resolveDevice(device.index()));
}

// -------------------------------------------------------------- enqueueing

std::string ProcessGroupDICL::Call::name() const {
  constexpr std::size_t kPrefix = sizeof("dicl:") - 1;
  return message.empty() ? title + kPrefix : message;
}

ProcessGroupDICL::Work ProcessGroupDICL::run(Call call, const Body& body) {
  const c10::DeviceIndex device = deviceOf(call);
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(!is_shut_down_, who(), " has been destroyed and can do no ",
              call.name());
  health_->check();
  const std::shared_ptr<Connection> connection = connect(device);
  connection->watchdog->checkHeartbeat();
  if (call.timeout.count() <= 0) call.timeout = options_->timeout;
  auto operation =
      std::make_shared<Operation>(call.type, describe(call), call.timeout,
                                  connection->communicator, has_timing_);
  const runtime::DeviceScope scope(device);
  try {
    checkNumbers(call);
    enqueue(*connection, call, body, *operation);
  } catch (c10::Error& error) {
    reportFailure(*connection, *operation, error.what_without_backtrace());
    error.add_context(
        c10::str("in ", operation->description().text(), " of ", who()));
    throw;
  }
  connection->watchdog->watch(operation);
  FlightRecorder::instance().record(connection->facts, operation, call.inputs,
                                    call.outputs);
  return makeWork(*connection, call, operation);
}

// The others wait for an operation that this rank will never come to. When the
// communicator has failed before, that is the reason, which is thrown.
void ProcessGroupDICL::reportFailure(const Connection& connection,
                                     const Operation& operation,
                                     const std::string& text) {
  const std::string earlier = connection.communicator->asyncError();
  if (!health_->isGood() || !earlier.empty()) {
    connection.watchdog->fail(FailureKind::kCommunicator, earlier);
    connection.watchdog->awaitEnd();
    health_->check();
  }
  connection.watchdog->fail(
      FailureKind::kCommunicator,
      c10::str("it could not enqueue ", operation.description().text(), ": ",
               text));
}

void ProcessGroupDICL::enqueue(Connection& connection, const Call& call,
                               const Body& body, Operation& operation) {
  const runtime::StreamRecord& stream = *connection.stream;
  follow(stream, runtime::currentStreamRecord(stream.device));
  tellAllocator(call.inputs, stream);
  tellAllocator(call.outputs, stream);
  const StreamScope scope(stream);
  operation.recordStart(stream);
  Collectives collectives(*connection.communicator, stream);
  body(collectives);
  operation.recordEnd(stream);
}

ProcessGroupDICL::Work ProcessGroupDICL::makeWork(
    const Connection& connection, const Call& call,
    const std::shared_ptr<Operation>& operation) {
  const StreamScope scope(*connection.stream);
  return c10::make_intrusive<WorkDICL>(
      WorkDICL::Setup{
          rank_, call.type, call.title, connection.communicator->device(),
          options_->blocking_wait || call.is_barrier, call.outputs, health_},
      operation);
}

Description ProcessGroupDICL::describe(const Call& call) {
  Description description;
  description.name = call.name();
  description.is_message = !call.message.empty();
  description.sequence = description.is_message ? ++messages_ : ++collectives_;
  const Tensors& tensors = call.inputs.empty() ? call.outputs : call.inputs;
  description.tensors = call.is_barrier ? 0 : tensors.size();
  description.dtype = tensors[0].scalar_type();
  description.sizes = tensors[0].sizes().vec();
  return description;
}

void ProcessGroupDICL::checkNumbers(const Call& call) const {
  if (!options_->nan_check) return;
  for (const at::Tensor& tensor : call.inputs) {
    if (!c10::isFloatingType(tensor.scalar_type()) &&
        !c10::isComplexType(tensor.scalar_type())) {
      continue;
    }
    TORCH_CHECK_VALUE(!at::isnan(tensor).any().item<bool>(), who(),
                      " gives NaN to ", call.name(), ", in a tensor of ",
                      tensor.scalar_type(), tensor.sizes(),
                      "; DICL_NAN_CHECK=0 lets it");
  }
}

// -------------------------------------------------------------------- end

void ProcessGroupDICL::abort() {
  if (const auto connection = this->connection()) {
    connection->watchdog->fail(FailureKind::kCommunicator,
                               "its process aborted it");
    connection->watchdog->awaitEnd();
  }
  health_->fail(FailureKind::kCommunicator, who() + " has been aborted");
}

void ProcessGroupDICL::shutdown() {
  waitForPendingWorks();
  stopWatchdog();
  const std::lock_guard<std::mutex> lock(mutex_);
  is_shut_down_ = true;
  leaveConnection();
}

void ProcessGroupDICL::waitForPendingWorks() {
  if (const auto connection = this->connection()) {
    connection->watchdog->awaitIdle();
  }
  hook_.awaitIdle();
}

c10d::ErrorType ProcessGroupDICL::getError() {
  switch (health_->kind()) {
    case FailureKind::kNone:
      return c10d::ErrorType::SUCCESS;
    case FailureKind::kTimeout:
      return c10d::ErrorType::TIMEOUT;
    case FailureKind::kCommunicator:
      return c10d::ErrorType::COMM_ERROR;
    case FailureKind::kRemote:
      return c10d::ErrorType::REMOTE_ERROR;
  }
  return c10d::ErrorType::COMM_ERROR;
}

void ProcessGroupDICL::registerOnCompletionHook(
    std::function<void(std::shared_ptr<c10d::WorkInfo>)>&& hook) {
  onCompletionHook_ = hook;
  hook_.set(std::move(hook));
}

c10::intrusive_ptr<c10d::Backend> ProcessGroupDICL::split(
    const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
    const c10::intrusive_ptr<c10d::Backend::Options>& opts) {
  int own = 0;
  while (own < static_cast<int>(ranks.size()) && ranks[own] != rank_) ++own;
  if (own == static_cast<int>(ranks.size())) return nullptr;
  auto options = c10::dynamic_intrusive_pointer_cast<Options>(opts);
  TORCH_CHECK_TYPE(options, "the options of a part of ", who(),
                   " must be those of the backend dicl, not of ",
                   opts ? opts->backend : "nothing");
  return c10::make_intrusive<ProcessGroupDICL>(
      store, own, static_cast<int>(ranks.size()), options);
}

}  // namespace dipu::distributed
