// SPDX-License-Identifier: Apache-2.0
//
// Tests an operator library with the samples of ops.yaml, without torch:
//
//   samples --vendor=PATH [--operators=PATH] [--strict] [--gtest_...]
//
// --vendor     the vendor library; default: $DIPU_VENDOR_LIBRARY
// --operators  an operator library in place of the one that it names
// --runtime    libdipu_diopi_rt.so; default: where Bazel puts it
// --samples    the file of samples, likewise
// --strict     a function that is missing or declines a sample is a failure;
//              without it the test is skipped, as the host computes on the CPU
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>

#include "tests/samples/arguments.h"
#include "tests/samples/device.h"
#include "tests/samples/difference.h"
#include "tests/samples/sample.h"

namespace dipu::samples {
namespace {

struct Options {
  Device::Options device;
  std::string samples = "diopi_adapter/samples.txt";
  bool strict = false;
};

// What outputs hold before the call.
constexpr uint8_t kGarbage = 0xa5;

std::size_t bytesOf(const TensorSpec& tensor) {
  return tensor.before ? tensor.before->size() : tensor.after->size();
}

bool declines(diopiError_t status) {
  return status == diopiNoImplement || status == diopiDtypeNotSupported ||
         status == diopiForceFallbackToCPU || status == diopi5DNotSupported;
}

class SampleTest : public ::testing::Test {
 public:
  SampleTest(const Device* device, const Sample* sample, bool strict)
      : device_(*device), sample_(*sample), strict_(strict) {}

  void TestBody() override {
    SCOPED_TRACE(sample_.place + ": " + sample_.function);
    RecordProperty("function", sample_.function);  // for listeners
    try {
      run();
    } catch (const std::exception& error) {
      FAIL() << error.what();
    }
  }

 private:
  void run() {
    const Call call = callOf(sample_.function);
    ASSERT_NE(call, nullptr) << "samples cannot call this function";
    void* const function = address();
    if (function == nullptr) return decline("the library lacks the function");
    CallTensors tensors(device_);
    std::vector<diopiTensorHandle_t> handles;
    for (const TensorSpec& tensor : sample_.tensors) {
      const Bytes garbage(bytesOf(tensor), kGarbage);
      handles.push_back(tensors.add(tensor.dtype, tensor.sizes, tensor.strides,
                                    tensor.before.value_or(garbage)));
    }
    Arguments arguments(sample_.arguments, handles);
    diopiContext context = tensors.context();
    const diopiError_t status = call(function, &context, arguments);
    device_.synchronize();
    if (declines(status)) return decline(device_.lastError());
    ASSERT_EQ(status, diopiSuccess) << device_.lastError();
    for (std::size_t i = 0; i < handles.size(); ++i) {
      const diopiTensorHandle_t made = arguments.allocated(i);
      compare(i, tensors, made != nullptr ? made : handles[i]);
    }
  }

  // The function, or null when the library has none to use.
  void* address() const {
    for (std::size_t i = 0; i < loader::kSymbolCount; ++i) {
      const auto symbol = static_cast<loader::Symbol>(i);
      if (sample_.function == loader::symbolName(symbol)) {
        return device_.operators().address(symbol);
      }
    }
    return nullptr;
  }

  void decline(const std::string& reason) const {
    if (strict_) FAIL() << "not computed: " << reason;
    GTEST_SKIP() << reason;
  }

  void compare(std::size_t number, const CallTensors& tensors,
               diopiConstTensorHandle_t tensor) const {
    const TensorSpec& spec = sample_.tensors[number];
    const std::vector<int64_t> sizes(tensor->sizes,
                                     tensor->sizes + tensor->ndim);
    EXPECT_EQ(sizes, spec.sizes) << "tensor " << number;
    EXPECT_EQ(tensor->dtype, spec.dtype) << "tensor " << number;
    const Bytes got = tensors.read(tensor);
    if (spec.after) {
      EXPECT_EQ(difference(spec.dtype, spec.tolerance, got, *spec.after), "")
          << "tensor " << number;
    } else {
      EXPECT_EQ(got, *spec.before) << "input " << number << " was changed";
    }
  }

  const Device& device_;
  const Sample& sample_;
  const bool strict_;
};

// Whether `argument` is `--name=...`; stores what follows.
bool takes(const std::string& argument, const char* name, std::string* value) {
  const std::string start = std::string("--") + name + "=";
  if (argument.compare(0, start.size(), start) != 0) return false;
  *value = argument.substr(start.size());
  return true;
}

// Throws std::runtime_error for what it does not know.
Options parse(int argc, char** argv) {
  Options options;
  options.device.runtime = "diopi_adapter/abi/libdipu_diopi_rt.so";
  if (const char* vendor = std::getenv("DIPU_VENDOR_LIBRARY")) {
    options.device.vendor = vendor;
  }
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--strict") {
      options.strict = true;
    } else if (!takes(argument, "vendor", &options.device.vendor) &&
               !takes(argument, "operators", &options.device.operators) &&
               !takes(argument, "runtime", &options.device.runtime) &&
               !takes(argument, "samples", &options.samples)) {
      throw std::runtime_error("unknown argument " + argument);
    }
  }
  if (options.device.vendor.empty()) {
    throw std::runtime_error("no vendor library: say --vendor=PATH");
  }
  return options;
}

std::vector<Sample> readFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<Sample> samples = readSamples(file, path);
  if (samples.empty()) throw std::runtime_error(path + " has no samples");
  return samples;
}

int run(const Options& options) {
  const std::vector<Sample> samples = readFile(options.samples);
  const Device device(options.device);
  const bool strict = options.strict;
  for (const Sample& sample : samples) {
    ::testing::RegisterTest("Sample", sample.name.c_str(), nullptr,
                            sample.place.c_str(), __FILE__, __LINE__,
                            [&device, &sample, strict]() -> ::testing::Test* {
                              return new SampleTest(&device, &sample, strict);
                            });
  }
  const int status = RUN_ALL_TESTS();
  const auto& results = *::testing::UnitTest::GetInstance();
  if (status == 0 && results.successful_test_count() == 0) {
    throw std::runtime_error("the library computed none of the samples");
  }
  return status;
}

}  // namespace
}  // namespace dipu::samples

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  try {
    return dipu::samples::run(dipu::samples::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "samples: %s\n", error.what());
    return 1;
  }
}
