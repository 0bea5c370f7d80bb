// The C methods of exceptions work on a copy that has the entered arguments and members.
#include "model/objects/exception_text.h"

#include <structmember.h>

#include <utility>

#include "model/native/native_call.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/attribute.h"
#include "model/tensors/tensor_call.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "world/external/class_lookup.h"
#include "world/native/address_text.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

// The value of an attribute that C code of the exception's own class keeps; null Ref without error if it is not that.
Ref native_part(Tracer& tracer, PyObject* exception, const char* name) {
  Ref key = Ref::made(PyUnicode_InternFromString(name));
  PyObject* descriptor = class_attribute(Py_TYPE(exception), key.get());
  const bool is_native = descriptor &&
                         (Py_IS_TYPE(descriptor, &PyMemberDescr_Type) || Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)) &&
                         !is_python_class(PyDescr_TYPE(descriptor));
  return is_native ? load_attribute_generically(tracer, exception, key.get()) : Ref();
}

Ref copy_with_entered_parts(Tracer& tracer, PyObject* exception) {
  PyTypeObject* type = Py_TYPE(exception);
  if (Ref override = lookup_in_class(tracer, type, "__getattribute__"_name);
      override && PyFunction_Check(override.get()))
    return nullptr;
  PyTypeObject* base = native_base(type);
  if (has_finalizer(tracer, type)) return nullptr;
  Ref args = native_part(tracer, exception, "args");
  if (!args || !PyTuple_Check(args.get())) return nullptr;
  if (has_fake(args.get())) return tracer.abort(BreakReason::TensorToText, "a tensor is turned into text");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i)
    if (!prepare_for_native(tracer, PyTuple_GET_ITEM(args.get(), i)) || shows_address(PyTuple_GET_ITEM(args.get(), i)))
      return nullptr;
  const bool is_group = PyType_IsSubtype(type, as_type(PyExc_BaseExceptionGroup));
  Ref given = is_group ? args : Ref::made(PyTuple_New(0));
  Ref copy = Ref::steal(base->tp_new(type, given.get(), nullptr));
  if (!copy) return nullptr;
  PyObject** own_args = &reinterpret_cast<PyBaseExceptionObject*>(copy.get())->args;
  Ref::drop(std::exchange(*own_args, args.release()));
  auto* const last = as_type(PyExc_BaseException);
  for (; base && base != last; base = base->tp_base) {
    for (PyMemberDef* member = base->tp_members; member && member->name; ++member) {
      if (member->flags & READONLY) continue;
      Ref value = native_part(tracer, exception, member->name);
      if (!value || !prepare_for_native(tracer, value.get())) return nullptr;
      // None may stand for no value at all, which is the same to all but who has put it there.
      if (!value.is(Py_None) && PyMember_SetOne(reinterpret_cast<char*>(copy.get()), member, value.get()) < 0)
        return nullptr;
    }
  }
  return copy;
}

}  // namespace

bool is_exception_from_outside(Tracer& tracer, PyObject* object) noexcept {
  return PyExceptionInstance_Check(object) && tracer.world.source_of(object);
}

Ref text_of_exception(Tracer& tracer, PyObject* exception, const char* method_name) {
  Ref name = Ref::made(PyUnicode_InternFromString(method_name));
  Ref method = lookup_in_class(tracer, Py_TYPE(exception), name.get());
  if (!method) return nullptr;
  if (PyFunction_Check(method.get())) {
    Ref text = call(tracer, method.get(), {Ref::borrow(exception)});
    if (text && !PyUnicode_Check(text.get())) {
      PyErr_Format(PyExc_TypeError, "%s returned non-string (type %.200s)", method_name, text.type()->tp_name);
      return nullptr;
    }
    return text;
  }
  const bool is_wrapper = Py_IS_TYPE(method.get(), &PyWrapperDescr_Type);
  if (is_wrapper &&
      method.is(class_attribute(&PyBaseObject_Type, "__str__"_name)))  // as any object's: the text of repr()
    return text_of_exception(tracer, exception, "__repr__");
  const bool is_of_exceptions =
      is_wrapper && PyType_IsSubtype(PyDescr_TYPE(method.get()), as_type(PyExc_BaseException));
  Ref copy = is_of_exceptions ? copy_with_entered_parts(tracer, exception) : Ref();
  if (tracer.is_over()) return nullptr;
  if (!copy) return clear_error(), use_opaque(tracer, exception), nullptr;
  return call_natively(tracer, method.get(), Arguments{std::span<const Ref>(&copy, 1)});
}

}  // namespace minidynamo
