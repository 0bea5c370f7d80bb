#include "world/types.h"

#include <unordered_set>

#include "python/bound_method.h"
#include "python/cached.h"
#include "python/nesting.h"
#include "python/out_of_memory.h"
#include "python/type_version.h"
#include "python/unstable.h"
#include "tensor/fake.h"
#include "world/known_types.h"
#include "world/native_objects.h"

namespace minidynamo {
namespace {

const std::unordered_set<PyTypeObject*>& plain_builtin_types() {
  static constinit Cached<std::unordered_set<PyTypeObject*>> types;
  return *types.get([] {
    auto found = std::make_unique<std::unordered_set<PyTypeObject*>>();
    std::unordered_set<PyTypeObject*>& plain = *found;
    plain = {
        &PyUnicode_Type,    &PyBytes_Type,      &PyByteArray_Type,   &PyLong_Type,         &PyBool_Type,
        &PyFloat_Type,      &PyComplex_Type,    &PyTuple_Type,       &PyList_Type,         &PyDict_Type,
        &PySet_Type,        &PyFrozenSet_Type,  &PyRange_Type,       &PySlice_Type,        &PyEnum_Type,
        &PyZip_Type,        &PyMap_Type,        &PyFilter_Type,      &PyReversed_Type,     &PyDictKeys_Type,
        &PyDictValues_Type, &PyDictItems_Type,  &PyDictProxy_Type,   &PySeqIter_Type,      &PyCallIter_Type,
        &PyProperty_Type,   &PyMemoryView_Type, Py_TYPE(Py_None),    Py_TYPE(Py_Ellipsis), Py_TYPE(Py_NotImplemented),
        &PyCell_Type,       &PyMethod_Type,     &PyClassMethod_Type, &PyStaticMethod_Type};
    for (const char* path : {"collections.OrderedDict",
                             "collections.deque",
                             "collections.defaultdict",
                             "re.Pattern",
                             "re.Match",
                             "itertools.chain",
                             "itertools.accumulate",
                             "itertools.islice",
                             "itertools.product",
                             "itertools.repeat",
                             "itertools.count",
                             "itertools.cycle",
                             "itertools.starmap",
                             "itertools.takewhile",
                             "itertools.dropwhile",
                             "itertools.zip_longest",
                             "itertools.pairwise",
                             "itertools.groupby",
                             "itertools.combinations",
                             "itertools.combinations_with_replacement",
                             "itertools.permutations",
                             "itertools.compress",
                             "itertools.filterfalse",
                             "functools.partial",
                             "types.GenericAlias",
                             "types.UnionType",
                             "types.SimpleNamespace",
                             "torch.Size",
                             "torch.device",
                             "torch.dtype",
                             "torch.finfo",
                             "torch.iinfo",
                             "operator.itemgetter",
                             "operator.attrgetter",
                             "operator.methodcaller",
                             "_collections._tuplegetter",
                             "_struct.Struct"}) {
      Ref type_object = import_object(path);
      if (type_object) plain.insert(reinterpret_cast<PyTypeObject*>(type_object.release()));
      clear_error();
    }
    for (PyObject* example : {PyList_New(0), PyDict_New(), PySet_New(nullptr), PyTuple_New(0),
                              PyUnicode_FromString("ab"), PyUnicode_FromString("\u00e9"), PyBytes_FromString("ab"),
                              PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "i", 1)}) {
      Ref container = Ref::made(example);
      Ref iterator = Ref::made(PyObject_GetIter(container.get()));
      plain.insert(iterator.type());
    }
    each_native_object_type(
        [](PyTypeObject* type, void* to) { static_cast<std::unordered_set<PyTypeObject*>*>(to)->insert(type); },
        &plain);
    Ref dict = Ref::made(PyDict_New());
    Ref empty_list = Ref::made(PyList_New(0));
    Ref backwards = Ref::made(PyObject_CallMethod(empty_list.get(), "__reversed__", nullptr));
    plain.insert(backwards.type());
    for (const char* view : {"values", "items"}) {
      Ref items = Ref::made(PyObject_CallMethod(dict.get(), view, nullptr));
      Ref iterator = Ref::made(PyObject_GetIter(items.get()));
      plain.insert(iterator.type());
    }
    return found;
  });
}

}  // namespace

bool is_torch_constant_type(PyTypeObject* type) noexcept {
  const KnownTypes* known = known_types();
  return type == known->dtype || type == known->device || type == known->layout || type == known->memory_format ||
         type == known->size;
}

