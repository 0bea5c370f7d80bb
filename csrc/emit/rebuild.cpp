#include "emit/rebuild.h"

#include <frameobject.h>
#include <structmember.h>

#include <bit>
#include <span>
#include <utility>

#include "guard/constants.h"
#include "python/code/struct_sequence.h"
#include "python/native_function.h"
#include "python/objects/context_methods.h"
#include "python/objects/iterators.h"
#include "python/objects/itertools_fields.h"
#include "python/objects/native_contents.h"
#include "python/objects/set_table.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "tensor/symbolic/symbolic_size.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/proxies/symbols.h"

namespace minidynamo {
namespace {

// Calls visit(name, descriptor) for every slot (member descriptor) that Python classes in the MRO define.
template <typename Visit>
bool each_slot(PyTypeObject* type, Visit visit) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = as_type(PyTuple_GET_ITEM(type->tp_mro, i));
    if (!is_python_class(base)) continue;
    Py_ssize_t position = 0;
    PyObject *name, *value;
    while (PyDict_Next(namespace_of(base), &position, &name, &value))
      if (Py_IS_TYPE(value, &PyMemberDescr_Type) && !visit(name, value)) return false;
  }
  return true;
}

// Puts the value that an instance had under a name into its __dict__ or into a slot, beneath a property of that name.
bool set_own_attribute(PyObject* instance, PyObject* name, PyObject* value) {
  const bool is_attribute = PyUnicode_Check(name);  // any other key comes by the __dict__ itself
  PyObject* descriptor = is_attribute ? class_attribute(Py_TYPE(instance), name) : nullptr;
  if (is_attribute &&
      (!descriptor || !Py_TYPE(descriptor)->tp_descr_set || Py_IS_TYPE(descriptor, &PyMemberDescr_Type)))
    return PyObject_GenericSetAttr(instance, name, value) == 0;
  Ref own = Ref::steal(PyObject_GenericGetDict(instance, nullptr));
  return own && PyDict_SetItem(own.get(), name, value) == 0;
}

// With the table of what is put in, if the set is empty: elements that died may have put others in.
bool put_into_set(PyObject* set, PyObject* items) {
  return PySet_GET_SIZE(set) == 0 ? copy_set_table(set, items) : update_set(set, items) == 0;
}

Ref items_of(const std::vector<PyObject*>& items) {
  Ref list = Ref::made(PyList_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Ref::borrow(items[i]).release());
  return list;
}

Ref pairs_of(const NativeContents& contents) {
  Ref dict = Ref::made(PyDict_New());
  for (size_t i = 0; i < contents.hashes.size(); ++i)
    if (set_item_with_hash(dict.get(), contents.items[2 * i], contents.items[2 * i + 1], contents.hashes[i]) < 0)
      return nullptr;
  return dict;
}

bool fill_parts(PyObject* instance, PyObject* items, PyObject* attributes) {
  PyTypeObject* base = native_base(Py_TYPE(instance));
  const Base kind = row_of(base).base;
  Py_ssize_t position = 0;
  PyObject *key, *value;
  if (kind == Base::Deque || kind == Base::DefaultDict) {
    if (PyTuple_CheckExact(items) && base->tp_init(instance, items, nullptr) < 0) return false;
  } else if (PyList_CheckExact(items)) {
    if (PyList_SetSlice(instance, 0, 0, items) < 0) return false;
  } else if (PyAnySet_CheckExact(items)) {
    if (!put_into_set(instance, items)) return false;
  } else if (PyDict_CheckExact(items)) {
    while (PyDict_Next(items, &position, &key, &value))
      if (base->tp_as_mapping->mp_ass_subscript(instance, key, value) < 0) return false;
  }
  position = 0;
  while (PyDict_Next(attributes, &position, &key, &value))
    if (!set_own_attribute(instance, key, value)) return false;
  return true;
}

PyObject* fill_instance(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 3 || !PyDict_Check(arguments[2])) {
    PyErr_SetString(PyExc_TypeError, "fill_instance(instance, items, attributes)");
    return nullptr;
  }
  if (!fill_parts(arguments[0], arguments[1], arguments[2])) return nullptr;
  Py_RETURN_NONE;
}

