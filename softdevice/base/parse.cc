// SPDX-License-Identifier: Apache-2.0
#include "softdevice/base/parse.h"

#include <cerrno>
#include <cstdlib>
#include <limits>

namespace dipu::softdevice {

bool parseNumber(const char* text, uint64_t* out, const char** rest) {
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  char* end = nullptr;
  *out = std::strtoull(text, &end, 10);
  *rest = end;
  return errno == 0;
}

bool parseBytes(const char* text, std::size_t* out) {
  uint64_t number = 0;
  const char* rest = nullptr;
  if (!parseNumber(text, &number, &rest)) return false;
  int shift = 0;
  switch (*rest) {
    case 'k':
    case 'K':
      shift = 10;
      break;
    case 'm':
    case 'M':
      shift = 20;
      break;
    case 'g':
    case 'G':
      shift = 30;
      break;
    case '\0':
      break;
    default:
      return false;
  }
  if (shift != 0 && rest[1] != '\0') return false;
  if (number > (std::numeric_limits<uint64_t>::max() >> shift)) return false;
  *out = number << shift;
  return true;
}

}  // namespace dipu::softdevice
