// SPDX-License-Identifier: Apache-2.0
//
// Relatives of the error function, for one number. Pure functions: any thread.
#pragma once

namespace dipu::kernels::special {

// exp(x^2) erfc(x).
double scaledErfc(double x);

// The logarithm of the normal distribution function.
double logNormal(double x);

// The inverse of the normal distribution function; NaN outside [0, 1].
double inverseNormal(double p);

}  // namespace dipu::kernels::special
