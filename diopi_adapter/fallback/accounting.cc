// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/fallback/accounting.h"

#include <c10/util/Exception.h>

#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "diopi_adapter/fallback/counters.h"

namespace dipu::fallback {

namespace detail {

struct Record {
  FallbackRecord values;  // but for op and reason, which are the keys
  bool begun = false;     // its line has been asked for
};

}  // namespace detail

namespace {

constexpr char kNoKernel[] = "the device has no kernel for it";
constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

struct Operator {
  explicit Operator(const std::string& label)
      : counter(fallback::counter("fallback." + label)) {}

  Counter& counter;
  // What the allow list said in which of its states; 0 is before all of them.
  bool allowed = false;
  uint64_t allowed_in = 0;
  std::map<std::string, detail::Record, std::less<>> records;  // by reason
};

struct Book {
  std::mutex mutex;  // guards all that follows, and what it refers to
  std::map<std::string, Operator, std::less<>> operators;  // only grows
  Policy policy = Policy::kWarn;
  std::optional<uint64_t> budget;
  uint64_t spent = 0;  // of the budget
  Frontend frontend{};
  uint64_t allow_list = 0;  // its state; 0: there is none
};

// Never destroyed: threads may still count while the process ends.
Book& book() {
  static auto* const instance = new Book;
  return *instance;
}

constinit thread_local FallbackScope* t_innermost = nullptr;

std::string explanation(std::string_view label, std::string_view verb,
                        std::string_view reason, const std::string& line) {
  return c10::str("torch_dipu: operator ", label, " ", verb,
                  " on the CPU: ", reason,
                  line.empty() ? "" : " (" + line + ")");
}

// One call on its way into the book, which is locked meanwhile but for calls of
// the frontend and of torch.
class Entry {
 public:
  Entry(std::string_view label, std::string_view reason)
      : label_(label),
        reason_(reason.empty() ? kNoKernel : reason),
        lock_(book().mutex),
        operator_(findOperator()) {}

  detail::Record& make() {
    if (!isFree()) spend();
    detail::Record& record = begin();
    const bool first = operator_.counter.add() == 0;
    const std::string line = first ? record.values.line : "";
    lock_.unlock();
    if (first && warns_) {
      TORCH_WARN(explanation(label_, "runs", reason_, line),
                 " (shown once; DIPU_FALLBACK=silent hides it, "
                 "torch_dipu.fallback_report() has all calls)");
    }
    return record;
  }

 private:
  Operator& findOperator() const {
    auto& all = book().operators;
    auto found = all.find(label_);
    if (found == all.end()) {
      const std::string label(label_);
      found = all.try_emplace(label, label).first;
    }
    return found->second;
  }

  // Whether no setting forbids the call or warns of it.
  bool isFree() { return reason_ == kForced || isAllowed(); }

  bool isAllowed() {
    const uint64_t state = book().allow_list;
    if (operator_.allowed_in == state) return operator_.allowed;
    const auto allows = book().frontend.allows;
    lock_.unlock();
    const bool allowed = allows != nullptr && allows(std::string(label_));
    lock_.lock();
    operator_.allowed = allowed;
    operator_.allowed_in = state;
    return allowed;
  }

  // Takes the call from the budget.
  void spend() {
    Book& all = book();
    warns_ = all.policy != Policy::kSilent;
    const uint64_t limit =
        all.budget.value_or(all.policy == Policy::kError ? 0 : kUnlimited);
    if (all.spent >= limit) refuse();
    if (all.budget.has_value()) ++all.spent;
  }

  [[noreturn]] void refuse() {
    const auto budget = book().budget;
    const std::string line = callersLine();
    lock_.unlock();
    const std::string cause =
        budget.has_value()
            ? c10::str("The ", *budget,
                       " calls that may fall back have been made "
                       "(DIPU_FALLBACK_BUDGET)")
            : "Falling back is forbidden (DIPU_FALLBACK=error)";
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, explanation(label_, "would run", reason_, line), ". ", cause,
        ". Use another operator or type, or move this part of the program to "
        "the CPU; to let it fall back, name it in DIPU_FALLBACK_ALLOW_LIST, or "
        "set ",
        budget.has_value() ? "a larger budget." : "DIPU_FALLBACK=warn.");
  }

  // The call's record, with the line of its first call.
  detail::Record& begin() {
    auto& records = operator_.records;
    auto found = records.find(reason_);
    if (found == records.end()) {
      found = records.try_emplace(std::string(reason_)).first;
    }
    detail::Record& record = found->second;
    if (record.begun) return record;
    std::string line = callersLine();
    if (!record.begun) record.values.line = std::move(line);
    record.begun = true;
    return record;
  }

  std::string callersLine() {
    const auto line = book().frontend.line;
    if (line == nullptr) return "";
    lock_.unlock();
    std::string text = line();
    lock_.lock();
    return text;
  }

  const std::string_view label_;
  const std::string_view reason_;
  std::unique_lock<std::mutex> lock_;
  Operator& operator_;  // lives for ever, as all in the book
  bool warns_ = false;
};

}  // namespace

void setPolicy(Policy policy) {
  const std::lock_guard<std::mutex> lock(book().mutex);
  book().policy = policy;
}

void setBudget(std::optional<uint64_t> calls) {
  const std::lock_guard<std::mutex> lock(book().mutex);
  book().budget = calls;
  book().spent = 0;
}

void setFrontend(const Frontend& frontend) {
  const std::lock_guard<std::mutex> lock(book().mutex);
  book().frontend = frontend;
}

void allowListChanged() {
  const std::lock_guard<std::mutex> lock(book().mutex);
  ++book().allow_list;
}

std::vector<FallbackRecord> fallbackRecords() {
  const std::lock_guard<std::mutex> lock(book().mutex);
  std::vector<FallbackRecord> all;
  for (const auto& [label, op] : book().operators) {
    for (const auto& [reason, record] : op.records) {
      if (record.values.calls == 0) continue;
      all.push_back(record.values);
      all.back().op = label;
      all.back().reason = reason;
    }
  }
  return all;
}

void resetFallbackRecords() {
  const std::lock_guard<std::mutex> lock(book().mutex);
  for (auto& [label, op] : book().operators) {
    for (auto& [reason, record] : op.records) record = {};
  }
}

FallbackScope::FallbackScope(std::string_view label, std::string_view reason)
    : record_(Entry(label, reason).make()),
      outer_(t_innermost),
      start_(Clock::now()) {
  t_innermost = this;
}

FallbackScope::~FallbackScope() {
  const auto time = Clock::now() - start_;
  t_innermost = outer_;
  if (outer_ != nullptr) outer_->inner_time_ += time;
  const auto own = std::chrono::nanoseconds(time - inner_time_);
  const std::lock_guard<std::mutex> lock(book().mutex);
  FallbackRecord& values = record_.values;
  values.calls += 1;
  values.nanoseconds += static_cast<uint64_t>(own.count());
  values.bytes_to_host += bytes_to_host_;
  values.bytes_to_device += bytes_to_device_;
}

void countBytesToHost(std::size_t bytes) noexcept {
  if (t_innermost != nullptr) t_innermost->bytes_to_host_ += bytes;
}

void countBytesToDevice(std::size_t bytes) noexcept {
  if (t_innermost != nullptr) t_innermost->bytes_to_device_ += bytes;
}

}  // namespace dipu::fallback
