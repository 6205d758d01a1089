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
// one block run one after the other. Kernels with barriers or shared memory
// are not offered yet: sharedBytes must be 0.
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
#include "vendors/droplet/tang/tang_runtime.h"

// Mark kernels and what they call. The host's compiler needs no more.
#define __global__
#define __device__

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
      : x(x_), y(y_), z(z_) {}
};

// Where the running thread of a kernel stands. At a fixed distance from the
// thread pointer, so reading one is one instruction, and often none.
#define TANG_KERNEL_STATE \
  inline thread_local __attribute__((tls_model("initial-exec")))
TANG_KERNEL_STATE uint3 threadIdx{0, 0, 0};
TANG_KERNEL_STATE uint3 blockIdx{0, 0, 0};
TANG_KERNEL_STATE dim3 blockDim{};
TANG_KERNEL_STATE dim3 gridDim{};
#undef TANG_KERNEL_STATE

// Enqueues a kernel and returns tangSuccess or why it could not be enqueued; an
// illegal address is reported by a later call that synchronises. Arguments:
// (kernel, dim3 grid, dim3 block, void** args = NULL, size_t sharedBytes = 0,
// tangStream_t stream = NULL). A kernel whose name has a comma needs
// parentheses. It is a macro so that the kernel's name, and not only its
// address, reaches the loop that it is compiled into.
#define launchKernel(kernel, ...) \
  ::tang::launch([&] { return kernel; }, __VA_ARGS__)

// Parts of the runtime library that launch() uses.
extern "C" {
// Checks a configuration and finds the stream.
TANG_API tangError_t tangCheckLaunch(const dim3* grid, const dim3* block,
                                     void* const* args, int count,
                                     std::size_t shared_bytes,
                                     tangStream_t stream,
                                     soft_stream** out_stream);
TANG_API tangError_t tangEnqueueLaunch(soft_stream* stream, soft_task task,
                                       const void* payload, std::size_t bytes);
}

namespace tang {

// Turns the device addresses of one launch into those that its kernel uses.
class Translator {
 public:
  explicit Translator(soft_stream* stream) : stream_(stream) {}

  template <typename T>
  T* operator()(T* ptr) {
    static_assert(!std::is_function_v<T>, "device code has no host functions");
    static_assert(!std::is_pointer_v<T>,
                  "pointers that lie in device memory are not translated; pass "
                  "a structure with translate()");
    if (ptr == nullptr) return nullptr;
    void* result = soft_translate(stream_, ptr, elementBytes<T>());
    if (result == nullptr) ok_ = false;
    return static_cast<T*>(result);
  }

  // False after an illegal address; its failure has been enqueued.
  bool ok() const { return ok_; }

 private:
  // The extent of an array is unknown here: its first element is checked.
  template <typename T>
  static constexpr std::size_t elementBytes() {
    if constexpr (std::is_void_v<T>) {
      return 1;
    } else {
      return sizeof(T);
    }
  }

  soft_stream* stream_;
  bool ok_ = true;
};

namespace detail {

template <typename T, typename = void>
constexpr bool kTranslates = false;
template <typename T>
constexpr bool
    kTranslates<T, std::void_t<decltype(std::declval<const T&>().translate(
                       std::declval<Translator&>()))>> = true;

template <typename T>
T deviceValue(const T& value, Translator& translator) {
  static_assert(std::is_trivially_copyable_v<T>,
                "a kernel parameter is copied to the device byte by byte");
  if constexpr (std::is_pointer_v<T>) {
    return translator(value);
  } else if constexpr (kTranslates<T>) {
    return value.translate(translator);
  } else {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>,
                  "a kernel parameter is a scalar, a pointer or a structure "
                  "with `T translate(tang::Translator&) const`");
    return value;
  }
}

// Runs the blocks [first, last). Everything is inlined into this function, so
// the compiler sees the kernel inside of the loop over the threads and can
// vectorise it. Kernels with barriers will need another such loop, over fibers.
template <typename Body>
__attribute__((noinline, flatten)) void runBlocks(uint64_t first, uint64_t last,
                                                  dim3 grid, dim3 block,
                                                  Body body) {
  gridDim = grid;
  blockDim = block;
  for (uint64_t index = first; index < last; ++index) {
    blockIdx = {static_cast<unsigned>(index % grid.x),
                static_cast<unsigned>(index / grid.x % grid.y),
                static_cast<unsigned>(index / grid.x / grid.y)};
    for (unsigned z = 0; z < block.z; ++z) {
      threadIdx.z = z;
      for (unsigned y = 0; y < block.y; ++y) {
        threadIdx.y = y;
        for (unsigned x = 0; x < block.x; ++x) {
          threadIdx.x = x;
          body();
        }
      }
    }
  }
}

template <typename Body>
void runGrid(dim3 grid, dim3 block, const Body& body) {
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
#ifdef _OPENMP
  // Below this number of threads waking a team takes longer than it saves.
  constexpr uint64_t kTeamThreads = 2048;
  const uint64_t threads = blocks * block.x * block.y * block.z;
  if (blocks > 1 && threads >= kTeamThreads) {
    const uint64_t team = static_cast<uint64_t>(soft_team_begin());
#pragma omp parallel for num_threads(static_cast<int>(team)) schedule(static)
    for (uint64_t part = 0; part < team; ++part) {
      runBlocks(blocks * part / team, blocks * (part + 1) / team, grid, block,
                body);
    }
    soft_team_end();
    return;
  }
#endif
  runBlocks(0, blocks, grid, block, body);
}

// `kernel()` gives the kernel; the captures are trivially copyable.
template <typename Kernel, typename... P>
tangError_t enqueue(Kernel kernel, dim3 grid, dim3 block, soft_stream* stream,
                    P... values) {
  auto work = [=] { runGrid(grid, block, [=] { kernel()(values...); }); };
  using Work = decltype(work);
  return tangEnqueueLaunch(
      stream, [](void* payload) { (*static_cast<Work*>(payload))(); }, &work,
      sizeof(work));
}

template <typename Kernel, typename... P, std::size_t... I>
tangError_t launchOn(Kernel kernel, void (*)(P...), dim3 grid, dim3 block,
                     void** args, soft_stream* stream,
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
        return enqueue(kernel, grid, block, stream, value...);
      },
      values);
}

// Number of parameters, as an index sequence.
template <typename... P>
std::index_sequence_for<P...> indicesOf(void (*)(P...));

}  // namespace detail

// See launchKernel. `get` returns the kernel's address. Written with a name,
// the kernel is known from the type of `get`, which then holds nothing.
template <typename Get>
tangError_t launch(Get get, dim3 grid, dim3 block, void** args = nullptr,
                   std::size_t shared_bytes = 0,
                   tangStream_t stream = nullptr) {
  auto* const kernel = get();
  const auto indices = decltype(detail::indicesOf(kernel)){};
  soft_stream* target = nullptr;
  if (tangError_t error =
          tangCheckLaunch(&grid, &block, args, static_cast<int>(indices.size()),
                          shared_bytes, stream, &target)) {
    return error;
  }
  if constexpr (std::is_empty_v<Get>) {
    return detail::launchOn(get, kernel, grid, block, args, target, indices);
  } else {
    auto held = [kernel] { return kernel; };
    return detail::launchOn(held, kernel, grid, block, args, target, indices);
  }
}

}  // namespace tang
