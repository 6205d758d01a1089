// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions of boxes in images, and the focal loss.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/tests/derivative.h"
#include "kernels/tests/device_tensor.h"
#include "kernels/tests/diopi_fixture.h"

namespace dipu::kernels {
namespace {

using testing::derivative;
using testing::DeviceTensor;
using testing::doubles;
using testing::expectNear;
using testing::expectSlopes;
using testing::handleOf;
using testing::randomTensor;
using testing::Values;

class Detection : public testing::Diopi {
 protected:
  static std::string text() { return diopiGetLastErrorString(); }
};

TEST_F(Detection, KeepsTheBestOfBoxesThatCoverEachOther) {
  const DeviceTensor<float> boxes({5, 4},
                                  {0,  0,  10, 10, 1,  0, 11, 10, 20, 20,
                                   30, 30, 0,  0,  10, 5, 20, 20, 30, 30});
  const DeviceTensor<float> scores({5}, {0.5F, 0.9F, 0.1F, 0.3F, 0.1F});
  diopiTensor b = handleOf(boxes.view());
  diopiTensor s = handleOf(scores.view());
  diopiTensorHandle_t out = nullptr;
  ASSERT_EQ(diopiNms(&context_, &out, &b, &s, 0.5), diopiSuccess) << text();
  // Box 0 lies in box 1 by 9 / 11, box 3 by 4.5 / 10.5; boxes 2 and 4 are one.
  EXPECT_EQ(read<int64_t>(out), (std::vector<int64_t>{1, 3, 2}));
  ASSERT_EQ(diopiNms(&context_, &out, &b, &s, 1.0), diopiSuccess);
  EXPECT_EQ(read<int64_t>(out), (std::vector<int64_t>{1, 0, 3, 2, 4}));
  const DeviceTensor<float> none({0, 4}, 0.0F);
  const DeviceTensor<float> no_scores({0}, 0.0F);
  diopiTensor empty = handleOf(none.view());
  diopiTensor empty_scores = handleOf(no_scores.view());
  ASSERT_EQ(diopiNms(&context_, &out, &empty, &empty_scores, 0.5),
            diopiSuccess);
  EXPECT_EQ(out->numel, 0);
  EXPECT_EQ(diopiNms(&context_, &out, &b, &b, 0.5), diopiErrorOccurred);
  EXPECT_NE(text().find("boxes are not [n, 4]"), std::string::npos);
}

// An image of [height, width] between its pixels, 0 beyond one pixel outside.
double pixelAt(const double* image, int64_t height, int64_t width, double y,
               double x) {
  if (y < -1 || y > double(height) || x < -1 || x > double(width)) return 0;
  y = std::clamp(y, 0.0, double(height - 1));
  x = std::clamp(x, 0.0, double(width - 1));
  double sum = 0;
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      sum += image[i * width + j] * std::max(0.0, 1 - std::abs(y - double(i))) *
             std::max(0.0, 1 - std::abs(x - double(j)));
    }
  }
  return sum;
}

struct Roi {
  int64_t sampling;
  bool aligned;
};

constexpr int64_t kChannels = 3;
constexpr int64_t kHeight = 6;
constexpr int64_t kWidth = 5;
constexpr int64_t kRows = 2;
constexpr int64_t kColumns = 3;
constexpr double kScale = 0.5;

Values alignedRois(const Values& images, const Values& boxes, const Roi& roi) {
  Values out;
  for (std::size_t k = 0; k < boxes.size() / 5; ++k) {
    const double* box = &boxes[5 * k];
    const double offset = roi.aligned ? 0.5 : 0.0;
    const double x1 = box[1] * kScale - offset;
    const double y1 = box[2] * kScale - offset;
    double wide = box[3] * kScale - offset - x1;
    double high = box[4] * kScale - offset - y1;
    if (!roi.aligned) wide = std::max(wide, 1.0);
    if (!roi.aligned) high = std::max(high, 1.0);
    const double bin_h = high / double(kRows);
    const double bin_w = wide / double(kColumns);
    const auto ny = roi.sampling > 0 ? roi.sampling : int64_t(std::ceil(bin_h));
    const auto nx = roi.sampling > 0 ? roi.sampling : int64_t(std::ceil(bin_w));
    for (int64_t c = 0; c < kChannels; ++c) {
      const double* image =
          &images[(int64_t(box[0]) * kChannels + c) * kHeight * kWidth];
      for (int64_t bin = 0; bin < kRows * kColumns; ++bin) {
        double sum = 0;
        for (int64_t i = 0; i < ny; ++i) {
          for (int64_t j = 0; j < nx; ++j) {
            const double y = y1 + bin_h * (double(bin / kColumns) +
                                           (double(i) + 0.5) / double(ny));
            const double x = x1 + bin_w * (double(bin % kColumns) +
                                           (double(j) + 0.5) / double(nx));
            sum += pixelAt(image, kHeight, kWidth, y, x);
          }
        }
        out.push_back(sum / std::max(1.0, double(ny * nx)));
      }
    }
  }
  return out;
}

