// SPDX-License-Identifier: Apache-2.0
#include "core/loader/tables.h"

#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace dipu::loader {
namespace {

constexpr size_t kMaxNameLength = 32;

// Every table begins like this.
struct TableHead {
  size_t struct_size;
  uint32_t version;
};

// The version is 0 when the table is too short to have one.
TableHead headOf(const void* table) {
  TableHead head{};
  std::memcpy(&head.struct_size, table, sizeof(head.struct_size));
  if (head.struct_size >= sizeof(head)) {
    std::memcpy(&head, table, sizeof(head));
  }
  return head;
}

// A required slot of a table.
struct Slot {
  const char* name;
  size_t offset;
};

#define DIPU_SLOT(type, field) \
  Slot { #field, offsetof(type, field) }

constexpr Slot kDeviceSlots[] = {
    DIPU_SLOT(dipu_device_api, get_count),
    DIPU_SLOT(dipu_device_api, set_current),
    DIPU_SLOT(dipu_device_api, get_current),
    DIPU_SLOT(dipu_device_api, synchronize),
    DIPU_SLOT(dipu_device_api, get_properties),
};
constexpr Slot kMemorySlots[] = {
    DIPU_SLOT(dipu_memory_api, allocate),
    DIPU_SLOT(dipu_memory_api, deallocate),
    DIPU_SLOT(dipu_memory_api, get_info),
    DIPU_SLOT(dipu_memory_api, host_allocate),
    DIPU_SLOT(dipu_memory_api, host_deallocate),
    DIPU_SLOT(dipu_memory_api, copy),
    DIPU_SLOT(dipu_memory_api, copy_async),
    DIPU_SLOT(dipu_memory_api, set_async),
};
constexpr Slot kStreamSlots[] = {
    DIPU_SLOT(dipu_stream_api, create),
    DIPU_SLOT(dipu_stream_api, destroy),
    DIPU_SLOT(dipu_stream_api, get_default),
    DIPU_SLOT(dipu_stream_api, query),
    DIPU_SLOT(dipu_stream_api, synchronize),
    DIPU_SLOT(dipu_stream_api, wait_event),
};
constexpr Slot kEventSlots[] = {
    DIPU_SLOT(dipu_event_api, create),      DIPU_SLOT(dipu_event_api, destroy),
    DIPU_SLOT(dipu_event_api, record),      DIPU_SLOT(dipu_event_api, query),
    DIPU_SLOT(dipu_event_api, synchronize), DIPU_SLOT(dipu_event_api, elapsed),
};
constexpr Slot kOperatorsSlots[] = {
    DIPU_SLOT(dipu_operators_api, library),
};

constexpr Slot kCommunicatorSlots[] = {
    DIPU_SLOT(dipu_communicator_api, get_unique_id),
    DIPU_SLOT(dipu_communicator_api, create),
    DIPU_SLOT(dipu_communicator_api, destroy),
    DIPU_SLOT(dipu_communicator_api, abort),
    DIPU_SLOT(dipu_communicator_api, get_async_error),
    DIPU_SLOT(dipu_communicator_api, all_reduce),
    DIPU_SLOT(dipu_communicator_api, broadcast),
    DIPU_SLOT(dipu_communicator_api, reduce),
    DIPU_SLOT(dipu_communicator_api, all_gather),
    DIPU_SLOT(dipu_communicator_api, reduce_scatter),
    DIPU_SLOT(dipu_communicator_api, send),
    DIPU_SLOT(dipu_communicator_api, recv),
    DIPU_SLOT(dipu_communicator_api, group_start),
    DIPU_SLOT(dipu_communicator_api, group_end),
};
constexpr Slot kGraphSlots[] = {
    DIPU_SLOT(dipu_graph_api, begin_capture),
    DIPU_SLOT(dipu_graph_api, end_capture),
    DIPU_SLOT(dipu_graph_api, get_capture_status),
    DIPU_SLOT(dipu_graph_api, instantiate),
    DIPU_SLOT(dipu_graph_api, launch),
    DIPU_SLOT(dipu_graph_api, destroy),
    DIPU_SLOT(dipu_graph_api, destroy_exec),
};
constexpr Slot kIpcSlots[] = {
    DIPU_SLOT(dipu_ipc_api, export_memory),
    DIPU_SLOT(dipu_ipc_api, open_memory),
    DIPU_SLOT(dipu_ipc_api, close_memory),
};
constexpr Slot kVirtualMemorySlots[] = {
    DIPU_SLOT(dipu_virtual_memory_api, get_granularity),
    DIPU_SLOT(dipu_virtual_memory_api, reserve),
    DIPU_SLOT(dipu_virtual_memory_api, release_range),
    DIPU_SLOT(dipu_virtual_memory_api, create),
    DIPU_SLOT(dipu_virtual_memory_api, destroy),
    DIPU_SLOT(dipu_virtual_memory_api, map),
    DIPU_SLOT(dipu_virtual_memory_api, unmap),
    DIPU_SLOT(dipu_virtual_memory_api, set_access),
};
constexpr Slot kProfilerSlots[] = {
    DIPU_SLOT(dipu_profiler_api, start),
    DIPU_SLOT(dipu_profiler_api, stop),
    DIPU_SLOT(dipu_profiler_api, set_correlation_id),
};
constexpr Slot kGeneratorSlots[] = {
    DIPU_SLOT(dipu_generator_api, create),
    DIPU_SLOT(dipu_generator_api, destroy),
    DIPU_SLOT(dipu_generator_api, set_seed),
    DIPU_SLOT(dipu_generator_api, get_state),
    DIPU_SLOT(dipu_generator_api, set_state),
};

// The required slots of one table.
struct Slots {
  template <size_t kCount>
  constexpr Slots(const Slot (&slots)[kCount])
      : first(slots), last(slots + kCount) {}
  const Slot* begin() const { return first; }
  const Slot* end() const { return last; }

  const Slot* first;
  const Slot* last;
};

// Tables without which a vendor does its work all the same. The operators are
// not among them: a vendor that has none says so by NULL.
struct OptionalTable {
  const char* name;
  Slots slots;
};

constexpr OptionalTable kOptionalTables[] = {
    {"communicator", kCommunicatorSlots},
    {"graph", kGraphSlots},
    {"ipc", kIpcSlots},
    {"virtual_memory", kVirtualMemorySlots},
    {"profiler", kProfilerSlots},
    {"generator", kGeneratorSlots},
};

// A reason that only the maker of the library can remove.
std::string mistake(const std::string& reason) {
  return reason +
         ". The library breaks the vendor contract; report it to the "
         "vendor";
}

// Returns what is wrong with `slot` of `table`; "" when it is filled.
std::string slotProblem(const void* table, const Slot& slot) {
  const size_t size = headOf(table).struct_size;
  const size_t needed = slot.offset + sizeof(void*);
  if (size < needed) {
    return " lies beyond the table's struct_size " + std::to_string(size) +
           ", at least " + std::to_string(needed) + " are needed";
  }
  void* value;
  std::memcpy(&value, static_cast<const char*>(table) + slot.offset,
              sizeof(value));
  return value == nullptr ? " is NULL" : "";
}

// Returns what is wrong with the first slot that `table` does not fill.
std::string checkSlots(const std::string& name, const void* table,
                       const Slots& slots) {
  for (const Slot& slot : slots) {
    const std::string problem = slotProblem(table, slot);
    if (problem.empty()) continue;
    return mistake("the required slot " + name + "." + slot.name + problem);
  }
  return "";
}

std::string checkRequired(const std::string& name, const void* table,
                          uint32_t host_version, const Slots& slots) {
  if (table == nullptr) {
    return mistake("the required table '" + name + "' is NULL");
  }
  const TableHead head = headOf(table);
  if (head.struct_size < sizeof(TableHead)) {
    return mistake("the table '" + name + "' has struct_size " +
                   std::to_string(head.struct_size) + ", at least " +
                   std::to_string(sizeof(TableHead)) +
                   " are needed; set it to sizeof(dipu_" + name + "_api)");
  }
  if (DIPU_VERSION_MAJOR(head.version) != DIPU_VERSION_MAJOR(host_version)) {
    return "the table '" + name + "' has version " + versionText(head.version) +
           ", this host has " + versionText(host_version) +
           ". Install releases of torch_dipu and of the vendor's package that "
           "belong together";
  }
  return checkSlots(name, table, slots);
}

std::string checkName(const char* name) {
  if (name == nullptr) return mistake("the vendor's name is NULL");
  const std::string_view text(name, strnlen(name, kMaxNameLength + 1));
  constexpr char kAllowed[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
  if (text.empty() || text.size() > kMaxNameLength ||
      text.find_first_not_of(kAllowed) != std::string_view::npos ||
      (text[0] >= '0' && text[0] <= '9')) {
    return mistake("the vendor's name '" + std::string(text) +
                   "' is not made of 1 to 32 of a-z, '_' and, but for the "
                   "first, 0-9");
  }
  return "";
}

std::string checkHead(const dipu_vendor& vendor) {
  constexpr size_t kLeast = offsetof(dipu_vendor, operators);
  if (vendor.struct_size < kLeast) {
    return mistake("its dipu_vendor has struct_size " +
                   std::to_string(vendor.struct_size) + ", at least " +
                   std::to_string(kLeast) +
                   " are needed; set it to sizeof(dipu_vendor)");
  }
  if (DIPU_VERSION_MAJOR(vendor.abi_version) !=
      DIPU_VERSION_MAJOR(DIPU_ABI_VERSION)) {
    return "it was built for version " + versionText(vendor.abi_version) +
           " of the vendor contract, this host has " +
           versionText(DIPU_ABI_VERSION) +
           ". Install releases of torch_dipu and of the vendor's package that "
           "belong together";
  }
  std::string problem = checkName(vendor.name);
  if (!problem.empty()) return problem;
  if (!vendor.display_name) return mistake("its display_name is NULL");
  if (!vendor.version) return mistake("its version is NULL");
  if (!vendor.sdk_version) return mistake("its sdk_version is NULL");
  if (!vendor.initialize) return mistake("its initialize is NULL");
  return "";
}

// Returns what is wrong with the slots of an optional table.
std::string checkOptional(const std::string& name, const void* table) {
  for (const OptionalTable& known : kOptionalTables) {
    if (name == known.name) return checkSlots(name, table, known.slots);
  }
  return "";
}

// Returns why an optional table is left out for its head; "" when it is not.
std::string whyUnusable(const TableHead& head, uint32_t host_version) {
  if (head.struct_size < sizeof(TableHead)) {
    return "of struct_size " + std::to_string(head.struct_size) +
           " is left out, at least " + std::to_string(sizeof(TableHead)) +
           " are needed";
  }
  const bool is_provisional = DIPU_VERSION_MAJOR(host_version) == 0;
  const bool fits = is_provisional ? head.version == host_version
                                   : DIPU_VERSION_MAJOR(head.version) ==
                                         DIPU_VERSION_MAJOR(host_version);
  if (fits) return "";
  return "of version " + versionText(head.version) +
         " is left out, this host has version " + versionText(host_version);
}

}  // namespace

std::string versionText(uint32_t version) {
  return std::to_string(DIPU_VERSION_MAJOR(version)) + "." +
         std::to_string(DIPU_VERSION_MINOR(version));
}

std::string checkVendor(const dipu_vendor* vendor) {
  if (vendor == nullptr) return mistake("its dipu_vendor is NULL");
  std::string problem = checkHead(*vendor);
  if (!problem.empty()) return problem;
  problem = checkRequired("device", vendor->device, DIPU_DEVICE_API_VERSION,
                          kDeviceSlots);
  if (!problem.empty()) return problem;
  problem = checkRequired("memory", vendor->memory, DIPU_MEMORY_API_VERSION,
                          kMemorySlots);
  if (!problem.empty()) return problem;
  problem = checkRequired("stream", vendor->stream, DIPU_STREAM_API_VERSION,
                          kStreamSlots);
  if (!problem.empty()) return problem;
  problem = checkRequired("event", vendor->event, DIPU_EVENT_API_VERSION,
                          kEventSlots);
  if (!problem.empty()) return problem;
  std::vector<std::string> notes;
  if (DIPU_HAS(vendor, operators) &&
      isUsable("operators", vendor->operators, DIPU_OPERATORS_API_VERSION,
               notes)) {
    return checkSlots("operators", vendor->operators, kOperatorsSlots);
  }
  return "";
}

bool isUsable(const char* name, const void* table, uint32_t host_version,
              std::vector<std::string>& notes) {
  if (table == nullptr) return false;
  std::string reason = whyUnusable(headOf(table), host_version);
  if (reason.empty()) {
    const std::string problem = checkOptional(name, table);
    if (problem.empty()) return true;
    reason = "is left out: " + problem;
  }
  notes.push_back("the table '" + std::string(name) + "' " + reason);
  return false;
}

}  // namespace dipu::loader
