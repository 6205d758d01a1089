// SPDX-License-Identifier: Apache-2.0
#include "python/csrc/observed_call.h"

#include <ATen/core/ivalue.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/tensor_memoryformats.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "diopi_adapter/debug/reference.h"
#include "diopi_adapter/debug/tools.h"
#include "diopi_adapter/runtime/slot.h"

namespace py = pybind11;

namespace dipu::python {
namespace {

using debug::Reference;
using torch::jit::Stack;

// Whether this thread runs the observer itself, not the call that it observes.
thread_local bool t_inside = false;

class InsideScope {
 public:
  explicit InsideScope(bool inside) : before_(t_inside) { t_inside = inside; }
  ~InsideScope() { t_inside = before_; }
  InsideScope(const InsideScope&) = delete;
  InsideScope& operator=(const InsideScope&) = delete;

 private:
  const bool before_;
};

c10::TypeKind kindOf(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return (optional ? optional->getElementType() : type)->kind();
}

// What the schema passes as integers are objects of torch for users.
py::object toPython(const c10::TypePtr& type, const c10::IValue& value) {
  if (value.isInt()) {
    const int64_t code = value.toInt();
    switch (kindOf(type)) {
      case c10::TypeKind::ScalarTypeType:
        return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(
            torch::getTHPDtype(static_cast<c10::ScalarType>(code))));
      case c10::TypeKind::LayoutType:
        return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(
            torch::getTHPLayout(static_cast<c10::Layout>(code))));
      case c10::TypeKind::MemoryFormatType:
        return py::reinterpret_borrow<py::object>(
            torch::utils::getTHPMemoryFormat(
                static_cast<c10::MemoryFormat>(code)));
      default:
        break;
    }
  }
  return torch::jit::toPyObject(value);
}

// One argument or result, as Python sees it.
struct Value {
  std::string name;
  py::object value;
  bool written;
};

class ObservedCall {
 public:
  ObservedCall(adapter::SlotBase& slot, Stack* stack)
      : slot_(slot), stack_(stack) {}

  std::string name() const { return slot_.name(); }

  // Before run(): what the call was given.
  std::vector<Value> arguments() {
    requireOpen();
    if (ran_) throw py::value_error("the arguments are gone: run() was called");
    return argumentValues(
        torch::jit::last(*stack_, schema().arguments().size()).vec());
  }

  void run() {
    requireOpen();
    if (ran_) throw py::value_error("a call is computed once");
    ran_ = true;
    const py::gil_scoped_release no_gil;
    const InsideScope outside(false);
    try {
      debug::proceed(slot_, stack_);
    } catch (...) {
      error_ = std::current_exception();
      throw;
    }
  }

  std::vector<Value> results() {
    requireOpen();
    return resultValues(
        torch::jit::last(*stack_, schema().returns().size()).vec());
  }

  // Before run(): the arguments as they are now, on the CPU.
  std::vector<Value> copyArguments() {
    requireOpen();
    std::optional<Reference> copies;
    {
      const py::gil_scoped_release no_gil;
      copies.emplace(slot_, *stack_);
      copies->makeArguments(Reference::Precision::kSame);
    }
    return argumentValues(copies->arguments());
  }

  void prepareReference() {
    requireOpen();
    const py::gil_scoped_release no_gil;
    reference_.emplace(slot_, *stack_);
  }

  void runReference(bool in_double) {
    Reference& call = reference();
    const py::gil_scoped_release no_gil;
    call.run(in_double ? Reference::Precision::kDouble
                       : Reference::Precision::kSame);
  }

  std::vector<Value> referenceResults() {
    return resultValues(reference().results());
  }

  std::vector<Value> referenceArguments() {
    return argumentValues(reference().arguments());
  }

  std::vector<std::string> changedArguments() {
    Reference& call = reference();
    std::vector<std::size_t> changed;
    {
      const py::gil_scoped_release no_gil;
      changed = call.changedArguments();
    }
    std::vector<std::string> names;
    for (const std::size_t i : changed) {
      names.push_back(schema().arguments()[i].name());
    }
    return names;
  }

  bool writesArguments() { return reference().writesArguments(); }

  bool isRandom() { return debug::isRandom(slot_); }