PyObject* rebuild_instance(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 3 || !PyType_Check(arguments[0])) {
    PyErr_SetString(PyExc_TypeError, "rebuild_instance(class, items, attributes)");
    return nullptr;
  }
  auto* type = as_type(arguments[0]);
  PyTypeObject* base = native_base(type);
  const Base kind = row_of(base).base;
  // Values and tuples are given what they hold when they are made; a frozenset's table is filled later.
  const bool is_made_with_value = kind == Base::Value || kind == Base::Tuple;
  Ref given = Ref::made(is_made_with_value ? PyTuple_Pack(1, arguments[1]) : PyTuple_New(0));
  Ref instance = Ref::steal(base->tp_new(type, given.get(), nullptr));
  if (!instance || !fill_parts(instance.get(), arguments[1], arguments[2])) return nullptr;
  return instance.release();
}

PyObject* rebuild_tuple(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyType_Check(arguments[0]) || !PyTuple_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "rebuild_tuple(class, items)");
    return nullptr;
  }
  if (is_struct_sequence_type(as_type(arguments[0])))
    return make_struct_sequence(as_type(arguments[0]), arguments[1]).release();
  Ref packed = Ref::made(PyTuple_Pack(1, arguments[1]));
  return PyTuple_Type.tp_new(as_type(arguments[0]), packed.get(), nullptr);
}

PyObject* make_function(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  PyObject* globals = count == 1 ? PyEval_GetGlobals() : count == 2 ? arguments[1] : nullptr;
  if (globals && PyModule_Check(globals)) globals = PyModule_GetDict(globals);
  if (!globals || !PyCode_Check(arguments[0]) || !PyDict_Check(globals)) {
    PyErr_SetString(PyExc_TypeError, "make_function(code[, globals])");
    return nullptr;
  }
  Ref made = Ref::made(PyFunction_New(arguments[0], globals));
  if (count == 1)
    set_builtins(as_function(made.get()), PyEval_GetBuiltins());  // those of the frame that it goes on with
  return made.release();
}

PyObject* rebuild_function(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count < 11 || count > 13) {
    PyErr_SetString(PyExc_TypeError, "rebuild_function takes 11 to 13 arguments");
    return nullptr;
  }
  Ref made = Ref::made(PyFunction_New(arguments[0], arguments[1]));
  auto set = [&](const char* name, PyObject* value) { return PyObject_SetAttrString(made.get(), name, value) == 0; };
  auto* function = as_function(made.get());
  if (arguments[5] != Py_None) function->func_closure = Ref::borrow(arguments[5]).release();
  if (count > 12) set_annotate(function, Ref::borrow(arguments[12]));
  if (arguments[6] != Py_None) function->func_annotations = Ref::borrow(arguments[6]).release();
  Py_XSETREF(function->func_module, Ref::borrow(arguments[9]).release());
  Py_XSETREF(function->func_doc, Ref::borrow(arguments[10]).release());
  const bool ok = set("__name__", arguments[2]) && (arguments[3] == Py_None || set("__defaults__", arguments[3])) &&
                  (arguments[4] == Py_None || set("__kwdefaults__", arguments[4])) &&
                  set("__qualname__", arguments[7]) && (arguments[8] == Py_None || set("__dict__", arguments[8])) &&
                  (count < 12 || arguments[11] == Py_None || set("__type_params__", arguments[11]));
  return ok ? made.release() : nullptr;
}

PyObject* rebuild_partial(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 4) {
    PyErr_SetString(PyExc_TypeError, "rebuild_partial(func, args, keywords, dict)");
    return nullptr;
  }
  Ref function = Ref::made(PyTuple_Pack(1, arguments[0]));
  Ref positional = Ref::steal(PySequence_Concat(function.get(), arguments[1]));
  Ref made =
      positional ? Ref::steal(PyObject_Call("functools.partial"_imported, positional.get(), arguments[2])) : Ref();
  if (made && arguments[3] != Py_None && PyObject_SetAttrString(made.get(), "__dict__", arguments[3]) < 0)
    return nullptr;
  return made.release();
}

