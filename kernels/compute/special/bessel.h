// SPDX-License-Identifier: Apache-2.0
//
// Bessel functions of orders 0 and 1, and Airy's function, for one number.
// Pure functions: any thread.
#pragma once

namespace dipu::kernels::special {

// First and second kind, NaN at infinity; y0 and y1 are NaN below 0 and
// -infinity at 0.
double besselJ0(double x);
double besselJ1(double x);
double besselY0(double x);
double besselY1(double x);

// Modified, first kind; the scaled ones are multiplied by exp(-|x|).
double besselI0(double x);
double besselI1(double x);
double scaledBesselI0(double x);
double scaledBesselI1(double x);

// Modified, second kind, infinite at 0 and NaN below; the scaled ones are
// multiplied by exp(x).
double besselK0(double x);
double besselK1(double x);
double scaledBesselK0(double x);
double scaledBesselK1(double x);

// sin(x) / x.
double sphericalBesselJ0(double x);

// NaN at both infinities, where PyTorch's is.
double airyAi(double x);

}  // namespace dipu::kernels::special
