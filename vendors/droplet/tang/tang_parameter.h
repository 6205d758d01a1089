// SPDX-License-Identifier: Apache-2.0
//
// tang's kernel language, the part that turns what a launch is given into what
// the kernel gets. Use tang_kernel.h, which says what a parameter may be.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "softdevice/softdevice.h"

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

}  // namespace detail

}  // namespace tang
