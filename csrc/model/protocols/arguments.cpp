#include "model/protocols/arguments.h"

namespace minidynamo {
Ref Arguments::positional() const {
  const auto count = static_cast<Py_ssize_t>(positional_count());
  Ref tuple = Ref::made(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Ref(values[i]).release());
  return tuple;
}

Ref Arguments::keywords() const {
  if (!keyword_count()) return nullptr;
  Ref dict = Ref::made(PyDict_New());
  for (size_t i = 0; i < keyword_count(); ++i)
    PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(keyword_names, i), values[positional_count() + i].get());
  return dict;
}

}  // namespace minidynamo
