#include "python/objects/lru_cache.h"

#include "python/cached.h"
#include "python/native_function.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

// CPython keeps these to itself (Modules/_functoolsmodule.c).
static_assert(PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000, "check the layout of lru_cache");
struct Link {
  PyObject_HEAD Link *previous, *next;
  Py_hash_t hash;
  PyObject *key, *result;
};
struct CachedFunction {
  Link root;
  PyObject* (*wrapper)(CachedFunction*, PyObject*, PyObject*);
  int typed;
  PyObject* cache;  // a dict: of results if it has no bound, else of links
  Py_ssize_t hits;
  PyObject* function;
  Py_ssize_t most;  // negative: no bound
  Py_ssize_t misses;
  PyObject* keyword_mark;
};

const CachedFunction* layout_of(PyObject* function) noexcept { return reinterpret_cast<CachedFunction*>(function); }

// (key, result) -> whether to go on, oldest first.
template <typename Use>
bool each_kept(const CachedFunction* cached, Use use) {
  if (cached->most < 0) {
    Py_ssize_t position = 0;
    PyObject *key, *result;
    while (cached->cache && PyDict_Next(cached->cache, &position, &key, &result))
      if (!use(key, result)) return false;
    return true;
  }
  for (const Link* link = cached->root.next; link && link != &cached->root; link = link->next)
    if (!use(link->key, link->result)) return false;
  return true;
}

PyObject* give_last(PyObject* results, PyObject*, PyObject*) {
  const Py_ssize_t count = PyList_GET_SIZE(results);
  if (count == 0) return PyErr_Format(PyExc_RuntimeError, "a cache is filled with more than it had");
  PyObject* const last = Ref::borrow(PyList_GET_ITEM(results, count - 1)).release();
  if (PyList_SetSlice(results, count - 1, count, nullptr) == 0) return last;
  Ref::drop(last);
  return nullptr;
}

PyMethodDef give_last_definition = {"give_last",
                                    reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry<give_last>)),
                                    METH_VARARGS | METH_KEYWORDS, nullptr};

// lru_cache_again(function, contents, attributes): an equal cache, filled by calls of a function that returns the kept
// results.
PyObject* lru_cache_again(PyObject*, PyObject* arguments) {
  static constinit CachedObject info_class{[](const char*) {
    Ref module = Ref::steal(PyImport_ImportModule("functools"));
    return module ? Ref::steal(PyObject_GetAttrString(module.get(), "_CacheInfo")) : Ref();
  }};
  PyObject *function, *bound, *typed, *items, *attributes;
  Py_ssize_t hits, misses;
  if (!PyArg_ParseTuple(arguments, "O(OOnnO!)O", &function, &bound, &typed, &hits, &misses, &PyTuple_Type, &items,
                        &attributes))
    return nullptr;
  Ref made = Ref::steal(PyObject_CallFunctionObjArgs(as_object(lru_cache_type()), function, bound, typed,
                                                     static_cast<PyObject*>(info_class), nullptr));
  const Ref results = Ref::made(PyList_New(0));
  for (Py_ssize_t i = PyTuple_GET_SIZE(items); i-- > 0;)
    if (PyList_Append(results.get(), PyTuple_GET_ITEM(PyTuple_GET_ITEM(items, i), 1)) < 0) return nullptr;
  if (!made) return nullptr;
  auto* cached = reinterpret_cast<CachedFunction*>(made.get());
  const Ref giver = Ref::made(PyCFunction_New(&give_last_definition, results.get()));
  PyObject* const own = std::exchange(cached->function, giver.get());
  bool is_filled = true;
  for (Py_ssize_t i = 0; is_filled && i < PyTuple_GET_SIZE(items); ++i)
    is_filled =
        static_cast<bool>(Ref::steal(PyObject_CallObject(made.get(), PyTuple_GET_ITEM(PyTuple_GET_ITEM(items, i), 0))));
  cached->function = own;
  cached->hits = hits;
  cached->misses = misses;
  const Ref dict = is_filled ? Ref::steal(PyObject_GenericGetDict(made.get(), nullptr)) : Ref();
  return dict && PyDict_Update(dict.get(), attributes) == 0 ? made.release() : nullptr;
}

}  // namespace

