// SPDX-License-Identifier: Apache-2.0
//
// torch_dipu._C: thin bindings; every function is described in _C.pyi's users.
#include <c10/util/Exception.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "core/loader/loader.h"
#include "core/loader/operator_library.h"
#include "core/random/generator.h"
#include "core/runtime/device.h"
#include "core/runtime/explainer.h"
#include "core/runtime/vendor.h"
#include "diopi_adapter/cuda_lookalike/cuda_lookalike.h"
#include "diopi_adapter/debug/tools.h"
#include "diopi_adapter/fallback/accounting.h"
#include "diopi_adapter/fallback/counters.h"
#include "diopi_adapter/fallback/cpu_fallback.h"
#include "diopi_adapter/load_vendor.h"
#include "diopi_adapter/runtime/registration.h"
#include "diopi_adapter/runtime/symbol_table.h"
#include "python/csrc/distributed.h"
#include "python/csrc/fallback_frontend.h"
#include "python/csrc/finalization.h"
#include "python/csrc/happenings.h"
#include "python/csrc/observed_call.h"
#include "python/csrc/probe.h"

namespace py = pybind11;

namespace dipu::python {
namespace {

py::dict toDict(const VendorFacts& facts) {
  py::dict dict;
  dict["name"] = facts.name;
  dict["display_name"] = facts.display_name;
  dict["version"] = facts.version;
  dict["sdk_version"] = facts.sdk_version;
  dict["abi"] = facts.abi;
  dict["file"] = facts.file;
  dict["simulated"] = facts.simulated;
  return dict;
}

py::dict probe(const std::string& path) {
  ProbeResult result;
  {
    py::gil_scoped_release no_gil;
    result = probeVendor(path);
  }
  py::dict dict = toDict(result.facts);
  dict["devices"] = result.devices;
  dict["error"] = result.error;
  return dict;
}

py::dict openVendorLibrary(const std::string& path) {
  OpenedVendor opened;
  {
    py::gil_scoped_release no_gil;
    opened = openVendor(path);
  }
  py::dict dict = toDict(opened.facts);
  dict["notes"] = opened.notes;
  dict["operator_library"] = opened.operator_library;
  return dict;
}

loader::OperatorLibrary operatorsOf(const std::string& path,
                                    const std::string& runtime_library) {
  py::gil_scoped_release no_gil;
  return loader::OperatorLibrary::openFor(loader::Library::open(path),
                                          runtime_library);
}

py::dict openOperators(const std::string& path,
                       const std::string& runtime_library) {
  const loader::OperatorLibrary library = operatorsOf(path, runtime_library);
  py::dict functions;
  for (size_t i = 0; i < loader::kSymbolCount; ++i) {
    const auto symbol = static_cast<loader::Symbol>(i);
    functions[loader::symbolName(symbol)] =
        adapter::toString(library.state(symbol));
  }
  py::dict dict;
  dict["file"] = library.path();
  dict["revision"] = library.revision();
  dict["revision_is_declared"] = library.revisionIsDeclared();
  dict["warnings"] = library.warnings();
  dict["functions"] = functions;
  return dict;
}

void loadVendor(const std::string& path, const std::string& runtime_library,
                const std::string& conversions, bool check_conversions) {
  py::gil_scoped_release no_gil;
  adapter::loadVendor(path, {runtime_library, conversions, check_conversions});
}

py::dict vendorInfo() {
  if (!runtime::isLoaded()) return {};
  return toDict(factsOf(runtime::vendor(), runtime::vendorLibrary().path()));
}

py::dict opsReport() {
  py::dict report;
  for (const adapter::SymbolReport& line : adapter::symbolReport()) {
    report[line.name] = adapter::toString(line.state);
  }
  return report;
}

std::vector<std::pair<std::string, std::string>> operatorFunctions() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const adapter::OperatorInfo& info : adapter::operatorInfos()) {
    all.emplace_back(info.name, info.function);
  }
  return all;
}

std::string unavailableReason() {
  const std::string reason = runtime::initializationError();
  if (!reason.empty()) return reason;
  if (!runtime::isLoaded()) {
    return "no vendor is loaded; install torch_dipu_<vendor> and name it in "
           "DIPU_DEVICE if there are several";
  }
  return "the vendor " + std::string(runtime::vendor().name) +
         " reports no device";
}

bool setNativeCounting(bool on) {
  const bool before = fallback::countingNative();
  fallback::setCountingNative(on);
  return before;
}

void setFallbackMode(const std::string& mode) {
  if (mode == "warn") {
    fallback::setPolicy(fallback::Policy::kWarn);
  } else if (mode == "silent") {
    fallback::setPolicy(fallback::Policy::kSilent);
  } else if (mode == "error") {
    fallback::setPolicy(fallback::Policy::kError);
  } else {
    throw py::value_error("fallback mode " + mode +
                          ": use warn, silent or error");
  }
}

py::object defaultGenerator(int device) {
  PyObject* object = THPGenerator_initDefaultGenerator(
      random::defaultGenerator(static_cast<c10::DeviceIndex>(device)));
  return py::reinterpret_steal<py::object>(object);
}

// Makes PyTorch call torch.dipu._lazy_init() before Python's first use of the
// device.
void requireInitialization() {
  torch::utils::set_requires_device_init(runtime::kDeviceType, true);
}

