// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's attention functions through handles: all of them agree.
#include <diopi/functions_ext.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/tests/device_tensor.h"
#include "kernels/tests/diopi_fixture.h"

// The older functions are deprecated, not gone.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::Generator;
using testing::handleOf;
using testing::randomTensor;

using Doubles = std::vector<double>;

constexpr int64_t kBatch = 2;
constexpr int64_t kQueries = 6;
constexpr int64_t kKeys = 9;
constexpr int64_t kHeads = 2;
constexpr int64_t kDim = 4;
constexpr float kScale = 0.5F;
constexpr float kDropout = 0.25F;

// Tensors of one call in the layout [batch, tokens, heads, dim].
class DiopiAttention : public testing::Diopi {
 protected:
  void run(double dropout) {
    diopiTensor q = handleOf(q_.view());
    diopiTensor k = handleOf(k_.view());
    diopiTensor v = handleOf(v_.view());
    diopiTensor out = handleOf(out_.view());
    diopiTensor lse = handleOf(lse_.view());
    diopiTensor g = handleOf(g_.view());
    diopiTensor dq = handleOf(dq_.view());
    diopiTensor dk = handleOf(dk_.view());
    diopiTensor dv = handleOf(dv_.view());
    Generator forward{5, 3};
    Generator backward{5, 3};
    ASSERT_EQ(diopiFlashAttention(&context_, &out, &lse, forward.handle(), &q,
                                  &k, &v, nullptr, static_cast<float>(dropout),
                                  kScale, true, -1, -1),
              diopiSuccess)
        << diopiGetLastErrorString();
    EXPECT_EQ(forward.offset == 3U, dropout == 0.0);
    ASSERT_EQ(diopiFlashAttentionBackward(
                  &context_, &dq, &dk, &dv, &g, backward.handle(), &q, &k, &v,
                  nullptr, &out, &lse, static_cast<float>(dropout), kScale,
                  true, -1, -1),
              diopiSuccess)
        << diopiGetLastErrorString();
    EXPECT_EQ(backward.offset, 3U);
  }

  // Checks what another function gave against run().
  void expectSame(const DeviceTensor<double>& out,
                  const DeviceTensor<double>& dq,
                  const DeviceTensor<double>& dk,
                  const DeviceTensor<double>& dv) {
    const DeviceTensor<double> pairs[][2] = {
        {out, out_}, {dq, dq_}, {dk, dk_}, {dv, dv_}};
    for (const auto& pair : pairs) {
      const Doubles actual = pair[0].read();
      const Doubles expected = pair[1].read();
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i) {
        ASSERT_NEAR(actual[i], expected[i], 1e-12);
      }
    }
  }

  static DeviceTensor<double> queries(double value) {
    return {{kBatch, kQueries, kHeads, kDim}, value};
  }
  static DeviceTensor<double> keys(double value) {
    return {{kBatch, kKeys, kHeads, kDim}, value};
  }

  const DeviceTensor<double> q_ =
      randomTensor<double>({kBatch, kQueries, kHeads, kDim}, 1);
  const DeviceTensor<double> k_ =
      randomTensor<double>({kBatch, kKeys, kHeads, kDim}, 2);
  const DeviceTensor<double> v_ =
      randomTensor<double>({kBatch, kKeys, kHeads, kDim}, 3);
  const DeviceTensor<double> g_ =
      randomTensor<double>({kBatch, kQueries, kHeads, kDim}, 4);
  const DeviceTensor<double> out_ = queries(9);
  const DeviceTensor<double> lse_{{kBatch, kHeads, kQueries}, 9.0};
  const DeviceTensor<double> dq_ = queries(9);
  const DeviceTensor<double> dk_ = keys(9);
  const DeviceTensor<double> dv_ = keys(9);
};

// The same elements with sizes [batch * tokens, heads, dim].
diopiTensor packed(const DeviceTensor<double>& tensor, int64_t* sizes) {
  diopiTensor handle = handleOf(tensor.view());
  sizes[0] = handle.sizes[0] * handle.sizes[1];
  sizes[1] = handle.sizes[2];
  sizes[2] = handle.sizes[3];
  handle.sizes = sizes;
  handle.strides = handle.strides + 1;
  handle.ndim = 3;
  return handle;
}

