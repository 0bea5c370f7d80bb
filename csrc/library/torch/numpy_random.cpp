// NumPy's generators of random numbers. A draw with constant arguments is made before the graph runs, and is an input
// of it (world/proxies/drawn_number.h): a float, an int, or an array, as a tensor over its memory. A draw with other
// arguments, or of something else (a shuffled list, a scalar of NumPy's), ends the trace.
#include "library/rules/handlers.h"

#include <algorithm>

#include "model/proxies/numpy_call.h"
#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_objects.h"
#include "world/proxies/drawn_number.h"

namespace minidynamo::handlers {
namespace {

// method(generator, *values, **names); an array as a tensor.
Ref draw(PyObject* generator, PyObject* method, PyObject* values, PyObject* names) {
  const Py_ssize_t count = PyTuple_GET_SIZE(values), named = PyTuple_GET_SIZE(names);
  std::vector<PyObject*> all = {generator};
  for (Py_ssize_t i = 0; i < count; ++i) all.push_back(PyTuple_GET_ITEM(values, i));
  Ref drawn = Ref::steal(
      PyObject_Vectorcall(method, all.data(), static_cast<size_t>(1 + count - named), named ? names : nullptr));
  return drawn && is_numpy_array(drawn.get())
             ? Ref::steal(PyObject_CallOneArg("torch.from_numpy"_imported, drawn.get()))
             : drawn;
}

// draw(generator, method, values, names of the last of them)
PyObject* draw_of(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 4) return PyErr_Format(PyExc_TypeError, "draw(generator, method, values, names)");
  return draw(arguments[0], arguments[1], arguments[2], arguments[3]).release();
}

// seed(function, number) -> 0.0, as a method that draws
PyObject* seed(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "seed(function, number)");
  const Ref done = Ref::steal(PyObject_CallOneArg(arguments[0], arguments[1]));
  return done ? PyFloat_FromDouble(0) : nullptr;
}

PyObject* draw_callable() { return native_function<METH_FASTCALL, draw_of>("draw"); }
PyObject* seed_callable() { return native_function<METH_FASTCALL, seed>("seed"); }

// The result of a draw from another generator of the class: it depends on the arguments alone.
Ref example_of(PyObject* generator, PyObject* method, PyObject* values, PyObject* names) {
  static constinit ImportedType legacy_class{"numpy.random.RandomState"};
  const NativeScope native;
  const TensorTraceSuspended suspended;
  PyObject* const maker = Py_IS_TYPE(generator, legacy_class)
                              ? static_cast<PyObject*>("numpy.random.RandomState"_imported)
                              : "numpy.random.default_rng"_imported;
  const Ref other = Ref::steal(PyObject_CallFunction(maker, "i", 0));
  Ref example = other ? draw(other.get(), method, values, names) : Ref();
  clear_error();
  return example;
}

}  // namespace

// A method of numpy.random.RandomState and numpy.random.Generator that returns numbers or an array.
Ref numpy_draw(Tracer& tracer, PyObject* method, const Arguments& arguments) {
  PyObject* const generator = arguments.positional_count() ? arguments.values[0].get() : nullptr;
  const auto given = arguments.values.subspan(generator ? 1 : 0);
  const bool is_plain = generator && tracer.world.source_of(generator) &&
                        std::ranges::all_of(given, [](const Ref& value) { return is_constant(value.get()); });
  if (is_plain) {
    const Ref values = Arguments{given, nullptr}.positional();
    const Ref names = arguments.keyword_names ? Ref::borrow(arguments.keyword_names) : Ref::made(PyTuple_New(0));
    const Ref example = example_of(generator, method, values.get(), names.get());
    Ref parts = Ref::made(PyTuple_Pack(3, method, values.get(), names.get()));
    Ref drawn;
    if (!example)
      drawn = nullptr;
    else if (PyFloat_CheckExact(example.get()))
      drawn = draw_number(tracer, generator, draw_callable(), std::move(parts));
    else if (PyLong_CheckExact(example.get()))
      drawn = draw_int(tracer, generator, draw_callable(), std::move(parts));
    else if (is_tensor(example.get()))
      drawn = draw_tensor(tracer, generator, draw_callable(), std::move(parts), example.get());
    if (drawn && is_fake(drawn.get())) return array_of_fake(tracer, drawn.get());
    if (drawn || tracer.is_over()) return drawn;
  }
  return tracer.abort(BreakReason::RandomNumber, "a random number of NumPy's is drawn");
}

Ref numpy_seed(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const bool is_plain = arguments.values.size() == 1 && !arguments.keyword_names &&
                        PyLong_CheckExact(arguments.values[0].get()) && tracer.world.source_of(callable);
  int overflow = 0;
  const long long number = is_plain ? PyLong_AsLongLongAndOverflow(arguments.values[0].get(), &overflow) : -1;
  if (is_plain && !overflow && number >= 0 && number <= 0xffffffffLL) {
    const Ref drawn =
        draw_number(tracer, callable, seed_callable(), Ref::made(PyTuple_Pack(1, arguments.values[0].get())));
    if (drawn) return Ref::none();
  }
  return tracer.is_over() ? Ref() : tracer.abort(BreakReason::RandomSeed, "NumPy's random numbers are seeded");
}

}  // namespace minidynamo::handlers