void bindDevices(py::module_& m) {
  py::class_<dipu_device_properties>(m, "DeviceProperties")
      .def_property_readonly(
          "name", [](const dipu_device_properties& p) { return p.name; })
      .def_readonly("total_memory", &dipu_device_properties::total_memory)
      .def_readonly("major", &dipu_device_properties::major)
      .def_readonly("minor", &dipu_device_properties::minor)
      .def_readonly("multi_processor_count",
                    &dipu_device_properties::multi_processor_count)
      .def_readonly("max_threads_per_block",
                    &dipu_device_properties::max_threads_per_block)
      .def_readonly("warp_size", &dipu_device_properties::warp_size)
      .def_property_readonly(
          "pci_bus_id",
          [](const dipu_device_properties& p) { return p.pci_bus_id; })
      .def("__repr__", [](const dipu_device_properties& p) {
        return "DeviceProperties(name='" + std::string(p.name) +
               "', total_memory=" + std::to_string(p.total_memory) + ")";
      });
  m.def("_device_properties", [](int device) {
    return runtime::deviceProperties(
        runtime::resolveDevice(static_cast<c10::DeviceIndex>(device)));
  });
  m.def("_device_count", [] { return int{runtime::deviceCount()}; });
  m.def("_device_type", [] { return static_cast<int>(runtime::kDeviceType); });
  m.def("_can_access_peer", [](int device, int peer) {
    return runtime::canAccessPeer(static_cast<c10::DeviceIndex>(device),
                                  static_cast<c10::DeviceIndex>(peer));
  });
  m.def("_default_generator", &defaultGenerator);
}

void bindVendor(py::module_& m) {
  m.attr("_ABI_VERSION") = hostAbi();
  m.attr("_DIOPI_REVISION") = loader::kDiopiRevision;
  m.def("_open_vendor", &openVendorLibrary);
  m.def("_open_operators", &openOperators);
  m.def("_probe_vendor", &probe);
  m.def("_load_vendor", &loadVendor);
  m.def("_explain_missing_vendor", &runtime::explainMissingVendor);
  m.def("_vendor_info", &vendorInfo);
  m.def("_unavailable_reason", &unavailableReason);
  m.def("_initialize", [] {
    py::gil_scoped_release no_gil;
    runtime::ensureInitialized();
  });
  m.def("_shutdown", [](double limit_s) {
    parkThreadsAtFinalization();
    py::gil_scoped_release no_gil;
    runtime::shutdown(
        std::chrono::milliseconds(static_cast<int64_t>(limit_s * 1000)));
  });
  m.def("_is_initialized", &runtime::isInitialized);
  m.def("_is_in_bad_fork", &runtime::inBadFork);
  m.def("_require_initialization", &requireInitialization);
}

// Never destroyed: operators may fail while the interpreter ends.
py::object& errorExplainer() {
  static auto* const instance = new py::object;
  return *instance;
}

std::string explainError(int32_t device, const std::string& message) {
  if (Py_IsInitialized() == 0) return "";
  const py::gil_scoped_acquire gil;
  try {
    return py::cast<std::string>(errorExplainer()(device, message));
  } catch (py::error_already_set& error) {
    return std::string("; explaining it failed: ") + error.what();
  }
}

void setErrorExplainer(const py::object& function) {
  runtime::setExplainer(nullptr);
  errorExplainer() = function;
  if (!function.is_none()) runtime::setExplainer(&explainError);
}

void bindTools(py::module_& m) {
  m.def("_set_error_explainer", &setErrorExplainer);
  py::enum_<debug::Tool>(m, "Tool")
      .value("FORCE_FALLBACK", debug::kForceFallback)
      .value("OBSERVE", debug::kObserve);
  py::class_<debug::Operator>(m, "Operator")
      .def_readonly("name", &debug::Operator::name)
      .def_readonly("family", &debug::Operator::family)
      .def_readonly("function", &debug::Operator::function)
      .def_readonly("composites", &debug::Operator::composites);
  m.def("_operators", &debug::operators);
  m.def("_copy_operators", &debug::copyOperators);
  m.def("_choose_operators", &debug::chooseOperators,
        py::call_guard<py::gil_scoped_release>());
}

void bindFallback(py::module_& m) {
  using Record = fallback::FallbackRecord;
  py::class_<Record>(m, "FallbackRecord")
      .def_readonly("op", &Record::op)
      .def_readonly("reason", &Record::reason)
      .def_readonly("calls", &Record::calls)
      .def_readonly("nanoseconds", &Record::nanoseconds)
      .def_readonly("bytes_to_host", &Record::bytes_to_host)
      .def_readonly("bytes_to_device", &Record::bytes_to_device)
      .def_readonly("line", &Record::line);
  m.def("_fallback_records", &fallback::fallbackRecords);
  m.def("_reset_fallback_records", &fallback::resetFallbackRecords);
  m.def("_set_fallback_in_place", &fallback::setInPlace);
  m.def("_set_fallback_mode", &setFallbackMode);
  m.def("_set_fallback_budget", &fallback::setBudget);
  m.def("_set_fallback_frontend", &setFallbackFrontend);
  m.def("_fallback_allow_list_changed", &fallback::allowListChanged);
}

void bindOperators(py::module_& m) {
  m.def("_op_counters", &fallback::snapshotCounters);
  m.def("_operator_functions", &operatorFunctions);
  m.def("_ops_report", &opsReport);
  m.def("_set_native_counting", &setNativeCounting);
  m.def("_enable_cuda_lookalike", &cuda_lookalike::enable);
}

}  // namespace

// Without the C++ stack, which tells users nothing; as torch does it.
void translateError(std::exception_ptr pointer) {
  try {
    if (pointer != nullptr) std::rethrow_exception(pointer);
  } catch (const c10::Error& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what_without_backtrace());
  }
}

PYBIND11_MODULE(_C, m) {
  m.doc() = "Bindings of torch_dipu; not a public interface.";
  py::register_local_exception_translator(&translateError);
  bindDevices(m);
  bindVendor(m);
  bindFallback(m);
  bindOperators(m);
  bindTools(m);
  bindObservedCalls(m);
  bindHappenings(m);
  bindDistributed(m);
}

}  // namespace dipu::python
