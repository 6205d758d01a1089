// SPDX-License-Identifier: Apache-2.0
//
// A host for the operator library's tests: handles and the DIOPI runtime.
#pragma once

#include <diopi/functions.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "diopi_adapter/abi/diopi_host.h"
#include "kernels/tests/device_tensor.h"
#include "softdevice/soft_debug.h"

namespace dipu::kernels::testing {

// A handle that stands for a tensor; borrows its sizes and memory.
inline diopiTensor handleOf(const TensorView& view) {
  diopiTensor handle{};
  handle.data = view.data;
  handle.sizes = view.sizes;
  handle.strides = view.strides;
  handle.numel = view.numel;
  handle.ndim = view.ndim;
  handle.dtype = static_cast<int32_t>(view.dtype);
  handle.item_size = static_cast<uint16_t>(itemSize(view.dtype));
  return handle;
}

// What a generator handle of these tests points to.
struct Generator {
  uint64_t seed = 0;
  uint64_t offset = 0;

  diopiGeneratorHandle_t handle() {
    return reinterpret_cast<diopiGeneratorHandle_t>(this);
  }
};

// A tensor that the library asked for.
struct Required {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  std::shared_ptr<void> memory;
  diopiTensor handle;
};

// Names of the kernels that have run, see soft_counters_read.
inline std::vector<std::string> countedNames() {
  std::size_t count = 0;
  soft_counters_read(nullptr, 0, &count);
  std::vector<soft_counter> counters(count);
  soft_counters_read(counters.data(), count, &count);
  std::vector<std::string> names;
  for (const soft_counter& counter : counters) names.push_back(counter.name);
  return names;
}

// Owns required tensors until the test ends. All kernels have to bear the name
// of a DIOPI function.
class Diopi : public ::testing::Test {
 protected:
  Diopi() {
    table_.struct_size = sizeof(table_);
    table_.require_tensor = [](diopiContext* context, const diopiSize_t* sizes,
                               const diopiSize_t* strides, diopiDtype_t dtype,
                               diopiDevice_t, diopiTensorHandle_t* out) {
      *out = require(context, {sizes->data, sizes->data + sizes->len}, dtype);
      for (int64_t i = 0; strides != nullptr && i < strides->len; ++i) {
        stridesOf(context)[i] = strides->data[i];
      }
      return diopiSuccess;
    };
    table_.require_buffer = [](diopiContext* context, int64_t bytes,
                               diopiDevice_t, diopiTensorHandle_t* out) {
      *out = require(context, {bytes}, diopi_dtype_uint8);
      return diopiSuccess;
    };
    table_.generator_get_seed_and_offset =
        [](diopiGeneratorHandle_t generator, uint64_t* seed, uint64_t* offset) {
          const auto* position = reinterpret_cast<Generator*>(generator);
          *seed = position->seed;
          *offset = position->offset;
          return diopiSuccess;
        };
    table_.generator_set_seed_and_offset = [](diopiGeneratorHandle_t generator,
                                              uint64_t seed, uint64_t offset) {
      *reinterpret_cast<Generator*>(generator) = {seed, offset};
      return diopiSuccess;
    };
    dipu_diopi_rt_install(&table_);
    soft_stream_get_default(0, &stream_);
    context_ = {stream_, 0, 0, this};
    soft_counters_start();
  }
  ~Diopi() override {
    soft_stream_synchronize(stream_);
    for (const std::string& name : countedNames()) {
      EXPECT_NE(dlsym(RTLD_DEFAULT, name.c_str()), nullptr)
          << "a kernel is called " << name;
    }
    soft_counters_stop();
    soft_counters_reset();
    dipu_diopi_rt_install(nullptr);
  }

  // Strides of the last required tensor.
  static int64_t* stridesOf(diopiContext* context) {
    return static_cast<Diopi*>(context->owner)
        ->required_.back()
        ->strides.data();
  }

  static diopiTensorHandle_t require(diopiContext* context,
                                     std::vector<int64_t> sizes,
                                     diopiDtype_t dtype) {
    auto required = std::make_unique<Required>();
    required->sizes = std::move(sizes);
    required->strides.assign(required->sizes.size(), 1);
    for (std::size_t i = required->sizes.size(); i-- > 1;) {
      required->strides[i - 1] = required->strides[i] * required->sizes[i];
    }
    TensorView view;
    view.numel = product(required->sizes);
    view.dtype = static_cast<DType>(dtype);
    required->memory = deviceMemory(static_cast<std::size_t>(view.numel) * 8);
    view.data = required->memory.get();
    view.sizes = required->sizes.data();
    view.strides = required->strides.data();
    view.ndim = static_cast<int32_t>(required->sizes.size());
    required->handle = handleOf(view);
    auto* self = static_cast<Diopi*>(context->owner);
    self->required_.push_back(std::move(required));
    return &self->required_.back()->handle;
  }

  // The elements of a required tensor, after the stream's work.
  template <typename T>
  std::vector<T> read(diopiConstTensorHandle_t tensor) {
    soft_stream_synchronize(stream_);
    std::vector<T> values(static_cast<std::size_t>(tensor->numel));
    soft_memcpy(values.data(), tensor->data, values.size() * sizeof(T));
    return values;
  }

  dipu_diopi_rt_host table_{};
  soft_stream* stream_ = nullptr;
  diopiContext context_{};
  std::vector<std::unique_ptr<Required>> required_;
};

inline diopiScalar_t integer(int64_t value) {
  diopiScalar_t scalar;
  scalar.stype = diopi_dtype_int64;
  scalar.ival = value;
  return scalar;
}

}  // namespace dipu::kernels::testing
