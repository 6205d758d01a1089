// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/compute/status.h"
#include "kernels/tests/attention_call.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

using testing::Call;
using testing::expectNear;
using testing::kLarge;
using testing::Shape;
using testing::tolerance;
using testing::Values;

// Which pairs a query sees, and what is added to their scores.
using Bias = std::function<double(int64_t b, int64_t h, int64_t i, int64_t j)>;
constexpr double kNone = -std::numeric_limits<double>::infinity();

Bias windowBias(const Shape& s, int64_t left, int64_t right) {
  return [=](int64_t, int64_t, int64_t i, int64_t j) {
    const int64_t at = i + s.keys - s.queries;
    return j < at - left || j > at + right ? kNone : 0.0;
  };
}

struct Reference {
  Values out;
  Values lse;
};

template <typename T>
Reference reference(const Call<T>& call, const Bias& bias) {
  const Shape& s = call.shape;
  const std::vector<T> q = call.q.read();
  const std::vector<T> k = call.k.read();
  const std::vector<T> v = call.v.read();
  Reference result{Values(q.size()), {}};
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      const int64_t key_head = h / (s.heads / s.key_heads);
      for (int64_t i = 0; i < s.queries; ++i) {
        const int64_t from = ((b * s.queries + i) * s.heads + h) * s.dim;
        Values scores(s.keys);
        double sum = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          const int64_t to =
              ((b * s.keys + j) * s.key_heads + key_head) * s.dim;
          double dot = 0;
          for (int64_t d = 0; d < s.dim; ++d) {
            dot += asDouble(q[from + d]) * asDouble(k[to + d]);
          }
          scores[j] = dot * call.arguments.scale + bias(b, h, i, j);
          sum += std::exp(scores[j]);
        }
        result.lse.push_back(sum == 0 ? -kNone : std::log(sum));
        for (int64_t j = 0; sum > 0 && j < s.keys; ++j) {
          const int64_t to =
              ((b * s.keys + j) * s.key_heads + key_head) * s.dim;
          for (int64_t d = 0; d < s.dim; ++d) {
            result.out[from + d] +=
                std::exp(scores[j]) / sum * asDouble(v[to + d]);
          }
        }
      }
    }
  }
  return result;
}

template <typename T>
void expectForward(Call<T>* call, const Bias& bias) {
  ASSERT_EQ(call->run(), Status::kOk) << lastMessage();
  const Reference expected = reference(*call, bias);
  expectNear(call->out.read(), expected.out, tolerance<T>());
  const double close = std::min(tolerance<T>(), 1e-5);
  expectNear(call->lse.read(), expected.lse, close);
}

template <typename T>
class AttentionTest : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(AttentionTest, FloatTypes);

TYPED_TEST(AttentionTest, MatchesThePlainFormula) {
  for (const Shape& shape : {Shape{}, kLarge}) {
    Call<TypeParam> call(shape);
    expectForward(&call, [](auto...) { return 0.0; });
  }
}

TYPED_TEST(AttentionTest, ReadsAnyStrides) {
  Call<TypeParam> call(Shape{});
  const Shape& s = call.shape;
  call.q = randomTensor<TypeParam>({s.heads, s.queries, s.dim, s.batch}, 1)
               .transposed(0, 3)
               .transposed(2, 3);
  call.v = randomTensor<TypeParam>({s.batch, s.keys, s.key_heads, 2 * s.dim}, 4)
               .strided(3, 2);
  expectForward(&call, [](auto...) { return 0.0; });
}

TYPED_TEST(AttentionTest, LooksAtTheWindowOnly) {
  for (const Shape& shape : {Shape{}, kLarge}) {
    Call<TypeParam> causal(shape);
    causal.arguments.causal = true;
    expectForward(&causal, windowBias(shape, 1 << 20, 0));
    Call<TypeParam> window(shape);
    window.arguments.window_left = 2;
    window.arguments.window_right = 1;
    expectForward(&window, windowBias(shape, 2, 1));
  }
}

TEST(Attention, GivesZeroToAQueryWithoutKeys) {
  const Shape shape{1, 7, 5, 1, 1, 3};  // the first two queries see no key
  Call<double> call(shape);
  call.arguments.causal = true;
  expectForward(&call, windowBias(shape, 1 << 20, 0));
  EXPECT_EQ(call.out.read()[0], 0.0);
  EXPECT_TRUE(std::isinf(call.lse.read()[0]));
}

