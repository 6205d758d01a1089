// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/compute/vision/grid_sampler.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

constexpr GridOptions kBilinear{GridInterpolation::kLinear, GridPadding::kZeros,
                                true};

TEST(GridSamplerTest, PixelsAndTheMiddleBetweenThem) {
  TestQueue queue;
  const DeviceTensor<float> image({1, 1, 2, 2}, {1.0F, 2.0F, 3.0F, 6.0F});
  const DeviceTensor<float> grid(
      {1, 1, 4, 2}, {-1.0F, -1.0F, 1.0F, -1.0F, 0.0F, 0.0F, 3.0F, 0.0F});
  const DeviceTensor<float> out({1, 1, 1, 4}, NAN);
  ASSERT_EQ(gridSample(queue, out.view(), image.view(), grid.view(), kBilinear),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{1, 2, 3, 0}));
  gridSample(queue, out.view(), image.view(), grid.view(),
             {GridInterpolation::kLinear, GridPadding::kBorder, true});
  EXPECT_EQ(out.read()[3], 4.0F);
  gridSample(queue, out.view(), image.view(), grid.view(),
             {GridInterpolation::kLinear, GridPadding::kReflection, true});
  EXPECT_EQ(out.read()[3], 2.0F);
}

TEST(GridSamplerTest, NoNumberIsOutside) {
  TestQueue queue;
  const DeviceTensor<float> image({1, 1, 1, 2, 2}, 1.0F);
  const DeviceTensor<float> grid({1, 1, 1, 2, 3},
                                 {NAN, 0.0F, 0.0F, INFINITY, 0.0F, 0.0F});
  const DeviceTensor<float> out({1, 1, 1, 1, 2}, NAN);
  const GridOptions nearest{GridInterpolation::kNearest, GridPadding::kZeros,
                            true};
  gridSample(queue, out.view(), image.view(), grid.view(), nearest);
  EXPECT_EQ(out.read(), (std::vector<float>{0, 0}));
}

// Sum of the samples weighted with g.
double weighted(const std::vector<double>& image,
                const std::vector<double>& grid, const std::vector<double>& g,
                const GridOptions& options) {
  TestQueue queue;
  const DeviceTensor<double> out({1, 2, 2, 3}, NAN);
  gridSample(queue, out.view(),
             DeviceTensor<double>({1, 2, 3, 4}, image).view(),
             DeviceTensor<double>({1, 2, 3, 2}, grid).view(), options);
  double sum = 0;
  for (std::size_t i = 0; i < g.size(); ++i) sum += g[i] * out.read()[i];
  return sum;
}

// Compares with difference quotients; returns how many there were.
std::size_t checkGradients(const GridOptions& options) {
  TestQueue queue;
  const auto image = randomTensor<double>({1, 2, 3, 4}, 1);
  const auto grid = randomTensor<double>({1, 2, 3, 2}, 2);
  const auto g = randomTensor<double>({1, 2, 2, 3}, 3);
  const DeviceTensor<double> dimage({1, 2, 3, 4}, NAN);
  const DeviceTensor<double> dgrid({1, 2, 3, 2}, NAN);
  gridSampleBackward(queue, dimage.view(), dgrid.view(), g.view(), image.view(),
                     grid.view(), options);
  const auto at = [&](std::size_t k, double step) {
    auto pixels = image.read();
    auto places = grid.read();
    (k < 24 ? pixels[k] : places[k - 24]) += step;
    return weighted(pixels, places, g.read(), options);
  };
  for (std::size_t k = 0; k < 36; ++k) {
    const double slope = (at(k, 1e-6) - at(k, -1e-6)) / 2e-6;
    const double grad = k < 24 ? dimage.read()[k] : dgrid.read()[k - 24];
    EXPECT_NEAR(grad, slope, 1e-7) << k;
  }
  return 36;
}

TEST(GridSamplerTest, GradientsAreDerivatives) {
  for (const auto interpolation :
       {GridInterpolation::kLinear, GridInterpolation::kCubic}) {
    for (const auto padding : {GridPadding::kZeros, GridPadding::kBorder,
                               GridPadding::kReflection}) {
      for (const bool align : {false, true}) {
        EXPECT_EQ(checkGradients({interpolation, padding, align}), 36U);
      }
    }
  }
}

}  // namespace
}  // namespace dipu::kernels
