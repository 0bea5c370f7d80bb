#include "graph/constant.h"

#include <cmath>
#include <memory>

#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"

namespace minidynamo {
namespace {

Ref import_attribute(const char* module_name, const char* attribute) {
  Ref module = Ref::steal(PyImport_ImportModule(module_name));
  return module ? Ref::steal(PyObject_GetAttrString(module.get(), attribute)) : Ref();
}

bool find_type(const char* module_name, const char* attribute, PyTypeObject*& out) {
  Ref type = import_attribute(module_name, attribute);
  if (!type) return false;
  if (!PyType_Check(type.get())) {
    PyErr_Format(PyExc_TypeError, "%s.%s is not a class", module_name, attribute);
    return false;
  }
  out = as_type(type.release());
  return true;
}

bool find_all(ArgumentTypes& types) {
  return find_type("torch", "dtype", types.dtype) && find_type("torch", "device", types.device) &&
         find_type("torch", "layout", types.layout) && find_type("torch", "memory_format", types.memory_format) &&
         find_type("torch", "Size", types.size) && find_type("torch._ops", "OpOverload", types.op_overload) &&
         find_type("torch._ops", "OpOverloadPacket", types.op_overload_packet) &&
         find_type("torch._ops", "HigherOrderOperator", types.higher_order_operator) &&
         find_type("enum", "Enum", types.enum_class) && [&] {
           Ref names = import_attribute("keyword", "kwlist");
           if (names) types.keywords = PyFrozenSet_New(names.get());
           return types.keywords != nullptr;
         }();
}

// NumPy's scalar base class if somebody imported NumPy; borrowed, null without a Python error otherwise.
PyTypeObject* numpy_generic() noexcept {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* numpy = modules ? named_item(modules, "numpy") : nullptr;
  if (!numpy || !PyModule_Check(numpy)) return nullptr;
  PyObject* generic = named_item(PyModule_GetDict(numpy), "generic");
  return generic && PyType_Check(generic) ? as_type(generic) : nullptr;
}

// True if torch takes the scalar of NumPy's for this Python object: a truth value is a float to it in some places, and
// of a complex64 it takes the real part.
bool stands_for(PyObject* item, PyObject* scalar) noexcept {
  if (PyComplex_CheckExact(item)) return PyComplex_Check(scalar);
  return PyLong_CheckExact(item) || PyFloat_CheckExact(item) || PyUnicode_CheckExact(item);
}

bool holds_tensor(PyObject* values) noexcept {
  if (!values) return false;
  if (PyTuple_Check(values)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) {
      PyObject* value = PyTuple_GET_ITEM(values, i);
      if (PyCell_Check(value)) value = PyCell_GET(value);
      if (value && is_tensor(value)) return true;
    }
  } else if (PyDict_Check(values)) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(values, &position, &key, &value)) {
      if (is_tensor(value)) return true;
    }
  }
  return false;
}

// A function that carries a tensor in its closure or defaults would hide an input of the graph.
bool carries_tensor(PyObject* function) noexcept {
  return holds_tensor(PyFunction_GetClosure(function)) || holds_tensor(PyFunction_GetDefaults(function)) ||
         holds_tensor(PyFunction_GetKwDefaults(function));
}

}  // namespace

const ArgumentTypes* argument_types() {
  static ArgumentTypes* found = nullptr;  // never freed: the interpreter may be gone when statics are destroyed
  if (found) return found;
  auto types = std::make_unique<ArgumentTypes>();
  if (!find_all(*types)) return nullptr;
  found = types.release();
  return found;
}

Ref as_constant(PyObject* object) {
  if (is_plain_scalar(object)) return Ref::borrow(object);
  const ArgumentTypes* known = argument_types();
  if (!known) return nullptr;
  PyTypeObject* type = Py_TYPE(object);
  if (type == known->dtype || type == known->device || type == known->memory_format || type == known->layout ||
      type == &PyComplex_Type || type == &PyBytes_Type || type == &PyRange_Type ||
      PyType_IsSubtype(type, known->enum_class) || PyType_IsSubtype(type, known->op_overload) ||
      PyType_IsSubtype(type, known->op_overload_packet) || PyType_IsSubtype(type, known->higher_order_operator)) {
    return Ref::borrow(object);
  }
  if (PyFunction_Check(object)) return carries_tensor(object) ? Ref() : Ref::borrow(object);
  if (PyType_Check(object) || type == &PyMethodDescr_Type) return Ref::borrow(object);
  if (PyCFunction_Check(object)) {
    PyObject* self = PyCFunction_GET_SELF(object);
    return self && is_tensor(self) ? Ref() : Ref::borrow(object);
  }
  PyTypeObject* generic = numpy_generic();
  if (generic && PyType_IsSubtype(type, generic)) {
    Ref item = Ref::steal(PyObject_CallMethod(object, "item", nullptr));
    if (!item) return nullptr;
    return stands_for(item.get(), object) ? item : Ref();
  }
  if (PyLong_Check(object)) return Ref::steal(PyLong_Type.tp_as_number->nb_int(object));
  if (PyFloat_Check(object)) return Ref::made(PyFloat_FromDouble(PyFloat_AS_DOUBLE(object)));
  if (PyUnicode_Check(object)) return Ref::made(PyUnicode_FromObject(object));
  return nullptr;
}

ConstantForm constant_form(PyObject* constant) noexcept {
  if (is_plain_scalar(constant)) return ConstantForm::Literal;
  PyTypeObject* type = Py_TYPE(constant);
  if (type == &PyTuple_Type || type == &PyBytes_Type || type == &PyRange_Type) return ConstantForm::Literal;
  if (type == &PyComplex_Type) {
    // The repr of an infinity, a NaN or a negative zero in a complex number does not read back as the same number, nor
    // does -2j, whose real part becomes -0.
    Py_complex value = PyComplex_AsCComplex(constant);
    auto reads_back = [](double part) { return std::isfinite(part) && !(part == 0 && std::signbit(part)); };
    const bool literal = reads_back(value.real) && reads_back(value.imag) && !(value.real == 0 && value.imag < 0);
    return literal ? ConstantForm::Literal : ConstantForm::Object;
  }
  const ArgumentTypes* known = argument_types();
  if (!known) {
    clear_error();
    return ConstantForm::Object;
  }
  if (type == known->dtype || type == known->device || type == known->memory_format || type == known->layout) {
    return ConstantForm::Literal;
  }
  if (PyType_IsSubtype(type, known->op_overload) || PyType_IsSubtype(type, known->higher_order_operator)) {
    return ConstantForm::Named;
  }
  if (PyType_IsSubtype(type, known->enum_class)) {
    // A combination of flags has no name of its own.
    Ref name = Ref::steal(PyObject_GetAttrString(constant, "name"));
    if (name && PyUnicode_Check(name.get()) && PyUnicode_IsIdentifier(name.get())) return ConstantForm::Named;
    clear_error();
  }
  return ConstantForm::Object;
}

}  // namespace minidynamo
