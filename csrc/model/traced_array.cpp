#include "model/traced_array.h"

#include "model/abstract.h"
#include "python/native_function.h"
#include "python/out_of_memory.h"
#include "world/known_types.h"

namespace minidynamo {
namespace {

struct ArrayObject {
  PyObject_HEAD;
  PyObject *elements, *twin;
};

ArrayObject* as_array(PyObject* object) noexcept { return reinterpret_cast<ArrayObject*>(object); }

long arrays_alive = 0;

void array_dealloc(PyObject* self) {
  --arrays_alive;
  Ref::steal(as_array(self)->elements).reset();
  Ref::steal(as_array(self)->twin).reset();
  PyObject_Free(self);
}

// What an iterator over it asks: CPython's own iterator over sequences, as NumPy's arrays have it.
PyObject* array_item(PyObject* self, Py_ssize_t index) {
  Tracer* tracer = Tracer::current();
  if (!tracer) return PyErr_Format(PyExc_RuntimeError, "an array outlived its trace");
  const Py_ssize_t length = PyObject_Length(as_array(self)->twin);
  if (length < 0) return nullptr;
  if (index >= length) return PyErr_SetString(PyExc_IndexError, "index is out of bounds"), nullptr;
  Ref key = Ref::made(PyLong_FromSsize_t(index));
  return subscript(*tracer, self, key.get()).release();
}

PySequenceMethods make_sequence_methods() {
  PySequenceMethods methods{};
  methods.sq_item = entry<array_item>;
  return methods;
}
PySequenceMethods sequence_methods = make_sequence_methods();

PyTypeObject make_array_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "numpy.ndarray";
  type.tp_basicsize = sizeof(ArrayObject);
  type.tp_dealloc = array_dealloc;
  type.tp_as_sequence = &sequence_methods;
  type.tp_hash = PyObject_HashNotImplemented;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  return type;
}
PyTypeObject array_type = make_array_type();

// array_of_tensor(tensor, is_scalar)
PyObject* array_of_tensor(PyObject*, PyObject* arguments) {
  PyObject* tensor;
  int is_scalar;
  if (!PyArg_ParseTuple(arguments, "Op", &tensor, &is_scalar)) return nullptr;
  static constinit Imported numpy{"torch._C.TensorBase.numpy"};
  Ref array = Ref::steal(PyObject_CallOneArg(numpy, tensor));
  if (!array || !is_scalar) return array.release();
  const Ref nothing = Ref::made(PyTuple_New(0));
  return PyObject_GetItem(array.get(), nothing.get());
}

}  // namespace

bool is_traced_array(PyObject* object) noexcept { return Py_IS_TYPE(object, &array_type); }
bool any_traced_arrays() noexcept { return arrays_alive > 0; }

Ref make_traced_array(Tracer& tracer, PyObject* elements, Ref twin) {
  make_ready(array_type);
  Ref object = Ref::made(reinterpret_cast<PyObject*>(PyObject_New(ArrayObject, &array_type)));
  ++arrays_alive;
  as_array(object.get())->elements = Ref::borrow(elements).release();
  as_array(object.get())->twin = twin.release();
  tracer.world.make_opaque(object.get());
  tracer.kept_for_identity.push_back(object);  // opaque by its address
  return object;
}

PyObject* elements_of_array(PyObject* array) noexcept { return as_array(array)->elements; }
PyObject* twin_of_array(PyObject* array) noexcept { return as_array(array)->twin; }

bool is_traced_scalar(PyObject* array) noexcept {
  static constinit ImportedType array_class{"numpy.ndarray"};
  return !Py_IS_TYPE(twin_of_array(array), array_class);
}

PyObject* array_of_tensor_callable() { return native_function<METH_VARARGS, array_of_tensor>("array_of_tensor"); }

}  // namespace minidynamo
