// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

class PeerTest : public DeviceTest {
 protected:
  // Whether work of `device` may use `ptr`. A refusal makes the device's error
  // sticky, which the next reset clears.
  static bool mayUse(int32_t device, const void* ptr) {
    soft_stream* stream = makeStream(device);
    const bool allowed = soft_translate(stream, ptr, 4) != nullptr;
    EXPECT_SOFT(allowed ? SOFT_OK : SOFT_ILLEGAL_ADDRESS,
                soft_stream_synchronize(stream));
    if (!allowed) {
      EXPECT_NE(std::string(soft_last_message()).find("peer access"),
                std::string::npos)
          << soft_last_message();
    }
    return allowed;
  }
  static int32_t isEnabled(int32_t device, int32_t peer) {
    int32_t enabled = -1;
    EXPECT_OK(soft_device_get_peer_access(device, peer, &enabled));
    return enabled;
  }
};

TEST_F(PeerTest, KernelsNeedPermissionPerDirection) {
  auto* first = makeArray<int>(0, 4);
  ASSERT_OK(soft_device_enable_peer_access(0, 1));
  EXPECT_FALSE(mayUse(1, first)) << "only device 0 may use device 1";
  ASSERT_OK(soft_device_reset(1));
  ASSERT_OK(soft_device_enable_peer_access(1, 0));
  EXPECT_TRUE(mayUse(1, first));
  EXPECT_EQ(isEnabled(0, 1), 1);
  EXPECT_EQ(isEnabled(1, 0), 1);
}

TEST_F(PeerTest, KernelReadsAndWritesThePeer) {
  ASSERT_OK(soft_device_enable_peer_access(1, 0));
  auto* data = makeArray<int>(0, 4);
  ASSERT_OK(soft_memcpy(data, std::string(16, '\1').data(), 16));
  soft_stream* stream = makeStream(1);
  auto* backing = static_cast<int*>(soft_translate(stream, data, 16));
  ASSERT_OK(launch(stream, [backing] { backing[3] += backing[0]; }));
  ASSERT_OK(soft_stream_synchronize(stream));
  int value = 0;
  ASSERT_OK(soft_memcpy(&value, data + 3, sizeof(value)));
  EXPECT_EQ(value, 0x02020202);
}

TEST_F(PeerTest, FreeWaitsForThePeer) {
  ASSERT_OK(soft_device_enable_peer_access(1, 0));
  auto* data = makeArray<int>(0, 1);
  soft_stream* stream = makeStream(1);
  auto* backing = static_cast<int*>(soft_translate(stream, data, sizeof(int)));
  static int seen;
  seen = 0;
  for (int i = 0; i < 500; ++i) {
    ASSERT_OK(launch(stream, [backing] { seen += ++*backing > 0 ? 1 : 0; }));
  }
  ASSERT_OK(soft_free(data));
  EXPECT_EQ(seen, 500);
}

TEST_F(PeerTest, ResetWaitsForThePeer) {
  ASSERT_OK(soft_device_enable_peer_access(1, 0));
  auto* data = makeArray<int>(0, 1);
  soft_stream* stream = makeStream(1);
  auto* backing = static_cast<int*>(soft_translate(stream, data, sizeof(int)));
  static int seen;
  seen = 0;
  for (int i = 0; i < 500; ++i) {
    ASSERT_OK(launch(stream, [backing] { seen += ++*backing > 0 ? 1 : 0; }));
  }
  ASSERT_OK(soft_device_reset(0));
  EXPECT_EQ(seen, 500);
}

TEST_F(PeerTest, EnablingTwiceIsOnePermission) {
  auto* data = makeArray<int>(1, 4);
  ASSERT_OK(soft_device_enable_peer_access(0, 1));
  EXPECT_OK(soft_device_enable_peer_access(0, 1));
  EXPECT_TRUE(mayUse(0, data));
  ASSERT_OK(soft_device_disable_peer_access(0, 1));
  EXPECT_EQ(isEnabled(0, 1), 0);
  EXPECT_OK(soft_device_disable_peer_access(0, 1));
  EXPECT_FALSE(mayUse(0, data));
}

TEST_F(PeerTest, ResetForgetsThePermissionsOfItsDevice) {
  ASSERT_OK(soft_device_enable_peer_access(0, 1));
  ASSERT_OK(soft_device_enable_peer_access(1, 0));
  ASSERT_OK(soft_device_reset(0));
  EXPECT_EQ(isEnabled(0, 1), 0);
  EXPECT_EQ(isEnabled(1, 0), 1);
  EXPECT_FALSE(mayUse(0, makeArray<int>(1, 4)));
}

TEST_F(PeerTest, BadPairsAreErrors) {
  for (auto* change :
       {soft_device_enable_peer_access, soft_device_disable_peer_access}) {
    EXPECT_SOFT(SOFT_INVALID_DEVICE, change(0, 0));
    EXPECT_SOFT(SOFT_INVALID_DEVICE, change(0, 2));
    EXPECT_SOFT(SOFT_INVALID_DEVICE, change(0, -1));
    EXPECT_SOFT(SOFT_INVALID_DEVICE, change(2, 0));
    EXPECT_SOFT(SOFT_INVALID_DEVICE, change(-1, 0));
  }
  int32_t value = 7;
  EXPECT_SOFT(SOFT_INVALID_DEVICE, soft_device_get_peer_access(0, 0, &value));
  EXPECT_SOFT(SOFT_INVALID_DEVICE, soft_device_can_access_peer(0, 2, &value));
  EXPECT_SOFT(SOFT_INVALID_DEVICE, soft_device_can_access_peer(-1, 0, &value));
  EXPECT_EQ(value, 7) << "a failed call leaves its output alone";
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_device_can_access_peer(0, 1, nullptr));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_device_get_peer_access(0, 1, nullptr));
  ASSERT_OK(soft_device_can_access_peer(0, 1, &value));
  EXPECT_EQ(value, 1);
  ASSERT_OK(soft_device_can_access_peer(1, 1, &value));
  EXPECT_EQ(value, 0) << "a device is not its own peer";
}

}  // namespace
}  // namespace dipu::softdevice