TEST(Attention, GivesZeroWithoutAnyKeys) {
  Call<double> call(Shape{1, 3, 0, 1, 1, 2});
  expectForward(&call, [](auto...) { return 0.0; });
}

TEST(Attention, PassesNaNOn) {
  Call<float> call(Shape{1, 1, 3, 1, 1, 2});
  call.q = DeviceTensor<float>(call.shape.q(), std::nanf(""));
  ASSERT_EQ(call.run(), Status::kOk);
  EXPECT_TRUE(std::isnan(call.out.read()[0]));
}

TEST(Attention, AddsSlopesAndMasks) {
  Call<double> call(Shape{});
  const Shape& s = call.shape;
  const DeviceTensor<float> slopes({s.heads}, {0.5F, 0.25F, 1.0F, 2.0F});
  call.arguments.slopes = slopes.view();
  std::vector<uint8_t> left_out(s.batch * s.queries * s.keys);
  for (std::size_t i = 0; i < left_out.size(); ++i) left_out[i] = i % 3 == 1;
  const DeviceTensor<uint8_t> mask({s.batch, 1, s.queries, s.keys}, left_out);
  call.arguments.mask = mask.view();
  const Values slope = {0.5, 0.25, 1.0, 2.0};
  expectForward(&call, [=](int64_t b, int64_t h, int64_t i, int64_t j) {
    if (left_out[(b * s.queries + i) * s.keys + j] != 0) return kNone;
    return -slope[h] * std::abs(double(i + s.keys - s.queries - j));
  });
}

// Sequences of different lengths, one after the other.
struct Packed {
  const std::vector<int64_t> q_starts = {0, 3, 3, 73};
  const std::vector<int32_t> k_starts = {0, 4, 9, 149};
  const DeviceTensor<double> q = randomTensor<double>({75, 2, 3}, 1);
  const DeviceTensor<double> k = randomTensor<double>({149, 2, 3}, 2);
  const DeviceTensor<double> v = randomTensor<double>({149, 2, 3}, 3);
  const DeviceTensor<double> out{{75, 2, 3}, 9.0};
  const DeviceTensor<double> lse{{3, 2, 70}, 9.0};

  Status run() const {
    const DeviceTensor<int64_t> starts_q({4}, q_starts);
    const DeviceTensor<int32_t> starts_k({4}, k_starts);
    TestQueue queue;
    AttentionArguments arguments;
    arguments.q = q.view();
    arguments.k = k.view();
    arguments.v = v.view();
    arguments.q_starts = starts_q.view();
    arguments.k_starts = starts_k.view();
    arguments.max_q = 70;
    arguments.max_k = 140;
    arguments.causal = true;
    AttentionStatistics statistics;
    statistics.logsumexp = lse.view();
    return attention(queue, arguments, out.view(), statistics);
  }

  // A sequence by itself.
  Call<double> sequence(int index) const {
    const int64_t q_begin = q_starts[index], q_end = q_starts[index + 1];
    const int64_t k_begin = k_starts[index], k_end = k_starts[index + 1];
    Call<double> call({1, q_end - q_begin, k_end - k_begin, 2, 2, 3});
    call.arguments.scale = 1.0;
    call.q = tokens(q, q_begin, q_end);
    call.k = tokens(k, k_begin, k_end);
    call.v = tokens(v, k_begin, k_end);
    return call;
  }

  static DeviceTensor<double> tokens(const DeviceTensor<double>& from,
                                     int64_t begin, int64_t end) {
    const Values all = from.read();
    return {{1, end - begin, 2, 3},
            Values(all.begin() + begin * 6, all.begin() + end * 6)};
  }
};

// Sequences of different lengths give what each gives alone.
TEST(Attention, KeepsSequencesApart) {
  const Packed packed;
  ASSERT_EQ(packed.run(), Status::kOk) << lastMessage();
  for (int i = 0; i < 3; ++i) {
    const Call<double> alone = packed.sequence(i);
    if (alone.shape.queries == 0) continue;
    const DeviceTensor<double> actual =
        Packed::tokens(packed.out, packed.q_starts[i], packed.q_starts[i + 1]);
    const Bias bias = windowBias(alone.shape, 1 << 20, 0);
    expectNear(actual.read(), reference(alone, bias).out, 1e-12);
  }
  EXPECT_EQ(packed.out.read().back(), 0.0);  // belongs to no sequence
  // Past the three queries of the first one.
  EXPECT_EQ(packed.lse.read()[3], -kNone);
}

