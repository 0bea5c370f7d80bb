// Operators. An operation on a fake becomes a node; a plain read of a stand-in stays narrow; everything else is
// CPython's own operation on in-trace objects, whose Python-level special methods come back to the tracer through the
// frame hook.
#include "model/operator.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "library/numpy.h"
#include "library/rules.h"
#include "library/standard_library.h"
#include "model/attribute.h"
#include "model/call.h"
#include "model/generator.h"
#include "model/tensor_call.h"
#include "model/tensor_index.h"
#include "python/mapping_proxy.h"
#include "python/native_contents.h"
#include "python/nesting.h"
#include "python/numpy_scalar.h"
#include "python/out_of_memory.h"
#include "python/type_version.h"
#include "trace/object_end.h"
#include "world/external_iterator.h"
#include "world/known_types.h"

namespace minidynamo {
namespace {

struct BinaryOperator {
  const char* function;  // in the operator module
  PyObject* (*apply)(PyObject*, PyObject*);
  const char *method, *reflected;
};

PyObject* power(PyObject* left, PyObject* right) { return PyNumber_Power(left, right, Py_None); }
PyObject* inplace_power(PyObject* left, PyObject* right) { return PyNumber_InPlacePower(left, right, Py_None); }

// By CPython's NB_* numbers.
const BinaryOperator kBinaryOperators[] = {
    {"add", PyNumber_Add, "__add__", "__radd__"},
    {"and_", PyNumber_And, "__and__", "__rand__"},
    {"floordiv", PyNumber_FloorDivide, "__floordiv__", "__rfloordiv__"},
    {"lshift", PyNumber_Lshift, "__lshift__", "__rlshift__"},
    {"matmul", PyNumber_MatrixMultiply, "__matmul__", "__rmatmul__"},
    {"mul", PyNumber_Multiply, "__mul__", "__rmul__"},
    {"mod", PyNumber_Remainder, "__mod__", "__rmod__"},
    {"or_", PyNumber_Or, "__or__", "__ror__"},
    {"pow", power, "__pow__", "__rpow__"},
    {"rshift", PyNumber_Rshift, "__rshift__", "__rrshift__"},
    {"sub", PyNumber_Subtract, "__sub__", "__rsub__"},
    {"truediv", PyNumber_TrueDivide, "__truediv__", "__rtruediv__"},
    {"xor", PyNumber_Xor, "__xor__", "__rxor__"},
    {"iadd", PyNumber_InPlaceAdd, "__iadd__", "__radd__"},
    {"iand", PyNumber_InPlaceAnd, "__iand__", "__rand__"},
    {"ifloordiv", PyNumber_InPlaceFloorDivide, "__ifloordiv__", "__rfloordiv__"},
    {"ilshift", PyNumber_InPlaceLshift, "__ilshift__", "__rlshift__"},
    {"imatmul", PyNumber_InPlaceMatrixMultiply, "__imatmul__", "__rmatmul__"},
    {"imul", PyNumber_InPlaceMultiply, "__imul__", "__rmul__"},
    {"imod", PyNumber_InPlaceRemainder, "__imod__", "__rmod__"},
    {"ior", PyNumber_InPlaceOr, "__ior__", "__ror__"},
    {"ipow", inplace_power, "__ipow__", "__rpow__"},
    {"irshift", PyNumber_InPlaceRshift, "__irshift__", "__rrshift__"},
    {"isub", PyNumber_InPlaceSubtract, "__isub__", "__rsub__"},
    {"itruediv", PyNumber_InPlaceTrueDivide, "__itruediv__", "__rtruediv__"},
    {"ixor", PyNumber_InPlaceXor, "__ixor__", "__rxor__"},
};

const char* const kComparisonFunctions[] = {"lt", "le", "eq", "ne", "gt", "ge"};
const char* const kComparisonMethods[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};

// Small numbers and operators between them need no bookkeeping at all.
bool is_number(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type;
}

// Containers that CPython compares by what they hold: by identity first.
bool holds_objects(PyObject* object) noexcept {
  return PyTuple_Check(object) || PyList_Check(object) || PyDict_Check(object) || PyAnySet_Check(object) ||
         known_types()->deque == native_base(Py_TYPE(object)) || PyDictViewSet_Check(object) ||
         PyDictValues_Check(object);
}

bool is_outside_instance(Tracer& tracer, PyObject* object, Source*& source) {
  if (is_constant(object)) return false;
  source = tracer.outside.source_of(object);
  return source && source->access != Access::Pinned;
}

// An outside object is told from others. Objects that the trace knows by their address only (keys of a dict from before
// the call) have no place where they could be found again: to be none of these, the object must be the same.
void tell_from_others(Tracer& tracer, PyObject* object, Source* source) {
  if (tracer.outside.pins_type(Py_TYPE(object)))
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  else
    tracer.outside.told_apart(source);
}

// The object that another one is hashed and compared by: what a bound method is bound to, what a weak reference leads
// to, the dict behind a view. Null: none.
PyObject* identity_behind(PyObject* object) noexcept {
  if (PyMethod_Check(object)) return PyMethod_GET_SELF(object);
  if (PyDictViewSet_Check(object) || PyDictValues_Check(object))
    return reinterpret_cast<PyObject*>(reinterpret_cast<_PyDictViewObject*>(object)->dv_dict);
  if (!PyWeakref_CheckRefExact(object)) return nullptr;
  PyObject* referent = PyWeakref_GET_OBJECT(object);
  return referent == Py_None ? nullptr : referent;
}

bool is_container(PyObject* object) noexcept {
  return PyTuple_Check(object) || PyList_Check(object) || PyDict_Check(object) || PyAnySet_Check(object) ||
         native_base(Py_TYPE(object)) == known_types()->deque;
}

void tell_apart(Tracer& tracer, PyObject* object, Visited& visited) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyUnicode_Type || is_number(object) || is_fake(object) || tracer.broken()) return;
  const StandIn* stand_in = tracer.outside.stand_in(object);
  if (stand_in && !stand_in->filled) return;  // what it holds has not entered
  NestingLevel level;
  if (level.is_too_deep()) return;  // CPython's comparison ends there too
  if (is_container(object)) {
    if (!visited.add(object)) return;
    for (PyObject* item : native_contents(object).items) tell_apart(tracer, item, visited);
    return;
  }
  // What an outside weak reference leads to has entered with it.
  PyObject* behind = identity_behind(object);
  if (behind && (PyWeakref_Check(object) || !tracer.outside.source_of(object)))
    return tell_apart(tracer, behind, visited);
  if (Source * source; is_outside_instance(tracer, object, source)) tell_from_others(tracer, object, source);
}

}  // namespace

