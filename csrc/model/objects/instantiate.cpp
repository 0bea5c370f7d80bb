// Calls of classes: type.__call__, and what C classes make.
#include "model/objects/instantiate.h"

#include <optional>

#include <cstring>

#include "model/native/native_call.h"
#include "model/native/reported_type.h"
#include "model/native/text_conventions.h"
#include "model/objects/exception_text.h"
#include "model/objects/make_class.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/upward.h"
#include "model/proxies/numpy_call.h"
#include "model/proxies/numpy_scalars.h"
#include "model/proxies/unknown_reads.h"
#include "model/tensors/overridden_call.h"
#include "model/tensors/tensor_call.h"
#include "model/tensors/tensor_subclass.h"
#include "python/code/code_object.h"
#include "python/objects/numpy_scalar.h"
#include "python/process/out_of_memory.h"
#include "python/process/warning_trap.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "tensor/values/known_values.h"
#include "world/external/class_lookup.h"
#include "world/external/known_types.h"
#include "world/external/scope.h"
#include "world/external/types.h"
#include "world/native/address_text.h"
#include "world/native/native_code.h"
#include "world/native/native_objects.h"
#include "world/native/special_methods.h"
#include "world/proxies/fake_array.h"
#include "world/proxies/symbolic_float.h"
#include "world/state/identity.h"
#include "world/torch/tensor_classes.h"

namespace minidynamo {
namespace {

// super() without arguments: the class from the __class__ cell and the first parameter of the calling frame.
Ref zero_argument_super(Tracer& tracer) {
  Frame& frame = *tracer.frame;
  PyObject* names = frame.prepared->bytecode.localsplus_names.get();
  if (frame.code()->co_argcount == 0) {
    PyErr_SetString(PyExc_RuntimeError, "super(): no arguments");
    return nullptr;
  }
  for (int32_t i = frame.prepared->locals_count - PyCode_GetNumFree(frame.code()); i < frame.prepared->locals_count;
       ++i) {
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "__class__")) {
      if (!frame.local(i)) frame.local(i) = touch_local(tracer, frame, i);
      Ref type = load_cell(tracer, frame.local(i).get());
      if (tracer.is_over()) return nullptr;
      if (!frame.local(0)) frame.local(0) = touch_local(tracer, frame, 0);
      Ref self = frame.local(0);
      if (self && PyCell_Check(self.get()) && (frame.prepared->bytecode.localsplus_kinds[0] & kFastCell))
        self = load_cell(tracer, self.get());
      if (tracer.is_over()) return nullptr;
      if (!self || !type) {
        PyErr_SetString(PyExc_RuntimeError, self ? "super(): empty __class__ cell" : "super(): arg[0] deleted");
        return nullptr;
      }
      if (!PyType_Check(type.get())) {
        PyErr_Format(PyExc_RuntimeError, "super(): __class__ is not a type (%s)", type.type()->tp_name);
        return nullptr;
      }
      return Ref::steal(PyObject_CallFunctionObjArgs(as_object(&PySuper_Type), type.get(), self.get(), nullptr));
    }
  }
  PyErr_SetString(PyExc_RuntimeError, "super(): __class__ cell not found");
  return nullptr;
}

bool is_safe_native_base(PyTypeObject* type) noexcept {
  PyTypeObject* base = native_base(type);
  if (is_own_native_type(base) && type != base && !is_known_subclass(type)) return false;
  return base == &PyBaseObject_Type || is_plain_builtin_type(base) || base == known_types()->thread_local_storage;
}

// True for a tensor, and for a list, tuple or dict of C code alone, whose text has those of its items, with one in it.
bool shows_tensors(PyObject* object) {
  return is_fake(object) || (!is_python_class(Py_TYPE(object)) && has_fake(object));
}

}  // namespace

