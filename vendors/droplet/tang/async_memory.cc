// SPDX-License-Identifier: Apache-2.0
//
// Memory in the order of a stream. softdevice frees memory by waiting for the
// device, so what tangFreeAsync is given is kept until that is no loss, and
// handed out again meanwhile.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "softdevice/soft_graph.h"
#include "vendors/droplet/tang/status.h"

namespace dipu::tang {
namespace {

struct Block {
  void* ptr;
  std::size_t bytes;
  int device;
  uint64_t stream_id;  // of the stream that freed it
  soft_event* freed;   // reached when work before the free is done
};

// Never destroyed: threads may free while the process ends.
struct KeptMemory {
  std::mutex mutex;
  std::vector<Block> blocks;
  std::atomic<std::size_t> count{0};  // blocks.size(), for a look without lock
};

KeptMemory& keptMemory() {
  static auto* const instance = new KeptMemory;
  return *instance;
}

void putBlock(const Block& block) {
  KeptMemory& kept = keptMemory();
  std::lock_guard<std::mutex> lock(kept.mutex);
  kept.blocks.push_back(block);
  kept.count = kept.blocks.size();
}

// Takes the blocks of `device` out.
std::vector<Block> takeBlocks(int device) {
  KeptMemory& kept = keptMemory();
  std::lock_guard<std::mutex> lock(kept.mutex);
  const auto first = std::stable_partition(
      kept.blocks.begin(), kept.blocks.end(),
      [&](const Block& block) { return block.device != device; });
  std::vector<Block> taken(first, kept.blocks.end());
  kept.blocks.erase(first, kept.blocks.end());
  kept.count = kept.blocks.size();
  return taken;
}

// Asking harms nobody's capture: what is asked about is the runtime's own.
bool isReached(soft_event* event) {
  soft_capture_mode mode = SOFT_CAPTURE_RELAXED;
  soft_thread_exchange_capture_mode(&mode);
  const bool reached = soft_event_query(event) == SOFT_OK;
  soft_thread_exchange_capture_mode(&mode);
  return reached;
}

// Whether work of the stream may use the block without waiting.
bool isFree(const Block& block, uint64_t stream_id) {
  return block.stream_id == stream_id || isReached(block.freed);
}

// A block for the stream, not much larger than needed; NULL if there is none.
void* reuseBlock(soft_stream* stream, std::size_t bytes) {
  KeptMemory& kept = keptMemory();
  if (kept.count == 0) return nullptr;
  const int device = soft_stream_device(stream);
  const uint64_t stream_id = soft_stream_id(stream);
  std::lock_guard<std::mutex> lock(kept.mutex);
  for (Block& block : kept.blocks) {
    if (block.device != device || block.bytes < bytes ||
        block.bytes / 2 > bytes || !isFree(block, stream_id)) {
      continue;
    }
    void* const ptr = block.ptr;
    soft_event_destroy(block.freed);
    block = kept.blocks.back();
    kept.blocks.pop_back();
    kept.count = kept.blocks.size();
    return ptr;
  }
  return nullptr;
}

tangError_t keep(Block block, soft_stream* stream) {
  if (tangError_t error = check(soft_event_create(
          block.device, SOFT_EVENT_DISABLE_TIMING, &block.freed))) {
    return error;
  }
  if (tangError_t error = check(soft_event_record(block.freed, stream))) {
    soft_event_destroy(block.freed);
    return error;
  }
  putBlock(block);
  return tangSuccess;
}

}  // namespace

tangError_t releaseKeptMemory(int device) {
  if (keptMemory().count == 0) return tangSuccess;
  tangError_t result = tangSuccess;
  for (const Block& block : takeBlocks(device)) {
    const tangError_t error = check(soft_free(block.ptr));
    if (error == tangSuccess) {
      soft_event_destroy(block.freed);
    } else {
      putBlock(block);  // a task, which must not wait, may ask
      result = error;
    }
  }
  return result;
}

void forgetKeptMemory(int device) {
  for (const Block& block : takeBlocks(device)) soft_event_destroy(block.freed);
}

bool isKeptMemory(const void* ptr) {
  KeptMemory& kept = keptMemory();
  if (kept.count == 0) return false;
  std::lock_guard<std::mutex> lock(kept.mutex);
  return std::any_of(kept.blocks.begin(), kept.blocks.end(),
                     [&](const Block& block) { return block.ptr == ptr; });
}

}  // namespace dipu::tang

using dipu::tang::check;
using dipu::tang::fail;
using dipu::tang::resolveStream;

tangError_t tangMallocAsync(void** pptr, size_t sizeBytes,
                            tangStream_t hStream) {
  if (tangError_t error = dipu::tang::requireOutput("tangMallocAsync", pptr)) {
    return error;
  }
  soft_stream* stream = nullptr;
  if (tangError_t error = resolveStream(hStream, &stream)) return error;
  if (tangError_t error =
          dipu::tang::refuseCapture("tangMallocAsync", stream)) {
    return error;
  }
  void* ptr =
      sizeBytes == 0 ? nullptr : dipu::tang::reuseBlock(stream, sizeBytes);
  if (ptr != nullptr) {
    *pptr = ptr;
    return tangSuccess;
  }
  return dipu::tang::allocateOn(soft_stream_device(stream), sizeBytes, pptr);
}

tangError_t tangFreeAsync(void* ptr, tangStream_t hStream) {
  soft_stream* stream = nullptr;
  if (tangError_t error = resolveStream(hStream, &stream)) return error;
  if (tangError_t error = dipu::tang::refuseCapture("tangFreeAsync", stream)) {
    return error;
  }
  if (ptr == nullptr) return tangSuccess;
  soft_pointer_info info;
  if (tangError_t error = check(soft_pointer_get_info(ptr, &info))) {
    return error;
  }
  if (info.kind != SOFT_MEMORY_DEVICE || info.allocation != ptr ||
      dipu::tang::isKeptMemory(ptr) || dipu::tang::isOpenedMemory(ptr)) {
    return fail(tangErrorInvalidDevicePointer,
                "tangFreeAsync: %p is not the start of device memory of this "
                "process that is in use",
                ptr);
  }
  if (info.device != soft_stream_device(stream)) {
    return fail(tangErrorInvalidValue,
                "tangFreeAsync: %p is memory of device %d, the stream is of "
                "device %d",
                ptr, info.device, soft_stream_device(stream));
  }
  return dipu::tang::keep(
      {ptr, info.bytes, info.device, soft_stream_id(stream), nullptr}, stream);
}