int binary_operator_named(const char* name) noexcept {
  for (size_t i = 0; i < std::size(kBinaryOperators); ++i)
    if (!std::strcmp(kBinaryOperators[i].function, name)) return static_cast<int>(i);
  return -1;
}

int comparison_named(const char* name) noexcept {
  for (size_t i = 0; i < std::size(kComparisonFunctions); ++i)
    if (!std::strcmp(kComparisonFunctions[i], name)) return static_cast<int>(i);
  return -1;
}

void tell_apart(Tracer& tracer, PyObject* object) {
  Visited visited;
  tell_apart(tracer, object, visited);
}

void guard_as_key(Tracer& tracer, PyObject* container, PyObject* key) {
  PyTypeObject* type = Py_TYPE(key);
  if (type == &PyUnicode_Type || is_number(key) || is_fake(key)) return;
  guard_special_methods(tracer, key);  // it may get a __hash__ or __eq__
  if (PyFrozenSet_Check(key)) {
    for (PyObject* item : native_contents(key).items) guard_as_key(tracer, container, item);
    return;
  }
  if (PyObject* behind = identity_behind(key); behind && !tracer.outside.source_of(key))
    return guard_as_key(tracer, container, behind);
  if (PyTuple_Check(key)) {
    NestingLevel level;
    if (level.is_too_deep()) {
      tracer.give_up(BreakReason::ContainerTooLarge, "a key is nested too deep");
      return;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) guard_as_key(tracer, container, PyTuple_GET_ITEM(key, i));
    return;
  }
  const bool goes_by_identity = type->tp_hash == PyBaseObject_Type.tp_hash || PyFunction_Check(key) ||
                                type == &PyMethod_Type || PyCFunction_Check(key) || PyWeakref_CheckRefExact(key) ||
                                type == &_PyMethodWrapper_Type || is_fake(key);
  Source* source;
  if (!goes_by_identity || !is_outside_instance(tracer, key, source)) return;
  if (tracer.outside.source_of(container))
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  else
    tell_from_others(tracer, key, source);
}