Ref call_class(Tracer& tracer, PyTypeObject* type, const Arguments& arguments) {
  if (type == &PyType_Type && arguments.values.size() == 1 && !arguments.keyword_names)
    return Ref::borrow(as_object(reported_type(arguments.values[0].get())));
  if (type == &PySuper_Type && arguments.values.empty()) return zero_argument_super(tracer);
  if (type == &PyType_Type) return instantiate(tracer, type, arguments);
  if (is_python_class(type) || type == known_types()->thread_local_storage) {
    PyTypeObject* meta = Py_TYPE(type);
    if (meta != &PyType_Type) {
      Ref override = lookup_in_class(tracer, meta, "__call__"_name);
      if (!override) return nullptr;
      if (PyFunction_Check(override.get())) {
        Prepended with_type(Ref::borrow(as_object(type)), arguments);
        return call(tracer, override.get(), with_type.arguments);
      }
      if (!override.type()->tp_descr_get) return call(tracer, override.get(), arguments);  // a TypedDict's is dict
      if (!Py_IS_TYPE(override.get(), &PyWrapperDescr_Type))
        return tracer.abort(BreakReason::UnknownClass,
                            std::string("a metaclass makes a ") + type->tp_name + " by a " + override.type()->tp_name);
    }
    return instantiate(tracer, type, arguments);
  }
  if (is_numpy_scalar_type(type) && are_scalars(arguments, false))
    return compute_with_scalars(tracer, [&] { return call_natively(tracer, as_object(type), arguments); });
  if (type == &PyBaseObject_Type) return call_natively(tracer, as_object(type), arguments);
  if (type == &PyFloat_Type && arguments.values.size() == 1 && !arguments.keyword_names &&
      is_symbolic_float(arguments.values[0].get()))
    return arguments.values[0];
  if (is_plain_builtin_type(type) || type == &PySuper_Type) {
    const bool iterates = type == &PyList_Type || type == &PyTuple_Type || type == &PyEnum_Type ||
                          type == &PyZip_Type || type == &PySet_Type || type == &PyReversed_Type;
    std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
    const bool is_number_type =
        type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyComplex_Type;
    for (Ref& value : values) {
      if (is_fake_array(value.get())) {
        if (iterates) value = iterator_of(tracer, value.get());
        if (is_number_type)
          value =
              type == &PyBool_Type ? Ref::borrow(elements_of_array(value.get())) : number_of_array(tracer, value.get());
        if (!value) return nullptr;
      }
      if (!is_fake(value.get())) continue;
      if (type == &PyReversed_Type) {  // a tensor, not an iterator
        Ref method, self;
        return load_method(tracer, value.get(), "__reversed__"_name, method, self) ? call(tracer, method.get(), {value})
                                                                                   : Ref();
      }
      if (iterates) {
        Ref iterator = iterator_of(tracer, value.get());
        const bool has_hint = type == &PyList_Type || type == &PyTuple_Type;
        if (!iterator || (has_hint && !ask_length_hint(tracer, value.get()))) return nullptr;
        value = std::move(iterator);
      } else if (type == &PyBool_Type && values.size() == 1 && !arguments.keyword_names && arguments.is_direct &&
                 is_checked_next(*tracer.frame)) {
        return value;  // a tensor whose truth alone is asked may stay a tensor
      } else if (is_number_type && !has_known_value(value.get())) {
        const bool is_plain = values.size() == 1 && !arguments.keyword_names && !tracer.function_modes.any() &&
                              is_plain_tensor_class(value.type());
        const char* method = type == &PyLong_Type    ? "__int__"
                             : type == &PyFloat_Type ? "__float__"
                             : type == &PyBool_Type  ? "__bool__"
                                                     : nullptr;
        if (method && is_plain)
          if (Ref number = read_numbers(tracer, value.get(), method); number || tracer.is_over()) return number;
        return tracer.abort(BreakReason::ScalarRead, std::string(type->tp_name) + "() of a tensor");
      }
    }
    if (type == &PyUnicode_Type && values.size() == 1 && shows_tensors(values[0].get()))
      return tracer.abort(BreakReason::TensorToText, "a tensor is turned into text");
    if (type == &PyUnicode_Type && values.size() == 1 && !arguments.keyword_names &&
        is_exception_from_outside(tracer, values[0].get()))
      return text_of_exception(tracer, values[0].get(), "__str__");
    if (type == &PyUnicode_Type && values.size() == 1 && !can_show(tracer, values[0].get())) return nullptr;
    if (!can_make_text(tracer, type, arguments)) return nullptr;
    // A dict that is made of a dict compares no keys anew, and of keywords none but names.
    const bool is_dict = PyType_IsSubtype(type, &PyDict_Type);
    if (is_dict || type == &PySet_Type || type == &PyFrozenSet_Type || !std::strcmp(type->tp_name, "itertools.groupby"))
      for (size_t i = 0; i < (is_dict ? arguments.positional_count() : values.size()); ++i)
        if (!is_dict || !PyDict_Check(values[i].get())) require_distinct(tracer, values[i].get());
    return call_natively(tracer, as_object(type), Arguments{values, arguments.keyword_names});
  }
  return tracer.abort(BreakReason::UnknownClass, std::string("an instance of ") + type->tp_name + " is made");
}

