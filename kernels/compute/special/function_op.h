// SPDX-License-Identifier: Apache-2.0
//
// Elementwise kernels over functions of numbers.
//
// Note [Functions by pointer]
// A special function takes far longer than an indirect call. One loop per
// computing type therefore serves them all, with the function in its state.
#pragma once

namespace dipu::kernels::special {

template <typename T>
struct UnaryCall {
  T (*function)(T);
  T operator()(T x) const { return function(x); }
};

template <typename T>
struct BinaryCall {
  T (*function)(T, T);
  T operator()(T x, T y) const { return function(x, y); }
};

// One function in both computing types.
struct UnaryFunction {
  const char* name;
  float (*single)(float);
  double (*wide)(double);
};

struct BinaryFunction {
  const char* name;
  float (*single)(float, float);
  double (*wide)(double, double);
};

// A function on float that is computed in double.
template <double (*function)(double)>
float narrowed(float x) {
  return static_cast<float>(function(x));
}
template <double (*function)(double, double)>
float narrowed(float x, float y) {
  return static_cast<float>(function(x, y));
}

template <double (*function)(double)>
constexpr UnaryFunction inDouble(const char* name) {
  return {name, &narrowed<function>, function};
}
template <double (*function)(double, double)>
constexpr BinaryFunction inDouble(const char* name) {
  return {name, &narrowed<function>, function};
}

}  // namespace dipu::kernels::special
