// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/convolution/shape.h"
#include "kernels/compute/convolution/unfold.h"
#include "kernels/compute/gemm/problem.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/sums.h"

namespace dipu::kernels::convolution {
namespace {

// A convolution of one group of one image is one matrix product; they run one
// after the other, each on the whole team.
template <typename T>
struct Products {
  Pass pass;
  Shape shape;
  Addresses addresses;
  T* matrix;  // unfolded image: depth() x outPixels()

  int64_t groupChannels() const { return shape.channels / shape.groups; }
  int64_t groupFeatures() const { return shape.features / shape.groups; }
  int64_t depth() const { return groupChannels() * shape.kernelPixels(); }

  T* image(int64_t n, int64_t g) const {
    return static_cast<T*>(addresses.image) +
           (n * shape.channels + g * groupChannels()) * shape.inPixels();
  }
  T* result(int64_t n, int64_t g) const {
    return static_cast<T*>(addresses.result) +
           (n * shape.features + g * groupFeatures()) * shape.outPixels();
  }
  T* weight(int64_t g) const {
    return static_cast<T*>(addresses.weight) + g * groupFeatures() * depth();
  }

  void unfoldImage(int64_t n, int64_t g) const {
    const T* from = image(n, g);
    parallelFor(depth(), grainFor(shape.outPixels(), 2),
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    unfold(shape, from, row, matrix + row * shape.outPixels());
                  }
                });
  }

  void forward(int64_t n, int64_t g) const {
    unfoldImage(n, g);
    gemm::Problem p = problem();
    p.a = weight(g);
    p.a_strides = {0, depth(), 1};
    p.b = matrix;
    p.b_strides = {0, shape.outPixels(), 1};
    p.c = result(n, g);
    p.c_strides = {0, shape.outPixels(), 1};
    p.rows = groupFeatures();
    p.columns = shape.outPixels();
    p.depth = depth();
    if (addresses.bias != nullptr) {
      p.d = static_cast<const T*>(addresses.bias) + g * groupFeatures();
      p.d_strides = {0, 1, 0};
      p.beta = 1.0;
    }
    gemm::run(p, kDTypeOf<T>);
  }

  void input(int64_t n, int64_t g) const {
    gemm::Problem p = problem();
    p.a = weight(g);
    p.a_strides = {0, 1, depth()};
    p.b = result(n, g);
    p.b_strides = {0, shape.outPixels(), 1};
    p.c = matrix;
    p.c_strides = {0, shape.outPixels(), 1};
    p.rows = depth();
    p.columns = shape.outPixels();
    p.depth = groupFeatures();
    gemm::run(p, kDTypeOf<T>);
    T* to = image(n, g);
    const int64_t plane = shape.inPixels();
    parallelFor(groupChannels(),
                grainFor(shape.kernelPixels() * shape.outPixels(), 2),
                [&](int64_t begin, int64_t end) {
                  for (int64_t c = begin; c < end; ++c) {
                    fold(shape, matrix, c, to + c * plane);
                  }
                });
  }

  void weightGradient(int64_t n, int64_t g) const {
    unfoldImage(n, g);
    gemm::Problem p = problem();
    p.a = result(n, g);
    p.a_strides = {0, shape.outPixels(), 1};
    p.b = matrix;
    p.b_strides = {0, 1, shape.outPixels()};
    p.c = weight(g);
    p.c_strides = {0, depth(), 1};
    p.d = p.c;
    p.d_strides = p.c_strides;
    p.rows = groupFeatures();
    p.columns = depth();
    p.depth = shape.outPixels();
    p.beta = n == 0 ? 0.0 : 1.0;
    gemm::run(p, kDTypeOf<T>);
  }

  static gemm::Problem problem() {
    gemm::Problem p{};
    p.batch = 1;
    p.alpha = 1.0;
    return p;
  }

  void operator()() const {
    for (int64_t n = 0; n < shape.images; ++n) {
      for (int64_t g = 0; g < shape.groups; ++g) {
        switch (pass) {
          case Pass::kForward:
            forward(n, g);
            break;
          case Pass::kInput:
            input(n, g);
            break;
          default:
            weightGradient(n, g);
        }
      }
    }
  }
};

template <typename T>
Status enqueueTyped(const Queue& queue, Pass pass, const Shape& shape,
                    const Addresses& addresses) {
  const int64_t elements =
      shape.channels / shape.groups * shape.kernelPixels() * shape.outPixels();
  void* matrix =
      scratchAddress(queue, elements * static_cast<int64_t>(sizeof(T)));
  if (matrix == nullptr) return Status::kFailed;
  const Products<T> products{pass, shape, addresses, static_cast<T*>(matrix)};
  return queue.launch(products) ? Status::kOk : Status::kFailed;
}

template <typename T>
struct BiasSum {
  Shape shape;
  Addresses addresses;

  void operator()() const {
    const T* from = static_cast<const T*>(addresses.result);
    T* to = static_cast<T*>(addresses.bias);
    const int64_t pixels = shape.outPixels();
    parallelFor(shape.features, grainFor(shape.images * pixels),
                [&](int64_t begin, int64_t end) {
                  for (int64_t k = begin; k < end; ++k) {
                    double sum = 0;
                    for (int64_t n = 0; n < shape.images; ++n) {
                      const T* plane = from + (n * shape.features + k) * pixels;
                      sum += sumTerms<T>(
                          pixels, [plane](int64_t i) { return plane[i]; });
                    }
                    to[k] = static_cast<T>(sum);
                  }
                });
  }
};

}  // namespace

Status enqueueProducts(const Queue& queue, Pass pass, const Shape& shape,
                       DType dtype, const Addresses& addresses) {
  return dtype == DType::kFloat64
             ? enqueueTyped<double>(queue, pass, shape, addresses)
             : enqueueTyped<float>(queue, pass, shape, addresses);
}

Status enqueueBiasSum(const Queue& queue, const Shape& shape, DType dtype,
                      const Addresses& addresses) {
  const bool sent = dtype == DType::kFloat64
                        ? queue.launch(BiasSum<double>{shape, addresses})
                        : queue.launch(BiasSum<float>{shape, addresses});
  return sent ? Status::kOk : Status::kFailed;
}

}  // namespace dipu::kernels::convolution
