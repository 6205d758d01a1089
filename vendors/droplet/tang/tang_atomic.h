// SPDX-License-Identifier: Apache-2.0
//
// tang's kernel language: atomics on device and shared memory. Each returns the
// value that stood at `address` before. They are atomic between all threads of
// all blocks, and order nothing else.
//
// On int, unsigned, and the 64-bit integers: all. On float and double: Add and
// Exch. Sums of floating-point numbers depend on the order of the blocks.
#pragma once

#include <type_traits>

namespace tang::detail {

// The value's type follows from the address alone.
template <typename T>
struct AtomicValue {
  using type = T;
  static constexpr bool kNumber =
      std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);
  static_assert(kNumber, "atomics act on numbers of 4 or 8 bytes");
};
template <typename T>
using AtomicValueT = typename AtomicValue<T>::type;

template <typename T>
constexpr void requireInteger() {
  static_assert(std::is_integral_v<T>, "this atomic is for integers only");
}

// Replaces the value by what `update` makes of it.
template <typename T, typename Update>
T atomicUpdate(T* address, Update update) {
  T before;
  __atomic_load(address, &before, __ATOMIC_RELAXED);
  for (;;) {
    T after = update(before);
    if (__atomic_compare_exchange(address, &before, &after, /*weak=*/true,
                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return before;
    }
  }
}

}  // namespace tang::detail

// Integers wrap around.
template <typename T>
T atomicAdd(T* address, tang::detail::AtomicValueT<T> value) {
  if constexpr (std::is_integral_v<T>) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  } else {
    return tang::detail::atomicUpdate(address,
                                      [=](T before) { return before + value; });
  }
}

template <typename T>
T atomicSub(T* address, tang::detail::AtomicValueT<T> value) {
  tang::detail::requireInteger<T>();
  return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}

template <typename T>
T atomicMin(T* address, tang::detail::AtomicValueT<T> value) {
  tang::detail::requireInteger<T>();
  return tang::detail::atomicUpdate(
      address, [=](T before) { return value < before ? value : before; });
}

template <typename T>
T atomicMax(T* address, tang::detail::AtomicValueT<T> value) {
  tang::detail::requireInteger<T>();
  return tang::detail::atomicUpdate(
      address, [=](T before) { return before < value ? value : before; });
}

template <typename T>
T atomicExch(T* address, tang::detail::AtomicValueT<T> value) {
  T before;
  __atomic_exchange(address, &value, &before, __ATOMIC_RELAXED);
  return before;
}

// Stores `value` if `expected` stands there.
template <typename T>
T atomicCAS(T* address, tang::detail::AtomicValueT<T> expected,
            tang::detail::AtomicValueT<T> value) {
  tang::detail::requireInteger<T>();
  __atomic_compare_exchange(address, &expected, &value, /*weak=*/false,
                            __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

template <typename T>
T atomicAnd(T* address, tang::detail::AtomicValueT<T> value) {
  tang::detail::requireInteger<T>();
  return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}

template <typename T>
T atomicOr(T* address, tang::detail::AtomicValueT<T> value) {
  tang::detail::requireInteger<T>();
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}

template <typename T>
T atomicXor(T* address, tang::detail::AtomicValueT<T> value) {
  tang::detail::requireInteger<T>();
  return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