namespace {

// Two outside objects that the program found to be different must be different at the next call.
void guard_different(Tracer& tracer, PyObject* left, PyObject* right) {
  Source *left_source, *right_source;
  if (left == right) return;
  const bool is_left = is_outside_instance(tracer, left, left_source),
             is_right = is_outside_instance(tracer, right, right_source);
  if (is_left && is_right)
    tracer.guards.add_relation(left_source, GuardKind::NotSameAs, right_source, tracer.origin());
  else if (is_left && tracer.outside.pins_type(Py_TYPE(right)) && tracer.outside.source_of(right))
    tracer.guards.add(left_source, GuardKind::Identity, tracer.origin());
  else if (is_right && tracer.outside.pins_type(Py_TYPE(left)) && tracer.outside.source_of(left))
    tracer.guards.add(right_source, GuardKind::Identity, tracer.origin());
}

// A method of the class that is Python code; null Ref without error if there is none.
Ref python_method(Tracer& tracer, PyObject* object, const char* name) {
  if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) return nullptr;
  Ref key = Ref::made(PyUnicode_InternFromString(name));
  Ref method = lookup_in_class(tracer, Py_TYPE(object), key.get());
  return method && PyFunction_Check(method.get()) ? method : Ref();
}

// __class_getitem__ of a class, if that is Python code; null Ref without error otherwise.
Ref python_class_getitem(Tracer& tracer, PyObject* container) {
  static PyObject* const name = interned("__class_getitem__");
  if (!PyType_Check(container)) return nullptr;
  Ref found = lookup_in_class(tracer, reinterpret_cast<PyTypeObject*>(container), name);
  return found && Py_IS_TYPE(found.get(), &PyClassMethod_Type) ? load_attribute(tracer, container, name) : Ref();
}

Ref checked(Tracer& tracer, PyObject* result) { return adopt_result(tracer, Ref::steal(result)); }

// torch takes NumPy's numbers for Python's.
Ref number_beside_tensor(PyObject* object) {
  Ref number = is_numpy_scalar(object) ? python_number(object) : Ref();
  return number || PyErr_Occurred() ? number : Ref::borrow(object);
}

// What may stand beside a tensor in an operator that runs natively as one node.
bool combines_with_tensor(PyObject* object) {
  return is_fake(object) || is_constant(object) || PyLong_Check(object) || PyFloat_Check(object) ||
         PyList_CheckExact(object) || PyTuple_Check(object) || PySlice_Check(object);
}

}  // namespace

bool use_opaque(Tracer& tracer, PyObject* object) {
  Source* source = tracer.outside.source_of(object);
  const BreakReason reason = is_tensor(object) ? BreakReason::UnsupportedTensor : BreakReason::OpaqueObject;
  return tracer.give_up(reason, std::string("a ") + Py_TYPE(object)->tp_name + " from before the call is used (" +
                                    (source ? source->to_text() : "?") + ")") != nullptr;
}