TEST_F(DiopiAttention, OlderFunctionsAgree) {
  run(kDropout);
  const auto out = queries(0);
  const auto dq = queries(0);
  const auto dk = keys(0);
  const auto dv = keys(0);
  const DeviceTensor<double> lse({kBatch, kHeads, kQueries}, 0.0);
  diopiTensor q = handleOf(q_.view());
  diopiTensor k = handleOf(k_.view());
  diopiTensor v = handleOf(v_.view());
  diopiTensor g = handleOf(g_.view());
  diopiTensor o = handleOf(out.view());
  diopiTensor l = handleOf(lse.view());
  diopiTensor grad_q = handleOf(dq.view());
  diopiTensor grad_k = handleOf(dk.view());
  diopiTensor grad_v = handleOf(dv.view());
  Generator generator{5, 3};
  ASSERT_EQ(
      diopiMultiHeadAttention(&context_, &q, &k, &v, kDropout, true, false,
                              kScale, &o, &l, generator.handle(), nullptr),
      diopiSuccess);
  generator = {5, 3};
  ASSERT_EQ(diopiMultiHeadAttentionBackward(&context_, &g, &q, &k, &v, &o, &l,
                                            kDropout, true, generator.handle(),
                                            kScale, &grad_q, &grad_k, &grad_v),
            diopiSuccess);
  expectSame(out, dq, dk, dv);
  EXPECT_EQ(diopiMultiHeadAttention(&context_, &q, &k, &v, 0.0, true, true,
                                    kScale, &o, &l, nullptr, nullptr),
            diopiNoImplement);
}

TEST_F(DiopiAttention, SequencesOfDifferentLengthsAgree) {
  run(0.0);
  const auto out = queries(0);
  const auto dq = queries(0);
  const auto dk = keys(0);
  const auto dv = keys(0);
  const DeviceTensor<float> lse({kHeads, kBatch * kQueries}, 0.0F);
  const DeviceTensor<int32_t> ends_q({3}, {0, kQueries, 2 * kQueries});
  const DeviceTensor<int32_t> ends_k({3}, {0, kKeys, 2 * kKeys});
  int64_t sizes[8][3];
  diopiTensor q = packed(q_, sizes[0]);
  diopiTensor k = packed(k_, sizes[1]);
  diopiTensor v = packed(v_, sizes[2]);
  diopiTensor g = packed(g_, sizes[3]);
  diopiTensor o = packed(out, sizes[4]);
  diopiTensor grad_q = packed(dq, sizes[5]);
  diopiTensor grad_k = packed(dk, sizes[6]);
  diopiTensor grad_v = packed(dv, sizes[7]);
  const DeviceTensor<double> wide({kHeads, kBatch * kQueries}, 0.0);
  diopiTensor l = handleOf(wide.view());
  diopiTensor cq = handleOf(ends_q.view());
  diopiTensor ck = handleOf(ends_k.view());
  ASSERT_EQ(diopiFlashAttentionVarLen(&context_, &o, &l, nullptr, &q, &k, &v,
                                      &cq, &ck, nullptr, kQueries, kKeys, 0.0F,
                                      kScale, true, -1, -1),
            diopiSuccess)
      << diopiGetLastErrorString();
  ASSERT_EQ(
      diopiFlashAttentionVarLenBackward(
          &context_, &grad_q, &grad_k, &grad_v, &g, nullptr, &q, &k, &v, &cq,
          &ck, nullptr, &o, &l, kQueries, kKeys, 0.0F, kScale, true, -1, -1),
      diopiSuccess);
  expectSame(out, dq, dk, dv);
  diopiTensor narrow = handleOf(lse.view());
  ASSERT_EQ(diopiMultiHeadAttentionVarLen(
                &context_, &q, &k, &v, &cq, &ck, kQueries, kKeys, 0.0, true,
                false, kScale, &o, &narrow, nullptr, nullptr),
            diopiSuccess);
  ASSERT_EQ(diopiMultiHeadAttentionVarLenBackward(
                &context_, &g, &q, &k, &v, &o, &l, &cq, &ck, kQueries, kKeys,
                0.0, true, nullptr, kScale, &grad_q, &grad_k, &grad_v),
            diopiSuccess);
  expectSame(out, dq, dk, dv);
}

