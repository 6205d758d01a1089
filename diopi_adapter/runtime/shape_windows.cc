// SPDX-License-Identifier: Apache-2.0
//
// The part of the shape vocabulary that is about windows.
#include <ATen/native/Pool.h>
#include <ATen/native/im2col_shape_check.h>

#include "diopi_adapter/runtime/shape.h"

namespace dipu::adapter::shape {
namespace {

// Element `i` of a list that may have one element for all dimensions, or none.
int64_t element(at::IntArrayRef list, size_t i, int64_t absent) {
  if (list.empty()) return absent;
  return list[std::min(i, list.size() - 1)];
}

// Two numbers per argument of im2col.
struct Pair {
  Pair(const char* name, at::IntArrayRef list) {
    TORCH_CHECK(list.size() == 2, "It is expected ", name,
                " equals to 2, but got size ", list.size());
    height = list[0];
    width = list[1];
  }
  int64_t height;
  int64_t width;
};

// Gives the layout that `input` asks for.
void takeLayout(OutputSpec& spec, const at::Tensor& input) {
  if (input.dim() != 5 ||
      input.suggest_memory_format() != c10::MemoryFormat::ChannelsLast3d) {
    return;
  }
  const auto strides = c10::get_channels_last_strides_3d(spec.sizes);
  spec.strides.assign(strides.begin(), strides.end());
}

void checkWindows(const at::Tensor& input, at::IntArrayRef kernel_size,
                  at::IntArrayRef stride, at::IntArrayRef padding,
                  at::IntArrayRef dilation) {
  const auto once = [](at::IntArrayRef list) {
    return list.size() == 1 || list.size() == 3;
  };
  TORCH_CHECK(once(kernel_size) && once(padding) && once(dilation) &&
                  (stride.empty() || once(stride)),
              "max_pool3d: kernel_size, stride, padding and dilation must be "
              "one int or three");
  TORCH_CHECK(input.dim() == 4 || input.dim() == 5,
              "max_pool3d: expected an input of 4 or 5 dimensions, but got ",
              input.sizes());
}

}  // namespace

OutputSpec windows(const at::Tensor& input, at::IntArrayRef kernel_size,
                   at::IntArrayRef stride, at::IntArrayRef padding,
                   at::IntArrayRef dilation, bool ceil_mode) {
  checkWindows(input, kernel_size, stride, padding, dilation);
  int64_t k[3], s[3], p[3], d[3], in[3], out[3];
  OutputSpec spec{at::DimVector(input.sizes()), {}, input.scalar_type()};
  for (size_t i = 0; i < 3; ++i) {
    const auto dim = static_cast<size_t>(input.dim()) - 3 + i;
    k[i] = element(kernel_size, i, 1);
    s[i] = element(stride, i, k[i]);
    p[i] = element(padding, i, 0);
    d[i] = element(dilation, i, 1);
    in[i] = input.sizes()[dim];
    out[i] = at::native::pooling_output_shape<int64_t>(in[i], k[i], p[i], s[i],
                                                       d[i], ceil_mode);
    spec.sizes[dim] = out[i];
  }
  at::native::pool3d_shape_check(
      input, input.size(-4), static_cast<int>(k[0]), static_cast<int>(k[1]),
      static_cast<int>(k[2]), static_cast<int>(s[0]), static_cast<int>(s[1]),
      static_cast<int>(s[2]), static_cast<int>(p[0]), static_cast<int>(p[1]),
      static_cast<int>(p[2]), static_cast<int>(d[0]), static_cast<int>(d[1]),
      static_cast<int>(d[2]), in[0], in[1], in[2], out[0], out[1], out[2],
      "max_pool3d_with_indices");
  takeLayout(spec, input);
  return spec;
}

OutputSpec windowIndices(const at::Tensor& input, at::IntArrayRef kernel_size,
                         at::IntArrayRef stride, at::IntArrayRef padding,
                         at::IntArrayRef dilation, bool ceil_mode) {
  OutputSpec spec =
      windows(input, kernel_size, stride, padding, dilation, ceil_mode);
  spec.dtype = at::kLong;
  return spec;
}

OutputSpec columns(const at::Tensor& input, at::IntArrayRef kernel_size,
                   at::IntArrayRef dilation, at::IntArrayRef padding,
                   at::IntArrayRef stride) {
  const Pair k("kernel_size", kernel_size);
  const Pair d("dilation", dilation);
  const Pair p("padding", padding);
  const Pair s("stride", stride);
  at::native::im2col_shape_check(input, at::Tensor(), k.height, k.width,
                                 d.height, d.width, p.height, p.width, s.height,
                                 s.width);
  OutputSpec spec{at::DimVector(input.sizes()), {}, input.scalar_type()};
  spec.sizes.pop_back();
  const size_t channels = spec.sizes.size() - 2;
  spec.sizes[channels] *= k.height * k.width;
  using at::native::sliding_window_count;
  spec.sizes[channels + 1] =
      sliding_window_count(input.size(-2), p.height, d.height, k.height,
                           s.height) *
      sliding_window_count(input.size(-1), p.width, d.width, k.width, s.width);
  return spec;
}

OutputSpec fromColumns(const at::Tensor& input, at::IntArrayRef output_size,
                       at::IntArrayRef kernel_size, at::IntArrayRef dilation,
                       at::IntArrayRef padding, at::IntArrayRef stride) {
  const Pair size("output_size", output_size);
  const Pair k("kernel_size", kernel_size);
  const Pair d("dilation", dilation);
  const Pair p("padding", padding);
  const Pair s("stride", stride);
  at::native::col2im_shape_check(input, at::Tensor(), size.height, size.width,
                                 k.height, k.width, d.height, d.width, p.height,
                                 p.width, s.height, s.width);
  OutputSpec spec{at::DimVector(input.sizes()), {}, input.scalar_type()};
  spec.sizes.back() = size.height;
  spec.sizes.push_back(size.width);
  spec.sizes[spec.sizes.size() - 3] /= k.height * k.width;
  return spec;
}

OutputSpec padded(const at::Tensor& input, at::IntArrayRef padding) {
  constexpr int64_t spatial = 2;
  TORCH_CHECK(padding.size() == 2 * spatial, "padding: expected ", 2 * spatial,
              " numbers for images, but got ", padding);
  TORCH_CHECK(input.dim() == spatial + 1 || input.dim() == spatial + 2,
              "padding: expected an input of ", spatial + 1, " or ",
              spatial + 2, " dimensions, but got ", input.sizes());
  OutputSpec spec{at::DimVector(input.sizes()), {}, input.scalar_type()};
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t& size = spec.sizes[input.dim() - 1 - i];
    size += padding[2 * i] + padding[2 * i + 1];
    TORCH_CHECK(size >= 1, "padding ", padding, " leaves nothing of an input ",
                input.sizes());
  }
  return spec;
}

OutputSpec sized(const at::Tensor& tensor, at::IntArrayRef sizes) {
  return {at::DimVector(sizes), {}, tensor.scalar_type()};
}

OutputSpec reserve(const at::Tensor& /*input*/) { return {{0}, {}, at::kByte}; }

}  // namespace dipu::adapter::shape