bool expose(Tracer& tracer, PyObject* object) {
  if (is_number(object) || PyUnicode_CheckExact(object)) return true;
  guard_special_methods(tracer, object);
  if (StandIn* stand_in = tracer.outside.stand_in(object))
    return stand_in->filled || tracer.outside.fill(tracer, *stand_in);
  Source* source = tracer.outside.source_of(object);
  if (!source || is_fake(object) || is_outside_iterator(object) || is_numpy_scalar(object)) return true;
  PyTypeObject* type = Py_TYPE(object);
  if (tracer.outside.is_opaque(object) || PyExceptionInstance_Check(object)) return use_opaque(tracer, object);
  if (PyFunction_Check(object) || PyType_Check(object) || PyModule_Check(object) || PyCFunction_Check(object) ||
      PyTuple_Check(object) || type == &PyMethod_Type || is_constant(object) || PyCode_Check(object))
    return true;
  if (PyWeakref_CheckRefExact(object)) {  // hashes and compares as what it leads to, which is the same while it is
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
    return static_cast<bool>(special::reference_call(tracer, object, Arguments{}));
  }
  PyTypeObject* base = native_base(type);
  if (base == &PyBaseObject_Type || (is_plain_builtin_type(base) && base != known_types()->simple_namespace))
    return true;
  if (type->tp_descr_get) return true;
  return tracer.give_up(BreakReason::OpaqueObject, std::string("native code uses a ") + type->tp_name +
                                                       " from before the call (" + source->to_text() + ")") != nullptr;
}

namespace {

// C types of which the text is made of a value, or of names. Any other may show an address.
bool is_shown_by_value(PyTypeObject* base) noexcept {
  while (base->tp_base && base->tp_base->tp_repr == base->tp_repr && base->tp_base->tp_str == base->tp_str)
    base = base->tp_base;
  for (PyTypeObject* type : {&PySuper_Type, &PyLong_Type, &PyBool_Type, &PyFloat_Type, &PyComplex_Type, &PyUnicode_Type,
                             &PyBytes_Type, &PyByteArray_Type, &PyRange_Type, &PyType_Type, &PyModule_Type,
                             Py_TYPE(Py_None), Py_TYPE(Py_Ellipsis), Py_TYPE(Py_NotImplemented)})
    if (base == type) return true;
  const std::string_view name = base->tp_name;
  for (const char* prefix : {"datetime.", "decimal.", "numpy."})
    if (name.starts_with(prefix)) return name != "numpy.ndarray";
  for (const char* known :
       {"re.Pattern", "array.array", "torch.dtype", "torch.device", "torch.layout", "torch.memory_format",
        "torch.qscheme", "torch.finfo", "torch.iinfo", "itertools.count", "hash.hash"})
    if (name == known) return true;
  return false;
}

// The objects that the text of one is made of, besides names; false: it is not made of others.
bool add_shown_parts(PyObject* object, std::vector<Ref>& parts) {
  auto add_attributes = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      parts.push_back(native_attribute(object, name));
      if (!parts.back()) clear_error(), parts.back() = Ref::none();
    }
    return true;
  };
  PyTypeObject* base = native_base(Py_TYPE(object));
  const std::string_view name = base->tp_name;
  const bool is_container = PyTuple_Check(object) || PyList_Check(object) || PyDict_Check(object) ||
                            PyAnySet_Check(object) || base == known_types()->deque;
  if (is_container) {
    for (PyObject* item : native_contents(object).items) parts.push_back(Ref::borrow(item));
    return name != "collections.defaultdict" || add_attributes({"default_factory"});
  }
  if (base == &PySlice_Type) return add_attributes({"start", "stop", "step"});
  if (base == &PyStaticMethod_Type || base == &PyClassMethod_Type) return add_attributes({"__func__"});
  if (base == known_types()->partial) return add_attributes({"func", "args", "keywords"});
  if (base == &PyDictKeys_Type || base == &PyDictValues_Type || base == &PyDictItems_Type)
    return add_attributes({"mapping"});
  if (base == &Py_GenericAliasType || name == "types.UnionType") return add_attributes({"__args__"});
  if (name == "types.SimpleNamespace") return add_attributes({"__dict__"});
  if (base == &PyDictProxy_Type) return parts.push_back(Ref::borrow(proxied_mapping(object))), true;
  if (PyExceptionInstance_Check(object))
    return parts.push_back(Ref::borrow(reinterpret_cast<PyBaseExceptionObject*>(object)->args)), true;
  return false;
}