PyObject* rebuild_exception(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count < 7 || count > 8 || !PyExceptionClass_Check(arguments[0]) || !PyTuple_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "rebuild_exception takes 7 or 8 arguments");
    return nullptr;
  }
  auto* type = as_type(arguments[0]);
  PyTypeObject* base = native_base(type);
  // Without __init__, which has run in the trace, and may have been given something else than `args` by now. Groups
  // have what they hold from the moment they are made.
  const bool is_group = PyType_IsSubtype(type, as_type(PyExc_BaseExceptionGroup));
  Ref given = is_group ? Ref::borrow(arguments[1]) : Ref::made(PyTuple_New(0));
  Ref made = Ref::steal(base->tp_new(type, given.get(), nullptr));
  if (!made) return nullptr;
  PyObject** own_args = &reinterpret_cast<PyBaseExceptionObject*>(made.get())->args;
  Ref::drop(std::exchange(*own_args, Ref::borrow(arguments[1]).release()));
  if (PyDict_Check(arguments[2])) {
    Py_ssize_t position = 0;
    PyObject *name, *value;
    while (PyDict_Next(arguments[2], &position, &name, &value))
      if (PyObject_GenericSetAttr(made.get(), name, value) < 0) return nullptr;
  }
  if (arguments[3] != Py_None) PyException_SetCause(made.get(), Ref::borrow(arguments[3]).release());
  if (arguments[4] != Py_None) PyException_SetContext(made.get(), Ref::borrow(arguments[4]).release());
  reinterpret_cast<PyBaseExceptionObject*>(made.get())->suppress_context = arguments[5] == Py_True;
  if (PyException_SetTraceback(made.get(), arguments[6]) < 0) return nullptr;
  if (count == 8 && PyObject_SetAttrString(made.get(), "args", arguments[7]) < 0) return nullptr;
  return made.release();
}

// A weak reference to an object that ends here.
PyObject* dead_reference(PyObject*, PyObject*) {
  const Ref short_lived = Ref::steal(PyObject_CallNoArgs(as_object(&PySet_Type)));
  return short_lived ? PyWeakref_NewRef(short_lived.get(), nullptr) : nullptr;
}

PyObject* bind(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  descrgetfunc get = count == 2 ? Py_TYPE(arguments[0])->tp_descr_get : nullptr;
  if (get) return get(arguments[0], arguments[1], as_object(Py_TYPE(arguments[1])));
  PyErr_SetString(PyExc_TypeError, "bind(descriptor, object)");
  return nullptr;
}

// As a classmethod does, whatever is in it. types.MethodType refuses what cannot be called.
PyObject* make_method(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count == 2) return PyMethod_New(arguments[0], arguments[1]);
  PyErr_SetString(PyExc_TypeError, "make_method(function, self)");
  return nullptr;
}

PyObject* rebuild_object(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyTuple_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "rebuild_object(callable, args)");
    return nullptr;
  }
  return PyObject_Call(arguments[0], arguments[1], nullptr);
}

PyObject* call_with(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count == 3 && PyTuple_Check(arguments[1]))
    return PyObject_Call(arguments[0], arguments[1], arguments[2] == Py_None ? nullptr : arguments[2]);
  PyErr_SetString(PyExc_TypeError, "call_with(callable, args, kwargs or None)");
  return nullptr;
}

PyObject* native_iterator(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  getiterfunc iter = count == 1 ? native_base(Py_TYPE(arguments[0]))->tp_iter : nullptr;
  if (iter) return iter(arguments[0]);
  PyErr_SetString(PyExc_TypeError, "native_iterator(iterable)");
  return nullptr;
}

// dict[key] = value. A weak reference keeps its hash, for when what it refers to is dead.
bool set_hashed(PyObject* dict, PyObject* key, PyObject* value, Py_hash_t hash) {
  auto* reference = PyWeakref_CheckRef(key) ? reinterpret_cast<PyWeakReference*>(key) : nullptr;
  if (reference && reference->hash == -1) reference->hash = hash;
  return set_item_with_hash(dict, key, value, hash) == 0;
}

// Adds keys without asking them for their hashes, or comparing them, which may be the program's code.
bool add_hashed(PyObject* dict, PyObject* const* keys, PyObject* const* values, PyObject* hashes) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(hashes); ++i) {
    const Py_hash_t hash = PyLong_AsSsize_t(PyTuple_GET_ITEM(hashes, i));
    if (!set_hashed(dict, keys[i], values ? values[i] : Py_None, hash)) return false;
  }
  return true;
}

