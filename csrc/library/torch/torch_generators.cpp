// torch.Generator. What is drawn from one depends on numbers alone (sizes, bounds, a dtype), so it is drawn before the
// graph runs, and is an input of it (world/proxies/drawn_number.h): no graph has a generator in it. Draws from torch's
// own generator, which the graph makes itself, are not affected: that generator is recognized.
//
// A generator that the trace made is its own, and draws for real: so its state is known at each place. Residual code
// makes another one in that state for each draw.
#include "library/rules/handlers.h"

#include <algorithm>
#include <string_view>

#include "model/native/native_call.h"
#include "model/tensors/tensor_call.h"
#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/types.h"
#include "world/native/native_objects.h"
#include "world/proxies/drawn_number.h"

namespace minidynamo::handlers {
namespace {

PyTypeObject* generator_class() {
  static constinit ImportedType type{"torch.Generator"};
  return type;
}

bool is_generator(PyObject* object) { return Py_IS_TYPE(object, generator_class()); }

// Calls callable(*values, **names) with a generator.
Ref draw(PyObject* generator, PyObject* callable, PyObject* values, PyObject* names) {
  const Ref keywords = Ref::made(PyDict_New());
  const Py_ssize_t named = PyTuple_GET_SIZE(names), positional = PyTuple_GET_SIZE(values) - named;
  const Ref first = Ref::made(PyTuple_GetSlice(values, 0, positional));
  for (Py_ssize_t i = 0; i < named; ++i)
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(names, i), PyTuple_GET_ITEM(values, positional + i)) < 0)
      return nullptr;
  if (PyDict_SetItem(keywords.get(), "generator"_name, generator) < 0) return nullptr;
  return Ref::steal(PyObject_Call(callable, first.get(), keywords.get()));
}

// draw_tensor(generator, callable, values, names of the last of them)
PyObject* draw_tensor_of(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 4) return PyErr_Format(PyExc_TypeError, "draw_tensor(generator, callable, values, names)");
  return draw(arguments[0], arguments[1], arguments[2], arguments[3]).release();
}

// draw_from_state(torch.Generator, state, callable, values, names of the last of them)
PyObject* draw_from_state(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 5) return PyErr_Format(PyExc_TypeError, "draw_from_state(class, state, callable, values, names)");
  const Ref generator = Ref::steal(PyObject_CallObject(native_object_callable(), arguments[1]));
  return generator ? draw(generator.get(), arguments[2], arguments[3], arguments[4]).release() : nullptr;
}

// seed(generator, number) -> 0.0, as a method that draws
PyObject* seed(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "seed(generator, number)");
  const Ref done = Ref::steal(PyObject_CallMethod(arguments[0], "manual_seed", "O", arguments[1]));
  return done ? PyFloat_FromDouble(0) : nullptr;
}

PyObject* draw_tensor_callable() { return native_function<METH_FASTCALL, draw_tensor_of>("draw_tensor"); }
PyObject* draw_from_state_callable() { return native_function<METH_FASTCALL, draw_from_state>("draw_from_state"); }
PyObject* seed_callable() { return native_function<METH_FASTCALL, seed>("seed"); }

// The argument as residual code has it too; dynamic sizes are specialized. Null: it is no constant.
Ref as_constant(Tracer& tracer, PyObject* value) {
  if (tracer.symbols.active() && is_symbolic_int(value)) return tracer.symbols.specialized(value);
  if (PyTuple_CheckExact(value) || PyList_CheckExact(value) || Py_IS_TYPE(value, known_types()->size)) {
    if (tracer.world.source_of(value) && PyList_CheckExact(value)) return nullptr;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
    Ref items = Ref::made(PyTuple_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      Ref item = as_constant(tracer, PySequence_Fast_GET_ITEM(value, i));
      if (!item) return nullptr;
      PyTuple_SET_ITEM(items.get(), i, item.release());
    }
    return items;
  }
  return is_constant(value) ? Ref::borrow(value) : Ref();
}

struct DrawArguments {
  PyObject* generator = nullptr;
  Ref values, names;  // without it
};

// The arguments of a call with a generator and constants besides; nullopt: of another one.
std::optional<DrawArguments> parse(Tracer& tracer, const Arguments& arguments) {
  static constexpr std::string_view kNames[] = {"size", "dtype", "device", "low", "high", "n", "mean", "std"};
  DrawArguments parsed;
  std::vector<Ref> values, names;
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    PyObject* const value = arguments.values[i].get();
    const bool is_named = i >= arguments.positional_count();
    PyObject* const name =
        is_named ? PyTuple_GET_ITEM(arguments.keyword_names, static_cast<Py_ssize_t>(i - arguments.positional_count()))
                 : nullptr;
    const std::string_view text = name ? PyUnicode_AsUTF8(name) : "";
    if (text == "generator") {
      parsed.generator = value;
      continue;
    }
    if (text == "layout" || text == "pin_memory" || text == "requires_grad") {
      if (value != Py_False && value != Py_None && value != "torch.strided"_imported) return std::nullopt;
      continue;
    }
    if (is_named && std::ranges::find(kNames, text) == std::end(kNames)) return std::nullopt;
    Ref constant = as_constant(tracer, value);
    if (!constant) return std::nullopt;
    values.push_back(std::move(constant));
    if (name) names.push_back(Ref::borrow(name));
  }
  if (!parsed.generator || !is_generator(parsed.generator)) return std::nullopt;
  const auto tuple_of = [](std::vector<Ref>& items) {
    Ref tuple = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), items[i].release());
    return tuple;
  };
  parsed.values = tuple_of(values);
  parsed.names = tuple_of(names);
  return parsed;
}