bool shows_address(PyObject* object, Visited& visited) {
  NestingLevel level;
  if (level.is_too_deep()) return true;
  // A Python class's own __repr__ is traced, and says what it says.
  PyTypeObject *type = Py_TYPE(object), *base = native_base(type);
  if (type->tp_repr != base->tp_repr || type->tp_str != base->tp_str || is_shown_by_value(base)) return false;
  std::vector<Ref> parts;
  if (!add_shown_parts(object, parts)) return true;
  return visited.add(object) &&
         std::any_of(parts.begin(), parts.end(), [&](const Ref& part) { return shows_address(part.get(), visited); });
}

}  // namespace

bool shows_address(PyObject* object) {
  Visited visited;
  return shows_address(object, visited);
}

bool may_become_text(Tracer& tracer, PyObject* object) {
  return !shows_address(object) ||
         tracer.give_up(BreakReason::ObjectIdentity, "an object's address is put into a string") != nullptr;
}

Ref adopt_result(Tracer& tracer, Ref result) {
  flush_operator_reports();
  if (tracer.broken()) return nullptr;
  if (!result || !is_tensor(result.get()) || is_fake(result.get())) return result;
  PyObject* fake = tracer.fake_for_real(result.get());
  return fake ? Ref::borrow(fake) : Ref();
}

int truth(Tracer& tracer, PyObject* object) {
  if (object == Py_True) return 1;
  if (object == Py_False || object == Py_None) return 0;
  if (is_fake(object)) {
    tracer.give_up(BreakReason::DataDependentBranch, "the program branches on the value of a tensor");
    return -1;
  }
  if (tracer.outside.is_opaque(object)) return use_opaque(tracer, object), -1;
  StandIn* stand_in = tracer.outside.stand_in(object);
  if (stand_in && !stand_in->filled) return tracer.outside.length(tracer, *stand_in) != 0;
  guard_special_methods(tracer, object);
  PyTypeObject* type = Py_TYPE(object);
  const bool is_always_true = !(type->tp_as_number && type->tp_as_number->nb_bool) &&
                              !(type->tp_as_mapping && type->tp_as_mapping->mp_length) &&
                              !(type->tp_as_sequence && type->tp_as_sequence->sq_length);
  if (is_always_true) return 1;
  if (!expose(tracer, object)) return -1;
  const int is_true = PyObject_IsTrue(object);
  return tracer.broken() ? -1 : is_true;
}

Ref unary_operation(Tracer& tracer, Op op, PyObject* operand) {
  if (is_fake(operand))
    return record_operator(tracer,
                           op == Op::UNARY_NEGATIVE   ? "neg"
                           : op == Op::UNARY_POSITIVE ? "pos"
                                                      : "invert",
                           {operand});
  if (!expose(tracer, operand)) return nullptr;
  guard_special_methods(tracer, operand);
  if (tracer.broken()) return nullptr;
  if (op == Op::UNARY_NEGATIVE) return checked(tracer, PyNumber_Negative(operand));
  if (op == Op::UNARY_POSITIVE) return checked(tracer, PyNumber_Positive(operand));
  return checked(tracer, PyNumber_Invert(operand));
}

