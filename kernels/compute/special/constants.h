// SPDX-License-Identifier: Apache-2.0
//
// Numbers that several special functions need.
#pragma once

#include <limits>

namespace dipu::kernels::special {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kLogPi = 1.14472988584940017414;
inline constexpr double kSqrtPi = 1.77245385090551602730;
inline constexpr double kSqrtTwo = 1.41421356237309504880;
inline constexpr double kSqrtHalf = 0.70710678118654752440;
inline constexpr double kSqrtTwoPi = 2.50662827463100050242;
inline constexpr double kEuler = 0.57721566490153286061;
inline constexpr double kInverseLogTwo = 1.44269504088896340736;

}  // namespace dipu::kernels::special
