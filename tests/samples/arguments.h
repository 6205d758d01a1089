// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a sample as C functions of any DIOPI signature take them.
#pragma once

#include <diopi/diopirt.h>

#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/samples/sample.h"

namespace dipu::samples {

template <typename T, typename... Others>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Others> || ...);

template <typename T>
inline constexpr bool kIsTensor =
    kIsOneOf<T, diopiTensorHandle_t, diopiConstTensorHandle_t>;

template <typename T>
inline constexpr bool kIsScalar =
    kIsOneOf<T, diopiScalar_t*, const diopiScalar_t*>;

// A number that may be absent.
template <typename T>
inline constexpr bool kIsOptional =
    kIsOneOf<T, const int64_t*, const double*, const bool*>;

// Whether a sample has arguments of this type; those of others are rare.
template <typename T>
inline constexpr bool kIsPassable =
    kIsTensor<T> || kIsScalar<T> || kIsOptional<T> || std::is_enum_v<T> ||
    std::is_arithmetic_v<T> ||
    kIsOneOf<T, diopiTensorHandle_t*, diopiConstTensorHandle_t*, diopiSize_t,
             const char*>;

// Gives the arguments one after another. Lives as long as the call; not
// thread-safe.
class Arguments {
 public:
  // `tensors` are the handles of the sample's tensors; both outlive this.
  Arguments(const std::vector<Argument>& arguments,
            const std::vector<diopiTensorHandle_t>& tensors)
      : arguments_(arguments), tensors_(tensors) {}

  std::size_t size() const { return arguments_.size(); }

  // The next argument. Throws std::runtime_error when the function takes
  // another type than the sample gives.
  template <typename T>
  T next() {
    static_assert(kIsPassable<T>);
    const Argument& argument = arguments_.at(position_++);
    if constexpr (kIsTensor<T>) {
      return tensor(argument);
    } else if constexpr (std::is_same_v<T, diopiTensorHandle_t*>) {
      if (argument.kind == Kind::kNone) return nullptr;
      return argument.kind == Kind::kAllocated ? slot(argument)
                                               : list(argument).data();
    } else if constexpr (std::is_same_v<T, diopiConstTensorHandle_t*>) {
      return const_cast<diopiConstTensorHandle_t*>(list(argument).data());
    } else if constexpr (std::is_same_v<T, diopiSize_t>) {
      expect(argument, Kind::kSizes);
      return {argument.integers.data(),
              static_cast<int64_t>(argument.integers.size())};
    } else if constexpr (std::is_same_v<T, const char*>) {
      if (argument.kind == Kind::kNone) return nullptr;
      expect(argument, Kind::kText);
      return argument.text.c_str();
    } else if constexpr (kIsScalar<T>) {
      return argument.kind == Kind::kNone ? nullptr : scalar(argument);
    } else if constexpr (kIsOptional<T>) {
      using Number = std::remove_const_t<std::remove_pointer_t<T>>;
      return argument.kind == Kind::kNone ? nullptr
                                          : keep(number<Number>(argument));
    } else {
      return number<T>(argument);
    }
  }

  // What the library has put where it was to return tensor `number`; null when
  // it made none.
  diopiTensorHandle_t allocated(std::size_t number) const {
    for (const Slot& slot : slots_) {
      if (slot.number == number) return slot.handle;
    }
    return nullptr;
  }

 private:
  struct Slot {
    std::size_t number;
    diopiTensorHandle_t handle;
  };

  void expect(const Argument& argument, Kind kind) const {
    if (argument.kind == kind) return;
    throw std::runtime_error("argument " + std::to_string(position_) +
                             " is of kind " + static_cast<char>(argument.kind) +
                             ", the function takes " + static_cast<char>(kind));
  }

  diopiTensorHandle_t tensor(const Argument& argument) const {
    if (argument.kind == Kind::kNone) return nullptr;
    expect(argument, Kind::kTensor);
    return tensors_.at(static_cast<std::size_t>(argument.integer));
  }

  diopiTensorHandle_t* slot(const Argument& argument) {
    slots_.push_back({static_cast<std::size_t>(argument.integer), nullptr});
    return &slots_.back().handle;
  }

  std::vector<diopiTensorHandle_t>& list(const Argument& argument) {
    expect(argument, Kind::kTensors);
    lists_.emplace_back();
    for (const int64_t number : argument.integers) {
      lists_.back().push_back(
          number < 0 ? nullptr : tensors_.at(static_cast<std::size_t>(number)));
    }
    return lists_.back();
  }

  diopiScalar_t* scalar(const Argument& argument) {
    diopiScalar_t value;
    if (argument.kind == Kind::kReal) {
      value.stype = diopi_dtype_float64;
      value.fval = argument.real;
    } else {
      value.stype = diopi_dtype_int64;
      value.ival = number<int64_t>(argument);
    }
    scalars_.push_back(value);
    return &scalars_.back();
  }

  template <typename T>
  T number(const Argument& argument) const {
    if (argument.kind == Kind::kReal && std::is_floating_point_v<T>) {
      return static_cast<T>(argument.real);
    }
    expect(argument, Kind::kInteger);
    return static_cast<T>(argument.integer);
  }

  // An address that stays valid.
  int64_t* keep(int64_t value) { return &integers_.emplace_back(value); }
  double* keep(double value) { return &reals_.emplace_back(value); }
  bool* keep(bool value) { return &flags_.emplace_back(value); }

  const std::vector<Argument>& arguments_;
  const std::vector<diopiTensorHandle_t>& tensors_;
  std::size_t position_ = 0;
  // Deques: their elements do not move.
  std::deque<Slot> slots_;
  std::deque<std::vector<diopiTensorHandle_t>> lists_;
  std::deque<diopiScalar_t> scalars_;
  std::deque<int64_t> integers_;
  std::deque<double> reals_;
  std::deque<bool> flags_;
};

// Calls a function whose address is given with all arguments.
using Call = diopiError_t (*)(void* function, diopiContextHandle_t context,
                              Arguments& arguments);

// How to call the DIOPI function of that name; null when there is none, or when
// it takes what samples cannot give.
Call callOf(const std::string& function);

}  // namespace dipu::samples
