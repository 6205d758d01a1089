// SPDX-License-Identifier: Apache-2.0
#include "core/loader/exception.h"

#include <exception>
#include <string>

#include "core/loader/text.h"

namespace dipu::loader {

std::string currentException() {
  std::string text = "threw a C++ exception";
  try {
    throw;
  } catch (const std::exception& exception) {
    text += ": " + safeText(exception.what());
  } catch (...) {
    text += " that is no std::exception";
  }
  return text +
         ". The library breaks the vendor contract; report it to the vendor";
}

}  // namespace dipu::loader
