// SPDX-License-Identifier: Apache-2.0
//
// A host compiled against the header DIPU_VENDOR_API_H, that of a released
// version or today's, with the plug-ins of all versions. It uses the contract
// only, so it shows what the contract itself promises.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include DIPU_VENDOR_API_H

namespace {

bool succeeded(dipu_error* error) {
  if (error == nullptr) return true;
  ADD_FAILURE() << error->message;
  error->release(error);
  return false;
}

dipu_status_code codeOf(dipu_error* error) {
  if (error == nullptr) return DIPU_OK;
  const dipu_status_code code = error->code;
  error->release(error);
  return code;
}

void ignoreLog(dipu_log_level, const char*) {}

const dipu_host_services kHost = {sizeof(dipu_host_services), DIPU_ABI_VERSION,
                                  0, ignoreLog};

// Runs for each plug-in that is named on the command line.
class Reader : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    void* const handle = dlopen(GetParam().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    const auto query = reinterpret_cast<dipu_vendor_query_fn>(
        dlsym(handle, DIPU_VENDOR_QUERY_SYMBOL));
    ASSERT_NE(query, nullptr);
    vendor_ = query(DIPU_ABI_VERSION);
    ASSERT_NE(vendor_, nullptr);
    ASSERT_EQ(DIPU_VERSION_MAJOR(vendor_->abi_version),
              DIPU_VERSION_MAJOR(DIPU_ABI_VERSION));
    ASSERT_TRUE(DIPU_REACHES(vendor_, event));
    ASSERT_TRUE(succeeded(vendor_->initialize(&kHost)));
  }

  const dipu_vendor* vendor_ = nullptr;
};

TEST_P(Reader, FindsTheDevice) {
  EXPECT_STREQ(vendor_->name, "frozen");
  EXPECT_NE(vendor_->flags & DIPU_VENDOR_SIMULATED, 0u);
  int32_t count = 0;
  ASSERT_TRUE(succeeded(vendor_->device->get_count(&count)));
  EXPECT_EQ(count, 1);
  EXPECT_TRUE(succeeded(vendor_->device->set_current(0)));
  EXPECT_EQ(codeOf(vendor_->device->set_current(1)), DIPU_INVALID_ARGUMENT);
  EXPECT_FALSE(DIPU_HAS(vendor_->device, reset)) << "the vendor has none";
}

TEST_P(Reader, FillsNoFurtherThanTheStructReaches) {
  struct {
    dipu_device_properties properties;
    std::array<unsigned char, 64> behind;
  } memory{};
  memory.behind.fill(0xee);
  const auto untouched = memory.behind;
  memory.properties.struct_size = sizeof(memory.properties);
  ASSERT_TRUE(
      succeeded(vendor_->device->get_properties(0, &memory.properties)));
  EXPECT_STREQ(memory.properties.name, "Frozen card");
  EXPECT_EQ(memory.properties.total_memory, uint64_t{1} << 30);
  EXPECT_EQ(memory.properties.struct_size, sizeof(memory.properties));
  EXPECT_EQ(memory.behind, untouched);
}

TEST_P(Reader, DescribesPointersNoFurtherThanTheStructReaches) {
  void* ptr = nullptr;
  ASSERT_TRUE(succeeded(vendor_->memory->allocate(0, 1000, &ptr)));
  struct {
    dipu_pointer_info info;
    std::array<unsigned char, 64> behind;
  } memory{};
  memory.behind.fill(0xee);
  const auto untouched = memory.behind;
  memory.info.struct_size = sizeof(memory.info);
  ASSERT_TRUE(succeeded(vendor_->memory->get_pointer_info(ptr, &memory.info)));
  EXPECT_EQ(memory.info.kind, DIPU_MEMORY_DEVICE);
  EXPECT_EQ(memory.info.allocation, ptr);
  EXPECT_EQ(memory.info.bytes, 1000u);
  EXPECT_EQ(memory.behind, untouched);
#if DIPU_CONTRACT_MINOR >= 1
  const bool told = DIPU_VERSION_MINOR(vendor_->memory->version) >= 1;
  EXPECT_EQ(memory.info.host_pointer, told ? ptr : nullptr);
#endif
  vendor_->memory->deallocate(0, ptr);
}

TEST_P(Reader, MovesMemory) {
  constexpr size_t kBytes = 1000;
  const dipu_memory_api& api = *vendor_->memory;
  dipu_stream* stream = nullptr;
  ASSERT_TRUE(succeeded(vendor_->stream->get_default(0, &stream)));
  void* ptr = nullptr;
  ASSERT_TRUE(succeeded(api.allocate(0, kBytes, &ptr)));
  EXPECT_TRUE(succeeded(api.set_async(ptr, 0, 0x5a, kBytes, stream)));
  std::vector<unsigned char> out(kBytes);
  EXPECT_TRUE(
      succeeded(api.copy_async(out.data(), DIPU_HOST, ptr, 0, kBytes, stream)));
  EXPECT_TRUE(succeeded(vendor_->stream->synchronize(stream)));
  EXPECT_EQ(out, std::vector<unsigned char>(kBytes, 0x5a));
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  EXPECT_TRUE(succeeded(api.get_info(0, &free_bytes, &total_bytes)));
  EXPECT_LT(free_bytes, total_bytes);
  api.deallocate(0, ptr);
  api.deallocate(0, nullptr);
}

TEST_P(Reader, OrdersAndTimesStreams) {
  const dipu_event_api& api = *vendor_->event;
  const dipu_stream_create_args args{sizeof(args), 0, -1};
  dipu_stream* stream = nullptr;
  ASSERT_TRUE(succeeded(vendor_->stream->create(&args, &stream)));
  dipu_event* start = nullptr;
  dipu_event* end = nullptr;
  ASSERT_TRUE(succeeded(api.create(0, DIPU_EVENT_TIMING, &start)));
  ASSERT_TRUE(succeeded(api.create(0, DIPU_EVENT_TIMING, &end)));
  EXPECT_TRUE(succeeded(api.record(start, stream)));
  EXPECT_TRUE(succeeded(api.record(end, stream)));
  EXPECT_TRUE(succeeded(vendor_->stream->wait_event(stream, end)));
  dipu_event* strange = nullptr;
  EXPECT_EQ(codeOf(api.create(0, 1u << 30, &strange)), DIPU_UNIMPLEMENTED);
  int32_t done = 0;
  EXPECT_TRUE(succeeded(api.query(end, &done)));
  EXPECT_EQ(done, 1);
  double ms = 0;
  EXPECT_TRUE(succeeded(api.elapsed(start, end, &ms)));
  EXPECT_EQ(ms, 1);
  api.destroy(start);
  api.destroy(end);
  vendor_->stream->destroy(0, stream);
}

std::vector<std::string>& plugins() {
  static auto* const paths = new std::vector<std::string>;
  return *paths;
}

INSTANTIATE_TEST_SUITE_P(Plugins, Reader, ::testing::ValuesIn(plugins()),
                         [](const auto& info) {
                           const std::string& path = info.param;
                           const size_t name = path.rfind('/') + 1;
                           return path.substr(name, path.rfind('.') - name);
                         });

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-') plugins().push_back(argv[i]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  if (plugins().empty()) return 2;
  return RUN_ALL_TESTS();
}