Ref binary_operation(Tracer& tracer, int number, PyObject* left, PyObject* right) {
  const BinaryOperator& binary = kBinaryOperators[number];
  if (is_number(left) && is_number(right)) return Ref::steal(binary.apply(left, right));
  if (is_fake(left) || is_fake(right)) {
    const Ref left_number = number_beside_tensor(left), right_number = number_beside_tensor(right);
    if (!left_number || !right_number) return nullptr;
    left = left_number.get(), right = right_number.get();
    if (combines_with_tensor(left) && combines_with_tensor(right))
      return record_operator(tracer, binary.function, {left, right});
    // The other operand's class may decide; its methods are traced if they are Python.
    if (Ref method = python_method(tracer, left, binary.method); method && !is_fake(left)) {
      Ref result = call(tracer, method.get(), {Ref::borrow(left), Ref::borrow(right)});
      if (!result || !result.is(Py_NotImplemented)) return result;
    }
    if (Ref method = python_method(tracer, right, binary.reflected); method && !is_fake(right)) {
      Ref result = call(tracer, method.get(), {Ref::borrow(right), Ref::borrow(left)});
      if (!result || !result.is(Py_NotImplemented)) return result;
    }
    if (tracer.broken()) return nullptr;
    return tracer.give_up(BreakReason::UnsupportedOperand, std::string("operator ") + binary.function + " between " +
                                                               Py_TYPE(left)->tp_name + " and " +
                                                               Py_TYPE(right)->tp_name);
  }
  if (!expose(tracer, left) || !expose(tracer, right)) return nullptr;
  constexpr int kRemainder = 6;
  if (number == kRemainder && PyUnicode_Check(left) && PyTuple_Check(right))  // their text is taken
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(right); ++i)
      if (!expose(tracer, PyTuple_GET_ITEM(right, i))) return nullptr;
  if (number == kRemainder && (PyUnicode_Check(left) || PyBytes_Check(left)) && !may_become_text(tracer, right))
    return nullptr;
  guard_special_methods(tracer, left);
  guard_special_methods(tracer, right);
  if (tracer.broken()) return nullptr;
  if (const Ref operands[] = {Ref::borrow(left), Ref::borrow(right)}; are_scalars(Arguments{operands}, true))
    return compute_with_scalars(tracer, [&] { return Ref::steal(binary.apply(left, right)); });
  return checked(tracer, binary.apply(left, right));
}

Ref compare(Tracer& tracer, int comparison, PyObject* left, PyObject* right) {
  if (is_number(left) && is_number(right)) return Ref::steal(PyObject_RichCompare(left, right, comparison));
  if (is_fake(left) || is_fake(right)) {
    const Ref left_number = number_beside_tensor(left), right_number = number_beside_tensor(right);
    if (!left_number || !right_number) return nullptr;
    left = left_number.get(), right = right_number.get();
    if (!combines_with_tensor(left) || !combines_with_tensor(right))
      return tracer.give_up(
          BreakReason::UnsupportedOperand,
          std::string("comparison between ") + Py_TYPE(left)->tp_name + " and " + Py_TYPE(right)->tp_name);
    return record_operator(tracer, kComparisonFunctions[comparison], {left, right});
  }
  if (!expose(tracer, left) || !expose(tracer, right)) return nullptr;
  guard_special_methods(tracer, left);
  guard_special_methods(tracer, right);
  if (identity_behind(left) || identity_behind(right)) {  // bound methods, weak references
    for (PyObject* side : {left, right})
      if (PyWeakref_Check(side) && identity_behind(side)) guard_special_methods(tracer, identity_behind(side));
    tell_apart(tracer, left);
    tell_apart(tracer, right);
  }
  if (holds_objects(left) && holds_objects(right)) {
    tell_apart(tracer, left);
    tell_apart(tracer, right);
  } else {
    guard_different(tracer, left, right);
  }
  if (tracer.broken()) return nullptr;
  return checked(tracer, PyObject_RichCompare(left, right, comparison));
}

