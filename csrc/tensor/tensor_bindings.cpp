// The Python surface of csrc/tensor/ for tests and debugging: nothing here is part of the public API.
#include "tensor/tensor_bindings.h"

#include "python/process/out_of_memory.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/fake/metadata.h"
#include "tensor/process/python_patches.h"
#include "tensor/process/trace_state.h"
#include "tensor/torch_pybind.h"

namespace py = pybind11;

namespace minidynamo {
namespace {

// Records what it is told in Python lists. Real tensors get fakes of their own if `known` says so, else they are
// refused.
class RecordingObserver final : public OperatorObserver {
 public:
  RecordingObserver(bool accept_reals, bool report) : accept_reals_(accept_reals), report_(report) {}

  bool operator_ran(PyObject* target, PyObject* args, PyObject* kwargs, PyObject* result) noexcept override {
    const bool had_memory = try_to([&] {
      const Ref entry = Ref::made(PyTuple_Pack(4, target, args, kwargs, result));
      if (PyList_Append(calls_.ptr(), entry.get()) < 0) throw_out_of_memory();
    });
    if (!had_memory) PyErr_NoMemory();
    return had_memory;
  }
  bool recording_call() const noexcept override { return !report_; }
  void operator_has_side_effect() noexcept override { ++has_side_effect_; }
  PyObject* fake_for_real(PyObject* real) noexcept override {
    if (!accept_reals_) {
      PyErr_SetString(PyExc_LookupError, "a real tensor that the trace does not know");
      return nullptr;
    }
    if (PyObject* known = PyDict_GetItemWithError(fakes_.ptr(), real)) return known;
    const Ref fake = make_fake(real);
    if (!fake || PyDict_SetItem(fakes_.ptr(), real, fake.get()) < 0) return nullptr;
    return PyDict_GetItemWithError(fakes_.ptr(), real);
  }
  void cannot_fake(const std::string& operator_name, FakeProblem, const std::string& reason) noexcept override {
    try_to([&] { PyErr_SetString(PyExc_NotImplementedError, (operator_name + ": " + reason).c_str()); });
  }

  py::list calls_;
  py::dict fakes_;
  long has_side_effect_ = 0;

 private:
  bool accept_reals_, report_;
};

class FakeScope {
 public:
  FakeScope(bool accept_reals, bool report) : observer_(accept_reals, report) {}
  void enter() {
    if (scope_) throw py::value_error("this FakeScope is active already");
    scope_ = std::make_unique<TensorTraceScope>(observer_);
  }
  void exit() {
    const bool delivered = flush_operator_reports();
    scope_.reset();
    if (!delivered) throw py::error_already_set();
  }
  py::list calls() const { return observer_.calls_; }
  py::dict fakes() const { return observer_.fakes_; }
  long impure() const { return observer_.has_side_effect_; }

 private:
  RecordingObserver observer_;
  std::unique_ptr<TensorTraceScope> scope_;
};

py::object checked(Ref ref) {
  if (!ref) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(ref.release());
}

}  // namespace

void bind_tensor(PyObject* module_object) {
  py::module_ module = py::reinterpret_borrow<py::module_>(module_object);
  patch_torch_for_fakes();
  module.def("make_fake", [](py::handle real) { return checked(make_fake(real.ptr())); });
  module.def("is_fake", [](py::handle object) { return is_fake(object.ptr()); });
  module.def("is_fake_data_error", [](py::handle object) { return is_fake_data_error(object.ptr()); });
  module.def("memo_statistics", [] {
    const FakeMemoStatistics statistics = fake_memo_statistics();
    py::dict result;
    result["hits"] = statistics.hits;
    result["misses"] = statistics.misses;
    result["entries"] = statistics.entries;
    return result;
  });
  module.def("clear_memo", &clear_fake_memo);
  py::class_<FakeScope>(module, "FakeScope")
      .def(py::init<bool, bool>(), py::arg("accept_reals") = true, py::arg("report") = false)
      .def("__enter__",
           [](py::object self) {
             self.cast<FakeScope&>().enter();
             return self;
           })
      .def("__exit__", [](FakeScope& self, const py::args&) { self.exit(); })
      .def_property_readonly("calls", &FakeScope::calls)
      .def_property_readonly("fakes", &FakeScope::fakes)
      .def_property_readonly("impure", &FakeScope::impure);
  py::class_<TensorRecord>(module, "TensorRecord")
      .def(py::init([](py::handle tensor) { return std::make_unique<TensorRecord>(TensorRecord::of(tensor.ptr())); }))
      .def("matches", [](const TensorRecord& self, py::handle object) { return self.matches(object.ptr()); })
      .def("difference", [](const TensorRecord& self, py::handle object) { return self.difference(object.ptr()); })
      .def("to_text", &TensorRecord::to_text);
  py::class_<TorchState>(module, "TorchState")
      .def(py::init([] { return std::make_unique<TorchState>(TorchState::now()); }))
      .def("matches", &TorchState::matches)
      .def("difference", &TorchState::difference)
      .def("to_text", &TorchState::to_text);
}

}  // namespace minidynamo
