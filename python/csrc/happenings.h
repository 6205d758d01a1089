// SPDX-License-Identifier: Apache-2.0
//
// What happens on streams and to memory, for the stream sanitizer.
#pragma once

#include <pybind11/pybind11.h>

namespace dipu::python {

// Binds the class Happening and
//   _observe_happenings(place, copied, drain)  from now on happenings are kept,
//   and
//       `copied` sees every copy before it is enqueued, on the thread that
//       asks for it; an exception of it goes to the caller. `place` gives the
//       Python lines that the calling thread is in, as a list of texts; it is
//       called where memory is freed, too, and must not use the device.
//       `drain` is called on the main thread when many happenings have piled
//       up. None for all ends it, as fork() does in the child.
//   _count_happenings()  how many are kept.
//   _take_happenings()  those since the last call, in their order.
//   _is_pinned(address)
void bindHappenings(pybind11::module_& m);

}  // namespace dipu::python