int contains(Tracer& tracer, PyObject* container, PyObject* item) {
  guard_as_key(tracer, container, item);
  if (StandIn* stand_in = tracer.outside.stand_in(container);
      stand_in && !stand_in->filled && PyDict_CheckExact(stand_in->object.get()) && is_plain_key(item)) {
    bool found = false;
    Ref value = tracer.outside.dict_item(tracer, *stand_in, item, found);
    return PyErr_Occurred() ? -1 : found;
  }
  if (is_fake(container)) {
    tracer.give_up(BreakReason::DataDependent, "`in` looks at the values of a tensor");
    return -1;
  }
  if (Ref method = python_method(tracer, container, "__contains__")) {
    Ref result = call(tracer, method.get(), {Ref::borrow(container), Ref::borrow(item)});
    return result ? truth(tracer, result.get()) : -1;
  }
  if (tracer.broken() || !expose(tracer, container) || !expose(tracer, item)) return -1;
  if (PyTuple_Check(container) || PyList_Check(container)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(container); ++i) {
      PyObject* element = PySequence_Fast_GET_ITEM(container, i);
      if (holds_objects(element) || holds_objects(item)) {
        tell_apart(tracer, element);
        tell_apart(tracer, item);
      }
      guard_different(tracer, element, item);
      if (element == item) break;
    }
  } else if (holds_objects(container) || PyAnySet_Check(container)) {
    tell_apart(tracer, container);
    tell_apart(tracer, item);
  }
  guard_special_methods(tracer, container);
  if (tracer.broken()) return -1;
  const int found = PySequence_Contains(container, item);
  return tracer.broken() ? -1 : found;
}

Ref is_same(Tracer& tracer, PyObject* left, PyObject* right) {
  guard_different(tracer, left, right);
  return Ref::boolean(left == right);
}

Ref subscript(Tracer& tracer, PyObject* container, PyObject* key) {
  if (is_fake(container)) {
    Ref index = tensor_index(tracer, key);
    return index ? record_operator(tracer, "getitem", {container, index.get()}) : Ref();
  }
  guard_as_key(tracer, container, key);
  if (StandIn* stand_in = tracer.outside.stand_in(container); stand_in && !stand_in->filled) {
    if (PyDict_CheckExact(stand_in->object.get()) && is_plain_key(key)) {
      bool found = false;
      Ref value = tracer.outside.dict_item(tracer, *stand_in, key, found);
      if (!found && !PyErr_Occurred()) {
        Ref wrapped = Ref::made(PyTuple_Pack(1, key));
        PyErr_SetObject(PyExc_KeyError, wrapped.get());
      }
      return value;
    }
    if (PyList_CheckExact(container) && PyLong_CheckExact(key)) {
      const Py_ssize_t length = tracer.outside.length(tracer, *stand_in);
      Py_ssize_t index = PyLong_AsSsize_t(key);
      if (index == -1 && PyErr_Occurred()) clear_error(), index = length;
      if (index < 0) index += length;
      if (index >= 0 && index < length) return tracer.outside.sequence_item(tracer, *stand_in, index);
      PyErr_SetString(PyExc_IndexError, "list index out of range");
      return nullptr;
    }
  }
  if (Ref method = python_method(tracer, container, "__getitem__"))
    return call(tracer, method.get(), {Ref::borrow(container), Ref::borrow(key)});
  if (tracer.broken()) return nullptr;
  if (Ref method = python_class_getitem(tracer, container)) return call(tracer, method.get(), {Ref::borrow(key)});
  if (tracer.broken()) return nullptr;
  if (!expose(tracer, container) || !expose(tracer, key)) return nullptr;
  return checked(tracer, PyObject_GetItem(container, key));
}

bool store_subscript(Tracer& tracer, PyObject* container, PyObject* key, PyObject* value) {
  if (value && !tracer.outside.fill_if_stand_in(tracer, value)) return false;
  if (!expose(tracer, key)) return false;
  guard_as_key(tracer, container, key);
  if (is_fake(container)) {
    if (!value) return tracer.give_up(BreakReason::UnsupportedOperand, "del of a tensor's item") != nullptr;
    Ref index = tensor_index(tracer, key);
    return index && record_operator(tracer, "setitem", {container, index.get(), value});
  }
  if (Ref method = python_method(tracer, container, value ? "__setitem__" : "__delitem__")) {
    Ref done = value ? call(tracer, method.get(), {Ref::borrow(container), Ref::borrow(key), Ref::borrow(value)})
                     : call(tracer, method.get(), {Ref::borrow(container), Ref::borrow(key)});
    return static_cast<bool>(done);
  }
  if (tracer.broken() || !expose(tracer, container)) return false;
  if (tracer.outside.source_of(container) && !tracer.outside.stand_in(container))
    return tracer.give_up(BreakReason::OutsideWrite, std::string("an item of a ") + Py_TYPE(container)->tp_name +
                                                         " from before the call is set") != nullptr;
  if (!value && !let_go_of_item(tracer, container, key)) return false;
  const int status = value ? PyObject_SetItem(container, key, value) : PyObject_DelItem(container, key);
  return status == 0 && !tracer.broken();
}

