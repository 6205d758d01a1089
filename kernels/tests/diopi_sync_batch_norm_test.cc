// SPDX-License-Identifier: Apache-2.0
//
// Two devices that normalize together do what one does with all of the batch.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/tests/derivative.h"
#include "kernels/tests/device_tensor.h"
#include "kernels/tests/diopi_fixture.h"

namespace dipu::kernels {
namespace {

using testing::derivative;
using testing::DeviceTensor;
using testing::expectNear;
using testing::expectSlopes;
using testing::handleOf;
using testing::randomTensor;
using testing::Values;

constexpr int64_t kChannels = 3;
constexpr int64_t kWidth = 4;
constexpr double kEps = 1e-5;

struct Moments {
  Values mean;
  Values invstd;
  Values var;  // with divisor n - 1
};

// Of x [n, channels, width].
Moments moments(const Values& x) {
  Moments result;
  const double count = double(x.size()) / kChannels;
  for (int64_t c = 0; c < kChannels; ++c) {
    double mean = 0;
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (int64_t(i) / kWidth % kChannels == c) mean += x[i] / count;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (int64_t(i) / kWidth % kChannels != c) continue;
      squares += (x[i] - mean) * (x[i] - mean);
    }
    result.mean.push_back(mean);
    result.invstd.push_back(1 / std::sqrt(squares / count + kEps));
    result.var.push_back(squares / (count - 1));
  }
  return result;
}

Values normalized(const Values& x, const Values& w, const Values& b) {
  const Moments m = moments(x);
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const int64_t c = int64_t(i) / kWidth % kChannels;
    y[i] = (x[i] - m.mean[c]) * m.invstd[c] * w[c] + b[c];
  }
  return y;
}

class SyncBatchNorm : public testing::Diopi {
 protected:
  const DeviceTensor<double> x_ =
      randomTensor<double>({5, kChannels, kWidth}, 1);
  const DeviceTensor<double> g_ =
      randomTensor<double>({5, kChannels, kWidth}, 2);
  const DeviceTensor<double> w_ = randomTensor<double>({kChannels}, 3);
  const DeviceTensor<double> b_ = randomTensor<double>({kChannels}, 4);
};

TEST_F(SyncBatchNorm, JoinsStatistics) {
  const Values x = x_.read();
  const std::size_t cut = 2 * kChannels * kWidth;  // 2 samples, then 3
  const Moments first = moments({x.begin(), x.begin() + cut});
  const Moments second = moments({x.begin() + cut, x.end()});
  Values means = first.mean;
  Values spreads = first.invstd;
  means.insert(means.end(), second.mean.begin(), second.mean.end());
  spreads.insert(spreads.end(), second.invstd.begin(), second.invstd.end());
  const DeviceTensor<double> mean_all({2, kChannels}, means);
  const DeviceTensor<double> invstd_all({2, kChannels}, spreads);
  const DeviceTensor<float> counts({2}, {2.0F * kWidth, 3.0F * kWidth});
  const DeviceTensor<double> mean({kChannels}, 9.0);
  const DeviceTensor<double> invstd({kChannels}, 9.0);
  const DeviceTensor<double> running_mean({kChannels}, 1.0);
  const DeviceTensor<double> running_var({kChannels}, 2.0);
  diopiTensor h[] = {
      handleOf(mean.view()),         handleOf(invstd.view()),
      handleOf(mean_all.view()),     handleOf(invstd_all.view()),
      handleOf(running_mean.view()), handleOf(running_var.view()),
      handleOf(counts.view()),       handleOf(x_.view())};
  ASSERT_EQ(diopiBatchNormGatherStatsWithCounts(
                &context_, &h[0], &h[1], &h[7], &h[2], &h[3], &h[4], &h[5],
                0.25F, static_cast<float>(kEps), &h[6]),
            diopiSuccess)
      << diopiGetLastErrorString();
  const Moments all = moments(x);
  const Values means_read = mean.read();
  const Values spreads_read = invstd.read();
  for (int64_t c = 0; c < kChannels; ++c) {
    EXPECT_NEAR(means_read[c], all.mean[c], 1e-12);
    // eps went through float32.
    EXPECT_NEAR(spreads_read[c], all.invstd[c], 1e-10);
    EXPECT_NEAR(running_mean.read()[c], 0.75 + 0.25 * all.mean[c], 1e-12);
    EXPECT_NEAR(running_var.read()[c], 1.5 + 0.25 * all.var[c], 1e-10);
  }
  EXPECT_EQ(diopiBatchNormGatherStatsWithCounts(&context_, &h[0], &h[1], &h[7],
                                                &h[2], &h[7], &h[4], &h[5],
                                                0.25F, 1e-5F, &h[6]),
            diopiErrorOccurred);
}