// Handles of the tensors of a call, seen in one of the layouts.
struct Layout {
  const char* name;
  int32_t ndim;
  int order[4];
};

struct LaidOut {
  diopiTensor handle;
  int64_t sizes[4];
  int64_t strides[4];

  // The memory stays in the order [batch, tokens, heads, dim].
  LaidOut(const DeviceTensor<double>& tensor, const Layout& layout)
      : handle(handleOf(tensor.view())) {
    for (int d = 0; d < layout.ndim; ++d) {
      sizes[d] = handle.sizes[layout.order[d]];
      strides[d] = handle.strides[layout.order[d]];
    }
    if (layout.ndim == 3) {
      sizes[2] = kHeads * kDim;
      strides[2] = 1;
    }
    handle.sizes = sizes;
    handle.strides = strides;
    handle.ndim = layout.ndim;
  }
  LaidOut(const LaidOut&) = delete;
};

TEST_F(DiopiAttention, LayoutsAgree) {
  const Layout layouts[] = {{"BSND", 4, {0, 1, 2, 3}},
                            {"BNSD", 4, {0, 2, 1, 3}},
                            {"BSH", 3, {0, 1, 2, 0}},
                            {"SBH", 3, {1, 0, 2, 0}}};
  run(kDropout);
  for (const Layout& layout : layouts) {
    const auto out = queries(0);
    const auto dq = queries(0);
    const auto dk = keys(0);
    const auto dv = keys(0);
    LaidOut q(q_, layout), k(k_, layout), v(v_, layout), g(g_, layout);
    LaidOut o(out, layout), grad_q(dq, layout), grad_k(dk, layout),
        grad_v(dv, layout);
    diopiTensorHandle_t dropped = nullptr;
    diopiTensorHandle_t top = nullptr;
    diopiTensorHandle_t sum = nullptr;
    diopiTensorHandle_t empty = nullptr;
    Generator generator{5, 3};
    ASSERT_EQ(diopiCustomizedFlashAttention(
                  &context_, &o.handle, &dropped, &top, &sum, &empty,
                  generator.handle(), &q.handle, &k.handle, &v.handle, nullptr,
                  nullptr, kDropout, kScale, true, -1, -1, kHeads, layout.name),
              diopiSuccess)
        << diopiGetLastErrorString();
    ASSERT_EQ(diopiCustomizedFlashAttentionBackward(
                  &context_, &grad_q.handle, &grad_k.handle, &grad_v.handle,
                  &g.handle, &q.handle, &k.handle, &v.handle, nullptr,
                  &o.handle, nullptr, dropped, top, sum, empty, kDropout,
                  kScale, true, -1, -1, kHeads, layout.name),
              diopiSuccess)
        << diopiGetLastErrorString();
    expectSame(out, dq, dk, dv);
  }
  LaidOut q(q_, layouts[0]);
  diopiTensorHandle_t none = nullptr;
  EXPECT_EQ(diopiCustomizedFlashAttention(
                &context_, &q.handle, &none, &none, &none, &none, nullptr,
                &q.handle, &q.handle, &q.handle, nullptr, nullptr, 0.0F, kScale,
                true, -1, -1, kHeads, "XYZ"),
            diopiDtypeNotSupported);
  EXPECT_NE(std::string(diopiGetLastErrorString()).find("no layout 'XYZ'"),
            std::string::npos);
}