bool has_generator(const Arguments& arguments) {
  return std::ranges::any_of(arguments.values, [](const Ref& value) { return is_generator(value.get()); });
}

// The result of a draw, from this generator for real. Null without a Python error: nothing that an input can stand for.
Ref example_from(PyObject* generator, PyObject* callable, const DrawArguments& given) {
  const NativeScope native;
  const TensorTraceSuspended suspended;
  Ref example = draw(generator, callable, given.values.get(), given.names.get());
  const Ref is_inference = example && is_tensor(example.get())
                               ? Ref::steal(PyObject_CallMethod(example.get(), "is_inference", nullptr))
                               : Ref();
  clear_error();
  return is_inference.is(Py_False) ? example : Ref();
}

// At the next call too it must not be torch's own, from which graphs draw.
void tell_from_default(Tracer& tracer, PyObject* generator) {
  Source* module = source_or_pin(tracer, "torch"_imported);
  Source* other =
      tracer.guards.child(module, Access::Attribute, "default_generator"_name, -1, "torch.default_generator"_imported);
  tracer.guards.add_relation(tracer.world.source_of(generator), GuardKind::NotSameAs, other, tracer.origin());
}

Ref draw_from_outside(Tracer& tracer, PyObject* callable, const DrawArguments& given) {
  const NativeScope native;
  PyObject* const generator = given.generator;
  if (generator == "torch.default_generator"_imported) return nullptr;
  const Ref device = Ref::steal(PyObject_GetAttrString(generator, "device"));
  const Ref other = device ? Ref::steal(PyObject_CallOneArg(as_object(generator_class()), device.get())) : Ref();
  const Ref example = other ? example_from(other.get(), callable, given) : Ref();
  if (!example) return clear_error(), nullptr;
  tell_from_default(tracer, generator);
  return draw_tensor(tracer, generator, draw_tensor_callable(),
                     Ref::made(PyTuple_Pack(3, callable, given.values.get(), given.names.get())), example.get());
}

Ref draw_from_own(Tracer& tracer, PyObject* callable, const DrawArguments& given) {
  const Ref state = native_object_state(given.generator);
  const Ref example = state ? example_from(given.generator, callable, given) : Ref();
  PyObject* const maker = as_object(generator_class());
  if (!example) return clear_error(), nullptr;
  source_or_pin(tracer, maker);
  return draw_tensor(tracer, maker, draw_from_state_callable(),
                     Ref::made(PyTuple_Pack(4, state.get(), callable, given.values.get(), given.names.get())),
                     example.get());
}

bool is_plain_seed(const Arguments& arguments) {
  return arguments.values.size() == 2 && !arguments.keyword_names && PyLong_CheckExact(arguments.values[1].get());
}

std::nullptr_t refuse(Tracer& tracer, const char* what) { return tracer.abort(BreakReason::RandomSeed, what); }

}  // namespace

// torch.rand(3, generator=g) and its like; without a generator, or with other arguments than numbers, as any function
// on tensors.
Ref draw_from_generator(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (has_generator(arguments) && !tracer.function_modes.any()) {
    if (const std::optional<DrawArguments> given = parse(tracer, arguments)) {
      const bool is_own = !tracer.world.source_of(given->generator);
      Ref drawn = is_own ? draw_from_own(tracer, callable, *given) : draw_from_outside(tracer, callable, *given);
      if (drawn || tracer.is_over()) return drawn;
    }
    if (PyErr_Occurred()) return nullptr;
  }
  return record_call(tracer, NodeKind::CallFunction, callable, arguments);
}

// On the CPU: what is drawn in the trace costs little there.
Ref make_generator(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  for (const Ref& value : arguments.values) {
    const Ref type = PyUnicode_Check(value.get()) ? value : Ref::steal(PyObject_GetAttr(value.get(), "type"_name));
    clear_error();
    if (!type || !PyUnicode_Check(type.get()) || PyUnicode_CompareWithASCIIString(type.get(), "cpu"))
      return refuse(tracer, "a torch.Generator is made");
  }
  return call_natively(tracer, callable, arguments);
}

Ref generator_manual_seed(Tracer& tracer, PyObject*, const Arguments& arguments) {
  PyObject* const generator = arguments.values.empty() ? nullptr : arguments.values[0].get();
  if (generator && is_generator(generator) && is_plain_seed(arguments)) {
    if (!tracer.world.source_of(generator)) {
      const Ref done = Ref::steal(PyObject_CallMethod(generator, "manual_seed", "O", arguments.values[1].get()));
      return done ? Ref::borrow(generator) : Ref();
    }
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(arguments.values[1].get(), &overflow);
    if (generator != "torch.default_generator"_imported && !overflow && number >= 0) {
      tell_from_default(tracer, generator);
      const Ref drawn =
          draw_number(tracer, generator, seed_callable(), Ref::made(PyTuple_Pack(1, arguments.values[1].get())));
      if (drawn) return Ref::borrow(generator);
    }
  }
  return tracer.is_over() ? Ref() : Ref(refuse(tracer, "the state of a torch.Generator is asked for or set"));
}

Ref generator_initial_seed(Tracer& tracer, PyObject*, const Arguments& arguments) {
  PyObject* const generator = arguments.values.empty() ? nullptr : arguments.values[0].get();
  if (generator && is_generator(generator) && !tracer.world.source_of(generator) && arguments.values.size() == 1)
    return Ref::steal(PyObject_CallMethod(generator, "initial_seed", nullptr));
  return refuse(tracer, "the state of a torch.Generator is asked for or set");
}

}  // namespace minidynamo::handlers