PyTypeObject* lru_cache_type() {
  static constinit CachedObject type{[](const char*) {
    Ref module = Ref::steal(PyImport_ImportModule("functools"));
    return module ? Ref::steal(PyObject_GetAttrString(module.get(), "_lru_cache_wrapper")) : Ref();
  }};
  return type.type();
}

PyObject* function_behind_lru_cache(PyObject* function) noexcept { return layout_of(function)->function; }

Ref lru_cache_key(PyObject* function, PyObject* positional, PyObject* keywords) {
  const CachedFunction* cached = layout_of(function);
  const Py_ssize_t given = PyTuple_GET_SIZE(positional);
  const Py_ssize_t named = keywords ? PyDict_GET_SIZE(keywords) : 0;
  PyObject* first = given ? PyTuple_GET_ITEM(positional, 0) : nullptr;
  if (!cached->typed && !named && given == 1 && (PyUnicode_CheckExact(first) || PyLong_CheckExact(first)))
    return Ref::borrow(first);
  const Py_ssize_t size = given + (named ? 1 + 2 * named : 0) + (cached->typed ? given + named : 0);
  Ref key = Ref::made(PyTuple_New(size));
  Py_ssize_t at = 0;
  auto add = [&](PyObject* part) { PyTuple_SET_ITEM(key.get(), at++, Ref::borrow(part).release()); };
  auto each_named = [&](auto use) {
    Py_ssize_t position = 0;
    PyObject *name, *value;
    while (named && PyDict_Next(keywords, &position, &name, &value)) use(name, value);
  };
  for (Py_ssize_t i = 0; i < given; ++i) add(PyTuple_GET_ITEM(positional, i));
  if (named) add(cached->keyword_mark);
  each_named([&](PyObject* name, PyObject* value) { add(name), add(value); });
  if (!cached->typed) return key;
  auto add_type = [&](PyObject* value) { add(as_object(Py_TYPE(value))); };
  for (Py_ssize_t i = 0; i < given; ++i) add_type(PyTuple_GET_ITEM(positional, i));
  each_named([&](PyObject*, PyObject* value) { add_type(value); });
  return key;
}

Lookup find_in_lru_cache(PyObject* function, PyObject* key, PyObject*& result) noexcept {
  result = nullptr;
  const CachedFunction* cached = layout_of(function);
  if (!cached->cache || cached->most == 0) return Lookup::Absent;
  const Py_hash_t hash = PyObject_Hash(key);
  if (hash == -1) return clear_error(), Lookup::Undecided;
  uint32_t hint = 0;
  const Lookup lookup = dict_item(cached->cache, key, hash, hint, result);
  if (lookup == Lookup::Found && cached->most > 0) result = reinterpret_cast<Link*>(result)->result;
  return lookup;
}

bool lru_cache_overflows(PyObject* function, Py_ssize_t more) noexcept {
  const CachedFunction* cached = layout_of(function);
  return cached->most >= 0 && (!cached->cache || PyDict_GET_SIZE(cached->cache) + more > cached->most);
}

Ref lru_cache_contents(PyObject* function) {
  const CachedFunction* cached = layout_of(function);
  const Ref items = Ref::made(PyList_New(0));
  const bool is_known = each_kept(cached, [&](PyObject* key, PyObject* result) {
    if (cached->typed) return false;
    for (Py_ssize_t i = 0; PyTuple_CheckExact(key) && i < PyTuple_GET_SIZE(key); ++i)
      if (PyTuple_GET_ITEM(key, i) == cached->keyword_mark) return false;
    const Ref given = PyTuple_CheckExact(key) ? Ref::borrow(key) : Ref::made(PyTuple_Pack(1, key));
    const Ref item = Ref::made(PyTuple_Pack(2, given.get(), result));
    return PyList_Append(items.get(), item.get()) == 0;
  });
  if (!is_known) return nullptr;
  const Ref bound = cached->most < 0 ? Ref::none() : Ref::made(PyLong_FromSsize_t(cached->most));
  const Ref all = Ref::made(PyList_AsTuple(items.get()));
  return Ref::made(Py_BuildValue("(OOnnO)", bound.get(), cached->typed ? Py_True : Py_False, cached->hits,
                                 cached->misses, all.get()));
}

PyObject* lru_cache_again_callable() { return native_function<METH_VARARGS, lru_cache_again>("lru_cache_again"); }

}  // namespace minidynamo