bool is_exact_constant_type(PyTypeObject* type) noexcept {
  return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyBool_Type || type == Py_TYPE(Py_None) ||
         type == &PyFloat_Type || type == &PyBytes_Type || type == &PyComplex_Type || type == Py_TYPE(Py_Ellipsis) ||
         type == Py_TYPE(Py_NotImplemented) || type == &PyRange_Type;
}

bool is_container(PyObject* object) noexcept {
  return PyTuple_Check(object) || PyList_Check(object) || PyDict_Check(object) || PyAnySet_Check(object) ||
         native_base(Py_TYPE(object)) == known_types()->deque;
}

PyTypeObject* container_base(PyTypeObject* type) noexcept {
  const KnownTypes* known = known_types();
  if (type == &PyByteArray_Type) return type;
  for (PyTypeObject* base = type; base; base = base->tp_base)
    if (base == &PyList_Type || base == &PyDict_Type || base == &PySet_Type || base == known->ordered_dict ||
        base == known->default_dict || base == known->deque)
      return base;
  return nullptr;
}

bool is_guarded_by_identity(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  // A function defined inside another is made anew whenever that runs: its code and cells are guarded.
  if (PyFunction_Check(object))
    return !PyFunction_GET_CLOSURE(object) &&
           !(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(object))->co_flags & CO_NESTED);
  if (PyType_Check(object) || PyModule_Check(object) || PyCode_Check(object)) return true;
  if (PyCFunction_Check(object)) return !is_bound_native_method(object);
  if (type == &PyMethodDescr_Type || type == &PyGetSetDescr_Type || type == &PyMemberDescr_Type ||
      type == &PyWrapperDescr_Type || type == &PyClassMethodDescr_Type || type == &PyProperty_Type ||
      type == &PyClassMethod_Type || type == &PyStaticMethod_Type || type == &PyCapsule_Type)
    return true;
  return PyObject_TypeCheck(reinterpret_cast<PyObject*>(type), known_types()->enum_meta);
}

bool is_constant(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (is_exact_constant_type(type) || is_torch_constant_type(type) || is_native_value(object)) return true;
  if (type == &PyTuple_Type) {
    NestingLevel level;
    if (level.is_too_deep()) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!is_constant(PyTuple_GET_ITEM(object, i))) return false;
    return true;
  }
  if (type == &PyFrozenSet_Type) {
    Py_ssize_t position = 0;
    PyObject* item;
    Py_hash_t hash;
    while (next_in_set(object, position, item, hash))
      if (!is_constant(item)) return false;
    return true;
  }
  if (type == &PySlice_Type) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    return is_constant(slice->start) && is_constant(slice->stop) && is_constant(slice->step);
  }
  return false;
}

bool is_plain_key(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  return is_constant(object) || (!is_fake(object) && type->tp_hash == PyBaseObject_Type.tp_hash &&
                                 (type->tp_richcompare == PyBaseObject_Type.tp_richcompare || !type->tp_richcompare));
}

void load_types() { plain_builtin_types(); }

bool is_plain_builtin_type(PyTypeObject* type) noexcept {
  const std::unordered_set<PyTypeObject*>& plain_types = plain_builtin_types();  // load_rules() has made them
  const bool is_exception = PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
  return plain_types.count(type) > 0 || (is_exception && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE));
}

bool has_known_attributes(PyTypeObject* type) {
  static constinit Cached<std::unordered_set<PyTypeObject*>> cache;
  const std::unordered_set<PyTypeObject*>& known = *cache.get([] {
    auto found = std::make_unique<std::unordered_set<PyTypeObject*>>(std::initializer_list<PyTypeObject*>{
        &PyFunction_Type, &PyMethod_Type, &PyCFunction_Type, &PyType_Type, &PyModule_Type, &PyCode_Type, &PySuper_Type,
        &PyGen_Type, &PyMethodDescr_Type, &PyWrapperDescr_Type, &PyGetSetDescr_Type, &PyMemberDescr_Type,
        &PyClassMethodDescr_Type, &_PyMethodWrapper_Type, &_PyWeakref_RefType, &PyContextVar_Type, &PyBaseObject_Type});
    for (const char* path :
         {"datetime.date", "datetime.time", "datetime.datetime", "datetime.timedelta", "datetime.timezone",
          "functools._lru_cache_wrapper", "torch.Generator", "numpy.dtype", "numpy.generic"})
      if (Ref type = import_loaded(path)) found->insert(reinterpret_cast<PyTypeObject*>(type.release()));
    return found;
  });
  // C types of tuples (sys.version_info) are made once, of values that stay.
  return is_python_class(type) || is_plain_builtin_type(type) || PyType_IsSubtype(type, &PyTuple_Type) ||
         known.count(type) > 0;
}

}  // namespace minidynamo