PyObject* rebuild_hashed(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 3 || !PyTuple_Check(arguments[0]) || !PyTuple_Check(arguments[2])) {
    PyErr_SetString(PyExc_TypeError, "rebuild_hashed(keys, values or None, hashes)");
    return nullptr;
  }
  const bool is_dict = arguments[1] != Py_None;
  Ref dict = Ref::made(PyDict_New());
  if (!add_hashed(dict.get(), items_of_tuple(arguments[0]), is_dict ? items_of_tuple(arguments[1]) : nullptr,
                  arguments[2]))
    return nullptr;
  if (is_dict) return dict.release();
  Ref set = Ref::made(PySet_New(nullptr));
  return update_set(set.get(), dict.get()) == 0 ? set.release() : nullptr;
}

PyObject* set_like(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 1 || !PyAnySet_Check(arguments[0])) {
    PyErr_SetString(PyExc_TypeError, "set_like(set)");
    return nullptr;
  }
  return set_with_table_of(arguments[0]).release();
}

PyObject* make_set_like(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PySet_Check(arguments[0]) || !PySet_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "make_set_like(set, other set)");
    return nullptr;
  }
  if (PySet_Clear(arguments[0]) < 0 || !put_into_set(arguments[0], arguments[1])) return nullptr;
  Py_RETURN_NONE;
}

PyObject* set_hashed_item(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 4 || !PyDict_Check(arguments[0])) {
    PyErr_SetString(PyExc_TypeError, "set_hashed_item(dict, key, value, hash)");
    return nullptr;
  }
  const Py_hash_t hash = PyLong_AsSsize_t(arguments[3]);
  if (!set_hashed(arguments[0], arguments[1], arguments[2], hash)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* set_state(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "set_state(object, state)");
    return nullptr;
  }
  return PyObject_CallMethod(arguments[0], "__setstate__", "(O)", arguments[1]);
}

PyObject* rebuild_generator(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 5 || !PyTuple_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "rebuild_generator(function, args, started, name, qualname)");
    return nullptr;
  }
  Ref made = Ref::steal(PyObject_Call(arguments[0], arguments[1], nullptr));
  if (!made || PyObject_SetAttrString(made.get(), "__name__", arguments[3]) < 0 ||
      PyObject_SetAttrString(made.get(), "__qualname__", arguments[4]) < 0)
    return nullptr;
  if (arguments[2] != Py_True) return made.release();
  Ref suspended = Ref::steal(PyIter_Next(made.get()));
  return suspended ? made.release() : nullptr;
}

PyObject* advance_iterator(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyIter_Check(arguments[0]) || !PyLong_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "advance_iterator(iterator, count)");
    return nullptr;
  }
  for (long left = PyLong_AsLong(arguments[1]); left > 0; --left) {
    Ref item = Ref::steal(PyIter_Next(arguments[0]));
    if (!item && PyErr_Occurred()) return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* walked_iterator(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyLong_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "walked_iterator(iterable, count)");
    return nullptr;
  }
  Ref made = Ref::steal(PyObject_GetIter(arguments[0]));
  if (!made) return nullptr;
  PyObject* const advanced[] = {made.get(), arguments[1]};
  const Ref done = Ref::steal(advance_iterator(nullptr, advanced, 2));
  return done ? made.release() : nullptr;
}

PyObject* placed_iterator(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  Py_ssize_t place[4];
  const bool is_view = count == 5 && (PyDictViewSet_Check(arguments[0]) || PyDictValues_Check(arguments[0]));
  if (!is_view) PyErr_SetString(PyExc_TypeError, "placed_iterator(view of a dict, passed, beyond, size, left)");
  for (int i = 0; is_view && i < 4; ++i) place[i] = PyLong_AsSsize_t(arguments[i + 1]);
  if (PyErr_Occurred()) return nullptr;
  Ref made = Ref::steal(PyObject_GetIter(arguments[0]));
  if (made) place_dict_iterator(made.get(), {nullptr, place[0], place[1], place[2], place[3]});
  return made.release();
}

