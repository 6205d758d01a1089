// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's attention functions through handles: all of them agree.
#include <diopi/functions_ext.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/tests/derivative.h"
#include "kernels/tests/device_tensor.h"
#include "kernels/tests/diopi_fixture.h"

// The older functions are deprecated, not gone.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::expectNear;
using testing::Generator;
using testing::handleOf;
using testing::randomTensor;

constexpr int64_t kBatch = 2;
constexpr int64_t kQueries = 6;
constexpr int64_t kKeys = 9;
constexpr int64_t kHeads = 2;
constexpr int64_t kDim = 4;
constexpr float kScale = 0.5F;
constexpr float kDropout = 0.25F;

DeviceTensor<double> queries(double value) {
  return {{kBatch, kQueries, kHeads, kDim}, value};
}

DeviceTensor<double> keys(double value) {
  return {{kBatch, kKeys, kHeads, kDim}, value};
}

// Tensors of a call, in the layout [batch, tokens, heads, dim].
struct Inputs {
  DeviceTensor<double> q =
      randomTensor<double>({kBatch, kQueries, kHeads, kDim}, 1);
  DeviceTensor<double> k =
      randomTensor<double>({kBatch, kKeys, kHeads, kDim}, 2);
  DeviceTensor<double> v =
      randomTensor<double>({kBatch, kKeys, kHeads, kDim}, 3);
  DeviceTensor<double> g =
      randomTensor<double>({kBatch, kQueries, kHeads, kDim}, 4);
};

struct Results {
  DeviceTensor<double> out, dq, dk, dv;

  explicit Results(double value)
      : out(queries(value)),
        dq(queries(value)),
        dk(keys(value)),
        dv(keys(value)) {}
};

// A handle of a tensor as it is.
struct Plain {
  diopiTensor handle;

  explicit Plain(const DeviceTensor<double>& tensor)
      : handle(handleOf(tensor.view())) {}
};

// The same elements with sizes [batch * tokens, heads, dim].
struct Packed {
  diopiTensor handle;
  int64_t sizes[3];

  explicit Packed(const DeviceTensor<double>& tensor)
      : handle(handleOf(tensor.view())),
        sizes{handle.sizes[0] * handle.sizes[1], handle.sizes[2],
              handle.sizes[3]} {
    handle.sizes = sizes;
    handle.strides = handle.strides + 1;
    handle.ndim = 3;
  }
  Packed(const Packed&) = delete;
};

struct Layout {
  const char* name;
  int32_t ndim;
  int order[4];
};

constexpr Layout kLayouts[] = {{"BSND", 4, {0, 1, 2, 3}},
                               {"BNSD", 4, {0, 2, 1, 3}},
                               {"BSH", 3, {0, 1, 2, 0}},
                               {"SBH", 3, {1, 0, 2, 0}}};

// The same elements seen in one of the layouts.
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

// Handles of all tensors of a call: Plain, Packed or LaidOut ones.
template <typename Handle>
struct Handles {
  Handle q, k, v, g, out, dq, dk, dv;

  template <typename... Options>
  Handles(const Inputs& in, const Results& results, const Options&... options)
      : q(in.q, options...),
        k(in.k, options...),
        v(in.v, options...),
        g(in.g, options...),
        out(results.out, options...),
        dq(results.dq, options...),
        dk(results.dk, options...),
        dv(results.dv, options...) {}
};

class DiopiAttention : public testing::Diopi {
 protected:
  void run(double dropout) {
    Handles<Plain> h(in_, expected_);
    diopiTensor lse = handleOf(lse_.view());
    Generator forward{5, 3};
    Generator backward{5, 3};
    ASSERT_EQ(
        diopiFlashAttention(&context_, &h.out.handle, &lse, forward.handle(),
                            &h.q.handle, &h.k.handle, &h.v.handle, nullptr,
                            static_cast<float>(dropout), kScale, true, -1, -1),
        diopiSuccess)
        << diopiGetLastErrorString();
    EXPECT_EQ(forward.offset == 3U, dropout == 0.0);
    ASSERT_EQ(diopiFlashAttentionBackward(
                  &context_, &h.dq.handle, &h.dk.handle, &h.dv.handle,
                  &h.g.handle, backward.handle(), &h.q.handle, &h.k.handle,
                  &h.v.handle, nullptr, &h.out.handle, &lse,
                  static_cast<float>(dropout), kScale, true, -1, -1),
              diopiSuccess)
        << diopiGetLastErrorString();
    EXPECT_EQ(backward.offset, 3U);
  }

  // Checks what another function gave against run().
  void expectSame(const Results& results) {
    expectNear(results.out, expected_.out.read());
    expectNear(results.dq, expected_.dq.read());
    expectNear(results.dk, expected_.dk.read());
    expectNear(results.dv, expected_.dv.read());
  }