// Sequences of at most 4 tokens whose queries are the keys.
template <typename T>
AttentionArguments packed(const DeviceTensor<T>& tokens,
                          const DeviceTensor<int64_t>& starts) {
  AttentionArguments arguments;
  arguments.q = arguments.k = arguments.v = tokens.view();
  arguments.q_starts = arguments.k_starts = starts.view();
  arguments.max_q = arguments.max_k = 4;
  return arguments;
}

TEST(Attention, DefinesStatisticsOutsideOfSequences) {
  const DeviceTensor<double> q({4, 1, 2}, 1.0);
  const DeviceTensor<int64_t> starts({2}, {0, 3});
  for (const auto& sizes : {std::vector<int64_t>{1, 1, 4}, {1, 4}}) {
    TestQueue queue;
    const DeviceTensor<double> lse(sizes, 9.0);
    const DeviceTensor<float> top(sizes, 9.0F);
    const DeviceTensor<double> sum(sizes, 9.0);
    const DeviceTensor<double> out({4, 1, 2}, 9.0);
    ASSERT_EQ(attention(queue, packed(q, starts), out.view(),
                        {lse.view(), top.view(), sum.view()}),
              Status::kOk);
    EXPECT_EQ(lse.read()[3], -kNone);
    EXPECT_EQ(top.read(), (std::vector<float>{2, 2, 2, INFINITY}));
    EXPECT_EQ(sum.read(), (Values{3, 3, 3, 1}));
  }
}

TEST(Attention, ReportsStartsThatMakeNoSense) {
  TestQueue queue;
  for (const int64_t longest : {4, 0}) {
    const DeviceTensor<float> q({4, 1, 2}, 1.0F);
    const DeviceTensor<int64_t> starts({3}, {0, longest == 0 ? 4 : 9, 4});
    AttentionArguments arguments = packed(q, starts);
    arguments.max_q = longest;
    ASSERT_EQ(attention(queue, arguments, q.view(), {}), Status::kOk);
    EXPECT_NE(queue.wait(), SOFT_OK);
    EXPECT_NE(std::string(soft_last_message()).find("do not ascend, or a"),
              std::string::npos);
    soft_device_reset(0);
    arguments.max_q = -1;
    EXPECT_EQ(attention(queue, arguments, q.view(), {}), Status::kInvalid);
  }
}

TEST(Attention, RefusesShapesThatDoNotFit) {
  Call<float> call(Shape{});
  call.k = randomTensor<float>({2, 7, 3, 3}, 1);
  EXPECT_EQ(call.run(), Status::kInvalid);
  EXPECT_NE(std::string(lastMessage()).find("4 heads of q for 3"),
            std::string::npos);
  Call<float> width(Shape{});
  width.v = randomTensor<float>({2, 7, 2, 4}, 1);
  EXPECT_EQ(width.run(), Status::kInvalid);
  Call<float> dropped(Shape{});
  dropped.arguments.dropout = 1.0;
  EXPECT_EQ(dropped.run(), Status::kInvalid);
  Call<float> statistics(Shape{});
  statistics.lse = DeviceTensor<float>({2, 5, 4}, 0.0F);
  EXPECT_EQ(statistics.run(), Status::kInvalid);
  Call<float> others(Shape{});
  ASSERT_EQ(others.run(), Status::kOk);
  const TensorView fits = others.lse.view();
  const TensorView small = statistics.lse.view();
  for (const AttentionStatistics& given :
       {AttentionStatistics{fits, small, fits}, {fits, fits, small}}) {
    TestQueue queue;
    EXPECT_EQ(attention(queue, others.arguments, others.out.view(), given),
              Status::kInvalid);
  }
  const DeviceTensor<int32_t> integers(call.shape.q(), 1);
  AttentionArguments arguments;
  arguments.q = arguments.k = arguments.v = integers.view();
  TestQueue queue;
  EXPECT_EQ(attention(queue, arguments, integers.view(), {}),
            Status::kUnsupported);
}

}  // namespace
}  // namespace dipu::kernels
