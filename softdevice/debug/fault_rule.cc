// SPDX-License-Identifier: Apache-2.0
#include "softdevice/debug/fault_rule.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "softdevice/base/config.h"
#include "softdevice/base/parse.h"

namespace dipu::softdevice {
namespace {

struct KindName {
  const char* name;
  FaultKind kind;
  bool is_bytes;
  uint64_t least;
};
constexpr KindName kKinds[] = {
    {"oom_bytes", FaultKind::kOomBytes, true, 0},
    {"oom_call", FaultKind::kOomCall, false, 1},
    {"host_oom_call", FaultKind::kHostOomCall, false, 1},
    {"launch", FaultKind::kLaunch, false, 1},
    {"launch_call", FaultKind::kLaunchCall, false, 1},
    {"lost", FaultKind::kLost, false, 1},
    {"slow_us", FaultKind::kSlow, false, 1},
    {"hang", FaultKind::kHang, false, 1},
};
constexpr const char* kFilters = "device, stream, kernel, times";

std::string knownKeys() {
  std::string text;
  for (const KindName& kind : kKinds) text += std::string(kind.name) + ", ";
  return text + kFilters;
}

// The pieces of `text` between separators; one more than separators.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char character : text) {
    if (character == separator) {
      parts.emplace_back();
    } else {
      parts.back() += character;
    }
  }
  return parts;
}

bool parseWhole(const std::string& text, uint64_t least, uint64_t most,
                uint64_t* out) {
  uint64_t number = 0;
  const char* rest = nullptr;
  if (!parseNumber(text.c_str(), &number, &rest) || *rest != '\0' ||
      number < least || number > most) {
    return false;
  }
  *out = number;
  return true;
}

// Faults that share their filters.
class Clause {
 public:
  // "" or what is wrong.
  std::string add(const std::string& key, const std::string& value) {
    for (const KindName& kind : kKinds) {
      if (key == kind.name) return addKind(kind, value);
    }
    return addFilter(key, value);
  }
  std::string finish(std::vector<FaultRule>* rules) {
    if (rules_.empty()) return "a clause names no fault, only filters";
    for (FaultRule& rule : rules_) {
      if (rule.kind == FaultKind::kHostOomCall &&
          filters_.device != FaultRule::kAnyDevice) {
        return "host_oom_call takes no device: pinned memory belongs to none";
      }
      rule.times = filters_.times;
      rule.device = filters_.device;
      rule.stream = filters_.stream;
      rule.kernel = filters_.kernel;
      rules->push_back(rule);
    }
    return "";
  }

 private:
  std::string addKind(const KindName& kind, const std::string& value) {
    FaultRule rule{kind.kind};
    if (kind.is_bytes) {
      if (!parseBytes(value.c_str(), &rule.value)) {
        return std::string(kind.name) + " takes bytes, such as 1000 or 64M";
      }
    } else if (!parseWhole(value, kind.least,
                           std::numeric_limits<uint32_t>::max(), &rule.value)) {
      return std::string(kind.name) + " takes a whole number from " +
             std::to_string(kind.least) + " on";
    }
    rules_.push_back(std::move(rule));
    return "";
  }
  std::string addFilter(const std::string& key, const std::string& value) {
    uint64_t number = 0;
    if (key == "kernel") {
      filters_.kernel = value;
      return value.empty() ? "kernel takes a part of a name" : "";
    }
    if (key == "device") {
      if (!parseWhole(value, 0, kMaxDevices - 1, &number)) {
        return "device takes a whole number from 0 to 15";
      }
      filters_.device = static_cast<int32_t>(number);
      return "";
    }
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    if (key == "stream") {
      if (!parseWhole(value, 0, kMost, &number)) {
        return "stream takes the number that soft_stream_id gives";
      }
      filters_.stream = static_cast<int64_t>(number);
      return "";
    }
    if (key == "times") {
      return parseWhole(value, 0, kMost, &filters_.times)
                 ? ""
                 : "times takes a whole number, 0 meaning for ever";
    }
    return "'" + key + "' is not known; known are " + knownKeys();
  }

  std::vector<FaultRule> rules_;
  FaultRule filters_{FaultKind::kLaunch};
};

}  // namespace

std::string FaultRule::text() const {
  for (const KindName& known : kKinds) {
    if (known.kind == kind) {
      return std::string(known.name) + "=" + std::to_string(value);
    }
  }
  return "";
}

std::string parseFaults(const char* text, std::vector<FaultRule>* rules) {
  std::vector<FaultRule> parsed;
  for (const std::string& clause_text : split(text, ';')) {
    Clause clause;
    for (const std::string& pair : split(clause_text, ',')) {
      const std::size_t equals = pair.find('=');
      if (equals == std::string::npos) {
        return "'" + pair + "' is not of the form key=value";
      }
      const std::string problem =
          clause.add(pair.substr(0, equals), pair.substr(equals + 1));
      if (!problem.empty()) return problem;
    }
    const std::string problem = clause.finish(&parsed);
    if (!problem.empty()) return problem;
  }
  rules->insert(rules->end(), parsed.begin(), parsed.end());
  return "";
}

bool namesMissingDevice(const std::vector<FaultRule>& rules, int32_t count) {
  return std::any_of(rules.begin(), rules.end(), [&](const FaultRule& rule) {
    return rule.device >= count;
  });
}

}  // namespace dipu::softdevice
