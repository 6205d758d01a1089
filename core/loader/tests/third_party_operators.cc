// SPDX-License-Identifier: Apache-2.0
//
// An operator library as others write it: it knows the public headers only,
// takes the runtime functions from the process and tests weak ones.
#include <diopi/functions.h>

extern "C" {

const char* diopiGetVendorName() { return "third party"; }

// out = input + alpha * other, for contiguous float32 on the host.
diopiError_t diopiAdd(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other,
                      const diopiScalar_t* alpha) {
  diopiStreamHandle_t stream = nullptr;
  int64_t count = 0;
  void* result = nullptr;
  const void* left = nullptr;
  const void* right = nullptr;
  if (diopiGetStream(ctx, &stream) != diopiSuccess ||
      diopiGetTensorNumel(out, &count) != diopiSuccess ||
      diopiGetTensorData(out, &result) != diopiSuccess ||
      diopiGetTensorDataConst(input, &left) != diopiSuccess ||
      diopiGetTensorDataConst(other, &right) != diopiSuccess) {
    return diopiErrorOccurred;
  }
  const double factor = alpha->stype <= diopi_dtype_uint64
                            ? static_cast<double>(alpha->ival)
                            : alpha->fval;
  for (int64_t i = 0; i < count; ++i) {
    static_cast<float*>(result)[i] =
        static_cast<float>(static_cast<const float*>(left)[i] +
                           factor * static_cast<const float*>(right)[i]);
  }
  return diopiSuccess;
}

diopiError_t diopiNegInp(diopiContextHandle_t, diopiTensorHandle_t input) {
  bool is_sparse = false;
  if (diopiIsTensorSparse == nullptr) return diopiNoImplement;
  return diopiIsTensorSparse(input, &is_sparse);
}

// A function whose signature has changed over time.
diopiError_t diopiStd(diopiContextHandle_t, diopiTensorHandle_t,
                      diopiConstTensorHandle_t, diopiSize_t,
                      const diopiScalar_t*) {
  return diopiSuccess;
}

// No function of DIOPI, though it reads a little like a C++ name of one.
__attribute__((visibility("default"))) void my8diopiMul() {}

}  // extern "C"

// A common mistake: no header that declares it, no extern "C".
struct Context;
__attribute__((visibility("default"))) int diopiAbs(Context*) { return 0; }