// Inside, past the border, tiny, and far outside.
const Values kBoxes = {0, 1, 2, 8,   9,   1, -4, -3, 14, 16,
                       1, 3, 3, 3.2, 3.1, 0, 40, 40, 50, 50};

template <typename T>
class RoiAlign : public testing::Diopi {};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(RoiAlign, FloatTypes);

TYPED_TEST(RoiAlign, ReadsBetweenPixels) {
  using T = TypeParam;
  const auto images = randomTensor<T>({2, kChannels, kHeight, kWidth}, 1);
  std::vector<T> corners;
  for (double value : kBoxes) {
    corners.push_back(static_cast<T>(ComputeType<T>(value)));
  }
  const DeviceTensor<T> boxes({4, 5}, corners);
  const DeviceTensor<T> out({4, kChannels, kRows, kColumns},
                            T(ComputeType<T>(9)));
  diopiTensor x = handleOf(images.view());
  diopiTensor b = handleOf(boxes.view());
  diopiTensor y = handleOf(out.view());
  for (const Roi& roi :
       {Roi{2, true}, Roi{0, true}, Roi{3, false}, Roi{20, true}}) {
    ASSERT_EQ(diopiRoiAlign(&this->context_, &y, &x, &b, kScale, kRows,
                            kColumns, roi.sampling, roi.aligned),
              diopiSuccess)
        << diopiGetLastErrorString();
    expectNear(out,
               alignedRois(doubles(images.read()), doubles(boxes.read()), roi));
  }
}

TEST_F(Detection, RoiAlignBackward) {
  const std::vector<int64_t> sizes = {2, kChannels, kHeight, kWidth};
  const auto images = randomTensor<double>(sizes, 1);
  const DeviceTensor<double> boxes({4, 5}, kBoxes);
  const auto g = randomTensor<double>({4, kChannels, kRows, kColumns}, 2);
  const DeviceTensor<double> dx(sizes, 9.0);
  diopiTensor b = handleOf(boxes.view());
  diopiTensor gh = handleOf(g.view());
  diopiTensor dh = handleOf(dx.view());
  for (const Roi& roi : {Roi{2, true}, Roi{0, false}, Roi{20, true}}) {
    ASSERT_EQ(diopiRoiAlignBackward(&context_, &dh, &gh, &b, kScale, kRows,
                                    kColumns, 2, kChannels, kHeight, kWidth,
                                    roi.sampling, roi.aligned),
              diopiSuccess)
        << text();
    expectSlopes(dx, derivative(images.read(), g.read(), [&](const Values& at) {
                   return alignedRois(at, kBoxes, roi);
                 }));
  }
  const DeviceTensor<double> lost({4, 5}, 7.0);
  diopiTensor l = handleOf(lost.view());
  ASSERT_EQ(
      diopiRoiAlignBackward(&context_, &dh, &gh, &l, kScale, kRows, kColumns, 2,
                            kChannels, kHeight, kWidth, 2, true),
      diopiSuccess);
  EXPECT_NE(soft_stream_synchronize(stream_), SOFT_OK);
  EXPECT_NE(std::string(soft_last_message()).find("in image 7 of 2"),
            std::string::npos);
  soft_device_reset(0);
  EXPECT_EQ(
      diopiRoiAlign(&context_, &gh, &dh, &gh, kScale, kRows, kColumns, 2, true),
      diopiErrorOccurred);
}

TEST_F(Detection, RoiAlignReportsMorePointsThanItTakes) {
  const std::pair<float, int64_t> calls[] = {{2.0F, int64_t{1} << 32},
                                             {1e12F, 0}};
  for (const auto& [corner, sampling] : calls) {
    const auto images = randomTensor<float>({1, 1, 4, 4}, 1);
    const DeviceTensor<float> boxes({1, 5}, {0, 0, 0, corner, corner});
    const DeviceTensor<float> out({1, 1, 1, 1}, 9.0F);
    diopiTensor x = handleOf(images.view());
    diopiTensor b = handleOf(boxes.view());
    diopiTensor y = handleOf(out.view());
    ASSERT_EQ(diopiRoiAlign(&context_, &y, &x, &b, 1.0, 1, 1, sampling, true),
              diopiSuccess);
    EXPECT_NE(soft_stream_synchronize(stream_), SOFT_OK);
    EXPECT_NE(std::string(soft_last_message()).find("a bin of box 0 has more"),
              std::string::npos);
    soft_device_reset(0);
  }
}

