// Which objects that are not tensors may stand in a graph as arguments, and how generated source can name them.
//
// Does not look into containers: the graph takes those apart.
#pragma once
#include <cstdint>

#include "python/ref.h"

namespace minidynamo {

// Types of torch and the standard library that arguments are recognized by; found once, kept for the life of the
// process.
struct ArgumentTypes {
  PyTypeObject* dtype = nullptr;
  PyTypeObject* device = nullptr;
  PyTypeObject* layout = nullptr;
  PyTypeObject* memory_format = nullptr;
  PyTypeObject* size = nullptr;  // torch.Size
  PyTypeObject* op_overload = nullptr;
  PyTypeObject* op_overload_packet = nullptr;
  PyTypeObject* higher_order_operator = nullptr;
  PyTypeObject* enum_class = nullptr;
  PyObject* keywords = nullptr;  // frozenset of Python's keywords
};
// Null with a Python error set if torch cannot be imported.
const ArgumentTypes* argument_types();

// int, float, bool, None, str of exactly that type, and Ellipsis: what most arguments are.
inline bool is_plain_scalar(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || object == Py_None ||
         type == &PyUnicode_Type || object == Py_Ellipsis;
}

// The constant that stands for an object: itself, or its exact builtin equal for subclasses of int, float and str and
// for NumPy scalars. Null without a Python error if the object cannot stand in a graph, null with one if finding out
// failed.
Ref as_constant(PyObject* object);

enum class ConstantForm : uint8_t {
  Literal,  // its repr() is its source
  Named,    // torch.fx names it by an import of its own, though not inside a dict or a named tuple
  Object,   // has no source: an attribute of the graph module
};
ConstantForm constant_form(PyObject* constant) noexcept;

}  // namespace minidynamo