PyObject* placed_list_iterator(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if ((count != 2 && count != 3) || !PyList_Check(arguments[0])) {
    PyErr_SetString(PyExc_TypeError, "placed_list_iterator(list, index[, backwards])");
    return nullptr;
  }
  const Py_ssize_t index = PyLong_AsSsize_t(arguments[1]);
  if (index < -1) return PyErr_Format(PyExc_ValueError, "index %zd", index);
  if (index < 0 && PyErr_Occurred()) return nullptr;
  // Those of list itself: a subclass may have methods of its own.
  Ref made = count == 3 && arguments[2] == Py_True
                 ? Ref::steal(PyObject_CallOneArg(class_attribute(&PyList_Type, "__reversed__"_name), arguments[0]))
                 : Ref::steal(PyList_Type.tp_iter(arguments[0]));
  if (made) place_list_iterator(made.get(), index);
  return made.release();
}

PyObject* rebuild_iterator(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  const bool has_fields = count == 2 && PyTuple_Check(arguments[1]);
  if ((count != 1 && !has_fields) || !PyType_Check(arguments[0]) || !is_of_itertools(as_type(arguments[0]))) {
    PyErr_SetString(PyExc_TypeError, "rebuild_iterator(type of itertools[, fields])");
    return nullptr;
  }
  Ref made = make_empty_iterator(as_type(arguments[0]));
  if (made && has_fields) set_fields(made.get(), arguments[1]);
  return made.release();
}

PyObject* fill_iterator(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !is_of_itertools(Py_TYPE(arguments[0])) || !PyTuple_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "fill_iterator(iterator of itertools, fields)");
    return nullptr;
  }
  set_fields(arguments[0], arguments[1]);
  Py_RETURN_NONE;
}

PyObject* tensor_size(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !is_tensor(arguments[0]) || !PyLong_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "size_of_tensor(tensor, dimension)");
    return nullptr;
  }
  return PyLong_FromLongLong(size_of_tensor(arguments[0], static_cast<int>(PyLong_AsLong(arguments[1]))));
}

// A step with Python's own ints and floats. Null with a Python error set.
Ref computed(const SizeStep& step, const std::vector<int64_t>& numbers, std::span<PyObject* const> operands) {
  using Kind = SizeStep::Kind;
  if (step.kind == Kind::Constant) return Ref::made(PyLong_FromLongLong(step.operand));
  if (step.kind == Kind::Symbol) return Ref::made(PyLong_FromLongLong(numbers.at(static_cast<size_t>(step.operand))));
  if (step.kind == Kind::FloatConstant) return Ref::made(PyFloat_FromDouble(std::bit_cast<double>(step.operand)));
  PyObject* function = function_of_step(step.kind);
  return function ? Ref::steal(PyObject_Vectorcall(function, operands.data(), operands.size(), nullptr)) : Ref();
}

// All of them.
Ref compute_large(const std::vector<SizeStep>& steps, const std::vector<int64_t>& numbers) {
  std::vector<Ref> stack;
  for (const SizeStep& step : steps) {
    const auto rest = stack.size() - static_cast<size_t>(operands_of(step.kind));
    std::vector<PyObject*> operands;
    for (size_t i = rest; i < stack.size(); ++i) operands.push_back(stack[i].get());
    Ref made = computed(step, numbers, operands);
    if (!made) return nullptr;
    stack.resize(rest);
    stack.push_back(std::move(made));
  }
  return std::move(stack.back());
}

PyObject* compute_size(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  std::vector<SizeStep> steps;
  std::vector<int64_t> numbers;
  for (Py_ssize_t i = 0; count > 0 && i + 1 < PyTuple_GET_SIZE(arguments[0]); i += 2)
    steps.push_back({static_cast<SizeStep::Kind>(PyLong_AsLong(PyTuple_GET_ITEM(arguments[0], i))),
                     PyLong_AsLongLong(PyTuple_GET_ITEM(arguments[0], i + 1))});
  for (Py_ssize_t i = 1; i < count; ++i) numbers.push_back(PyLong_AsLongLong(arguments[i]));
  if (PyErr_Occurred()) return nullptr;
  const std::optional<int64_t> value = run_steps(steps, numbers);
  if (!value) return compute_large(steps, numbers).release();
  return is_float_step(steps.back().kind) ? PyFloat_FromDouble(std::bit_cast<double>(*value))
                                          : PyLong_FromLongLong(*value);
}