TEST_F(DiopiAttention, EndsOnTheHostAgree) {
  run(0.0);
  // A mask of the future for each sequence, in place of is_causal.
  std::vector<uint8_t> future(kBatch * kQueries * kKeys);
  for (int64_t i = 0; i < kBatch * kQueries; ++i) {
    for (int64_t j = 0; j < kKeys; ++j) {
      future[i * kKeys + j] = j > i % kQueries + kKeys - kQueries;
    }
  }
  const DeviceTensor<uint8_t> mask({kBatch, 1, kQueries, kKeys}, future);
  diopiTensor m = handleOf(mask.view());
  const int64_t ends_q[] = {0, kQueries, 2 * kQueries};
  const int64_t ends_k[] = {0, kKeys, 2 * kKeys};
  // With and without the leading 0.
  for (int64_t from = 0; from < 2; ++from) {
    const diopiSize_t cum_q{ends_q + from, 3 - from};
    const diopiSize_t cum_k{ends_k + from, 3 - from};
    const auto out = queries(0);
    const auto dq = queries(0);
    const auto dk = keys(0);
    const auto dv = keys(0);
    int64_t sizes[8][3];
    diopiTensor q = packed(q_, sizes[0]);
    diopiTensor k = packed(k_, sizes[1]);
    diopiTensor v = packed(v_, sizes[2]);
    diopiTensor g = packed(g_, sizes[3]);
    diopiTensor o = packed(out, sizes[4]);
    diopiTensor grad_q = packed(dq, sizes[5]);
    diopiTensor grad_k = packed(dk, sizes[6]);
    diopiTensor grad_v = packed(dv, sizes[7]);
    diopiTensorHandle_t dropped = nullptr;
    diopiTensorHandle_t top = nullptr;
    diopiTensorHandle_t sum = nullptr;
    diopiTensorHandle_t empty = nullptr;
    ASSERT_EQ(diopiCustomizedFlashAttentionVarLen(
                  &context_, &o, &dropped, &top, &sum, &empty, nullptr, &q, &k,
                  &v, cum_q, cum_k, nullptr, &m, kQueries, kKeys, 0.0F, kScale,
                  false, -1, -1),
              diopiSuccess)
        << diopiGetLastErrorString();
    ASSERT_EQ(diopiCustomizedFlashAttentionVarLenBackward(
                  &context_, &grad_q, &grad_k, &grad_v, &g, &q, &k, &v, cum_q,
                  cum_k, nullptr, &o, &m, dropped, top, sum, empty, kQueries,
                  kKeys, 0.0F, kScale, false, -1, -1),
              diopiSuccess)
        << diopiGetLastErrorString();
    expectSame(out, dq, dk, dv);
  }
}

// Ends that begin with an empty sequence of queries are no starts.
TEST_F(DiopiAttention, EndsOnTheHostBeginWithAnEmptySequence) {
  const int64_t ends_q[] = {0, kBatch * kQueries};
  const int64_t ends_k[] = {kKeys, kBatch * kKeys};
  const auto out = queries(9);
  int64_t sizes[4][3];
  diopiTensor q = packed(q_, sizes[0]);
  diopiTensor k = packed(k_, sizes[1]);
  diopiTensor v = packed(v_, sizes[2]);
  diopiTensor o = packed(out, sizes[3]);
  diopiTensorHandle_t h[4] = {};
  const auto call = [&](const diopiSize_t& cum_q, const diopiSize_t& cum_k) {
    return diopiCustomizedFlashAttentionVarLen(
        &context_, &o, &h[0], &h[1], &h[2], &h[3], nullptr, &q, &k, &v, cum_q,
        cum_k, nullptr, nullptr, kBatch * kQueries, kBatch * kKeys, 0.0F,
        kScale, false, -1, -1);
  };
  ASSERT_EQ(call({ends_q, 2}, {ends_k, 2}), diopiSuccess)
      << diopiGetLastErrorString();
  EXPECT_NE(out.read()[0], 9.0);
  EXPECT_EQ(soft_stream_synchronize(stream_), SOFT_OK);
  EXPECT_EQ(call({ends_q, -2}, {ends_k, 2}), diopiErrorOccurred);
  EXPECT_EQ(call({ends_q, 2}, {nullptr, 2}), diopiErrorOccurred);
  EXPECT_NE(std::string(diopiGetLastErrorString()).find("ends of sequences"),
            std::string::npos);
}

}  // namespace
}  // namespace dipu::kernels
