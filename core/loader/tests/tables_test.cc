// SPDX-License-Identifier: Apache-2.0
//
// What makes a vendor's tables acceptable, one message per mistake.
#include "core/loader/tables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/loader/loader.h"
#include "core/loader/tests/test_vendor.h"

namespace dipu::loader {
namespace {

using testing::TestVendor;

// The text with which `vendor` is refused; "" when it is accepted.
std::string refusal(const TestVendor& vendor) {
  try {
    Library::adopt(&vendor.vendor, "built in");
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_REFUSED(vendor, part) \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, refusal(vendor))

TEST(Tables, AcceptsACompleteVendor) {
  TestVendor good;
  EXPECT_EQ(refusal(good), "");
  const Library library = Library::adopt(&good.vendor, "/opt/vendor/lib.so");
  EXPECT_STREQ(library.vendor().name, "test_vendor");
  EXPECT_EQ(library.operators(), &good.operators);
  EXPECT_EQ(library.operatorLibraryPath(),
            "/opt/vendor/libthird_party_operators.so");
  EXPECT_TRUE(library.notes().empty());
}

TEST(Tables, AnAbsoluteOperatorLibraryStaysAbsolute) {
  TestVendor vendor;
  vendor.operators.library = "/usr/lib/libdiopi_impl.so";
  EXPECT_EQ(Library::adopt(&vendor.vendor, "/opt/lib.so").operatorLibraryPath(),
            "/usr/lib/libdiopi_impl.so");
}

TEST(Tables, MessageNamesTheOrigin) {
  TestVendor bad;
  bad.vendor.name = nullptr;
  EXPECT_EQ(refusal(bad),
            "cannot load vendor library built in: the vendor's name is NULL. "
            "The library breaks the vendor contract; report it to the vendor");
}

TEST(Tables, RefusesANullVendor) {
  try {
    Library::adopt(nullptr, "built in");
    ADD_FAILURE() << "accepted";
  } catch (const LoadError& error) {
    EXPECT_STREQ(error.what(),
                 "cannot load vendor library built in: its dipu_vendor is "
                 "NULL. The library breaks the vendor contract; report it to "
                 "the vendor");
  }
}

TEST(Tables, RefusesAnotherMajorVersionOfTheContract) {
  TestVendor bad;
  bad.vendor.abi_version = DIPU_VERSION(2, 3);
  EXPECT_REFUSED(bad, "built for version 2.3");
  EXPECT_REFUSED(bad, "this host has 1.1");
}

TEST(Tables, RefusesAnotherMajorVersionOfARequiredTable) {
  TestVendor bad;
  bad.memory.version = DIPU_VERSION(2, 0);
  EXPECT_REFUSED(bad, "the table 'memory' has version 2.0, this host has 1.1");
}

TEST(Tables, RefusesAShortVendor) {
  TestVendor bad;
  bad.vendor.struct_size = offsetof(dipu_vendor, event);
  EXPECT_REFUSED(bad, "struct_size 80, at least 88 are needed");
}

TEST(Tables, RefusesAMissingTable) {
  TestVendor bad;
  bad.vendor.stream = nullptr;
  EXPECT_REFUSED(bad, "the required table 'stream' is NULL");
}

TEST(Tables, RefusesAnEmptyTable) {
  TestVendor bad;
  bad.event.struct_size = 0;
  EXPECT_REFUSED(bad,
                 "the table 'event' has struct_size 0, at least 16 are needed; "
                 "set it to sizeof(dipu_event_api). The library breaks");
}

// Takes each slot out of `table`, a member of `bad` called `name`, and expects
// the refusal to name it. TestVendor fills required slots only.
template <typename Table>
void expectEverySlotIsRequired(TestVendor& bad, Table& table, const char* name,
                               const std::vector<const char*>& slots) {
  const auto bytes = reinterpret_cast<char*>(&table);
  size_t filled = 0;
  for (size_t at = sizeof(size_t) + 2 * sizeof(uint32_t); at < sizeof(table);
       at += sizeof(void*)) {
    void* slot = nullptr;
    std::memcpy(&slot, bytes + at, sizeof(slot));
    if (slot == nullptr) continue;
    ASSERT_LT(filled, slots.size());
    std::memset(bytes + at, 0, sizeof(slot));
    EXPECT_REFUSED(bad, std::string("the required slot ") + name + "." +
                            slots[filled++] + " is NULL");
    std::memcpy(bytes + at, &slot, sizeof(slot));
  }
  EXPECT_EQ(filled, slots.size());
  EXPECT_EQ(refusal(bad), "");
}

TEST(Tables, RefusesEveryNullSlot) {
  TestVendor bad;
  expectEverySlotIsRequired(bad, bad.device, "device",
                            {"get_count", "set_current", "get_current",
                             "synchronize", "get_properties"});
  expectEverySlotIsRequired(
      bad, bad.memory, "memory",
      {"allocate", "deallocate", "get_info", "host_allocate", "host_deallocate",
       "copy", "copy_async", "set_async"});
  expectEverySlotIsRequired(bad, bad.stream, "stream",
                            {"create", "destroy", "get_default", "query",
                             "synchronize", "wait_event"});
  expectEverySlotIsRequired(
      bad, bad.event, "event",
      {"create", "destroy", "record", "query", "synchronize", "elapsed"});
}

TEST(Tables, RefusesAVendorWithoutItsParts) {
  const auto refusalWithout = [](auto field) {
    TestVendor bad;
    bad.vendor.*field = nullptr;
    return refusal(bad);
  };
  for (const std::string& text : {refusalWithout(&dipu_vendor::name),
                                  refusalWithout(&dipu_vendor::display_name),
                                  refusalWithout(&dipu_vendor::version),
                                  refusalWithout(&dipu_vendor::sdk_version),
                                  refusalWithout(&dipu_vendor::initialize),
                                  refusalWithout(&dipu_vendor::device),
                                  refusalWithout(&dipu_vendor::memory),
                                  refusalWithout(&dipu_vendor::stream),
                                  refusalWithout(&dipu_vendor::event)}) {
    EXPECT_NE(text.find(" is NULL. The library breaks"), std::string::npos)
        << text;
  }
}

TEST(Tables, RefusesASlotBeyondTheTable) {
  TestVendor bad;
  bad.device.struct_size = offsetof(dipu_device_api, synchronize);
  EXPECT_REFUSED(bad,
                 "the required slot device.synchronize lies beyond the table's "
                 "struct_size 40, at least 48 are needed. The library breaks");
}

// Only the bytes that the vendor vouches for are read.
TEST(Tables, RefusesATableThatIsJustASize) {
  TestVendor bad;
  const size_t size = sizeof(size);
  bad.vendor.event = reinterpret_cast<const dipu_event_api*>(&size);
  EXPECT_REFUSED(bad, "the table 'event' has struct_size 8, at least 16");
}

TEST(Tables, RefusesABadName) {
  TestVendor bad;
  for (const char* name : {"", "Droplet", "my-chip", "2chip",
                           "abcdefghijklmnopqrstuvwxyzabcdefg"}) {
    bad.vendor.name = name;
    EXPECT_REFUSED(bad, "is not made of 1 to 32 of a-z");
  }
  bad.vendor.name = "chip2_x";
  EXPECT_EQ(refusal(bad), "");
  bad.vendor.name = "\xff";
  EXPECT_REFUSED(bad, "the vendor's name '\\xff' is not made");
}

TEST(Tables, RefusesOperatorsWithoutALibrary) {
  TestVendor bad;
  bad.operators.library = nullptr;
  EXPECT_REFUSED(bad, "the required slot operators.library is NULL");
}

TEST(Tables, AnOlderVendorMayBeShorter) {
  TestVendor old;
  // What lies behind the end of an older struct belongs to somebody else.
  std::memset(&old.vendor.operators, 0xff,
              sizeof(dipu_vendor) - offsetof(dipu_vendor, operators));
  old.vendor.struct_size = offsetof(dipu_vendor, operators);
  old.device.struct_size = offsetof(dipu_device_api, reset);
  const Library library = Library::adopt(&old.vendor, "built in");
  EXPECT_EQ(library.operators(), nullptr);
  EXPECT_EQ(library.generator(), nullptr);
  EXPECT_EQ(library.operatorLibraryPath(), "");
}

TEST(Tables, ANewerVendorMayBeLonger) {
  TestVendor newer;
  newer.vendor.struct_size += 64;
  newer.vendor.abi_version = DIPU_VERSION(1, 9);
  newer.device.struct_size += 8;
  newer.device.version = DIPU_VERSION(1, 4);
  EXPECT_EQ(refusal(newer), "");
}

TEST(Tables, AnotherProvisionalVersionIsLeftOut) {
  TestVendor vendor;
  vendor.vendor.graph = &vendor.graph;
  EXPECT_EQ(Library::adopt(&vendor.vendor, "x").graph(), &vendor.graph);
  vendor.graph.version = DIPU_VERSION(0, 9);
  vendor.operators.version = DIPU_VERSION(1, 0);
  const Library library = Library::adopt(&vendor.vendor, "x");
  EXPECT_EQ(library.graph(), nullptr);
  EXPECT_EQ(library.operators(), nullptr);
  ASSERT_EQ(library.notes().size(), 2u);
  EXPECT_EQ(library.notes()[1],
            "the table 'graph' of version 0.9 is left out, this host has "
            "version 0.1");
}

TEST(Tables, AnOptionalTableThatIsTooShortIsLeftOut) {
  TestVendor vendor;
  const size_t size = 0;
  vendor.vendor.graph = reinterpret_cast<const dipu_graph_api*>(&size);
  const Library library = Library::adopt(&vendor.vendor, "x");
  EXPECT_EQ(library.graph(), nullptr);
  ASSERT_EQ(library.notes().size(), 1u);
  EXPECT_EQ(library.notes()[0],
            "the table 'graph' of struct_size 0 is left out, at least 16 are "
            "needed");
}

// Expects that a table with no slot filled is left out, which names `slot`.
template <typename Api>
void expectEmptyIsLeftOut(const Api* dipu_vendor::* field, uint32_t version,
                          const std::string& name, const std::string& slot) {
  TestVendor vendor;
  Api table{};
  table.struct_size = sizeof(table);
  table.version = version;
  vendor.vendor.*field = &table;
  const Library library = Library::adopt(&vendor.vendor, "x");
  ASSERT_EQ(library.notes().size(), 1u) << name;
  EXPECT_EQ(library.notes()[0],
            "the table '" + name + "' is left out: the required slot " + name +
                "." + slot +
                " is NULL. The library breaks the vendor contract; report it "
                "to the vendor");
}

TEST(Tables, AnOptionalTableWithoutARequiredSlotIsLeftOut) {
  expectEmptyIsLeftOut(&dipu_vendor::communicator,
                       DIPU_COMMUNICATOR_API_VERSION, "communicator",
                       "get_unique_id");
  expectEmptyIsLeftOut(&dipu_vendor::graph, DIPU_GRAPH_API_VERSION, "graph",
                       "begin_capture");
  expectEmptyIsLeftOut(&dipu_vendor::ipc, DIPU_IPC_API_VERSION, "ipc",
                       "export_memory");
  expectEmptyIsLeftOut(&dipu_vendor::virtual_memory,
                       DIPU_VIRTUAL_MEMORY_API_VERSION, "virtual_memory",
                       "get_granularity");
  expectEmptyIsLeftOut(&dipu_vendor::profiler, DIPU_PROFILER_API_VERSION,
                       "profiler", "start");
  expectEmptyIsLeftOut(&dipu_vendor::generator, DIPU_GENERATOR_API_VERSION,
                       "generator", "create");
}

TEST(Tables, AnOptionalTableNeedsNoOptionalSlot) {
  TestVendor vendor;
  vendor.vendor.graph = &vendor.graph;
  ASSERT_EQ(vendor.graph.write_dot, nullptr);
  Library library = Library::adopt(&vendor.vendor, "x");
  EXPECT_EQ(library.graph(), &vendor.graph);
  vendor.graph.launch = nullptr;
  library = Library::adopt(&vendor.vendor, "x");
  EXPECT_EQ(library.graph(), nullptr);
}

TEST(Tables, AReleasedTableMayHaveAnotherMinor) {
  const auto fits = [](uint32_t version, uint32_t host_version) {
    TestVendor vendor;
    vendor.graph.version = version;
    std::vector<std::string> notes;
    return isUsable("graph", &vendor.graph, host_version, notes);
  };
  EXPECT_TRUE(fits(DIPU_VERSION(1, 4), DIPU_VERSION(1, 2)));
  EXPECT_TRUE(fits(DIPU_VERSION(1, 0), DIPU_VERSION(1, 2)));
  EXPECT_FALSE(fits(DIPU_VERSION(2, 2), DIPU_VERSION(1, 2)));
  EXPECT_FALSE(fits(DIPU_VERSION(0, 2), DIPU_VERSION(1, 2)));
}

}  // namespace
}  // namespace dipu::loader