PyObject* find_special_method(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  const char* name = count == 2 ? PyUnicode_AsUTF8(arguments[1]) : nullptr;
  return name ? special_method(arguments[0], name).release() : nullptr;
}

PyObject* drop_traceback(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyExceptionInstance_Check(arguments[0]) || !PyLong_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "drop_traceback(exception, count)");
    return nullptr;
  }
  Ref traceback = Ref::steal(PyException_GetTraceback(arguments[0]));
  for (long left = PyLong_AsLong(arguments[1]); left > 0 && traceback && PyTraceBack_Check(traceback.get()); --left)
    traceback = Ref::borrow(as_object(reinterpret_cast<PyTracebackObject*>(traceback.get())->tb_next));
  if (PyException_SetTraceback(arguments[0], traceback ? traceback.get() : Py_None) < 0) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace

PyObject* rebuild_instance_callable() { return native_function<METH_FASTCALL, rebuild_instance>("rebuild_instance"); }
PyObject* fill_instance_callable() { return native_function<METH_FASTCALL, fill_instance>("fill_instance"); }
PyObject* rebuild_tuple_callable() { return native_function<METH_FASTCALL, rebuild_tuple>("rebuild_tuple"); }
PyObject* rebuild_function_callable() { return native_function<METH_FASTCALL, rebuild_function>("rebuild_function"); }
PyObject* make_function_callable() { return native_function<METH_FASTCALL, make_function>("make_function"); }
PyObject* rebuild_partial_callable() { return native_function<METH_FASTCALL, rebuild_partial>("rebuild_partial"); }
PyObject* rebuild_exception_callable() {
  return native_function<METH_FASTCALL, rebuild_exception>("rebuild_exception");
}
PyObject* dead_reference_callable() { return native_function<METH_NOARGS, dead_reference>("dead_reference"); }
PyObject* make_method_callable() { return native_function<METH_FASTCALL, make_method>("make_method"); }
PyObject* bind_callable() { return native_function<METH_FASTCALL, bind>("bind"); }
PyObject* rebuild_object_callable() { return native_function<METH_FASTCALL, rebuild_object>("rebuild_object"); }
PyObject* call_with_callable() { return native_function<METH_FASTCALL, call_with>("call_with"); }
PyObject* native_iterator_callable() { return native_function<METH_FASTCALL, native_iterator>("native_iterator"); }
PyObject* rebuild_hashed_callable() { return native_function<METH_FASTCALL, rebuild_hashed>("rebuild_hashed"); }
PyObject* set_like_callable() { return native_function<METH_FASTCALL, set_like>("set_like"); }
PyObject* make_set_like_callable() { return native_function<METH_FASTCALL, make_set_like>("make_set_like"); }
PyObject* set_hashed_item_callable() { return native_function<METH_FASTCALL, set_hashed_item>("set_hashed_item"); }
PyObject* set_state_callable() { return native_function<METH_FASTCALL, set_state>("set_state"); }
PyObject* rebuild_generator_callable() {
  return native_function<METH_FASTCALL, rebuild_generator>("rebuild_generator");
}
PyObject* walked_iterator_callable() { return native_function<METH_FASTCALL, walked_iterator>("walked_iterator"); }
PyObject* advance_iterator_callable() { return native_function<METH_FASTCALL, advance_iterator>("advance_iterator"); }
PyObject* placed_iterator_callable() { return native_function<METH_FASTCALL, placed_iterator>("placed_iterator"); }
PyObject* placed_list_iterator_callable() {
  return native_function<METH_FASTCALL, placed_list_iterator>("placed_list_iterator");
}
PyObject* rebuild_iterator_callable() { return native_function<METH_FASTCALL, rebuild_iterator>("rebuild_iterator"); }
PyObject* fill_iterator_callable() { return native_function<METH_FASTCALL, fill_iterator>("fill_iterator"); }
PyObject* size_of_tensor_callable() { return native_function<METH_FASTCALL, tensor_size>("size_of_tensor"); }
PyObject* compute_size_callable() { return native_function<METH_FASTCALL, compute_size>("compute_size"); }
PyObject* special_method_callable() { return native_function<METH_FASTCALL, find_special_method>("special_method"); }
PyObject* drop_traceback_callable() { return native_function<METH_FASTCALL, drop_traceback>("drop_traceback"); }