  // After the observer has returned the arguments are not there any more.
  void close() { stack_ = nullptr; }
  bool isOver() const { return stack_ == nullptr; }
  bool ran() const { return ran_; }
  std::exception_ptr error() const { return error_; }

 private:
  const c10::FunctionSchema& schema() { return slot_.handle().schema(); }

  void requireOpen() const {
    if (stack_ == nullptr) throw py::value_error("the call is over");
  }

  Reference& reference() {
    if (!reference_.has_value()) {
      throw py::value_error("prepare_reference() comes first");
    }
    return *reference_;
  }

  std::vector<Value> argumentValues(const std::vector<c10::IValue>& given) {
    std::vector<Value> all;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const c10::Argument& argument = schema().arguments()[i];
      all.push_back({argument.name(), toPython(argument.real_type(), given[i]),
                     debug::writesArgument(slot_, i)});
    }
    return all;
  }

  std::vector<Value> resultValues(const std::vector<c10::IValue>& given) {
    std::vector<Value> all;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const c10::Argument& result = schema().returns()[i];
      all.push_back({result.name(), toPython(result.real_type(), given[i]),
                     /*written=*/true});
    }
    return all;
  }

  adapter::SlotBase& slot_;
  Stack* stack_;
  std::optional<Reference> reference_;
  std::exception_ptr error_;
  bool ran_ = false;
};

// Never destroyed: operators may run while the interpreter ends.
py::object& observer() {
  static auto* const instance = new py::object;
  return *instance;
}

// Throws what the observer raised, or what the operator threw beneath it.
[[noreturn]] void raise(const ObservedCall& call,
                        py::error_already_set* error) {
  if (call.error() != nullptr) std::rethrow_exception(call.error());
  error->restore();
  python_error raised;
  raised.persist();
  throw raised;
}

void observe(adapter::SlotBase& slot, Stack* stack) {
  if (t_inside || Py_IsInitialized() == 0) {
    debug::proceed(slot, stack);
    return;
  }
  const py::gil_scoped_acquire gil;
  const InsideScope inside(true);
  const auto call = std::make_shared<ObservedCall>(slot, stack);
  struct Close {
    ObservedCall& call;
    ~Close() { call.close(); }
  } const close{*call};
  try {
    observer()(call);
  } catch (py::error_already_set& error) {
    raise(*call, &error);
  }
  if (call->error() != nullptr) std::rethrow_exception(call->error());
  TORCH_CHECK(call->ran(), "an observer of ", slot.name(), " did not run it");
}

// Address and length of the storage, and address of the first element. Nothing
// is copied, as asking for a pointer to write to may do.
std::tuple<std::uintptr_t, std::size_t, std::uintptr_t> memoryOf(
    const at::Tensor& tensor) {
  const auto address = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
  };
  const c10::Storage& storage = tensor.storage();
  return {address(storage.data()), storage.nbytes(),
          address(tensor.const_data_ptr())};
}

void setObserver(const py::object& function) {
  observer() = function;
  debug::setObserver(&observe);
}

}  // namespace

bool observerRuns() noexcept { return t_inside; }

void bindObservedCalls(py::module_& m) {
  py::class_<Value>(m, "Value")
      .def_readonly("name", &Value::name)
      .def_readonly("value", &Value::value)
      .def_readonly("written", &Value::written);
  py::class_<ObservedCall, std::shared_ptr<ObservedCall>>(m, "Call")
      .def_property_readonly("name", &ObservedCall::name)
      .def_property_readonly("is_over", &ObservedCall::isOver)
      .def_property_readonly("is_random", &ObservedCall::isRandom)
      .def_property_readonly("writes_arguments", &ObservedCall::writesArguments)
      .def("arguments", &ObservedCall::arguments)
      .def("copy_arguments", &ObservedCall::copyArguments)
      .def("run", &ObservedCall::run)
      .def("results", &ObservedCall::results)
      .def("prepare_reference", &ObservedCall::prepareReference)
      .def("run_reference", &ObservedCall::runReference)
      .def("reference_results", &ObservedCall::referenceResults)
      .def("reference_arguments", &ObservedCall::referenceArguments)
      .def("changed_arguments", &ObservedCall::changedArguments);
  m.def("_set_observer", &setObserver);
  m.def("_memory_of", &memoryOf);
}

}  // namespace dipu::python