TEST_F(SyncBatchNorm, NormalizesAndDifferentiates) {
  const Moments m = moments(x_.read());
  const DeviceTensor<double> mean({kChannels}, m.mean);
  const DeviceTensor<double> invstd({kChannels}, m.invstd);
  const DeviceTensor<double> out({5, kChannels, kWidth}, 9.0);
  const DeviceTensor<double> dx({5, kChannels, kWidth}, 9.0);
  const DeviceTensor<double> sum_dy({kChannels}, 9.0);
  const DeviceTensor<double> sum_dy_xmu({kChannels}, 9.0);
  const DeviceTensor<double> dw({kChannels}, 9.0);
  const DeviceTensor<double> db({kChannels}, 9.0);
  const DeviceTensor<int32_t> counts({2}, {8, 12});
  diopiTensor x = handleOf(x_.view());
  diopiTensor g = handleOf(g_.view());
  diopiTensor w = handleOf(w_.view());
  diopiTensor b = handleOf(b_.view());
  diopiTensor mh = handleOf(mean.view());
  diopiTensor sh = handleOf(invstd.view());
  diopiTensor y = handleOf(out.view());
  diopiTensor dxh = handleOf(dx.view());
  diopiTensor sum = handleOf(sum_dy.view());
  diopiTensor product = handleOf(sum_dy_xmu.view());
  diopiTensor dwh = handleOf(dw.view());
  diopiTensor dbh = handleOf(db.view());
  diopiTensor n = handleOf(counts.view());
  ASSERT_EQ(diopiBatchNormElemt(&context_, &y, &x, &w, &b, &mh, &sh, 0.0F),
            diopiSuccess)
      << diopiGetLastErrorString();
  expectNear(out, normalized(x_.read(), w_.read(), b_.read()));
  ASSERT_EQ(
      diopiBatchNormBackwardReduce(&context_, &sum, &product, &dwh, &dbh, &g,
                                   &x, &mh, &sh, &w, true, true, true),
      diopiSuccess)
      << diopiGetLastErrorString();
  ASSERT_EQ(diopiBatchNormBackwardElemt(&context_, &dxh, &g, &x, &mh, &sh, &w,
                                        &sum, &product, &n),
            diopiSuccess)
      << diopiGetLastErrorString();
  const Values gs = g_.read();
  expectSlopes(dx, derivative(x_.read(), gs, [&](const Values& at) {
                 return normalized(at, w_.read(), b_.read());
               }));
  expectSlopes(dw, derivative(w_.read(), gs, [&](const Values& at) {
                 return normalized(x_.read(), at, b_.read());
               }));
  expectSlopes(db, derivative(b_.read(), gs, [&](const Values& at) {
                 return normalized(x_.read(), w_.read(), at);
               }));
  EXPECT_EQ(diopiBatchNormElemt(&context_, &y, &x, &g, &b, &mh, &sh, 0.0F),
            diopiErrorOccurred);
}

}  // namespace
}  // namespace dipu::kernels
