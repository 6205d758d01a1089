// SPDX-License-Identifier: Apache-2.0
//
// Faults of operators that treat each element alike.
#include <cmath>

#include "tests/debug/faulty/spoil.h"

using namespace dipu::tests::faulty;  // NOLINT(build/namespaces)

extern "C" {

diopiError_t diopiAdd(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other,
                      const diopiScalar_t* alpha) {
  diopiScalar_t one{};
  one.stype = diopi_dtype_float64;
  one.fval = 1;
  return real(&diopiAdd)(ctx, out, input, other,
                         planted("add: ignores alpha") ? &one : alpha);
}

diopiError_t diopiSub(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other,
                      const diopiScalar_t* alpha) {
  const diopiError_t error = real(&diopiSub)(ctx, out, input, other, alpha);
  spoil("sub: operands swapped", ctx, [](Elements y) { y.scale(-1); }, out);
  return error;
}

diopiError_t diopiMul(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other) {
  const diopiError_t error = real(&diopiMul)(ctx, out, input, other);
  if (isStrided(input)) {
    spoil(
        "mul: wrong for strided input", ctx,
        [](Elements y) { y.set(1, y.get(0)); }, out);
  }
  return error;
}

diopiError_t diopiDiv(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other,
                      diopiRoundMode_t rounding_mode) {
  const diopiError_t error =
      real(&diopiDiv)(ctx, out, input, other, rounding_mode);
  if (isBroadcast(other)) {
    spoil(
        "div: wrong for broadcast operands", ctx,
        [](Elements y, Elements x) { y.setLast(x.get(x.count - 1)); }, out,
        input);
  }
  return error;
}

diopiError_t diopiExp(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input) {
  const diopiError_t error = real(&diopiExp)(ctx, out, input);
  spoil(
      "exp: one per cent too large", ctx, [](Elements y) { y.scale(1.01); },
      out);
  return error;
}

diopiError_t diopiRsqrt(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input) {
  const diopiError_t error = real(&diopiRsqrt)(ctx, out, input);
  spoil(
      "rsqrt: eleven bits only", ctx,
      [](Elements y) { y.scale(1 + 1.0 / 2048); }, out);
  return error;
}

diopiError_t diopiLog(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input) {
  const diopiError_t error = real(&diopiLog)(ctx, out, input);
  spoil(
      "log: writes its input", ctx, [](Elements x) { x.set(0, 2 * x.get(0)); },
      input);
  return error;
}

diopiError_t diopiSqrt(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
  const diopiError_t error = real(&diopiSqrt)(ctx, out, input);
  spoil(
      "sqrt: NaN at zero", ctx,
      [](Elements y) { y.replace([](double v) { return v == 0 ? NAN : v; }); },
      out);
  return error;
}

diopiError_t diopiReciprocal(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input) {
  const diopiError_t error = real(&diopiReciprocal)(ctx, out, input);
  spoil(
      "reciprocal: ignores the sign of zero", ctx,
      [](Elements y) {
        y.replace([](double v) { return std::isinf(v) ? INFINITY : v; });
      },
      out);
  return error;
}

diopiError_t diopiSigmoid(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input) {
  const diopiError_t error = real(&diopiSigmoid)(ctx, out, input);
  spoil(
      "sigmoid: forgets the last element", ctx,
      [](Elements y) { y.setLast(0); }, out);
  return error;
}

diopiError_t diopiTanh(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
  const diopiError_t error = real(&diopiTanh)(ctx, out, input);
  if (dtypeOf(input) == diopi_dtype_float16) {
    spoil(
        "tanh: wrong in float16", ctx, [](Elements y) { y.scale(1.01); }, out);
  }
  return error;
}

diopiError_t diopiFloor(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input) {
  const diopiError_t error = real(&diopiFloor)(ctx, out, input);
  spoil(
      "floor: rounds towards zero", ctx,
      [](Elements y, Elements x) {
        for (int64_t i = 0; i < y.count; ++i) y.set(i, std::trunc(x.get(i)));
      },
      out, input);
  return error;
}

diopiError_t diopiAbs(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input) {
  const diopiError_t error = real(&diopiAbs)(ctx, out, input);
  if (dtypeOf(input) == diopi_dtype_int64) {
    spoil(
        "abs: int64 through float32", ctx,
        [](Elements y) {
          y.replace([](double v) { return static_cast<float>(v); });
        },
        out);
  }
  return error;
}

diopiError_t diopiMaximum(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
  const diopiError_t error = real(&diopiMaximum)(ctx, out, input, other);
  spoil(
      "maximum: leaves NaN out", ctx,
      [](Elements y, Elements a, Elements b) {
        for (int64_t i = 0; i < y.count; ++i) {
          y.set(i, std::fmax(a.get(i), b.get(i)));
        }
      },
      out, input, other);
  spoil(
      "maximum: one unit in the last place off", ctx,
      [](Elements y) { y.scale(1 + 1.0 / (1 << 23)); }, out);
  return error;
}

diopiError_t diopiWhere(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t condition,
                        diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t other) {
  const bool inverted = planted("where: condition inverted");
  return real(&diopiWhere)(ctx, out, condition, inverted ? other : input,
                           inverted ? input : other);
}

diopiError_t diopiGtScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input,
                           const diopiScalar_t* other) {
  if (planted("gt: also where equal")) {
    return real(&diopiGeScalar, "diopiGeScalar")(ctx, out, input, other);
  }
  return real(&diopiGtScalar)(ctx, out, input, other);
}

diopiError_t diopiClampScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input,
                              const diopiScalar_t* min,
                              const diopiScalar_t* max) {
  return real(&diopiClampScalar)(ctx, out, input, min,
                                 planted("clamp: ignores max") ? nullptr : max);
}

diopiError_t diopiTril(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, int64_t diagonal) {
  return real(&diopiTril)(ctx, out, input,
                          diagonal + (planted("tril: one too far") ? 1 : 0));
}

}  // extern "C"
