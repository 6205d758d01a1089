// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the kernel language have in common.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "vendors/droplet/tang/tang_kernel.h"

namespace dipu::tang {

class KernelTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("SOFTDEVICE_MEMORY", "64M", 1);
    setenv("OMP_NUM_THREADS", "4", 1);
  }
  void TearDown() override {
    EXPECT_EQ(tangDeviceReset(), tangSuccess);
    tangGetLastError();
  }
  template <typename T>
  static T* toDevice(const std::vector<T>& values) {
    void* ptr = nullptr;
    const std::size_t bytes = values.size() * sizeof(T);
    EXPECT_EQ(tangMalloc(&ptr, bytes), tangSuccess);
    EXPECT_EQ(tangMemcpy(ptr, values.data(), bytes, tangMemcpyHostToDevice),
              tangSuccess);
    return static_cast<T*>(ptr);
  }
  template <typename T>
  static std::vector<T> toHost(const T* data, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(tangMemcpy(values.data(), data, count * sizeof(T),
                         tangMemcpyDeviceToHost),
              tangSuccess);
    return values;
  }
  // The last launch fails with a text that has all of `parts`; the device works
  // again afterwards.
  static void expectLaunchFailure(std::initializer_list<const char*> parts) {
    EXPECT_EQ(tangDeviceSynchronize(), tangErrorLaunchFailure);
    const std::string text = tangGetErrorString(tangErrorLaunchFailure);
    for (const char* part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    }
    EXPECT_EQ(tangDeviceReset(), tangSuccess);
    tangGetLastError();
    EXPECT_EQ(tangDeviceSynchronize(), tangSuccess);
  }
};

}  // namespace dipu::tang
