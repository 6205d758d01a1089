// SPDX-License-Identifier: Apache-2.0
//
// The LAPACK functions in use, for both precisions. Matrices lie column after
// column: a matrix of rows is its transpose. Call gemm::useOneThread first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

// Declared here because OpenBLAS's own headers claim the unprefixed names.
extern "C" {
void scipy_spotrf_(const char* uplo, const int* n, float* a, const int* lda,
                   int* info, std::size_t length);
void scipy_dpotrf_(const char* uplo, const int* n, double* a, const int* lda,
                   int* info, std::size_t length);
void scipy_sgeqrf_(const int* m, const int* n, float* a, const int* lda,
                   float* tau, float* work, const int* size, int* info);
void scipy_dgeqrf_(const int* m, const int* n, double* a, const int* lda,
                   double* tau, double* work, const int* size, int* info);
void scipy_sorgqr_(const int* m, const int* n, const int* k, float* a,
                   const int* lda, const float* tau, float* work,
                   const int* size, int* info);
void scipy_dorgqr_(const int* m, const int* n, const int* k, double* a,
                   const int* lda, const double* tau, double* work,
                   const int* size, int* info);
void scipy_cblas_strsm(int order, int side, int uplo, int trans, int diag,
                       int m, int n, float alpha, const float* a, int lda,
                       float* b, int ldb);
void scipy_cblas_dtrsm(int order, int side, int uplo, int trans, int diag,
                       int m, int n, double alpha, const double* a, int lda,
                       double* b, int ldb);
}

namespace dipu::kernels::lapack {

// Factorizes the triangle `uplo`, 'L' or 'U', in place; returns info.
inline int potrf(char uplo, int n, float* a) {
  const int step = std::max(1, n);
  int info = 0;
  scipy_spotrf_(&uplo, &n, a, &step, &info, 1);
  return info;
}
inline int potrf(char uplo, int n, double* a) {
  const int step = std::max(1, n);
  int info = 0;
  scipy_dpotrf_(&uplo, &n, a, &step, &info, 1);
  return info;
}

// The work space has `size` elements, at least n.
inline int geqrf(int m, int n, float* a, float* tau, float* work, int size) {
  int info = 0;
  scipy_sgeqrf_(&m, &n, a, &m, tau, work, &size, &info);
  return info;
}
inline int geqrf(int m, int n, double* a, double* tau, double* work, int size) {
  int info = 0;
  scipy_dgeqrf_(&m, &n, a, &m, tau, work, &size, &info);
  return info;
}
inline int orgqr(int m, int n, int k, float* a, const float* tau, float* work,
                 int size) {
  int info = 0;
  scipy_sorgqr_(&m, &n, &k, a, &m, tau, work, &size, &info);
  return info;
}
inline int orgqr(int m, int n, int k, double* a, const double* tau,
                 double* work, int size) {
  int info = 0;
  scipy_dorgqr_(&m, &n, &k, a, &m, tau, work, &size, &info);
  return info;
}

// b = inverse(op(a)) b for `left`, else b inverse(op(a)); rows lie one after
// the other. a is a triangle of order m or n, b is [m, n].
struct Triangle {
  bool left;
  bool upper;
  bool transpose;
  bool unit;
};
inline void trsm(const Triangle& t, int m, int n, const float* a, float* b) {
  scipy_cblas_strsm(101, t.left ? 141 : 142, t.upper ? 121 : 122,
                    t.transpose ? 112 : 111, t.unit ? 132 : 131, m, n, 1.0F, a,
                    t.left ? m : n, b, n);
}
inline void trsm(const Triangle& t, int m, int n, const double* a, double* b) {
  scipy_cblas_dtrsm(101, t.left ? 141 : 142, t.upper ? 121 : 122,
                    t.transpose ? 112 : 111, t.unit ? 132 : 131, m, n, 1.0, a,
                    t.left ? m : n, b, n);
}

}  // namespace dipu::kernels::lapack
