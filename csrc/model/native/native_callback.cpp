#include "model/native/native_callback.h"

#include <string_view>

#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "python/code/bound_method.h"
#include "python/process/out_of_memory.h"
#include "world/external/callable_table.h"

namespace minidynamo {
namespace {

struct CallbackObject {
  PyObject_HEAD PyObject* callable;
};

CallbackObject* as_callback(PyObject* object) noexcept { return reinterpret_cast<CallbackObject*>(object); }

PyObject* callback_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  Tracer* tracer = Tracer::current();
  if (!tracer) {
    PyErr_SetString(PyExc_RuntimeError, "minidynamo: a callback of a trace was called after it");
    return nullptr;
  }
  const NativeScopeApart traced;
  return call_with(*tracer, as_callback(self)->callable, args, kwargs).release();
}

void callback_dealloc(PyObject* self) {
  Py_CLEAR(as_callback(self)->callable);
  PyObject_Free(self);
}

PyTypeObject* callback_type() {
  static constinit PyTypeObject type = [] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "minidynamo.native_callback";
    made.tp_basicsize = sizeof(CallbackObject);
    made.tp_dealloc = callback_dealloc;
    made.tp_call = entry<callback_call>;
    made.tp_flags = Py_TPFLAGS_DEFAULT;
    return made;
  }();
  make_ready(type);
  return &type;
}

// True if the object, when it is called, comes back by itself or runs no code of its own.
bool comes_back(PyObject* object) {
  if (PyMethod_Check(object)) return comes_back(PyMethod_GET_FUNCTION(object));
  // An object of functools.cmp_to_key only holds what it is called with, and compares by a function that comes back.
  return PyFunction_Check(object) || object == Py_None || is_native_callback(object) ||
         std::string_view(Py_TYPE(object)->tp_name) == "functools.KeyWrapper";
}

}  // namespace

bool is_native_callback(PyObject* object) { return Py_IS_TYPE(object, callback_type()); }

Ref callback_of(PyObject* callable) {
  Ref callback = Ref::made(as_object(PyObject_New(CallbackObject, callback_type())));
  as_callback(callback.get())->callable = Ref::borrow(callable).release();
  return callback;
}

PyObject* behind_callback(PyObject* callback) noexcept { return as_callback(callback)->callable; }

namespace {

// The place of the argument that a callable calls.
struct Place {
  Py_ssize_t position;  // -1: by keyword only
  const char* keyword;  // null: by position only
};

const Place* place_in(PyObject* callable) {
  static constinit CallableTable<Place> table;
  static constexpr CallableTable<Place>::Row kRows[] = {
      {"builtins.map", {0, nullptr}},          {"builtins.filter", {0, nullptr}},
      {"builtins.sorted", {-1, "key"}},        {"builtins.min", {-1, "key"}},
      {"builtins.max", {-1, "key"}},           {"builtins.list.sort", {-1, "key"}},
      {"functools.reduce", {0, nullptr}},      {"itertools.starmap", {0, nullptr}},
      {"itertools.accumulate", {1, "func"}},   {"itertools.groupby", {1, "key"}},
      {"itertools.takewhile", {0, nullptr}},   {"itertools.dropwhile", {0, nullptr}},
      {"itertools.filterfalse", {0, nullptr}}, {"_bisect.bisect_left", {-1, "key"}},
      {"_bisect.bisect_right", {-1, "key"}},   {"_bisect.insort_left", {-1, "key"}},
      {"_bisect.insort_right", {-1, "key"}},
  };
  return table.find(callable, kRows);
}

}  // namespace

Arguments wrap_python_callbacks(PyObject* callable, const Arguments& arguments, std::vector<Ref>& room) {
  const Place* place = place_in(callable);
  if (!place) return arguments;
  auto index = place->position >= 0 && static_cast<size_t>(place->position) < arguments.positional_count()
                   ? static_cast<size_t>(place->position)
                   : arguments.values.size();
  for (size_t k = 0; place->keyword && k < arguments.keyword_count(); ++k)
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments.keyword_names, k), place->keyword))
      index = arguments.positional_count() + k;
  if (index >= arguments.values.size()) return arguments;
  const Ref& given = arguments.values[index];
  if (!Py_TYPE(given.get())->tp_call || comes_back(given.get())) return arguments;
  room.assign(arguments.values.begin(), arguments.values.end());
  room[index] = callback_of(room[index].get());
  return Arguments{room, arguments.keyword_names, arguments.is_direct};
}

}  // namespace minidynamo