Ref exception_attributes(PyObject* exception) {
  PyObject* own = reinterpret_cast<PyBaseExceptionObject*>(exception)->dict;
  Ref attributes = Ref::steal(own ? PyDict_Copy(own) : PyDict_New());
  auto* const last = as_type(PyExc_BaseException);
  for (PyTypeObject* base = native_base(Py_TYPE(exception)); attributes && base && base != last; base = base->tp_base) {
    for (const PyMemberDef* member = base->tp_members; member && member->name; ++member) {
      if (member->flags & READONLY) continue;
      // A member without a value reads as None, but is not the same.
      const bool is_object = member->type == T_OBJECT || member->type == T_OBJECT_EX;
      if (is_object && !*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(exception) + member->offset)) continue;
      Ref value = Ref::steal(PyMember_GetOne(reinterpret_cast<char*>(exception), const_cast<PyMemberDef*>(member)));
      if (!value || PyDict_SetItemString(attributes.get(), member->name, value.get()) < 0) return nullptr;
    }
    if (base != as_type(PyExc_OSError)) continue;
    const Ref written = Ref::steal(PyObject_GetAttrString(exception, "characters_written"));  // a number, if any
    if (!written && !PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    if (written && PyDict_SetItemString(attributes.get(), "characters_written", written.get()) < 0) return nullptr;
    clear_error();
  }
  return attributes;
}

namespace {

Ref parts_of_instance(PyObject* instance, bool with_dict) {
  PyTypeObject* type = Py_TYPE(instance);
  Ref items = Ref::none();
  switch (row_of_base(type).base) {
    case Base::List:
      items = Ref::steal(PyList_GetSlice(instance, 0, PyList_GET_SIZE(instance)));
      break;
    case Base::Tuple:
      items = Ref::steal(PyTuple_GetSlice(instance, 0, PyTuple_GET_SIZE(instance)));
      break;
    case Base::Set:
    case Base::FrozenSet:
      items = set_with_table_of(instance);
      break;
    case Base::Dict:
      items = pairs_of(native_contents(instance));
      break;
    case Base::Value:
      items = plain_value(instance);
      break;
    case Base::Deque: {
      Ref list = items_of(native_contents(instance).items), limit = native_attribute(instance, "maxlen");
      items = list && limit ? Ref::made(PyTuple_Pack(2, list.get(), limit.get())) : Ref();
      break;
    }
    case Base::DefaultDict: {
      Ref content = pairs_of(native_contents(instance)), factory = native_attribute(instance, "default_factory");
      items = content && factory ? Ref::made(PyTuple_Pack(2, factory.get(), content.get())) : Ref();
      break;
    }
    default:
      break;  // nothing of its own
  }
  Ref attributes = Ref::made(PyDict_New());
  if (type->tp_dictoffset && with_dict) {
    Ref own = Ref::steal(PyObject_GenericGetDict(instance, nullptr));
    if (!own || PyDict_Update(attributes.get(), own.get()) < 0) return nullptr;
  }
  // The slots themselves, whatever a class further down calls by their names.
  const bool ok = each_slot(type, [&](PyObject* name, PyObject* descriptor) {
    Ref value = Ref::steal(Py_TYPE(descriptor)->tp_descr_get(descriptor, instance, as_object(type)));
    if (!value) {
      clear_error();  // an empty slot
      return true;
    }
    const bool is_hidden = class_attribute(type, name) != descriptor || PyDict_Contains(attributes.get(), name) != 0;
    return !is_hidden && PyDict_SetItem(attributes.get(), name, value.get()) == 0;
  });
  if (!ok || !items) return nullptr;
  return Ref::made(PyTuple_Pack(2, items.get(), attributes.get()));
}

}  // namespace

Ref instance_parts(PyObject* instance) { return parts_of_instance(instance, true); }
Ref instance_parts_but_dict(PyObject* instance) { return parts_of_instance(instance, false); }

}  // namespace minidynamo
