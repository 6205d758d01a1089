// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/convolution/primitive.h"

#include <unordered_map>

namespace dipu::kernels::convolution {
namespace {

using dnnl::memory;

constexpr int64_t kAlignment = 64;
constexpr auto kFloat = memory::data_type::f32;

// The values of the axes that the images have.
memory::dims axesOf(const Shape& s, const int64_t (&values)[kAxes],
                    int64_t less = 0) {
  memory::dims result;
  for (int64_t i = kAxes - s.dimensions; i < kAxes; ++i) {
    result.push_back(values[i] - less);
  }
  return result;
}

memory::desc imageDesc(const Shape& s, int64_t channels,
                       const int64_t (&sizes)[kAxes], bool channels_last) {
  using Tag = memory::format_tag;
  memory::dims dims = axesOf(s, sizes);
  dims.insert(dims.begin(), {s.images, channels});
  const bool flat = s.dimensions == 2;
  return memory::desc(dims, kFloat,
                      channels_last ? (flat ? Tag::nhwc : Tag::ndhwc)
                                    : (flat ? Tag::nchw : Tag::ncdhw));
}

// Strides of a weight tensor; channels-last: the channels of the kernel are
// innermost.
memory::dims weightStrides(const memory::dims& dims, bool channels_last) {
  memory::dims strides(dims.size(), 1);
  int64_t next = channels_last ? dims[1] : 1;
  for (std::size_t i = dims.size(); i-- > 2;) {
    strides[i] = next;
    next *= dims[i];
  }
  if (!channels_last) {
    strides[1] = next;
    next *= dims[1];
  }
  strides[0] = next;
  return strides;
}

memory::desc weightDesc(const Shape& s, bool channels_last) {
  memory::dims dims = axesOf(s, s.kernel);
  dims.insert(dims.begin(), {s.features, s.channels / s.groups});
  memory::dims strides = weightStrides(dims, channels_last);
  if (s.groups == 1) return memory::desc(dims, kFloat, strides);
  dims[0] = s.features / s.groups;
  dims.insert(dims.begin(), s.groups);
  strides.insert(strides.begin(), dims[1] * strides[0]);
  return memory::desc(dims, kFloat, strides);
}

memory::desc anyLayout(const memory::desc& given) {
  return memory::desc(given.get_dims(), kFloat, memory::format_tag::any);
}

// Padding behind the last element, so that the sizes of both images fit.
memory::dims paddingBehind(const Shape& s) {
  int64_t behind[kAxes];
  for (int i = 0; i < kAxes; ++i) {
    behind[i] = (s.out[i] - 1) * s.stride[i] +
                (s.kernel[i] - 1) * s.dilation[i] + 1 - s.in[i] - s.padding[i];
  }
  return axesOf(s, behind);
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

}  // namespace

const dnnl::engine& cpuEngine() {
  // Never destroyed: workers may outlive static destructors.
  static const auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

Primitive::Primitive(Pass pass, const Shape& s, const Layouts& layouts,
                     bool has_bias) {
  operands_[kImage].given = imageDesc(s, s.channels, s.in, layouts.image);
  operands_[kWeight].given = weightDesc(s, layouts.weight);
  operands_[kResult].given = imageDesc(s, s.features, s.out, layouts.result);
  for (Operand& operand : operands_) operand.used = anyLayout(operand.given);
  // Channels-last images are used as they are: converting both would cost more
  // than the blocked layout gains.
  if (layouts.image) operands_[kImage].used = operands_[kImage].given;
  if (layouts.result) operands_[kResult].used = operands_[kResult].given;
  if (has_bias) {
    bias_ = memory::desc({s.features}, kFloat, memory::format_tag::a);
  }
  switch (pass) {
    case Pass::kForward:
      chooseForward(s);
      break;
    case Pass::kInput:
      chooseInput(s);
      break;
    default:
      chooseWeight(s);
  }
}

dnnl::convolution_forward::primitive_desc Primitive::forwardDesc(
    const Shape& s) const {
  return dnnl::convolution_forward::primitive_desc(
      cpuEngine(), dnnl::prop_kind::forward_training, kAlgorithm,
      operands_[kImage].used, operands_[kWeight].used, bias_,
      operands_[kResult].used, axesOf(s, s.stride), axesOf(s, s.dilation, 1),
      axesOf(s, s.padding), paddingBehind(s), attributes());
}

void Primitive::chooseForward(const Shape& s) {
  const auto desc = forwardDesc(s);
  operands_[kImage].used = desc.src_desc();
  operands_[kWeight].used = desc.weights_desc();
  operands_[kResult].used = desc.dst_desc();
  operands_[kImage].argument = DNNL_ARG_SRC;
  operands_[kWeight].argument = DNNL_ARG_WEIGHTS;
  operands_[kResult].argument = DNNL_ARG_DST;
  operands_[kResult].is_output = true;
  bias_argument_ = DNNL_ARG_BIAS;
  kernel_ = dnnl::convolution_forward(desc);
  planScratch(desc.scratchpad_desc());
}

void Primitive::chooseInput(const Shape& s) {
  const dnnl::convolution_backward_data::primitive_desc desc(
      cpuEngine(), kAlgorithm, operands_[kImage].used, operands_[kWeight].used,
      operands_[kResult].used, axesOf(s, s.stride), axesOf(s, s.dilation, 1),
      axesOf(s, s.padding), paddingBehind(s), forwardDesc(s), attributes());
  operands_[kImage].used = desc.diff_src_desc();
  operands_[kWeight].used = desc.weights_desc();
  operands_[kResult].used = desc.diff_dst_desc();
  operands_[kImage].argument = DNNL_ARG_DIFF_SRC;
  operands_[kWeight].argument = DNNL_ARG_WEIGHTS;
  operands_[kResult].argument = DNNL_ARG_DIFF_DST;
  operands_[kImage].is_output = true;
  kernel_ = dnnl::convolution_backward_data(desc);
  planScratch(desc.scratchpad_desc());
}

void Primitive::chooseWeight(const Shape& s) {
  const dnnl::convolution_backward_weights::primitive_desc desc(
      cpuEngine(), kAlgorithm, operands_[kImage].used, operands_[kWeight].used,
      bias_, operands_[kResult].used, axesOf(s, s.stride),
      axesOf(s, s.dilation, 1), axesOf(s, s.padding), paddingBehind(s),
      forwardDesc(s), attributes());
  operands_[kImage].used = desc.src_desc();
  operands_[kWeight].used = desc.diff_weights_desc();
  operands_[kResult].used = desc.diff_dst_desc();
  operands_[kImage].argument = DNNL_ARG_SRC;
  operands_[kWeight].argument = DNNL_ARG_DIFF_WEIGHTS;
  operands_[kResult].argument = DNNL_ARG_DIFF_DST;
  operands_[kWeight].is_output = true;
  bias_argument_ = DNNL_ARG_DIFF_BIAS;
  kernel_ = dnnl::convolution_backward_weights(desc);
  planScratch(desc.scratchpad_desc());
}

void Primitive::planScratch(const memory::desc& scratchpad) {
  const auto take = [this](const memory::desc& desc) {
    const int64_t offset = scratch_bytes_;
    const auto bytes = static_cast<int64_t>(desc.get_size());
    scratch_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  };
  for (Operand& operand : operands_) {
    if (operand.used == operand.given) continue;
    operand.offset = take(operand.used);
    const memory given(operand.given, cpuEngine(), nullptr);
    const memory used(operand.used, cpuEngine(), nullptr);
    operand.reorder = operand.is_output ? dnnl::reorder(used, given)
                                        : dnnl::reorder(given, used);
  }
  scratchpad_ = scratchpad;
  scratchpad_offset_ = take(scratchpad);
}

void Primitive::run(const Addresses& addresses, void* scratch) const {
  static thread_local dnnl::stream stream(cpuEngine());
  char* base = static_cast<char*>(scratch);
  void* const data[kOperands] = {addresses.image, addresses.weight,
                                 addresses.result};
  std::unordered_map<int, memory> arguments;
  memory given[kOperands];
  memory used[kOperands];
  for (int i = 0; i < kOperands; ++i) {
    const Operand& operand = operands_[i];
    given[i] = memory(operand.given, cpuEngine(), data[i]);
    used[i] = given[i];
    if (operand.reorder) {
      used[i] = memory(operand.used, cpuEngine(), base + operand.offset);
      if (!operand.is_output)
        operand.reorder.execute(stream, given[i], used[i]);
    }
    arguments.emplace(operand.argument, used[i]);
  }
  if (addresses.bias != nullptr && !bias_.is_zero()) {
    arguments.emplace(bias_argument_,
                      memory(bias_, cpuEngine(), addresses.bias));
  }
  arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(scratchpad_, cpuEngine(),
                                                base + scratchpad_offset_));
  kernel_.execute(stream, arguments);
  for (int i = 0; i < kOperands; ++i) {
    const Operand& operand = operands_[i];
    if (operand.reorder && operand.is_output) {
      operand.reorder.execute(stream, used[i], given[i]);
    }
  }
  stream.wait();
}

}  // namespace dipu::kernels::convolution
