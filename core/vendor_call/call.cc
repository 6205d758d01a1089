// SPDX-License-Identifier: Apache-2.0
#include "core/vendor_call/call.h"

#include <exception>
#include <new>

#include "core/plugin_kit/error.h"

namespace dipu::vendor_call::detail {
namespace {

// What was thrown comes last: it may be long, and long texts are cut.
dipu_error* makeError(dipu_status_code code, const char* slot,
                      const char* should, const char* thrown) noexcept {
  return plugin_kit::makeError(
      code, 0,
      "%s threw a C++ exception. The library breaks the vendor contract: the "
      "function has to %s; report it to the vendor. What was thrown: %s",
      slot, should, thrown);
}

}  // namespace

dipu_error* errorOfException(const char* slot, const char* should) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc& exception) {
    return makeError(DIPU_RESOURCE_EXHAUSTED, slot, should, exception.what());
  } catch (const std::exception& exception) {
    return makeError(DIPU_UNKNOWN, slot, should, exception.what());
  } catch (...) {
    return makeError(DIPU_UNKNOWN, slot, should,
                     "something that is not a std::exception");
  }
}

}  // namespace dipu::vendor_call::detail
