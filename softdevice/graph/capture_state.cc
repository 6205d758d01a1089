// SPDX-License-Identifier: Apache-2.0
#include "softdevice/graph/capture_state.h"

#include <algorithm>
#include <utility>

#include "softdevice/device/device.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {
namespace {

struct List {
  std::mutex mutex;  // guards what follows; nothing is locked under it
  std::vector<std::unique_ptr<Capture>> captures;
  uint64_t last_id = 0;
};

List& list() {
  static List* const all = new List;  // threads may capture until the end
  return *all;
}

void addSorted(const std::vector<uint32_t>& more, std::vector<uint32_t>* set) {
  std::vector<uint32_t> all;
  std::set_union(set->begin(), set->end(), more.begin(), more.end(),
                 std::back_inserter(all));
  *set = std::move(all);
}

// Which nodes must have run when those of `tips` have.
std::vector<bool> behind(const GraphBody& body,
                         const std::vector<uint32_t>& tips) {
  std::vector<bool> reached(body.nodes.size(), false);
  for (uint32_t tip : tips) reached[tip] = true;
  for (std::size_t i = body.nodes.size(); i-- > 0;) {
    if (!reached[i]) continue;
    for (uint32_t before : body.nodes[i].after) reached[before] = true;
  }
  return reached;
}

}  // namespace

std::atomic<int> captures_underway{0};

uint64_t thisThread() {
  static std::atomic<uint64_t> last{0};
  thread_local const uint64_t number = ++last;
  return number;
}

Capture::Capture(uint64_t id, soft_stream* origin, soft_capture_mode mode,
                 uint64_t thread)
    : id_(id), mode_(mode), thread_(thread), body_(new GraphBody) {
  join(origin, {});
}

Capture::~Capture() {
  for (const Lane& lane : lanes_) lane.stream->setCapturing(false);
}

Capture::Lane* Capture::laneOf(const soft_stream* stream) {
  for (Lane& lane : lanes_) {
    if (lane.stream == stream) return &lane;
  }
  return nullptr;
}

const Capture::Lane* Capture::laneOf(const soft_stream* stream) const {
  return const_cast<Capture*>(this)->laneOf(stream);
}

bool Capture::contains(const soft_stream* stream) const {
  return laneOf(stream) != nullptr;
}

bool Capture::contains(const Device& device) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
    return &lane.stream->device() == &device;
  });
}

bool Capture::mayEnd(uint64_t thread) const {
  return mode_ == SOFT_CAPTURE_RELAXED || thread == thread_;
}

bool Capture::forbidsUnsafe(uint64_t thread, soft_capture_mode mode) const {
  if (isSpoilt() || mode == SOFT_CAPTURE_RELAXED) return false;
  if (thread == thread_) return mode_ != SOFT_CAPTURE_RELAXED;
  return mode == SOFT_CAPTURE_GLOBAL && mode_ == SOFT_CAPTURE_GLOBAL;
}

void Capture::spoil(const char* reason) {
  if (reason_.empty()) reason_ = reason;
}

soft_status Capture::failSpoilt(const char* function) const {
  return fail(SOFT_CAPTURE_INVALIDATED,
              "%s: capture %lu of stream %lu has been invalidated by this "
              "call: %s",
              function, id_, origin()->id(), reason_.c_str());
}

void Capture::add(const soft_stream* stream, GraphNode node) {
  Lane* lane = laneOf(stream);
  const auto index = static_cast<uint32_t>(body_->nodes.size());
  node.lane = static_cast<uint32_t>(lane - lanes_.data());
  node.after = lane->tips;
  lane->tips.reserve(1);  // what throws comes first
  body_->nodes.push_back(std::move(node));
  lane->tips.assign(1, index);
}

void Capture::addPayload(const PayloadWriter& fill, GraphNode* node) {
  node->payload = body_->payloads.size();
  body_->payloads.resize(node->payload + payloadBlocks(node->bytes));
  fill(body_->payloads.data() + node->payload);
}

std::vector<uint32_t> Capture::tips(const soft_stream* stream) const {
  return laneOf(stream)->tips;
}

void Capture::join(soft_stream* stream, const std::vector<uint32_t>& nodes) {
  if (Lane* lane = laneOf(stream)) {
    addSorted(nodes, &lane->tips);
    return;
  }
  Lane lane{stream, nodes};
  lanes_.reserve(lanes_.size() + 1);  // what throws comes first
  Device& device = stream->device();
  body_->lanes.push_back({&device, device.generation(), stream->id()});
  lanes_.push_back(std::move(lane));
  stream->setCapturing(true);
}

soft_status Capture::finish(std::shared_ptr<const GraphBody>* out_body) {
  if (isSpoilt()) return failSpoilt("soft_stream_end_capture");
  body_->end = lanes_.front().tips;
  const std::vector<bool> joined = behind(*body_, body_->end);
  for (const Lane& lane : lanes_) {
    for (uint32_t tip : lane.tips) {
      if (joined[tip]) continue;
      return fail(SOFT_CAPTURE_UNJOINED,
                  "soft_stream_end_capture: stream %lu has not waited for the "
                  "work of stream %lu (node %u of capture %lu); record an "
                  "event there and wait for it before the capture ends",
                  origin()->id(), lane.stream->id(), tip, id_);
    }
  }
  *out_body = std::move(body_);
  return SOFT_OK;
}

Captures::Captures() : lock_(list().mutex) {}

const std::vector<std::unique_ptr<Capture>>& Captures::all() const {
  return list().captures;
}

Capture* Captures::of(const soft_stream* stream) const {
  for (const auto& capture : all()) {
    if (capture->contains(stream)) return capture.get();
  }
  return nullptr;
}

Capture* Captures::withId(uint64_t id) const {
  for (const auto& capture : all()) {
    if (capture->id() == id) return capture.get();
  }
  return nullptr;
}

void Captures::begin(soft_stream* stream, soft_capture_mode mode) {
  list().captures.push_back(
      std::make_unique<Capture>(++list().last_id, stream, mode, thisThread()));
  captures_underway.store(static_cast<int>(all().size()),
                          std::memory_order_relaxed);
}

std::unique_ptr<Capture> Captures::remove(const Capture* capture) {
  auto& captures = list().captures;
  const auto at =
      std::find_if(captures.begin(), captures.end(),
                   [&](const auto& other) { return other.get() == capture; });
  std::unique_ptr<Capture> result = std::move(*at);
  captures.erase(at);
  captures_underway.store(static_cast<int>(captures.size()),
                          std::memory_order_relaxed);
  return result;
}

}  // namespace dipu::softdevice
