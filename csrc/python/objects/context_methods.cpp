#include "python/objects/context_methods.h"

#include <string_view>

#include "python/version/type_version.h"

namespace minidynamo {
namespace {

PyObject* in_class(PyObject* object, const char* name) {
  const Ref key = Ref::made(PyUnicode_InternFromString(name));
  return class_attribute(Py_TYPE(object), key.get());
}

#if PY_VERSION_HEX >= 0x030E0000
struct Protocol {
  const char *enter, *exit, *text, *statement;
};
constexpr Protocol kWith = {"__enter__", "__exit__", "context manager protocol", "with"};
constexpr Protocol kAsyncWith = {"__aenter__", "__aexit__", "asynchronous context manager protocol", "async with"};
#endif

}  // namespace

void raise_no_special_method(PyObject* object, const char* name) {
#if PY_VERSION_HEX < 0x030E0000
  const char* missed = std::string_view(name) == "__exit__" ? " (missed __exit__ method)" : "";
  PyErr_Format(PyExc_TypeError, "'%.200s' object does not support the context manager protocol%s",
               Py_TYPE(object)->tp_name, missed);
#else
  const bool is_async = std::string_view(name).starts_with("__a");
  const Protocol &wanted = is_async ? kAsyncWith : kWith, &other = is_async ? kWith : kAsyncWith;
  if (in_class(object, other.enter) && in_class(object, other.exit))
    PyErr_Format(PyExc_TypeError,
                 "'%T' object does not support the %s (missed %s method) but it supports the %s. Did you mean to use "
                 "'%s'?",
                 object, wanted.text, name, other.text, other.statement);
  else
    PyErr_Format(PyExc_TypeError, "'%T' object does not support the %s (missed %s method)", object, wanted.text, name);
#endif
}

Ref special_method(PyObject* object, const char* name) {
  PyObject* found = in_class(object, name);
  if (!found) return raise_no_special_method(object, name), nullptr;
  const Ref held = Ref::borrow(found);
  const descrgetfunc get = Py_TYPE(found)->tp_descr_get;
  return get ? Ref::steal(get(found, object, as_object(Py_TYPE(object)))) : held;
}

}  // namespace minidynamo