  const Inputs in_;
  const Results expected_{9};
  const DeviceTensor<double> lse_{{kBatch, kHeads, kQueries}, 9.0};
};

TEST_F(DiopiAttention, OlderFunctionsAgree) {
  run(kDropout);
  const Results results(0);
  Handles<Plain> h(in_, results);
  const DeviceTensor<double> lse({kBatch, kHeads, kQueries}, 0.0);
  diopiTensor l = handleOf(lse.view());
  Generator generator{5, 3};
  ASSERT_EQ(
      diopiMultiHeadAttention(&context_, &h.q.handle, &h.k.handle, &h.v.handle,
                              kDropout, true, false, kScale, &h.out.handle, &l,
                              generator.handle(), nullptr),
      diopiSuccess);
  generator = {5, 3};
  ASSERT_EQ(diopiMultiHeadAttentionBackward(
                &context_, &h.g.handle, &h.q.handle, &h.k.handle, &h.v.handle,
                &h.out.handle, &l, kDropout, true, generator.handle(), kScale,
                &h.dq.handle, &h.dk.handle, &h.dv.handle),
            diopiSuccess);
  expectSame(results);
  EXPECT_EQ(diopiMultiHeadAttention(&context_, &h.q.handle, &h.k.handle,
                                    &h.v.handle, 0.0, true, true, kScale,
                                    &h.out.handle, &l, nullptr, nullptr),
            diopiNoImplement);
}

TEST_F(DiopiAttention, SequencesOfDifferentLengthsAgree) {
  run(0.0);
  const Results results(0);
  Handles<Packed> h(in_, results);
  const DeviceTensor<int32_t> ends_q({3}, {0, kQueries, 2 * kQueries});
  const DeviceTensor<int32_t> ends_k({3}, {0, kKeys, 2 * kKeys});
  const DeviceTensor<double> wide({kHeads, kBatch * kQueries}, 0.0);
  const DeviceTensor<float> lse({kHeads, kBatch * kQueries}, 0.0F);
  diopiTensor cq = handleOf(ends_q.view());
  diopiTensor ck = handleOf(ends_k.view());
  diopiTensor l = handleOf(wide.view());
  diopiTensor narrow = handleOf(lse.view());
  ASSERT_EQ(diopiFlashAttentionVarLen(&context_, &h.out.handle, &l, nullptr,
                                      &h.q.handle, &h.k.handle, &h.v.handle,
                                      &cq, &ck, nullptr, kQueries, kKeys, 0.0F,
                                      kScale, true, -1, -1),
            diopiSuccess)
      << diopiGetLastErrorString();
  ASSERT_EQ(
      diopiFlashAttentionVarLenBackward(
          &context_, &h.dq.handle, &h.dk.handle, &h.dv.handle, &h.g.handle,
          nullptr, &h.q.handle, &h.k.handle, &h.v.handle, &cq, &ck, nullptr,
          &h.out.handle, &l, kQueries, kKeys, 0.0F, kScale, true, -1, -1),
      diopiSuccess);
  expectSame(results);
  ASSERT_EQ(diopiMultiHeadAttentionVarLen(
                &context_, &h.q.handle, &h.k.handle, &h.v.handle, &cq, &ck,
                kQueries, kKeys, 0.0, true, false, kScale, &h.out.handle,
                &narrow, nullptr, nullptr),
            diopiSuccess);
  ASSERT_EQ(diopiMultiHeadAttentionVarLenBackward(
                &context_, &h.g.handle, &h.q.handle, &h.k.handle, &h.v.handle,
                &h.out.handle, &l, &cq, &ck, kQueries, kKeys, 0.0, true,
                nullptr, kScale, &h.dq.handle, &h.dk.handle, &h.dv.handle),
            diopiSuccess);
  expectSame(results);
}

TEST_F(DiopiAttention, LayoutsAgree) {
  run(kDropout);
  for (const Layout& layout : kLayouts) {
    const Results results(0);
    Handles<LaidOut> h(in_, results, layout);
    diopiTensorHandle_t dropped = nullptr;
    diopiTensorHandle_t top = nullptr;
    diopiTensorHandle_t sum = nullptr;
    diopiTensorHandle_t empty = nullptr;
    Generator generator{5, 3};
    ASSERT_EQ(
        diopiCustomizedFlashAttention(
            &context_, &h.out.handle, &dropped, &top, &sum, &empty,
            generator.handle(), &h.q.handle, &h.k.handle, &h.v.handle, nullptr,
            nullptr, kDropout, kScale, true, -1, -1, kHeads, layout.name),
        diopiSuccess)
        << diopiGetLastErrorString();
    ASSERT_EQ(diopiCustomizedFlashAttentionBackward(
                  &context_, &h.dq.handle, &h.dk.handle, &h.dv.handle,
                  &h.g.handle, &h.q.handle, &h.k.handle, &h.v.handle, nullptr,
                  &h.out.handle, nullptr, dropped, top, sum, empty, kDropout,
                  kScale, true, -1, -1, kHeads, layout.name),
              diopiSuccess)
        << diopiGetLastErrorString();
    expectSame(results);
  }
}

