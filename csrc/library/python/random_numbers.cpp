// Generators of random numbers: all methods of random.Random come down to five methods of C code.
//
// A generator that the trace made is its own, and draws for real. One from before the call has a state that the trace
// does not know, until the program seeds it: from then on a copy draws in its place, and residual code brings the
// generator to where the copy has come (GeneratorMove). Until then, floats and ints that it draws are inputs of the
// graph (world/proxies/drawn_number.h); a number that the trace would have to know ends the trace.
#include "library/rules/handlers.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "model/native/native_call.h"
#include "model/objects/function.h"
#include "python/cached.h"
#include "python/native_scope.h"
#include "python/process/out_of_memory.h"
#include "world/external/class_lookup.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/proxies/drawn_number.h"

namespace minidynamo::handlers {
namespace {

PyTypeObject* generator_class() {
  static constinit ImportedType type{"_random.Random"};
  return type;
}

// The generator that a method is called on, which comes first among the arguments; null: none, or not the trace's and
// of no known state.
struct Called {
  PyObject* generator = nullptr;
  bool is_outside = false;
};

Called called_on(Tracer& tracer, const Arguments& arguments) {
  PyObject* self = arguments.positional_count() ? arguments.values[0].get() : nullptr;
  if (!self || !PyObject_TypeCheck(self, generator_class())) return {};
  return {self, tracer.world.source_of(self) || tracer.world.is_opaque(self)};
}

Arguments without_self(const Arguments& arguments) {
  return Arguments{arguments.values.subspan(1), arguments.keyword_names};
}

// The method of C code on an object.
Ref call_on(Tracer& tracer, PyObject* object, const char* name, const Arguments& arguments) {
  Ref descriptor = Ref::steal(PyObject_GetAttrString(as_object(generator_class()), name));
  Ref bound = descriptor
                  ? Ref::steal(descriptor.type()->tp_descr_get(descriptor.get(), object, as_object(generator_class())))
                  : Ref();
  return bound ? call_natively(tracer, bound.get(), without_self(arguments)) : Ref();
}

Ref copy_of(PyObject* generator) {
  const Ref state = Ref::steal(PyObject_CallMethod(generator, "getstate", nullptr));
  Ref copy = state ? Ref::steal(PyObject_CallNoArgs(as_object(generator_class()))) : Ref();
  const Ref done = copy ? Ref::steal(PyObject_CallMethod(copy.get(), "setstate", "O", state.get())) : Ref();
  return done ? copy : Ref();
}

// A copy of a generator from before the call that the trace may move on; null without a Python error: its state is not
// known.
Ref copy_to_move(Tracer& tracer, PyObject* generator) {
  PyObject* copy = tracer.effects.copy_of_generator(generator);
  if (!copy || tracer.effects.may_move_copy(generator)) return Ref::borrow(copy);
  return copy_of(copy);
}

std::nullptr_t refuse_unknown(Tracer& tracer, BreakReason reason = BreakReason::RandomSeed) {
  return tracer.abort(reason, "the state of a generator of random numbers is not known");
}

bool takes_nothing_from_outside(Tracer& tracer, const Arguments& arguments) {
  for (const Ref& value : arguments.values.subspan(1))
    if (!is_constant(value.get()))
      return tracer.abort(BreakReason::RandomSeed, "a generator of random numbers is given an object") != nullptr;
  return true;
}

// Moves the copy of a generator on by a method. `copy` is null: its state is not known.
Ref move_by(Tracer& tracer, PyObject* generator, Ref copy, const char* name, const Arguments& arguments) {
  if (!copy) return PyErr_Occurred() ? nullptr : refuse_unknown(tracer);
  if (!takes_nothing_from_outside(tracer, arguments)) return nullptr;
  Ref result = call_on(tracer, copy.get(), name, arguments);
  if (!tracer.is_over()) tracer.effects.move_generator(generator, std::move(copy));
  return result;
}

// True if all methods draw by the C code of the class, now and whenever the entry is used: a program may replace
// random().
bool draws_by_native_code(Tracer& tracer) {
  static constinit ImportedType whole{"random.Random"};
  for (const char* name : {"random", "getrandbits"}) {
    const Ref key = Ref::made(PyUnicode_InternFromString(name));
    const Ref found = lookup_in_class(tracer, whole, key.get());
    if (!found || !Py_IS_TYPE(found.get(), &PyMethodDescr_Type)) return false;
  }
  return true;
}

// True if the method returns a number of this type for these arguments, tried on another generator: a method that
// refuses its arguments always refuses them.
bool gives(PyTypeObject* type, PyObject* method, const Arguments& arguments) {
  const NativeScope native;
  const Ref other = Ref::steal(PyObject_CallFunction("random.Random"_imported, "i", 0));
  const Ref values = other ? arguments.positional() : Ref();
  if (!values) return clear_error(), false;
  PyTuple_SetItem(values.get(), 0, Ref(other).release());
  const Ref number = Ref::steal(PyObject_CallObject(method, values.get()));
  clear_error();
  return number && Py_IS_TYPE(number.get(), type);
}

// A generator from before the call whose draw of numbers residual code may make.
bool may_defer(Tracer& tracer, const Arguments& arguments) {
  static constinit ImportedType whole{"random.Random"};
  const auto [generator, is_outside] = called_on(tracer, arguments);
  return generator && is_outside && Py_IS_TYPE(generator, whole) && !arguments.keyword_names &&
         !tracer.effects.copy_of_generator(generator) && !tracer.effects.has_writes(generator) &&
         std::ranges::all_of(arguments.values.subspan(1), [](const Ref& value) { return is_number(value.get()); }) &&
         draws_by_native_code(tracer);
}

// The numbers of randrange() lie between what it is given; the graph's ints have 64 bits.
bool draws_int64(const Arguments& arguments) {
  return std::ranges::all_of(arguments.values.subspan(1), [](const Ref& value) {
    int overflow = 1;
    if (PyLong_Check(value.get())) PyLong_AsLongLongAndOverflow(value.get(), &overflow);
    return !overflow;
  });
}

}  // namespace

// A seed from the program makes any state known.
Ref generator_seed(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const auto [generator, is_outside] = called_on(tracer, arguments);
  if (!generator) return refuse_unknown(tracer);
  if (arguments.values.size() != 2 || arguments.values[1].is(Py_None))
    return tracer.abort(BreakReason::RandomSeed, "a random seed is asked of the system");
  if (!is_outside) return call_on(tracer, generator, "seed", arguments);
  Ref copy = Ref::steal(PyObject_CallNoArgs(as_object(generator_class())));
  return move_by(tracer, generator, std::move(copy), "seed", arguments);
}

// A state is 625 numbers, and another one each time: only one of the trace's own is worth being a constant.
Ref generator_set_state(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const auto [generator, is_outside] = called_on(tracer, arguments);
  if (!generator) return refuse_unknown(tracer);
  if (!is_outside) return call_on(tracer, generator, "setstate", arguments);
  return move_by(tracer, generator, copy_to_move(tracer, generator), "setstate", arguments);
}

Ref generator_get_state(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const auto [generator, is_outside] = called_on(tracer, arguments);
  if (!generator) return refuse_unknown(tracer);
  if (!is_outside) return call_on(tracer, generator, "getstate", arguments);
  PyObject* copy = tracer.effects.copy_of_generator(generator);
  return copy ? call_on(tracer, copy, "getstate", arguments) : Ref(refuse_unknown(tracer));
}

Ref generator_draw(Tracer& tracer, PyObject* method, const Arguments& arguments) {
  const auto [generator, is_outside] = called_on(tracer, arguments);
  if (!generator) return refuse_unknown(tracer);
  const Ref text = Ref::made(PyObject_GetAttr(method, "__name__"_name));
  const char* name = PyUnicode_AsUTF8(text.get());
  if (!is_outside) return call_on(tracer, generator, name, arguments);
  if (Ref copy = copy_to_move(tracer, generator)) return move_by(tracer, generator, std::move(copy), name, arguments);
  if (PyErr_Occurred()) return nullptr;
  if (std::string_view(name) == "random" && arguments.values.size() == 1) {
    Ref number = draw_number(tracer, generator, "_random.Random.random"_imported, Ref::made(PyTuple_New(0)));
    if (number || tracer.is_over()) return number;
  }
  return tracer.abort(BreakReason::RandomNumber, "a random number is drawn");
}

// random.Random.gauss and the like, which return floats whatever they draw: one input of the graph in place of all that
// they compute.
Ref generator_draw_float(Tracer& tracer, PyObject* method, const Arguments& arguments) {
  if (may_defer(tracer, arguments) && gives(&PyFloat_Type, method, arguments)) {
    Ref number = draw_number(tracer, arguments.values[0].get(), method, without_self(arguments).positional());
    if (number || tracer.is_over()) return number;
  }
  return call_function(tracer, method, arguments);
}

// random.Random.randrange, and randint(), which goes by it until 3.13.
Ref generator_draw_int(Tracer& tracer, PyObject* method, const Arguments& arguments) {
  if (may_defer(tracer, arguments) && draws_int64(arguments) && gives(&PyLong_Type, method, arguments)) {
    Ref number = draw_int(tracer, arguments.values[0].get(), method, without_self(arguments).positional());
    if (number || tracer.is_over()) return number;
  }
  return call_function(tracer, method, arguments);
}

}  // namespace minidynamo::handlers
