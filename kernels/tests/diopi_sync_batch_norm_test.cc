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

DeviceTensor<double> stacked(const Values& first, const Values& second) {
  Values all = first;
  all.insert(all.end(), second.begin(), second.end());
  return {{2, kChannels}, all};
}

class JoinedStatistics : public SyncBatchNorm {
 protected:
  diopiError_t join(const DeviceTensor<double>& mean_all,
                    const DeviceTensor<double>& invstd_all) {
    const DeviceTensor<float> counts({2}, {2.0F * kWidth, 3.0F * kWidth});
    diopiTensor h[] = {
        handleOf(mean_.view()),        handleOf(invstd_.view()),
        handleOf(x_.view()),           handleOf(mean_all.view()),
        handleOf(invstd_all.view()),   handleOf(running_mean_.view()),
        handleOf(running_var_.view()), handleOf(counts.view())};
    const diopiError_t status = diopiBatchNormGatherStatsWithCounts(
        &context_, &h[0], &h[1], &h[2], &h[3], &h[4], &h[5], &h[6], 0.25F,
        static_cast<float>(kEps), &h[7]);
    soft_stream_synchronize(stream_);
    return status;
  }

  const DeviceTensor<double> mean_{{kChannels}, 9.0};
  const DeviceTensor<double> invstd_{{kChannels}, 9.0};
  const DeviceTensor<double> running_mean_{{kChannels}, 1.0};
  const DeviceTensor<double> running_var_{{kChannels}, 2.0};
};

TEST_F(JoinedStatistics, AreThoseOfAllSamples) {
  const Values x = x_.read();
  const std::size_t cut = 2 * kChannels * kWidth;  // 2 samples, then 3
  const Moments first = moments({x.begin(), x.begin() + cut});
  const Moments second = moments({x.begin() + cut, x.end()});
  ASSERT_EQ(join(stacked(first.mean, second.mean),
                 stacked(first.invstd, second.invstd)),
            diopiSuccess)
      << diopiGetLastErrorString();
  const Moments all = moments(x);
  for (int64_t c = 0; c < kChannels; ++c) {
    EXPECT_NEAR(mean_.read()[c], all.mean[c], 1e-12);
    // eps went through float32.
    EXPECT_NEAR(invstd_.read()[c], all.invstd[c], 1e-10);
    EXPECT_NEAR(running_mean_.read()[c], 0.75 + 0.25 * all.mean[c], 1e-12);
    EXPECT_NEAR(running_var_.read()[c], 1.5 + 0.25 * all.var[c], 1e-10);
  }
}

TEST_F(JoinedStatistics, NeedOneLinePerDevice) {
  const DeviceTensor<double> means({2, kChannels}, 1.0);
  EXPECT_EQ(join(means, x_), diopiErrorOccurred);
}

class SyncBatchNormElements : public SyncBatchNorm {
 protected:
  // Into out_.
  diopiError_t normalize(const DeviceTensor<double>& weight) {
    diopiTensor h[] = {handleOf(out_.view()),   handleOf(x_.view()),
                       handleOf(weight.view()), handleOf(b_.view()),
                       handleOf(mean_.view()),  handleOf(invstd_.view())};
    return diopiBatchNormElemt(&context_, &h[0], &h[1], &h[2], &h[3], &h[4],
                               &h[5], 0.0F);
  }

  // Into dx_, dw_ and db_.
  void differentiate() {
    const DeviceTensor<double> sum_dy({kChannels}, 9.0);
    const DeviceTensor<double> sum_dy_xmu({kChannels}, 9.0);
    const DeviceTensor<int32_t> counts({2}, {8, 12});
    diopiTensor x = handleOf(x_.view());
    diopiTensor g = handleOf(g_.view());
    diopiTensor w = handleOf(w_.view());
    diopiTensor mean = handleOf(mean_.view());
    diopiTensor invstd = handleOf(invstd_.view());
    diopiTensor sum = handleOf(sum_dy.view());
    diopiTensor product = handleOf(sum_dy_xmu.view());
    diopiTensor dx = handleOf(dx_.view());
    diopiTensor dw = handleOf(dw_.view());
    diopiTensor db = handleOf(db_.view());
    diopiTensor n = handleOf(counts.view());
    ASSERT_EQ(
        diopiBatchNormBackwardReduce(&context_, &sum, &product, &dw, &db, &g,
                                     &x, &mean, &invstd, &w, true, true, true),
        diopiSuccess)
        << diopiGetLastErrorString();
    ASSERT_EQ(diopiBatchNormBackwardElemt(&context_, &dx, &g, &x, &mean,
                                          &invstd, &w, &sum, &product, &n),
              diopiSuccess)
        << diopiGetLastErrorString();
    soft_stream_synchronize(stream_);
  }

  const Moments moments_ = moments(x_.read());
  const DeviceTensor<double> mean_{{kChannels}, moments_.mean};
  const DeviceTensor<double> invstd_{{kChannels}, moments_.invstd};
  const DeviceTensor<double> out_{{5, kChannels, kWidth}, 9.0};
  const DeviceTensor<double> dx_{{5, kChannels, kWidth}, 9.0};
  const DeviceTensor<double> dw_{{kChannels}, 9.0};
  const DeviceTensor<double> db_{{kChannels}, 9.0};
};

TEST_F(SyncBatchNormElements, AreNormalized) {
  ASSERT_EQ(normalize(w_), diopiSuccess) << diopiGetLastErrorString();
  expectNear(out_, normalized(x_.read(), w_.read(), b_.read()));
  EXPECT_EQ(normalize(g_), diopiErrorOccurred);
}

TEST_F(SyncBatchNormElements, HaveTheGradientsOfTheFormula) {
  differentiate();
  const Values gs = g_.read();
  expectSlopes(dx_, derivative(x_.read(), gs, [&](const Values& at) {
                 return normalized(at, w_.read(), b_.read());
               }));
  expectSlopes(dw_, derivative(w_.read(), gs, [&](const Values& at) {
                 return normalized(x_.read(), at, b_.read());
               }));
  expectSlopes(db_, derivative(b_.read(), gs, [&](const Values& at) {
                 return normalized(x_.read(), w_.read(), at);
               }));
}

}  // namespace
}  // namespace dipu::kernels
