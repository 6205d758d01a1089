// SPDX-License-Identifier: Apache-2.0
//
// tang's kernel language: a kernel is a function that is written for one thread
// of a block, as for a card, and runs here as a loop over the block's threads.
//
//   template <typename T>
//   __global__ void scale(T* data, int64_t count, T factor) {
//     const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
//     if (i < count) data[i] *= factor;
//   }
//   ...
//   void* args[] = {&data, &count, &factor};
//   launchKernel(scale<float>, grid, block, args, /*sharedBytes=*/0, stream);
//
// Parameters. `args` holds the address of one value per parameter, of exactly
// the parameter's type. Scalars are passed on. A pointer is a device address;
// the launch checks it and turns it into the address that the kernel uses (NULL
// stays NULL). A structure must be trivially copyable and have a member
// `T translate(tang::Translator&) const` that returns it with its pointers
// translated. Everything else does not compile.
//
// Order. The blocks of a grid run in any order and in parallel; the threads of
// one block take turns, from barrier to barrier. tang_block.h has barriers and
// shared memory, tang_atomic.h what blocks may do to the same memory.
//
// Failures. What a kernel throws, and a barrier that not all threads of a block
// reach, make the launch fail: the next call that synchronises returns
// tangErrorLaunchFailure, with the kernel's name in its text.
//
// A translation unit with kernels is compiled with OpenMP; without it the
// blocks run on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "softdevice/softdevice.h"
#include "vendors/droplet/tang/tang_atomic.h"
#include "vendors/droplet/tang/tang_block.h"
#include "vendors/droplet/tang/tang_grid.h"
#include "vendors/droplet/tang/tang_parameter.h"
#include "vendors/droplet/tang/tang_runtime.h"

// Enqueues a kernel and returns tangSuccess or why it could not be enqueued; an
// illegal address is reported by a later call that synchronises. Arguments:
// (kernel, dim3 grid, dim3 block, void** args = NULL, size_t sharedBytes = 0,
// tangStream_t stream = NULL). A kernel whose name has a comma needs
// parentheses. It is a macro so that the kernel's name, and not only its
// address, reaches the loop that it is compiled into, and messages.
#define launchKernel(kernel, ...) \
  ::tang::launch([&] { return kernel; }, #kernel, __VA_ARGS__)

// Parts of the runtime library that launch() and registerKernel() use.
extern "C" {
typedef tangError_t (*tangKernelLauncher)(const void* host_func,
                                          const char* name, dim3 grid,
                                          dim3 block, void** args,
                                          std::size_t shared_bytes,
                                          tangStream_t stream);
TANG_API void tangRegisterKernel(const void* host_func, const char* name,
                                 std::size_t parameters,
                                 tangKernelLauncher launcher);
// Checks a configuration and finds the stream.
TANG_API tangError_t tangCheckLaunch(const dim3* grid, const dim3* block,
                                     void* const* args, int count,
                                     std::size_t shared_bytes,
                                     tangStream_t stream,
                                     soft_stream** out_stream);
// What the task throws makes the launch fail; the text then has the name, which
// lives as long as the program.
TANG_API tangError_t tangEnqueueLaunch(soft_stream* stream, const char* name,
                                       soft_task task, const void* payload,
                                       std::size_t bytes);
}

namespace tang {
namespace detail {

// What the stream is given; its copy is the one that runs.
template <typename Body>
struct Launch {
  Shape shape;
  Body body;
  static void run(void* payload) {
    const auto* launch = static_cast<const Launch*>(payload);
    runGrid(launch->shape, launch->body);
  }
};

// `kernel()` gives the kernel; the captures are trivially copyable.
template <typename Kernel, typename... P>
tangError_t enqueue(Kernel kernel, const char* name, const Shape& shape,
                    soft_stream* stream, P... values) {
  auto call = [=] { kernel()(values...); };
  const Launch<Body<decltype(call), P...>> launch{shape, {call}};
  return tangEnqueueLaunch(stream, name, launch.run, &launch, sizeof(launch));
}

template <typename Kernel, typename... P, std::size_t... I>
tangError_t launchOn(Kernel kernel, void (*)(P...), const char* name,
                     const Shape& shape, void** args, soft_stream* stream,
                     std::index_sequence<I...>) {
  static_assert(!(std::is_reference_v<P> || ...),
                "a kernel parameter is passed by value");
  Translator translator(stream);
  // Braces: in order, so that the first illegal address is the one reported.
  std::tuple<P...> values{deviceValue<P>(
      *static_cast<const std::remove_cv_t<P>*>(args[I]), translator)...};
  if (!translator.ok()) return tangSuccess;
  return std::apply(
      [&](auto... value) {
        return enqueue(kernel, name, shape, stream, value...);
      },
      values);
}

// Number of parameters, as an index sequence.
template <typename... P>
std::index_sequence_for<P...> indicesOf(void (*)(P...));

}  // namespace detail

// See launchKernel. `get` returns the kernel's address. Written with a name,
// the kernel is known from the type of `get`, which then holds nothing. `name`
// lives as long as the program.
template <typename Get>
tangError_t launch(Get get, const char* name, dim3 grid, dim3 block,
                   void** args = nullptr, std::size_t shared_bytes = 0,
                   tangStream_t stream = nullptr) {
  auto* const kernel = get();
  const auto indices = decltype(detail::indicesOf(kernel)){};
  soft_stream* target = nullptr;
  if (tangError_t error =
          tangCheckLaunch(&grid, &block, args, static_cast<int>(indices.size()),
                          shared_bytes, stream, &target)) {
    return error;
  }
  const detail::Shape shape{grid, block, shared_bytes};
  if constexpr (std::is_empty_v<Get>) {
    return detail::launchOn(get, kernel, name, shape, args, target, indices);
  } else {
    auto held = [kernel] { return kernel; };
    return detail::launchOn(held, kernel, name, shape, args, target, indices);
  }
}

// Lets tangLaunchKernel launch `kernel`; again is harmless. On a card the
// vendor's compiler does it. `name` lives as long as the program.
template <typename... P>
void registerKernel(void (*kernel)(P...), const char* name) {
  tangRegisterKernel(
      reinterpret_cast<const void*>(kernel), name, sizeof...(P),
      [](const void* host_func, const char* label, dim3 grid, dim3 block,
         void** args, std::size_t shared_bytes, tangStream_t stream) {
        auto* const function =
            reinterpret_cast<void (*)(P...)>(const_cast<void*>(host_func));
        return launch([function] { return function; }, label, grid, block, args,
                      shared_bytes, stream);
      });
}

}  // namespace tang