TEST_F(DiopiAttention, RefusesAnUnknownLayout) {
  Plain q(in_.q);
  diopiTensorHandle_t none = nullptr;
  EXPECT_EQ(diopiCustomizedFlashAttention(
                &context_, &q.handle, &none, &none, &none, &none, nullptr,
                &q.handle, &q.handle, &q.handle, nullptr, nullptr, 0.0F, kScale,
                true, -1, -1, kHeads, "XYZ"),
            diopiDtypeNotSupported);
  EXPECT_NE(std::string(diopiGetLastErrorString()).find("no layout 'XYZ'"),
            std::string::npos);
}

// What hides the future of each sequence, in place of is_causal.
DeviceTensor<uint8_t> futureMask() {
  std::vector<uint8_t> future(kBatch * kQueries * kKeys);
  for (int64_t i = 0; i < kBatch * kQueries; ++i) {
    for (int64_t j = 0; j < kKeys; ++j) {
      future[i * kKeys + j] = j > i % kQueries + kKeys - kQueries;
    }
  }
  return {{kBatch, 1, kQueries, kKeys}, future};
}

TEST_F(DiopiAttention, EndsOnTheHostAgree) {
  run(0.0);
  const DeviceTensor<uint8_t> mask = futureMask();
  diopiTensor m = handleOf(mask.view());
  const int64_t ends_q[] = {0, kQueries, 2 * kQueries};
  const int64_t ends_k[] = {0, kKeys, 2 * kKeys};
  // With and without the leading 0.
  for (int64_t from = 0; from < 2; ++from) {
    const diopiSize_t cum_q{ends_q + from, 3 - from};
    const diopiSize_t cum_k{ends_k + from, 3 - from};
    const Results results(0);
    Handles<Packed> h(in_, results);
    diopiTensorHandle_t dropped = nullptr;
    diopiTensorHandle_t top = nullptr;
    diopiTensorHandle_t sum = nullptr;
    diopiTensorHandle_t empty = nullptr;
    ASSERT_EQ(diopiCustomizedFlashAttentionVarLen(
                  &context_, &h.out.handle, &dropped, &top, &sum, &empty,
                  nullptr, &h.q.handle, &h.k.handle, &h.v.handle, cum_q, cum_k,
                  nullptr, &m, kQueries, kKeys, 0.0F, kScale, false, -1, -1),
              diopiSuccess)
        << diopiGetLastErrorString();
    ASSERT_EQ(diopiCustomizedFlashAttentionVarLenBackward(
                  &context_, &h.dq.handle, &h.dk.handle, &h.dv.handle,
                  &h.g.handle, &h.q.handle, &h.k.handle, &h.v.handle, cum_q,
                  cum_k, nullptr, &h.out.handle, &m, dropped, top, sum, empty,
                  kQueries, kKeys, 0.0F, kScale, false, -1, -1),
              diopiSuccess)
        << diopiGetLastErrorString();
    expectSame(results);
  }
}

// Ends that begin with an empty sequence of queries are no starts.
TEST_F(DiopiAttention, EndsOnTheHostBeginWithAnEmptySequence) {
  const int64_t ends_q[] = {0, kBatch * kQueries};
  const int64_t ends_k[] = {kKeys, kBatch * kKeys};
  const Results results(9);
  Handles<Packed> h(in_, results);
  diopiTensorHandle_t unused[4] = {};
  const auto call = [&](const diopiSize_t& cum_q, const diopiSize_t& cum_k) {
    return diopiCustomizedFlashAttentionVarLen(
        &context_, &h.out.handle, &unused[0], &unused[1], &unused[2],
        &unused[3], nullptr, &h.q.handle, &h.k.handle, &h.v.handle, cum_q,
        cum_k, nullptr, nullptr, kBatch * kQueries, kBatch * kKeys, 0.0F,
        kScale, false, -1, -1);
  };
  ASSERT_EQ(call({ends_q, 2}, {ends_k, 2}), diopiSuccess)
      << diopiGetLastErrorString();
  EXPECT_NE(results.out.read()[0], 9.0);
  EXPECT_EQ(soft_stream_synchronize(stream_), SOFT_OK);
  EXPECT_EQ(call({ends_q, -2}, {ends_k, 2}), diopiErrorOccurred);
  EXPECT_EQ(call({ends_q, 2}, {nullptr, 2}), diopiErrorOccurred);
  EXPECT_NE(std::string(diopiGetLastErrorString()).find("ends of sequences"),
            std::string::npos);
}

}  // namespace
}  // namespace dipu::kernels
