// The tensor room from C++: what C code between two evaluator frames sees. Needs torch in the embedded interpreter.
#include <torch/extension.h>

#undef CHECK  // c10's logging has one of its own
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <thread>
#include <vector>

#include "tensor/fake/fake.h"
#include "tensor/fake/metadata.h"

namespace minidynamo {
namespace {

bool has_torch() {
  if (Ref torch = Ref::steal(PyImport_ImportModule("torch"))) return true;
  PyErr_Clear();
  WARN("torch cannot be imported: skipped");
  return false;
}

Ref evaluate(const char* expression) {
  const Ref names = Ref::steal(PyDict_New());
  const Ref torch = Ref::steal(PyImport_ImportModule("torch"));
  PyDict_SetItemString(names.get(), "torch", torch.get());
  Ref result = Ref::steal(PyRun_String(expression, Py_eval_input, names.get(), names.get()));
  if (!result) PyErr_Print();
  REQUIRE(result);
  return result;
}

struct Observer final : OperatorObserver {
  bool operator_ran(PyObject* target, PyObject*, PyObject*, PyObject* result) noexcept override {
    const Ref name = Ref::steal(PyObject_Str(target));
    targets.emplace_back(PyUnicode_AsUTF8(name.get()));
    results.push_back(Ref::borrow(result));
    return !refuse;
  }
  bool recording_call() const noexcept override { return recording; }
  void operator_has_side_effect() noexcept override { ++impure; }
  PyObject* fake_for_real(PyObject*) noexcept override {
    PyErr_SetString(PyExc_LookupError, "unknown tensor");
    return nullptr;
  }
  void cannot_fake(const std::string& name, FakeProblem, const std::string&) noexcept override {
    refused = name;
    PyErr_SetString(PyExc_NotImplementedError, name.c_str());
  }

  std::vector<std::string> targets;
  std::vector<Ref> results;
  bool recording = false, refuse = false;
  int impure = 0;
  std::string refused;
};

// C++ code that calls operators: what it throws, as a Python error's type, or null.
template <typename Function>
Ref error_of(Function function) {
  try {
    function();
    return nullptr;
  } catch (python_error& error) {
    return Ref::borrow(error.type);
  } catch (const std::exception&) {
    return Ref::borrow(PyExc_RuntimeError);
  }
}

TEST_CASE("C++ code's operators are reported with the tensors that the program gets", "[tensor]") {
  if (!has_torch()) return;
  const Ref fake = make_fake(evaluate("torch.randn(4, 6)").get());
  const at::Tensor tensor = THPVariable_Unpack(fake.get());
  Observer observer;
  const TensorTraceScope scope(observer);
  const at::Tensor ones = at::ones({4, 1});
  const at::Tensor result = ones + tensor.t().t().narrow(1, 0, 2).relu();
  REQUIRE(flush_operator_reports());
  const std::vector<std::string> expected{"aten.ones.default", "aten.t.default",    "aten.t.default",
                                          "aten.slice.Tensor", "aten.relu.default", "aten.add.Tensor"};
  CHECK(observer.targets == expected);
  const Ref object = Ref::steal(THPVariable_Wrap(result));
  CHECK(observer.results.back() == object);
  CHECK(is_fake(object.get()));
  CHECK(flush_operator_reports());
  CHECK(observer.targets.size() == 6);
}

TEST_CASE("A report that is refused is an error of the flush", "[tensor]") {
  if (!has_torch()) return;
  const Ref fake = make_fake(evaluate("torch.randn(3)").get());
  Observer observer;
  observer.refuse = true;
  const TensorTraceScope scope(observer);
  const at::Tensor result = THPVariable_Unpack(fake.get()).sin();
  CHECK_FALSE(flush_operator_reports());
  REQUIRE(PyErr_Occurred());
  PyErr_Clear();
}

TEST_CASE("Recorded calls report nothing", "[tensor]") {
  if (!has_torch()) return;
  const Ref fake = make_fake(evaluate("torch.randn(3)").get());
  Observer observer;
  observer.recording = true;
  const TensorTraceScope scope(observer);
  THPVariable_Unpack(fake.get()).sin().add_(1);
  at::rand({2});
  CHECK(flush_operator_reports());
  CHECK(observer.targets.empty());
  CHECK(observer.impure == 1);  // rand; the write to sin's result cannot be seen
}

TEST_CASE("A scope ends with the error that was set and without the key", "[tensor]") {
  if (!has_torch()) return;
  Observer observer;
  {
    const TensorTraceScope scope(observer);
    at::GradMode::set_enabled(false);
    CHECK(at::zeros({2}).unsafeGetTensorImpl()->is_fake());
    {
      const TensorTraceSuspended suspended;
      CHECK_FALSE(at::zeros({2}).unsafeGetTensorImpl()->is_fake());
    }
    CHECK(at::zeros({2}).unsafeGetTensorImpl()->is_fake());
    PyErr_SetString(PyExc_KeyError, "k");
  }
  CHECK(PyErr_ExceptionMatches(PyExc_KeyError));
  PyErr_Clear();
  CHECK(at::GradMode::is_enabled());
  CHECK_FALSE(at::zeros({2}).unsafeGetTensorImpl()->is_fake());
}

TEST_CASE("What cannot be known is refused through the observer", "[tensor]") {
  if (!has_torch()) return;
  const Ref fake = make_fake(evaluate("torch.randn(3)").get());
  const Ref real = evaluate("torch.randn(3)");
  const at::Tensor tensor = THPVariable_Unpack(fake.get());
  const at::Tensor outside = THPVariable_Unpack(real.get());
  Observer observer;
  const TensorTraceScope scope(observer);
  CHECK(error_of([&] { tensor.sum().item(); }).is(PyExc_NotImplementedError));
  CHECK(observer.refused == "aten::_local_scalar_dense");
  CHECK(error_of([&] { tensor + outside; }).is(PyExc_LookupError));
  CHECK(error_of([&] { outside.add_(1); }).is(PyExc_NotImplementedError));
  CHECK(outside._version() == 0);
  CHECK(error_of([&] { tensor.data_ptr(); }).is(PyExc_RuntimeError));
  CHECK_FALSE(PyErr_Occurred());
}

TEST_CASE("Threads share the memo", "[tensor]") {
  if (!has_torch()) return;
  const Ref fake = make_fake(evaluate("torch.randn(4, 6)").get());
  const at::Tensor tensor = THPVariable_Unpack(fake.get());
  clear_fake_memo();
  std::atomic<int> wrong = 0;
  {
    const pybind11::gil_scoped_release no_gil;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int64_t i = 0; i < 500; ++i) {
          const at::Tensor result = tensor.narrow(0, 0, 1 + i % 4).sin().reshape({-1, 2}).cos();
          if (result.size(0) != 3 * (1 + i % 4)) ++wrong;
          if (i % 100 == 0) clear_fake_memo();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("Records do not take other objects for tensors", "[tensor]") {
  if (!has_torch()) return;
  const Ref real = evaluate("torch.randn(2, 3)");
  const TensorRecord record = TensorRecord::of(real.get());
  CHECK(record.matches(real.get()));
  CHECK_FALSE(record.matches(Py_None));
  CHECK(record.difference(Py_None) == "type is builtins.NoneType, expected torch.Tensor");
  CHECK(record.to_text("x").find("x.size() == (2, 3)") != std::string::npos);
  const TorchState state = TorchState::now();
  CHECK(state.matches());
  const at::NoGradGuard no_grad;
  CHECK_FALSE(state.matches());
  CHECK(state.difference() == "grad mode is False, expected True");
}

}  // namespace
}  // namespace minidynamo
