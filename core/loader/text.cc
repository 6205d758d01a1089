// SPDX-License-Identifier: Apache-2.0
#include "core/loader/text.h"

#include <cstring>
#include <string>
#include <string_view>

namespace dipu::loader {
namespace {

unsigned byteAt(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// The least code point that takes `length` bytes; shorter ones must not.
constexpr unsigned kLeast[] = {0, 0, 0x80, 0x800, 0x10000};

bool isLegal(unsigned code_point, size_t length) {
  const bool is_surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  return code_point >= kLeast[length] && code_point <= 0x10ffff &&
         !is_surrogate;
}

// Bytes of the character at the start of `text`; 0 when there is none that may
// be shown.
size_t characterLength(std::string_view text) {
  const unsigned first = byteAt(text, 0);
  if (first < 0x80) {
    const bool is_control = first < 0x20 || first == 0x7f;
    return !is_control || first == '\t' || first == '\n' ? 1 : 0;
  }
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  unsigned code_point = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const unsigned next = byteAt(text, i);
    if ((next & 0xc0) != 0x80) return 0;
    code_point = code_point << 6 | (next & 0x3f);
  }
  return isLegal(code_point, length) ? length : 0;
}

void appendEscaped(std::string& out, char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  out += "\\x";
  out += kDigits[value >> 4];
  out += kDigits[value & 15];
}

// Bytes of a vendor's text that are shown; more only hides what else is said.
constexpr size_t kMaxText = 2000;

// `text` made safe, without what is too much.
std::string shortText(std::string_view text) {
  if (text.size() <= kMaxText) return safeText(text);
  size_t end = kMaxText;
  // Not inside a character: back to the byte that begins it.
  while (end > kMaxText - 3 && (byteAt(text, end) & 0xc0) == 0x80) --end;
  return safeText(text.substr(0, end)) + "... (" +
         std::to_string(text.size() - end) + " more bytes are left out)";
}

// What is said for a failure that has no words of its own.
std::string textOfCodes(const VendorError& error) {
  return "the vendor gave no text (code " + std::to_string(error.code) +
         ", vendor code " + std::to_string(error.vendor_code) +
         "). Report it to the vendor";
}

}  // namespace

std::string safeText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = characterLength(text);
    if (length == 0) appendEscaped(out, text.front());
    out.append(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string safeText(const char* text) {
  return text == nullptr ? "" : safeText(std::string_view(text));
}

void makeSafe(char* buffer, size_t capacity) noexcept {
  if (capacity == 0) return;
  buffer[capacity - 1] = '\0';
  const std::string_view text(buffer);
  for (size_t at = 0; at < text.size();) {
    const size_t length = characterLength(text.substr(at));
    if (length == 0) buffer[at] = '?';
    at += length == 0 ? 1 : length;
  }
}

VendorError takeError(dipu_error* error) {
  VendorError taken{DIPU_UNKNOWN, 0, ""};
  if (DIPU_REACHES(error, code) && error->code > DIPU_OK &&
      error->code <= DIPU_UNAUTHENTICATED) {
    taken.code = error->code;
  }
  if (DIPU_REACHES(error, vendor_code)) taken.vendor_code = error->vendor_code;
  if (DIPU_HAS(error, message) && error->message[0] != '\0') {
    taken.text = shortText(error->message);
  } else {
    taken.text = textOfCodes(taken);
  }
  if (DIPU_HAS(error, release)) error->release(error);
  return taken;
}

}  // namespace dipu::loader