double focal(double x, double t, double alpha, double gamma) {
  const double p = 1 / (1 + std::exp(-x));
  const double entropy = -t * std::log(p) - (1 - t) * std::log(1 - p);
  const double reached = p * t + (1 - p) * (1 - t);
  const double weight = alpha < 0 ? 1 : alpha * t + (1 - alpha) * (1 - t);
  return weight * entropy * std::pow(1 - reached, gamma);
}

Values focalLoss(const Values& x, const Values& t, double alpha, double gamma,
                 diopiReduction_t reduction) {
  Values each;
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    each.push_back(focal(x[i], t[i], alpha, gamma));
    sum += each.back();
  }
  if (reduction == ReductionNone) return each;
  return {reduction == ReductionMean ? sum / double(x.size()) : sum};
}

class FocalLoss : public Detection {
 protected:
  void expectLossAndGradient(float alpha, float gamma,
                             diopiReduction_t reduction) {
    const std::vector<int64_t> sizes = reduction == ReductionNone
                                           ? std::vector<int64_t>{3, 4}
                                           : std::vector<int64_t>{};
    const DeviceTensor<double> out(sizes, 9.0);
    const DeviceTensor<double> dx({3, 4}, 9.0);
    const auto g = randomTensor<double>(sizes, 2);
    diopiTensor x = handleOf(x_.view());
    diopiTensor t = handleOf(t_.view());
    diopiTensor y = handleOf(out.view());
    diopiTensor gh = handleOf(g.view());
    diopiTensor dh = handleOf(dx.view());
    ASSERT_EQ(
        diopiSigmoidFocalLoss(&context_, &y, &x, &t, alpha, gamma, reduction),
        diopiSuccess)
        << text();
    const auto loss = [&](const Values& at) {
      return focalLoss(at, t_.read(), alpha, gamma, reduction);
    };
    expectNear(out, loss(x_.read()));
    ASSERT_EQ(diopiSigmoidFocalLossBackward(&context_, &gh, &x, &t, &dh, gamma,
                                            alpha, reduction),
              diopiSuccess)
        << text();
    expectSlopes(dx, derivative(x_.read(), g.read(), loss));
  }

  const DeviceTensor<double> x_ = randomTensor<double>({3, 4}, 1);
  const DeviceTensor<double> t_{{3, 4},
                                {1, 0, 0, 1, 0, 0.5, 1, 0, 0.25, 1, 0, 0}};
};

TEST_F(FocalLoss, HasTheGradientOfTheFormula) {
  for (const diopiReduction_t reduction :
       {ReductionNone, ReductionMean, ReductionSum}) {
    for (const float alpha : {0.25F, -1.0F}) {
      for (const float gamma : {0.0F, 0.5F, 2.0F}) {
        expectLossAndGradient(alpha, gamma, reduction);
      }
    }
  }
}

TEST_F(FocalLoss, RefusesAMeanWithSizes) {
  diopiTensor x = handleOf(x_.view());
  diopiTensor t = handleOf(t_.view());
  EXPECT_EQ(
      diopiSigmoidFocalLoss(&context_, &x, &x, &t, 0.25F, 2.0F, ReductionMean),
      diopiErrorOccurred);
}

TEST_F(FocalLoss, StaysFiniteFarOut) {
  const DeviceTensor<float> extreme({2}, {500.0F, -500.0F});
  const DeviceTensor<float> classes({2}, {0.0F, 1.0F});
  const DeviceTensor<float> loss({2}, 9.0F);
  diopiTensor x = handleOf(extreme.view());
  diopiTensor t = handleOf(classes.view());
  diopiTensor y = handleOf(loss.view());
  ASSERT_EQ(
      diopiSigmoidFocalLoss(&context_, &y, &x, &t, -1.0F, 2.0F, ReductionNone),
      diopiSuccess);
  EXPECT_EQ(loss.read(), (std::vector<float>{500.0F, 500.0F}));
}

}  // namespace
}  // namespace dipu::kernels
