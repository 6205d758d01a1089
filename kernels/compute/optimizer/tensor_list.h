// SPDX-License-Identifier: Apache-2.0
//
// Many tensors in one piece of work: a model has hundreds of small parameters,
// and enqueuing each alone would cost more than computing it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {

// Corresponding tensors, seen as flat arrays of `count` elements.
template <int Operands>
struct ListEntry {
  void* data[Operands];  // the worker's addresses; nullptr where undefined
  int64_t first;         // elements of all entries before this one
  int64_t count;
};

// Whether two dense tensors have their elements in the same order in memory.
inline bool sameLayout(const TensorView& a, const TensorView& b) {
  if (!sameShape(a, b)) return false;
  const Order order = orderOf(a);
  return isDense(a, order) && isDense(b, order);
}

// The entries of one call. Built on the calling thread.
template <int Operands>
class TensorList {
 public:
  // Adds tensors that correspond. False, and nothing is added, when one of
  // them differs from the first in dtype, sizes or layout, is not dense, or
  // has an illegal address. Undefined views are left out. `extra` replaces the
  // address of the last operand unless it is nullptr.
  bool add(const Queue& queue, const TensorView* const (&views)[Operands],
           void* extra = nullptr) {
    ListEntry<Operands> entry{};
    entry.first = elements_;
    entry.count = views[0]->numel;
    for (int k = 0; k < Operands; ++k) {
      if (!views[k]->defined()) continue;
      if (!sameLayout(*views[0], *views[k])) return false;
      entry.data[k] = translateView(queue, *views[k]);
      if (entry.data[k] == nullptr) return false;
    }
    if (extra != nullptr) entry.data[Operands - 1] = extra;
    if (entry.count > 0) entries_.push_back(entry);
    elements_ += entry.count;
    return true;
  }

  const std::vector<ListEntry<Operands>>& entries() const { return entries_; }

 private:
  std::vector<ListEntry<Operands>> entries_;
  int64_t elements_ = 0;
};

// What a task sees of its list.
template <int Operands>
struct ListView {
  const ListEntry<Operands>* entries;
  int64_t count;

  // Calls body(entry, begin, end) for parts of the entries, on the team;
  // `cost` is that of an element.
  template <typename Body>
  void forEachPart(int64_t cost, const Body& body) const {
    if (count == 0) return;
    const ListEntry<Operands>& last = entries[count - 1];
    parallelFor(last.first + last.count, grainFor(1, cost),
                [&](int64_t begin, int64_t end) {
                  const auto* entry = std::upper_bound(
                      entries, entries + count, begin,
                      [](int64_t position, const ListEntry<Operands>& e) {
                        return position < e.first;
                      });
                  for (--entry; entry != entries + count; ++entry) {
                    if (entry->first >= end) break;
                    body(*entry, std::max<int64_t>(begin - entry->first, 0),
                         std::min(end - entry->first, entry->count));
                  }
                });
  }
};

// Enqueues (copy of `task`)(list). A task holds plain values.
template <typename Task, int Operands>
Status launchList(const Queue& queue, const Task& task,
                  const TensorList<Operands>& list) {
  static_assert(std::is_trivially_copyable_v<Task>, "captures plain values");
  static_assert(sizeof(Task) % alignof(int64_t) == 0, "entries follow it");
  using Entry = ListEntry<Operands>;
  const auto& entries = list.entries();
  if (entries.empty()) return Status::kOk;
  const auto count = static_cast<int64_t>(entries.size());
  const std::size_t bytes =
      sizeof(Task) + sizeof(count) + entries.size() * sizeof(Entry);
  std::vector<unsigned char> payload(bytes);
  unsigned char* to = payload.data();
  std::memcpy(to, &task, sizeof(Task));
  std::memcpy(to + sizeof(Task), &count, sizeof(count));
  std::memcpy(to + sizeof(Task) + sizeof(count), entries.data(),
              entries.size() * sizeof(Entry));
  auto run = [](void* memory) {
    auto* from = static_cast<unsigned char*>(memory);
    const auto* copy = reinterpret_cast<const Task*>(from);
    ListView<Operands> view;
    std::memcpy(&view.count, from + sizeof(Task), sizeof(view.count));
    view.entries = reinterpret_cast<const Entry*>(from + sizeof(Task) +
                                                  sizeof(view.count));
    (*copy)(view);
  };
  return soft_launch_named(queue.stream(), queue.name(), run, to, bytes) ==
                 SOFT_OK
             ? Status::kOk
             : Status::kFailed;
}

}  // namespace dipu::kernels
