// SPDX-License-Identifier: Apache-2.0
//
// The model's memory calls.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/plugin_kit/error.h"
#include "tests/fuzz/model.h"

namespace dipu::fuzz {
namespace {

constexpr std::size_t kMostBuffers = 12;
// Small ones fit into a task, middle ones are copied aside, large ones waited
// for.
constexpr std::size_t kSizes[] = {1, 7, 64, 300, 4096, 5000, 65536, 200000};

// Where a copy starts on both sides, and its length.
struct Range {
  std::size_t dst;
  std::size_t src;
  std::size_t bytes;
};

// A range within both buffers; the sides of a copy within one do not overlap.
Range pickRange(Bytes* input, const Buffer& dst, const Buffer& src) {
  std::size_t dst_bytes = dst.shadow.size();
  std::size_t src_bytes = src.shadow.size();
  const bool is_one = &dst == &src;
  if (is_one) dst_bytes = src_bytes = dst_bytes / 2;
  Range range{};
  if (dst_bytes == 0) return range;
  range.dst = input->below(std::min<std::size_t>(dst_bytes, 65536));
  range.src = input->below(std::min<std::size_t>(src_bytes, 65536));
  const std::size_t most =
      std::min(dst_bytes - range.dst, src_bytes - range.src);
  range.bytes = input->byte() % 4 == 0
                    ? most
                    : 1 + input->below(std::min<std::size_t>(most, 65536));
  if (is_one) range.src += dst_bytes;
  return range;
}

}  // namespace

Buffer* Model::pickBuffer() {
  if (buffers_.empty()) return nullptr;
  return buffers_[input_->below(buffers_.size())].get();
}

void Model::orderRead(const Buffer& buffer, Stream* stream) {
  order(buffer.write, stream);
}

void Model::orderWrite(const Buffer& buffer, Stream* stream) {
  order(buffer.write, stream);
  for (const Operation& read : buffer.reads) order(read, stream);
}

void Model::noteRead(Buffer* buffer, const Operation& operation) {
  buffer->reads.push_back(operation);
}

void Model::noteWrite(Buffer* buffer, const Operation& operation) {
  buffer->write = operation;
  buffer->reads.clear();
}

// Gives memory that nobody uses new contents.
void Model::scribble(Buffer* buffer) {
  uint8_t value = input_->byte();
  for (uint8_t& byte : buffer->shadow) byte = value = value * 5 + 113;
  if (buffer->place == Place::kDevice) {
    expectOk("copy", vendor_.memory->copy(buffer->data, buffer->device,
                                          buffer->shadow.data(), DIPU_HOST,
                                          buffer->shadow.size()));
  } else {
    std::copy(buffer->shadow.begin(), buffer->shadow.end(), buffer->data);
  }
}

void Model::allocate() {
  if (buffers_.size() >= kMostBuffers) return;
  auto buffer = std::make_unique<Buffer>();
  const std::size_t bytes = kSizes[input_->below(std::size(kSizes))];
  buffer->shadow.resize(bytes);
  buffer->place = static_cast<Place>(input_->below(5) % 3);
  void* data = nullptr;
  switch (buffer->place) {
    case Place::kDevice:
      buffer->device = static_cast<int32_t>(
          input_->below(static_cast<std::size_t>(devices_)));
      expectOk("allocate",
               vendor_.memory->allocate(buffer->device, bytes, &data));
      break;
    case Place::kPinned:
      expectOk("host_allocate", vendor_.memory->host_allocate(bytes, &data));
      break;
    case Place::kPageable:
      buffer->storage.resize(bytes);
      data = buffer->storage.data();
      break;
  }
  expect(data != nullptr, "an allocation is NULL");
  expect(buffer->place == Place::kPageable ||
             reinterpret_cast<uintptr_t>(data) % 256 == 0,
         "an allocation is not aligned");
  buffer->data = static_cast<uint8_t*>(data);
  scribble(buffer.get());
  buffers_.push_back(std::move(buffer));
}

void Model::releaseBuffer(std::size_t index) {
  Buffer* buffer = buffers_[index].get();
  orderWrite(*buffer, nullptr);
  if (buffer->place == Place::kDevice) {
    vendor_.memory->deallocate(buffer->device, buffer->data);
  } else if (buffer->place == Place::kPinned) {
    vendor_.memory->host_deallocate(buffer->data);
  }
  buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Model::release() {
  if (!buffers_.empty()) releaseBuffer(input_->below(buffers_.size()));
}

void Model::copyAsync() {
  Buffer* dst = pickBuffer();
  Buffer* src = pickBuffer();
  if (dst == nullptr) return;
  if (dst->device == DIPU_HOST && src->device == DIPU_HOST) return;
  const bool by_source = dst->device == DIPU_HOST ||
                         (src->device != DIPU_HOST && input_->byte() % 2 == 0);
  Stream* stream = pickStream(by_source ? src->device : dst->device);
  const Range range = pickRange(input_, *dst, *src);
  if (range.bytes == 0) return;
  orderWrite(*dst, stream);
  // Pageable memory is read by the call itself.
  orderRead(*src, src->place == Place::kPageable ? nullptr : stream);
  expectOk("copy_async",
           vendor_.memory->copy_async(dst->data + range.dst, dst->device,
                                      src->data + range.src, src->device,
                                      range.bytes, stream->handle));
  const Operation operation = issue(stream);
  std::memcpy(dst->shadow.data() + range.dst, src->shadow.data() + range.src,
              range.bytes);
  noteWrite(dst, operation);
  if (src->place == Place::kPageable) {
    scribble(src);
  } else if (src != dst) {
    noteRead(src, operation);
  }
}

void Model::copyNow() {
  Buffer* dst = pickBuffer();
  Buffer* src = pickBuffer();
  if (dst == nullptr) return;
  const Range range = pickRange(input_, *dst, *src);
  if (range.bytes == 0) return;
  orderWrite(*dst, nullptr);
  orderRead(*src, nullptr);
  expectOk("copy", vendor_.memory->copy(dst->data + range.dst, dst->device,
                                        src->data + range.src, src->device,
                                        range.bytes));
  std::memcpy(dst->shadow.data() + range.dst, src->shadow.data() + range.src,
              range.bytes);
}

void Model::copy2d() {
  Buffer* dst = pickBuffer();
  Buffer* src = pickBuffer();
  if (dst == src || !DIPU_HAS(vendor_.memory, copy_2d_async)) return;
  if (dst->device == DIPU_HOST && src->device == DIPU_HOST) return;
  Stream* stream =
      pickStream(dst->device != DIPU_HOST ? dst->device : src->device);
  const std::size_t row = 1 + input_->below(40);
  const std::size_t dst_pitch = row + input_->below(30);
  const std::size_t src_pitch = row + input_->below(30);
  const std::size_t rows =
      std::min(dst->shadow.size() / dst_pitch, src->shadow.size() / src_pitch);
  if (rows == 0) return;
  orderWrite(*dst, stream);
  orderRead(*src, src->place == Place::kPageable ? nullptr : stream);
  expectOk("copy_2d_async",
           vendor_.memory->copy_2d_async(dst->data, dst_pitch, dst->device,
                                         src->data, src_pitch, src->device, row,
                                         rows, stream->handle));
  const Operation operation = issue(stream);
  for (std::size_t i = 0; i < rows; ++i) {
    std::memcpy(dst->shadow.data() + i * dst_pitch,
                src->shadow.data() + i * src_pitch, row);
  }
  noteWrite(dst, operation);
  if (src->place == Place::kPageable) {
    scribble(src);
  } else {
    noteRead(src, operation);
  }
}

void Model::fill() {
  Buffer* buffer = pickBuffer();
  if (buffer == nullptr || buffer->place != Place::kDevice) return;
  Stream* stream = pickStream(buffer->device);
  const std::size_t most = std::min<std::size_t>(buffer->shadow.size(), 65536);
  const std::size_t start = input_->below(most);
  const std::size_t bytes = 1 + input_->below(most - start);
  // Only the low byte counts.
  const int32_t value = input_->byte() * 0x010203;
  orderWrite(*buffer, stream);
  expectOk("set_async",
           vendor_.memory->set_async(buffer->data + start, buffer->device,
                                     value, bytes, stream->handle));
  noteWrite(buffer, issue(stream));
  std::memset(buffer->shadow.data() + start, value, bytes);
}

// The caller has waited for all that writes to it.
void Model::compare(const Buffer& buffer) {
  std::vector<uint8_t> found(buffer.shadow.size());
  expectOk("copy", vendor_.memory->copy(found.data(), DIPU_HOST, buffer.data,
                                        buffer.device, found.size()));
  expect(found == buffer.shadow, "the contents of memory");
}

void Model::checkContents() {
  Buffer* buffer = pickBuffer();
  if (buffer == nullptr) return;
  orderRead(*buffer, nullptr);
  compare(*buffer);
}

void Model::describePointer() {
  Buffer* buffer = pickBuffer();
  if (buffer == nullptr || !DIPU_HAS(vendor_.memory, get_pointer_info)) return;
  const std::size_t offset =
      input_->below(std::min<std::size_t>(buffer->shadow.size(), 65536));
  dipu_pointer_info info{};
  info.struct_size = sizeof(info);
  expectOk("get_pointer_info",
           vendor_.memory->get_pointer_info(buffer->data + offset, &info));
  const dipu_memory_kind kinds[] = {DIPU_MEMORY_DEVICE, DIPU_MEMORY_PINNED,
                                    DIPU_MEMORY_UNKNOWN};
  expect(info.kind == kinds[static_cast<int>(buffer->place)],
         "the kind of a pointer");
  expect(info.device == buffer->device, "the device of a pointer");
  if (info.allocation == nullptr) return;
  expect(info.allocation == buffer->data, "the allocation of a pointer");
  expect(info.bytes >= buffer->shadow.size(), "the length of an allocation");
}

}  // namespace dipu::fuzz
