#include "python/lru_cache.h"

#include "python/cached.h"
#include "python/out_of_memory.h"

namespace minidynamo {
namespace {

// CPython keeps these to itself (Modules/_functoolsmodule.c).
static_assert(PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000, "check the layout of lru_cache");
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

}  // namespace minidynamo
