#include "model/protocols/items_read.h"

#include "model/protocols/abstract.h"
#include "python/code/bound_method.h"
#include "python/native_scope.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "world/external/callable_table.h"
#include "world/external/class_lookup.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

struct PreparerObject {
  PyObject_HEAD PyObject* iterator;
};

PreparerObject* as_preparer(PyObject* object) noexcept { return reinterpret_cast<PreparerObject*>(object); }

PyObject* preparer_next(PyObject* self) {
  Tracer* tracer = Tracer::current();
  if (!tracer) {
    PyErr_SetString(PyExc_RuntimeError, "minidynamo: an iterator of a trace was asked after it");
    return nullptr;
  }
  const NativeScopeApart traced;
  Ref item = next_or_stop(*tracer, as_preparer(self)->iterator);
  return item && prepare_for_native(*tracer, item.get()) ? item.release() : nullptr;
}

void preparer_dealloc(PyObject* self) {
  Py_CLEAR(as_preparer(self)->iterator);
  PyObject_Free(self);
}

PyTypeObject* preparer_type() {
  static constinit PyTypeObject type = [] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "minidynamo.item_preparer";
    made.tp_basicsize = sizeof(PreparerObject);
    made.tp_dealloc = preparer_dealloc;
    made.tp_iter = PyObject_SelfIter;
    made.tp_iternext = entry<preparer_next>;
    made.tp_flags = Py_TPFLAGS_DEFAULT;
    return made;
  }();
  make_ready(type);
  return &type;
}

// The position of the argument whose items a callable reads. A bound method's is one lower, for want of `self`.
const size_t* place_in(PyObject* callable) {
  static constinit CallableTable<size_t> table;
  static constexpr CallableTable<size_t>::Row kRows[] = {
      {"itertools.chain.from_iterable", 0},  {"itertools.starmap", 1},       {"builtins.dict", 0},
      {"builtins.dict.update", 1},           {"builtins.dict.__init__", 1},  {"collections.OrderedDict", 0},
      {"collections.OrderedDict.update", 1}, {"collections.defaultdict", 1}, {"builtins.bytes.join", 1},
      {"builtins.bytearray.join", 1},
  };
  return table.find(callable, kRows);
}

}  // namespace

Ref prepare_items(Tracer& tracer, PyObject* iterable) {
  if (PyTuple_CheckExact(iterable) || PyList_CheckExact(iterable)) {
    if (!prepare_for_native(tracer, iterable)) return nullptr;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(iterable); ++i)
      if (!prepare_for_native(tracer, PySequence_Fast_GET_ITEM(iterable, i))) return nullptr;
    return Ref::borrow(iterable);
  }
  // A mapping is iterated by its "keys"_name.
  if (PyDict_Check(iterable) || is_fake(iterable) || !Py_TYPE(iterable)->tp_iter) return Ref::borrow(iterable);
  if (lookup_in_class(tracer, Py_TYPE(iterable), "keys"_name)) return Ref::borrow(iterable);
  Ref iterator = PyErr_Occurred() ? Ref() : iterator_of(tracer, iterable);
  if (!iterator) return nullptr;
  Ref made = Ref::made(as_object(PyObject_New(PreparerObject, preparer_type())));
  as_preparer(made.get())->iterator = iterator.release();
  return made;
}

bool prepare_items_read(Tracer& tracer, PyObject* callable, Arguments& arguments, std::vector<Ref>& room) {
  const size_t* known = place_in(callable);
  if (!known) return true;
  const size_t place = *known - (*known > 0 && bound_self(callable) ? 1 : 0);
  if (place >= arguments.positional_count()) return true;
  Ref iterable = prepare_items(tracer, arguments.values[place].get());
  if (!iterable) return false;
  if (iterable.is(arguments.values[place].get())) return true;
  std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
  values[place] = std::move(iterable);
  room = std::move(values);
  arguments = Arguments{room, arguments.keyword_names, arguments.is_direct};
  return true;
}

bool is_item_preparer(PyObject* object) noexcept { return Py_IS_TYPE(object, preparer_type()); }
PyObject* behind_preparer(PyObject* preparer) noexcept { return as_preparer(preparer)->iterator; }

}  // namespace minidynamo
