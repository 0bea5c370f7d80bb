#include "hook/run/drawing_callable.h"

#include <algorithm>
#include <vector>

#include "hook/runtime.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/number_tensor.h"

namespace minidynamo {
namespace {

// A drawn number, as an input of the graph.
Ref as_input(const Ref& drawn) {
  if (is_tensor(drawn.get())) return drawn;
  return PyLong_CheckExact(drawn.get()) ? tensor_of_int(drawn.get()) : tensor_of_float(drawn.get());
}

// `self`: (compiled, (position, method, arguments), ...), in the order of the draws.
PyObject* draw_and_call(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  std::vector<PyObject*> inputs(arguments, arguments + count);
  std::vector<Ref> drawn;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(self); ++i) {
    PyObject* const draw = PyTuple_GET_ITEM(self, i);
    const Py_ssize_t position = PyLong_AsSsize_t(PyTuple_GET_ITEM(draw, 0));
    PyObject* const given = PyTuple_GET_ITEM(draw, 2);
    const Ref all = Ref::made(PyTuple_New(1 + PyTuple_GET_SIZE(given)));
    PyTuple_SET_ITEM(all.get(), 0, Ref::borrow(arguments[position]).release());
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(given); ++k)
      PyTuple_SET_ITEM(all.get(), k + 1, Ref::borrow(PyTuple_GET_ITEM(given, k)).release());
    const Ref number = [&] {
      const ModeScope nothing(kCaptureNothing);
      return Ref::steal(PyObject_CallObject(PyTuple_GET_ITEM(draw, 1), all.get()));
    }();
    if (!number) return nullptr;
    Ref tensor = as_input(number);
    if (!tensor) return PyErr_NoMemory();  // the number's kind was known when the draw was traced
    inputs[static_cast<size_t>(position)] = tensor.get();
    drawn.push_back(std::move(tensor));
  }
  return PyObject_Vectorcall(PyTuple_GET_ITEM(self, 0), inputs.data(), static_cast<size_t>(count), nullptr);
}

PyMethodDef draw_and_call_definition = {
    "draw_and_call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry<draw_and_call>)), METH_FASTCALL,
    nullptr};

}  // namespace

Ref drawing_callable(Ref compiled, const Tracer& tracer, const Exit& exit) {
  if (tracer.drawn.empty()) return compiled;
  const Ref self = Ref::made(PyTuple_New(1 + static_cast<Py_ssize_t>(tracer.drawn.size())));
  PyTuple_SET_ITEM(self.get(), 0, compiled.release());
  for (size_t i = 0; i < tracer.drawn.size(); ++i) {
    const DrawnNumber& drawn = tracer.drawn[i];
    const auto position = std::ranges::find(exit.inputs, drawn.source) - exit.inputs.begin();
    PyTuple_SET_ITEM(
        self.get(), static_cast<Py_ssize_t>(i) + 1,
        Ref::made(Py_BuildValue("(nOO)", static_cast<Py_ssize_t>(position), drawn.method.get(), drawn.arguments.get()))
            .release());
  }
  return Ref::made(PyCFunction_New(&draw_and_call_definition, self.get()));
}

}  // namespace minidynamo
