#include "hook/run/piecewise_callable.h"

#include <memory>
#include <vector>

#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

struct Step {
  struct Input {
    size_t slot;
    bool is_last_use = false;
  };
  Ref function;
  std::vector<Input> inputs;
  std::vector<size_t> outputs;
};

struct Program {
  std::vector<Step> steps;
  std::vector<size_t> results;
  size_t inputs = 0, slots = 0;
};

constexpr const char* kCapsule = "minidynamo.program";

void destroy(PyObject* capsule) noexcept { delete static_cast<Program*>(PyCapsule_GetPointer(capsule, kCapsule)); }

bool read_slots(PyObject* tuple, size_t known, std::vector<size_t>& slots) {
  if (!PyTuple_Check(tuple)) {
    PyErr_SetString(PyExc_TypeError, "slots are a tuple of ints");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const size_t slot = PyLong_AsSize_t(PyTuple_GET_ITEM(tuple, i));
    if (PyErr_Occurred()) return false;
    if (slot >= known) {
      PyErr_Format(PyExc_ValueError, "slot %zu is used before it is filled", slot);
      return false;
    }
    slots.push_back(slot);
  }
  return true;
}

bool read_step(PyObject* row, Program& program) {
  PyObject *function, *inputs, *outputs;
  if (!PyArg_ParseTuple(row, "OOO", &function, &inputs, &outputs)) return false;
  Step step{Ref::borrow(function)};
  std::vector<size_t> taken;
  if (!read_slots(inputs, program.slots, taken)) return false;
  for (const size_t slot : taken) step.inputs.push_back({slot});
  if (!PyTuple_Check(outputs) || !read_slots(outputs, program.slots + PyTuple_GET_SIZE(outputs), step.outputs))
    return false;
  program.slots += step.outputs.size();
  program.steps.push_back(std::move(step));
  return true;
}

void find_last_uses(Program& program) {
  std::vector<bool> is_used(program.slots, false);
  for (const size_t slot : program.results) is_used[slot] = true;
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    for (auto input = step->inputs.rbegin(); input != step->inputs.rend(); ++input) {
      input->is_last_use = !is_used[input->slot];
      is_used[input->slot] = true;
    }
  }
}

bool run(const Step& step, std::vector<Ref>& slots) {
  Ref inputs = Ref::made(PyList_New(static_cast<Py_ssize_t>(step.inputs.size())));
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    Ref& slot = slots[step.inputs[i].slot];
    PyList_SET_ITEM(inputs.get(), static_cast<Py_ssize_t>(i),
                    (step.inputs[i].is_last_use ? std::move(slot) : Ref(slot)).release());
  }
  PyObject* const arguments[] = {inputs.get()};
  Ref returned = Ref::steal(PyObject_Vectorcall(step.function.get(), arguments, 1, nullptr));
  if (!returned) return false;
  inputs = nullptr;
  const bool is_sequence = PyTuple_Check(returned.get()) || PyList_Check(returned.get());
  if (!is_sequence || static_cast<size_t>(PySequence_Fast_GET_SIZE(returned.get())) != step.outputs.size()) {
    PyErr_Format(PyExc_TypeError,
                 "a piece of a graph has %zu results, its compiled function returned an object of type '%s'",
                 step.outputs.size(), Py_TYPE(returned.get())->tp_name);
    return false;
  }
  for (size_t i = 0; i < step.outputs.size(); ++i)
    slots[step.outputs[i]] = Ref::borrow(PySequence_Fast_GET_ITEM(returned.get(), static_cast<Py_ssize_t>(i)));
  return true;
}

PyObject* run_pieces(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  const auto& program = *static_cast<const Program*>(PyCapsule_GetPointer(self, kCapsule));
  if (static_cast<size_t>(count) != program.inputs) {
    PyErr_Format(PyExc_TypeError, "a graph of %zu inputs was called with %zd", program.inputs, count);
    return nullptr;
  }
  std::vector<Ref> slots(program.slots);
  for (size_t i = 0; i < program.inputs; ++i) slots[i] = Ref::borrow(arguments[i]);
  for (const Step& step : program.steps)
    if (!run(step, slots)) return nullptr;
  Ref results = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(program.results.size())));
  for (size_t i = 0; i < program.results.size(); ++i)
    PyTuple_SET_ITEM(results.get(), static_cast<Py_ssize_t>(i), Ref(slots[program.results[i]]).release());
  return results.release();
}

PyMethodDef run_pieces_definition = {"run_pieces",
                                     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry<run_pieces>)),
                                     METH_FASTCALL, nullptr};

}  // namespace

Ref piecewise_callable(PyObject* steps, PyObject* results, Py_ssize_t inputs) {
  auto program = std::make_unique<Program>();
  program->inputs = program->slots = static_cast<size_t>(inputs);
  if (!PyTuple_Check(steps)) {
    PyErr_SetString(PyExc_TypeError, "steps are a tuple");
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); ++i) {
    PyObject* row = PyTuple_GET_ITEM(steps, i);
    if (!PyTuple_Check(row) || !read_step(row, *program)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a step is a tuple");
      return nullptr;
    }
  }
  if (!read_slots(results, program->slots, program->results)) return nullptr;
  find_last_uses(*program);
  const Ref capsule = Ref::made(PyCapsule_New(program.get(), kCapsule, destroy));
  program.release();
  return Ref::made(PyCFunction_New(&run_pieces_definition, capsule.get()));
}

}  // namespace minidynamo
