// SPDX-License-Identifier: Apache-2.0
#include "python/csrc/distributed.h"

// What converts std::chrono, intrusive_ptr and containers.
#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/distributed/flight_recorder.h"
#include "core/distributed/host_staging.h"
#include "core/distributed/process_group.h"
#include "core/runtime/vendor.h"

namespace py = pybind11;

namespace dipu::python {
namespace {

using distributed::FlightRecorder;
using distributed::HostStaging;
using distributed::ProcessGroupDICL;
using Options = ProcessGroupDICL::Options;

void defineOptions(py::module_& m) {
  py::class_<Options, c10d::Backend::Options, c10::intrusive_ptr<Options>>(
      m, "ProcessGroupOptions")
      .def(py::init<std::chrono::milliseconds>(),
           py::arg("timeout") = kBackendDefaultTimeout)
      .def_readwrite("is_high_priority_stream",
                     &Options::is_high_priority_stream)
      .def_readwrite("blocking_wait", &Options::blocking_wait)
      .def_readwrite("nan_check", &Options::nan_check)
      .def_readwrite("timing", &Options::timing)
      .def_readwrite("dump_prefix", &Options::dump_prefix)
      .def_readwrite("heartbeat_limit", &Options::heartbeat_limit);
}

void defineProcessGroup(py::module_ m) {
  defineOptions(m);
  py::class_<ProcessGroupDICL, c10d::Backend,
             c10::intrusive_ptr<ProcessGroupDICL>>(m, "ProcessGroup")
      .def(py::init<c10::intrusive_ptr<c10d::Store>, int, int,
                    c10::intrusive_ptr<Options>>(),
           py::arg("store"), py::arg("rank"), py::arg("size"),
           py::arg("options"), py::call_guard<py::gil_scoped_release>())
      // Ranks outside a new group have nothing to do.
      .def("perform_nocolor_split",
           [](ProcessGroupDICL&, const at::Device&) {});
  py::class_<HostStaging, c10d::Backend, c10::intrusive_ptr<HostStaging>>(
      m, "HostStaging")
      .def(py::init<c10::intrusive_ptr<c10d::Backend>>(), py::arg("host"));
}

py::bytes dumpRecords() {
  std::string records;
  {
    const py::gil_scoped_release no_gil;
    records = FlightRecorder::instance().dump();
  }
  return py::bytes(records);
}

}  // namespace

void bindDistributed(py::module_& m) {
  m.def("_define_process_group", [m] { defineProcessGroup(m); });
  m.def("_stop_process_groups", &ProcessGroupDICL::stopAll,
        py::call_guard<py::gil_scoped_release>());
  m.def("_has_collectives", [] {
    runtime::ensureInitialized();
    return runtime::vendorLibrary().communicator() != nullptr;
  });
  m.def("_set_flight_recorder_size", [](std::size_t entries) {
    FlightRecorder::instance().setCapacity(entries);
  });
  m.def("_dump_flight_records", &dumpRecords);
}

}  // namespace dipu::python