Ref instantiate(Tracer& tracer, PyTypeObject* type, const Arguments& arguments) {
  if (refuses_finalizer(tracer, type)) return nullptr;
  const bool is_metaclass = PyType_IsSubtype(type, &PyType_Type);  // make_class knows which it understands
  const bool is_of_tensors = is_tensor_class(type);
  if (!is_metaclass && !is_of_tensors && !is_safe_native_base(type))
    return tracer.abort(BreakReason::UnknownClass, std::string("an instance of ") + type->tp_name + " is made");
  if (!is_metaclass && has_bound_special_method(type))
    return tracer.abort(BreakReason::UnknownClass,
                        std::string("an instance of ") + type->tp_name + " has special methods of another object");

  const bool only_keeps = PyType_IsSubtype(type, &PySet_Type) || PyType_IsSubtype(type, &PyFrozenSet_Type) ||
                          PyType_IsSubtype(type, as_type(PyExc_BaseException));
  const SetOrder order = only_keeps ? SetOrder::Ignored : SetOrder::Read;
  Ref made;
  Ref maker = lookup_in_class(tracer, type, "__new__"_name);
  if (!maker) return nullptr;
  Prepended with_type(Ref::borrow(as_object(type)), Arguments{arguments.values, arguments.keyword_names});
  if (Py_IS_TYPE(maker.get(), &PyStaticMethod_Type)) {
    Ref function = load_attribute(tracer, as_object(type), "__new__"_name);
    if (!function) return nullptr;
    made = call(tracer, function.get(), with_type.arguments);
  } else if (PyFunction_Check(maker.get())) {
    made = call(tracer, maker.get(), with_type.arguments);
  } else if (is_metaclass) {
    made = make_class(tracer, type, Arguments{arguments.values, arguments.keyword_names});
  } else if (is_of_tensors) {
    made = new_of_class(tracer, type, arguments);
  } else {
    if (type->tp_new != PyBaseObject_Type.tp_new &&  // object() does not look at what its subclass's __init__ is given
        !expose_all(tracer, arguments.values, order))
      return nullptr;
    Ref positional = arguments.positional(), keywords = arguments.keywords();
    std::optional<WarningTrap> trap;
    if (may_warn(as_object(type))) trap.emplace();
    made = Ref::steal(type->tp_new(type, positional.get(), keywords.get()));
    if (trap && !gave_no_warning(tracer, *trap, type->tp_name)) return nullptr;
  }
  if (!made || tracer.is_over()) return nullptr;
  if (!PyType_IsSubtype(made.type(), type)) return made;

  Ref initializer = lookup_in_class(tracer, made.type(), "__init__"_name);
  if (!initializer) return PyErr_Occurred() ? Ref() : made;
  if (PyFunction_Check(initializer.get())) {
    Prepended with_self(made, Arguments{arguments.values, arguments.keyword_names});
    Ref nothing = call(tracer, initializer.get(), with_self.arguments);
    if (!nothing) return nullptr;
    if (!nothing.is(Py_None)) {
      PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'", nothing.type()->tp_name);
      return nullptr;
    }
    return made;
  }
  if (is_of_tensors) return made;  // whose own __init__ does nothing
  if (!expose_all(tracer, arguments.values, order)) return nullptr;
  Ref positional = arguments.positional(), keywords = arguments.keywords();
  if (made.type()->tp_init(made.get(), positional.get(), keywords.get()) < 0 || tracer.is_over()) return nullptr;
  return made;
}

}  // namespace minidynamo