namespace {

// What len() makes of what a __len__ gave.
Ref checked_length(Ref given) {
  if (given) given = Ref::steal(PyNumber_Index(given.get()));
  if (!given) return nullptr;
  if (Py_SIZE(given.get()) < 0) {
    PyErr_SetString(PyExc_ValueError, "__len__() should return >= 0");
    return nullptr;
  }
  const Py_ssize_t size = PyNumber_AsSsize_t(given.get(), PyExc_OverflowError);
  return size < 0 ? Ref() : Ref::made(PyLong_FromSsize_t(size));
}

}  // namespace

Ref length(Tracer& tracer, PyObject* object) {
  StandIn* stand_in = tracer.outside.stand_in(object);
  if (stand_in && !stand_in->filled) return Ref::made(PyLong_FromSsize_t(tracer.outside.length(tracer, *stand_in)));
  if (!is_fake(object)) {
    if (Ref method = python_method(tracer, object, "__len__"))
      return checked_length(call(tracer, method.get(), {Ref::borrow(object)}));
    if (tracer.broken() || !expose(tracer, object)) return nullptr;
  }
  const Py_ssize_t size = PyObject_Size(object);
  return size < 0 || tracer.broken() ? Ref() : Ref::made(PyLong_FromSsize_t(size));
}

Ref iterator_of(Tracer& tracer, PyObject* iterable) {
  if (is_fake(iterable)) {
    Ref self = Ref::borrow(iterable);
    Ref name = Ref::made(PyUnicode_InternFromString("unbind"));
    Ref parts = record_call(tracer, NodeKind::CallMethod, name.get(), Arguments{std::span<const Ref>(&self, 1)});
    return parts ? Ref::steal(PyObject_GetIter(parts.get())) : Ref();
  }
  const bool is_own_iterator = Py_TYPE(iterable)->tp_iter == PyObject_SelfIter;
  if (is_traced_generator(iterable) || is_outside_iterator(iterable) ||
      (is_own_iterator && tracer.outside.is_opaque(iterable)))
    return Ref::borrow(iterable);
  if (Ref method = python_method(tracer, iterable, "__iter__")) {
    Ref iterator = call(tracer, method.get(), {Ref::borrow(iterable)});
    if (!iterator || PyIter_Check(iterator.get())) return iterator;
    PyErr_Format(PyExc_TypeError, "iter() returned non-iterator of type '%.100s'", iterator.type()->tp_name);
    return nullptr;
  }
  if (tracer.broken() || !expose(tracer, iterable)) return nullptr;
  return checked(tracer, PyObject_GetIter(iterable));
}

Ref next_or_stop(Tracer& tracer, PyObject* iterator) {
  if (!PyIter_Check(iterator)) {
    PyErr_Format(PyExc_TypeError, "'%.200s' object is not an iterator", Py_TYPE(iterator)->tp_name);
    return nullptr;
  }
  Ref item;
  if (Ref method = python_method(tracer, iterator, "__next__")) {
    item = call(tracer, method.get(), {Ref::borrow(iterator)});
  } else {
    if (tracer.broken() || !expose(tracer, iterator)) return nullptr;
    item = Ref::steal(Py_TYPE(iterator)->tp_iternext(iterator));
  }
  if (tracer.broken()) return nullptr;
  return adopt_result(tracer, std::move(item));
}

Ref next_item(Tracer& tracer, PyObject* iterator) {
  Ref item = next_or_stop(tracer, iterator);
  if (!item && !tracer.broken() && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_StopIteration)) clear_error();
  return item;
}

}  // namespace minidynamo
