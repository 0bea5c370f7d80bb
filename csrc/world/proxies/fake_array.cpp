#include "world/proxies/fake_array.h"

#include "python/native_function.h"
#include "python/native_scope.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"
#include "world/proxies/proxy.h"
#include "world/state/upward.h"

namespace minidynamo {
namespace {

constexpr Py_ssize_t kMostElements = Py_ssize_t{1} << 24;

Ref attribute(PyObject* object, const char* name) { return Ref::steal(PyObject_GetAttrString(object, name)); }
Ref call_method(PyObject* object, const char* name) { return Ref::steal(PyObject_CallMethod(object, name, nullptr)); }

struct ArrayObject {
  PyObject_HEAD;
  PyObject *elements, *twin;
};

ArrayObject* as_array(PyObject* object) noexcept { return reinterpret_cast<ArrayObject*>(object); }

long arrays_alive = 0;

void array_dealloc(PyObject* self) {
  --arrays_alive;
  Ref::drop(as_array(self)->elements);
  Ref::drop(as_array(self)->twin);
  PyObject_Free(self);
}

// The item that an iterator over the array asks for: CPython's own iterator over sequences, as NumPy's arrays have it.
PyObject* array_item(PyObject* self, Py_ssize_t index) {
  Tracer* tracer = Tracer::current();
  if (!tracer) return PyErr_Format(PyExc_RuntimeError, "an array outlived its trace");
  const Py_ssize_t length = PyObject_Length(as_array(self)->twin);
  if (length < 0) return nullptr;
  if (index >= length) return PyErr_SetString(PyExc_IndexError, "index is out of bounds"), nullptr;
  return item_of_array(*tracer, self, index).release();
}

PySequenceMethods make_sequence_methods() {
  PySequenceMethods methods{};
  methods.sq_item = entry<array_item>;
  return methods;
}
PySequenceMethods sequence_methods = make_sequence_methods();

ProxyType make_array_type() {
  ProxyType made = make_proxy_type(ProxyKind::Array, "numpy.ndarray", sizeof(ArrayObject), array_dealloc);
  made.type.tp_as_sequence = &sequence_methods;
  made.type.tp_hash = PyObject_HashNotImplemented;
  return made;
}
ProxyType array_type = make_array_type();

// array_of_tensor(tensor, is_scalar)
PyObject* array_of_tensor(PyObject*, PyObject* arguments) {
  PyObject* tensor;
  int is_scalar;
  if (!PyArg_ParseTuple(arguments, "Op", &tensor, &is_scalar)) return nullptr;
  // Some of torch's kernels return a tensor whose elements are conjugated when they are read.
  const Ref plain = call_method(tensor, "resolve_conj"),
            resolved = plain ? call_method(plain.get(), "resolve_neg") : Ref();
  Ref array = resolved ? Ref::steal(PyObject_CallOneArg("torch._C.TensorBase.numpy"_imported, resolved.get())) : Ref();
  if (!array || !is_scalar) return array.release();
  const Ref nothing = Ref::made(PyTuple_New(0));
  return PyObject_GetItem(array.get(), nothing.get());
}

}  // namespace

bool is_fake_array(PyObject* object) noexcept { return Py_IS_TYPE(object, &array_type.type); }
bool any_fake_arrays() noexcept { return arrays_alive > 0; }

Ref make_fake_array(Tracer& tracer, PyObject* elements, Ref twin) {
  make_ready(array_type.type);
  Ref object = Ref::made(as_object(PyObject_New(ArrayObject, &array_type.type)));
  ++arrays_alive;
  as_array(object.get())->elements = Ref::borrow(elements).release();
  as_array(object.get())->twin = twin.release();
  tracer.world.make_opaque(object.get());
  tracer.identities.kept.push_back(object);  // opaque by its address
  return object;
}

// Values for which most functions are defined (an invertible matrix, an index into anything).
Ref twin_of_fake(PyObject* fake) {
  const Ref dtype = attribute(fake, "dtype"), sizes = attribute(fake, "shape"), strides = call_method(fake, "stride"),
            elements = call_method(fake, "numel");
  if (!dtype || !sizes || !strides || !elements || PyLong_AsSsize_t(elements.get()) > kMostElements) return nullptr;
  const TensorTraceSuspended suspended;
  const NativeScope native;
  PyObject* const arguments[] = {sizes.get(), strides.get(), dtype.get()};
  const Ref names = Ref::made(PyTuple_Pack(1, "dtype"_name));
  const Ref tensor = Ref::steal(PyObject_Vectorcall("torch.empty_strided"_imported, arguments, 2, names.get()));
  const Ref is_float = tensor ? call_method(tensor.get(), "is_floating_point") : Ref(),
            is_complex = tensor ? call_method(tensor.get(), "is_complex") : Ref();
  const bool is_real = is_float.is(Py_True) || is_complex.is(Py_True);
  Ref filled =
      is_float && is_complex ? Ref::steal(PyObject_CallMethod(tensor.get(), "fill_", "i", is_real ? 1 : 0)) : Ref();
  const Py_ssize_t dimensions = PyTuple_GET_SIZE(sizes.get());
  if (filled && is_real && dimensions >= 2) {
    const Py_ssize_t rows = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes.get(), dimensions - 2)),
                     columns = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes.get(), dimensions - 1));
    if (rows == columns) {
      const Ref diagonal = Ref::steal(PyObject_CallMethod(filled.get(), "diagonal", "iii", 0, -2, -1));
      filled = diagonal ? Ref::steal(PyObject_CallMethod(diagonal.get(), "fill_", "n", rows + 1)) : Ref();
    }
  }
  return filled ? Ref::steal(PyObject_CallOneArg("torch._C.TensorBase.numpy"_imported, tensor.get())) : Ref();
}

PyObject* elements_of_array(PyObject* array) noexcept { return as_array(array)->elements; }
PyObject* twin_of_array(PyObject* array) noexcept { return as_array(array)->twin; }

bool is_traced_scalar(PyObject* array) noexcept {
  static constinit ImportedType array_class{"numpy.ndarray"};
  return !Py_IS_TYPE(twin_of_array(array), array_class);
}

PyObject* array_of_tensor_callable() { return native_function<METH_VARARGS, array_of_tensor>("array_of_tensor"); }

}  // namespace minidynamo
