// The table of guard kinds: each kind with its functions, which are short and read best beside each other. Relations
// between sources and guards for absence are not checks of one object: they live with the paths (guard_program.cpp).
#include "guard/guard_kinds.h"

#include <algorithm>

#include "guard/constants.h"
#include "python/code/descriptor_parts.h"
#include "python/objects/weak_hold.h"
#include "python/process/collector.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"

namespace minidynamo {
namespace {

// --- identity and exact type
// ------------------------------------------------------------------------------------------

enum IdentityForm : uint8_t { kStrong, kWeak, kDescriptor };

// True if there are objects in nested tuples that are to be held weakly.
bool has_mortal_parts(PyObject* object) noexcept {
  if (!PyTuple_CheckExact(object)) return can_be_held_weakly(object) && !PyFrozenSet_Check(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (has_mortal_parts(PyTuple_GET_ITEM(object, i))) return true;
  return false;
}

// The same with something that stands for each of these; null with a Python error set on failure.
Ref without_mortal_parts(PyObject* object) {
  if (!has_mortal_parts(object)) return Ref::borrow(object);
  if (!PyTuple_CheckExact(object)) return stand_for(object);
  Ref copy = Ref::made(PyTuple_New(PyTuple_GET_SIZE(object)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    Ref part = without_mortal_parts(PyTuple_GET_ITEM(object, i));
    if (!part) return nullptr;
    PyTuple_SET_ITEM(copy.get(), i, part.release());
  }
  return copy;
}

// Remembers an object so that its address cannot be mistaken for another's later, without keeping it alive if possible.
void remember_identity(Check& check, PyObject* object) {
  check.address = object;
  if (can_be_held_weakly(object)) {
    check.expected = Ref::steal(PyWeakref_NewRef(object, nullptr));
    check.form = kWeak;
    if (check.expected) return;
    clear_error();
  }
  check.expected = Ref::borrow(object);
  check.form = kStrong;
}

PyObject* remembered(const Check& check) noexcept {
  return check.form == kWeak ? PyWeakref_GET_OBJECT(check.expected.get()) : check.address;
}

bool is_remembered(const Check& check, PyObject* object) noexcept {
  return object == check.address && remembered(check) == object;
}

std::string remembered_text(const Check& check) {
  PyObject* object = remembered(check);
  return object == check.address ? object_text(object) : "<an object that is gone>";
}

// A descriptor knows no weak references. Held for the sake of its identity it would keep its class, through the
// functions that know it, and so the code that the entry hangs on. It is the same if it is of the same parts: its type
// and these, as a tuple. Null without a Python error: it has none that die, and may be held.
Ref remembered_descriptor(PyObject* descriptor) {
  const DescriptorParts found = DescriptorParts::of(descriptor);
  const std::span<PyObject* const> parts = found.parts();
  if (std::none_of(parts.begin(), parts.end(), can_be_held_weakly)) return nullptr;
  Ref all = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(parts.size()) + 1));
  PyTuple_SET_ITEM(all.get(), 0, Ref::borrow(as_object(Py_TYPE(descriptor))).release());
  for (size_t i = 0; i < parts.size(); ++i)
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i) + 1, Ref::borrow(parts[i]).release());
  Ref kept = without_mortal_parts(all.get());
  if (!kept) clear_error();
  return kept;
}

bool remember_descriptor(Check& check, PyObject* descriptor) {
  Ref kept = remembered_descriptor(descriptor);
  if (!kept) return false;
  check.expected = std::move(kept);
  check.form = kDescriptor;
  return true;
}

bool is_remembered_descriptor(PyObject* expected, PyObject* object) noexcept {
  if (as_object(Py_TYPE(object)) != PyTuple_GET_ITEM(expected, 0)) return false;
  const DescriptorParts found = DescriptorParts::of(object);
  const std::span<PyObject* const> parts = found.parts();
  if (static_cast<Py_ssize_t>(parts.size()) + 1 != PyTuple_GET_SIZE(expected)) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    PyObject* part = PyTuple_GET_ITEM(expected, static_cast<Py_ssize_t>(i) + 1);
    if ((stands_for_object(part) ? object_stood_for(part) : part) != parts[i]) return false;
  }
  return true;
}

bool prepare_identity(Check& check, Reached seen) {
  if (seen.inline_attributes) return false;
  if (!remember_descriptor(check, seen.object)) remember_identity(check, seen.object);
  return true;
}
// Another descriptor may come to lie at the address of one that has died, since the check does not keep it.
Stability identity_stability(const Check& check) noexcept {
  return check.form == kDescriptor ? Stability::Volatile : Stability::Stable;
}
bool identity_holds(const Check& check, Reached object) noexcept {
  if (object.inline_attributes) return false;
  return check.form == kDescriptor ? is_remembered_descriptor(check.expected.get(), object.object)
                                   : is_remembered(check, object.object);
}
std::string expected_text(const Check& check) {
  if (check.form != kDescriptor) return remembered_text(check);
  return "<" + object_text(PyTuple_GET_ITEM(check.expected.get(), 0)) + " object>";
}
std::string identity_text(const Check& check, const std::string& path) { return path + " is " + expected_text(check); }
std::string identity_failure(const Check& check, const std::string& path, Reached object) {
  std::string expected = expected_text(check), seen = object_text(object.object);
  if (expected == seen) expected += ", the one seen while capturing", seen = "another of this name";
  return path + ": expected " + expected + ", got " + seen;
}

// The names that a frame's functions share. A dict knows no weak references, and a strong one would keep the function
// alive on whose code the entry hangs. Nothing is learnt from this guard alone: the names themselves are read from the
// dict that is there at the time. What it says is that two functions have one dict; of these, one that is guarded by
// identity keeps its dict alive, so that no other can have the address while that guard holds, and of others both are
// compared with the one address in one walk.
bool prepare_names(Check& check, Reached seen) {
  check.address = seen.object;
  return !seen.inline_attributes && PyDict_Check(seen.object);
}
bool names_hold(const Check& check, Reached object) noexcept {
  return object.object == check.address && !object.inline_attributes;
}
std::string names_text(const Check&, const std::string& path) {
  return (path == "G" ? "F.__globals__" : path) + " is the dict of names seen while capturing";
}
std::string names_failure(const Check&, const std::string& path, Reached) {
  return (path == "G" ? "F.__globals__" : path) + ": expected the dict of names seen while capturing, got another";
}

PyTypeObject* type_of(Reached object) noexcept {
  return object.inline_attributes ? &PyDict_Type : Py_TYPE(object.object);
}

bool prepare_exact_type(Check& check, Reached seen) {
  remember_identity(check, as_object(type_of(seen)));
  return true;
}
Stability exact_type_stability(const Check& check) noexcept {
  return type_is_permanent(as_type(check.address)) ? Stability::Stable : Stability::Volatile;
}
bool exact_type_holds(const Check& check, Reached object) noexcept {
  return is_remembered(check, as_object(type_of(object)));
}
std::string exact_type_text(const Check& check, const std::string& path) {
  return "type(" + path + ") is " + remembered_text(check);
}
std::string exact_type_failure(const Check& check, const std::string& path, Reached object) {
  std::string expected = remembered_text(check);
  std::string seen = object_text(as_object(type_of(object)));
  if (expected == seen) expected += ", the one seen while capturing", seen = "another class of this name";
  return "type(" + path + "): expected " + expected + ", got " + seen;
}

// --- constants
// --------------------------------------------------------------------------------------------------------

enum ConstantForm : uint8_t { kByValue = 16, kByParts };  // above the forms of identity, which serves what has no value

bool equals_parts(PyObject* expected, PyObject* object) noexcept {
  if (stands_for_object(expected)) return object_stood_for(expected) == object;
  if (!PyTuple_CheckExact(expected)) return items_equal(expected, object);
  if (!PyTuple_CheckExact(object) || PyTuple_GET_SIZE(expected) != PyTuple_GET_SIZE(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected); ++i)
    if (!equals_parts(PyTuple_GET_ITEM(expected, i), PyTuple_GET_ITEM(object, i))) return false;
  return true;
}

std::string parts_text(PyObject* expected) {
  if (stands_for_object(expected)) {
    PyObject* object = object_stood_for(expected);
    return object ? object_text(object) : "<an object that is gone>";
  }
  if (!PyTuple_CheckExact(expected)) return object_text(expected);
  std::string text = "(";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected); ++i) text += parts_text(PyTuple_GET_ITEM(expected, i)) + ", ";
  return text + ")";
}

void each_mortal_part(PyObject* expected, const std::function<void(PyObject*)>& use) {
  if (stands_for_object(expected)) {
    if (PyObject* object = object_stood_for(expected)) use(object);
  } else if (PyTuple_CheckExact(expected)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected); ++i) each_mortal_part(PyTuple_GET_ITEM(expected, i), use);
  }
}

Stability constant_stability(const Check& check) noexcept {
  return check.form < kByValue ? identity_stability(check) : Stability::Stable;
}

bool prepare_constant(Check& check, Reached seen) {
  if (seen.inline_attributes) return false;
  if (!is_plain_constant(seen.object) && !is_constant_container(seen.object)) return prepare_identity(check, seen);
  if (PyTuple_CheckExact(seen.object) && has_mortal_parts(seen.object)) {
    check.expected = without_mortal_parts(seen.object);
    check.form = kByParts;
    if (!check.expected) clear_error();
    return static_cast<bool>(check.expected);
  }
  check.expected = check.passed = Ref::borrow(seen.object);
  check.form = kByValue;
  return true;
}
bool constant_holds(const Check& check, Reached object) noexcept {
  if (check.form == kByParts) return !object.inline_attributes && equals_parts(check.expected.get(), object.object);
  if (check.form != kByValue) return identity_holds(check, object);
  return !object.inline_attributes && constants_equal(check.expected.get(), object.object);
}
std::string constant_text(const Check& check, const std::string& path) {
  if (check.form == kByParts) return path + " == " + parts_text(check.expected.get());
  if (check.form != kByValue) return identity_text(check, path);
  PyObject* value = check.expected.get();
  if (value == Py_None || value == Py_Ellipsis || value == Py_NotImplemented) return path + " is " + object_text(value);
  if (PyFloat_CheckExact(value) && PyFloat_AS_DOUBLE(value) != PyFloat_AS_DOUBLE(value))
    return "math.isnan(" + path + ")";
  return path + " == " + object_text(value);
}
std::string constant_failure(const Check& check, const std::string& path, Reached object) {
  if (check.form == kByParts)
    return path + ": expected " + parts_text(check.expected.get()) + ", got " + object_text(object.object);
  if (check.form != kByValue) return identity_failure(check, path, object);
  PyObject* value = check.expected.get();
  std::string expected = object_text(value), seen = object_text(object.object);
  if (Py_TYPE(value) != Py_TYPE(object.object) && is_plain_constant(object.object)) {
    expected += " (" + object_text(as_object(Py_TYPE(value))) + ")";
    seen += " (" + object_text(as_object(Py_TYPE(object.object))) + ")";
  }
  return path + ": expected " + expected + ", got " + seen;
}

// --- values beneath subclasses of immutable builtins
// ------------------------------------------------------------------------------------------------

bool prepare_value(Check& check, Reached seen) {
  if (seen.inline_attributes) return false;
  check.expected = plain_value(seen.object);
  check.form = PyByteArray_Check(seen.object);  // which alone can change
  return static_cast<bool>(check.expected);
}
Stability value_stability(const Check& check) noexcept { return check.form ? Stability::Volatile : Stability::Stable; }
bool value_holds(const Check& check, Reached object) noexcept {
  return !object.inline_attributes && has_plain_value(object.object, check.expected.get());
}
std::string value_text(const Check& check, const std::string& path) {
  PyObject* value = check.expected.get();
  return std::string(Py_TYPE(value)->tp_name) + "(" + path + ") == " + object_text(value);
}
std::string value_failure(const Check& check, const std::string& path, Reached object) {
  Ref seen = object.inline_attributes ? Ref() : plain_value(object.object);
  return path + ": expected " + object_text(check.expected.get()) + ", got " +
         (seen ? object_text(seen.get()) : std::string("something else"));
}

// --- length
// -----------------------------------------------------------------------------------------------------------

enum LengthForm : uint8_t { kTuple, kText, kBytes, kList, kDict, kSet, kDeque, kOtherBuiltin };

// -1: the object is not of this form. Reads the size beneath an overridden __len__, as the interpreter's own fast paths
// do.
Py_ssize_t length_as(uint8_t form, Reached object) noexcept {
  PyObject* o = object.object;
  if (object.inline_attributes) return form == kDict ? inline_attribute_count(o) : -1;
  switch (form) {
    case kTuple:
      return PyTuple_Check(o) ? PyTuple_GET_SIZE(o) : -1;
    case kText:
      return PyUnicode_Check(o) ? PyUnicode_GET_LENGTH(o) : -1;
    case kBytes:
      return PyBytes_Check(o) ? PyBytes_GET_SIZE(o) : -1;
    case kList:
      return PyList_Check(o) ? PyList_GET_SIZE(o) : -1;
    case kDict:
      return PyDict_Check(o) ? reinterpret_cast<PyDictObject*>(o)->ma_used : -1;
    case kSet:
      return PyAnySet_Check(o) ? PySet_GET_SIZE(o) : -1;
    case kDeque: {
      PyTypeObject* deque = deque_base(Py_TYPE(o));
      return deque ? deque->tp_as_sequence->sq_length(o) : -1;
    }
    default: {
      if (!is_static_class(Py_TYPE(o))) return -1;
      CollectorPaused nothing_else_runs;
      Py_ssize_t size = PyObject_Size(o);
      if (size < 0) clear_error();
      return size;
    }
  }
}

bool prepare_length(Check& check, Reached seen) {
  for (uint8_t form : {kTuple, kText, kBytes, kList, kDict, kSet, kDeque, kOtherBuiltin}) {
    check.form = form;
    check.number = length_as(form, seen);
    if (check.number >= 0) return true;
  }
  return false;
}
Stability length_stability(const Check& check) noexcept {
  return check.form <= kBytes ? Stability::Stable : Stability::Volatile;
}
bool length_holds(const Check& check, Reached object) noexcept { return length_as(check.form, object) == check.number; }
std::string length_text(const Check& check, const std::string& path) {
  return "len(" + path + ") == " + std::to_string(check.number);
}
std::string length_failure(const Check& check, const std::string& path, Reached object) {
  Py_ssize_t length = length_as(check.form, object);
  std::string seen = length >= 0 ? std::to_string(length) : object_text(object.object);
  return "len(" + path + "): expected " + std::to_string(check.number) + ", got " + seen;
}

// --- keys and elements
// ------------------------------------------------------------------------------------------------

using ItemVisitor = AttributeVisitor;  // bool (*)(void* state, PyObject* key, PyObject* value or null)

// Calls visit for each key in the order in which Python code iterates; false if visit says so or it is no dict.
bool visit_keys(Reached object, ItemVisitor visit, void* state) {
  PyObject* dict = object.object;
  if (object.inline_attributes) return visit_inline_attributes(dict, visit, state);
  if (!PyDict_Check(dict)) return false;
  if (PyODict_Check(dict) && PyODict_SIZE(dict) > 1) {  // has an order of its own
    CollectorPaused nothing_else_runs;
    Ref iterator = Ref::steal(PyODict_Type.tp_iter(dict));
    while (iterator) {
      Ref key = Ref::steal(Py_TYPE(iterator.get())->tp_iternext(iterator.get()));
      if (!key) break;
      if (!visit(state, key.get(), nullptr)) return false;
    }
    if (!PyErr_Occurred()) return true;
    clear_error();
    return false;
  }
  Py_ssize_t at = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &at, &key, &value))
    if (!visit(state, key, value)) return false;
  return true;
}

// Calls visit for each element of a set in the order of iteration; false if visit says so or it is no set.
bool visit_set(Reached object, ItemVisitor visit, void* state) {
  if (object.inline_attributes || !PyAnySet_Check(object.object)) return false;
  Py_ssize_t at = 0;
  PyObject* item;
  Py_hash_t hash;
  while (next_in_set(object.object, at, item, hash))
    if (!visit(state, item, nullptr)) return false;
  return true;
}

struct Comparison {
  PyObject* expected;  // tuple
  Py_ssize_t next = 0;
};

bool compare_next(void* state, PyObject* item, PyObject*) {
  auto* comparison = static_cast<Comparison*>(state);
  if (comparison->next >= PyTuple_GET_SIZE(comparison->expected)) return false;
  PyObject* expected = PyTuple_GET_ITEM(comparison->expected, comparison->next++);
  if (stands_for_object(expected)) return object_stood_for(expected) == item;
  return items_equal(expected, item);
}

bool collect_next(void* state, PyObject* item, PyObject*) {
  static_cast<std::vector<Ref>*>(state)->push_back(Ref::borrow(item));
  return true;
}

using Visit = bool (*)(Reached, ItemVisitor, void*);

bool prepare_items(Check& check, Reached seen, Visit visit) {
  std::vector<Ref> items;
  if (!visit(seen, collect_next, &items)) return false;
  check.expected = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  if (!check.expected) {
    clear_error();
    return false;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    Ref stood_for = can_be_held_weakly(items[i].get()) ? stand_for(items[i].get()) : Ref();
    clear_error();
    PyTuple_SET_ITEM(check.expected.get(), static_cast<Py_ssize_t>(i), (stood_for ? stood_for : items[i]).release());
  }
  return true;
}

bool items_hold(const Check& check, Reached object, Visit visit) noexcept {
  Comparison comparison{check.expected.get()};
  return visit(object, compare_next, &comparison) && comparison.next == PyTuple_GET_SIZE(check.expected.get());
}

std::string items_text(PyObject* const* items, size_t count) {
  constexpr size_t kShown = 40;
  std::string text;
  for (size_t i = 0; i < count && i < kShown; ++i) text += (i ? ", " : "") + object_text(items[i]);
  if (count > kShown) text += ", ...";
  return text;
}

std::string expected_items_text(const Check& check) {
  PyObject* tuple = check.expected.get();
  std::vector<PyObject*> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    PyObject* object = stands_for_object(item) ? object_stood_for(item) : item;
    items.push_back(object ? object : item);
  }
  return items_text(items.data(), items.size());
}

std::string seen_items_text(Reached object, Visit visit, const char* open, const char* close) {
  std::vector<Ref> items;
  if (!visit(object, collect_next, &items)) return object_text(object.object);
  std::vector<PyObject*> borrowed;
  borrowed.reserve(items.size());
  for (const Ref& item : items) borrowed.push_back(item.get());
  return open + items_text(borrowed.data(), borrowed.size()) + close;
}

bool prepare_dict_keys(Check& check, Reached seen) { return prepare_items(check, seen, visit_keys); }
Stability dict_keys_stability(const Check&) noexcept { return Stability::Versioned; }
bool dict_keys_hold(const Check& check, Reached object) noexcept { return items_hold(check, object, visit_keys); }
std::string dict_keys_text(const Check& check, const std::string& path) {
  return "list(" + path + ") == [" + expected_items_text(check) + "]";
}
std::string dict_keys_failure(const Check& check, const std::string& path, Reached object) {
  return "list(" + path + "): expected [" + expected_items_text(check) + "], got " +
         seen_items_text(object, visit_keys, "[", "]");
}

bool prepare_set_items(Check& check, Reached seen) {
  check.form = PyFrozenSet_Check(seen.object);
  return prepare_items(check, seen, visit_set);
}
Stability set_items_stability(const Check& check) noexcept {
  return check.form ? Stability::Stable : Stability::Volatile;
}
bool set_items_hold(const Check& check, Reached object) noexcept {
  if (check.form && !PyFrozenSet_Check(object.object)) return false;
  return items_hold(check, object, visit_set);
}
std::string set_items_text(const Check& check, const std::string& path) {
  std::string items = expected_items_text(check);
  return path + " == " + (items.empty() ? "set()" : "{" + items + "}");
}
std::string set_items_failure(const Check& check, const std::string& path, Reached object) {
  return path + ": expected {" + expected_items_text(check) + "}, got " + seen_items_text(object, visit_set, "{", "}") +
         " (order of iteration counts)";
}

// --- classes
// --------------------------------------------------------------------------------------------------------------

// Objects that a class led to, to be compared by identity and not kept alive where they can die: a weak reference where
// there can be one, the remembered parts of a descriptor (a tuple of two items at least), else the object itself, with
// NotImplemented for an absent one. A tuple and a weak reference that a class led to are put in a tuple of one. Most of
// a class's special methods are absent or of a built-in class: nothing is made for these.
Ref remembered_object(PyObject* object) {
  const bool is_permanent = PyType_Check(object) && !(as_type(object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  Ref kept = remembered_descriptor(object);
  if (!kept && !is_permanent && PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)))
    kept = Ref::steal(PyWeakref_NewRef(object, nullptr));
  clear_error();
  if (kept) return kept;
  const bool could_be_mistaken = PyTuple_CheckExact(object) || PyWeakref_CheckRefExact(object);
  return could_be_mistaken ? Ref::made(PyTuple_Pack(1, object)) : Ref::borrow(object);
}
Ref remembered_objects(const std::vector<PyObject*>& objects) {
  Ref all = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(objects.size())));
  for (size_t i = 0; i < objects.size(); ++i) {
    PyObject* object = objects[i] ? objects[i] : Py_NotImplemented;
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), remembered_object(object).release());
  }
  return all;
}
bool is_remembered_at(PyObject* all, size_t i, PyObject* object) noexcept {
  PyObject* kept = PyTuple_GET_ITEM(all, static_cast<Py_ssize_t>(i));
  if (!object) object = Py_NotImplemented;
  if (PyWeakref_CheckRefExact(kept)) return PyWeakref_GET_OBJECT(kept) == object;
  if (!PyTuple_CheckExact(kept)) return kept == object;
  return PyTuple_GET_SIZE(kept) == 1 ? PyTuple_GET_ITEM(kept, 0) == object : is_remembered_descriptor(kept, object);
}
// A remembered base class; None if it is gone.
PyObject* remembered_class_at(PyObject* all, Py_ssize_t i) noexcept {
  PyObject* kept = PyTuple_GET_ITEM(all, i);
  return PyWeakref_CheckRefExact(kept) ? PyWeakref_GET_OBJECT(kept) : kept;
}

PyTypeObject* class_of(Reached reached) noexcept {
  return !reached.inline_attributes && PyType_Check(reached.object) ? as_type(reached.object) : nullptr;
}

Stability class_stability(const Check&) noexcept { return Stability::Versioned; }

bool prepare_special_methods(Check& check, Reached seen) {
  PyTypeObject* type = class_of(seen);
  if (!type) return false;
  std::vector<PyObject*> methods;
  for (PyObject* name : special_method_names()) methods.push_back(class_attribute(type, name));
  check.expected = remembered_objects(methods);
  return static_cast<bool>(check.expected);
}
// The first that is not what it was; null if all are.
PyObject* changed_special_method(const Check& check, PyTypeObject* type) noexcept {
  const std::vector<PyObject*>& names = special_method_names();
  for (size_t i = 0; i < names.size(); ++i)
    if (!is_remembered_at(check.expected.get(), i, class_attribute(type, names[i]))) return names[i];
  return nullptr;
}
bool special_methods_hold(const Check& check, Reached object) noexcept {
  PyTypeObject* type = class_of(object);
  return type && !changed_special_method(check, type);
}
std::string special_methods_text(const Check&, const std::string& path) {
  return "special_methods(" + path + ") are unchanged";
}
std::string special_methods_failure(const Check& check, const std::string& path, Reached object) {
  PyTypeObject* type = class_of(object);
  PyObject* changed = type ? changed_special_method(check, type) : nullptr;
  return path + (changed ? "." + string_text(changed) + ": was set, replaced or deleted since" : ": is no class");
}

std::vector<PyObject*> bases_of(PyTypeObject* type) {
  PyObject* order = type->tp_mro;
  if (!order) return {};
  return {items_of_tuple(order), items_of_tuple(order) + PyTuple_GET_SIZE(order)};
}
bool prepare_bases(Check& check, Reached seen) {
  PyTypeObject* type = class_of(seen);
  if (type) check.expected = remembered_objects(bases_of(type));
  return static_cast<bool>(check.expected);
}
bool bases_hold(const Check& check, Reached object) noexcept {
  PyTypeObject* type = class_of(object);
  PyObject* order = type ? type->tp_mro : nullptr;
  if (!order || PyTuple_GET_SIZE(order) != PyTuple_GET_SIZE(check.expected.get())) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order); ++i)
    if (!is_remembered_at(check.expected.get(), static_cast<size_t>(i), PyTuple_GET_ITEM(order, i))) return false;
  return true;
}
std::string bases_text(const Check& check, const std::string& path) {
  std::string names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(check.expected.get()); ++i) {
    names += (i ? ", " : "") + object_text(remembered_class_at(check.expected.get(), i));
  }
  return path + ".__mro__ == (" + names + ")";
}
std::string bases_failure(const Check& check, const std::string& path, Reached object) {
  PyTypeObject* type = class_of(object);
  const std::vector<PyObject*> now = type ? bases_of(type) : std::vector<PyObject*>();
  return "expected " + bases_text(check, path) + ", got (" + items_text(now.data(), now.size()) + ")";
}

// --- tensors
// ----------------------------------------------------------------------------------------------------------

bool prepare_tensor(Check& check, Reached seen) {
  if (seen.inline_attributes) return false;
  check.tensor.emplace(TensorRecord::of(seen.object, check.open));
  return true;
}
bool tensor_holds(const Check& check, Reached object) noexcept {
  return !object.inline_attributes && check.tensor->matches(object.object);
}
std::string tensor_text(const Check& check, const std::string& path) { return check.tensor->to_text(path); }
std::string tensor_failure(const Check& check, const std::string& path, Reached object) {
  return path + ": " + check.tensor->difference(object.object);
}

// --- presence: the walk to the object proves it
// --------------------------------------------------------------------------------------------------------

bool needs_no_preparation(Check&, Reached) { return true; }
bool present_holds(const Check&, Reached) noexcept { return true; }
std::string present_text(const Check&, const std::string& path) { return path + " is there"; }
std::string present_failure(const Check&, const std::string& path, Reached) { return path + " is not there"; }

// --- a __dict__ that no two objects share

bool held_once_holds(const Check&, Reached object) noexcept {
  return object.inline_attributes || !is_shared(object.object);
}
std::string held_once_text(const Check&, const std::string& path) { return path + " is of no other object"; }
std::string held_once_failure(const Check&, const std::string& path, Reached) {
  return path + ": something besides its object refers to it";
}

// --- ints whose value is left open

bool integer_holds(const Check&, Reached object) noexcept {
  if (object.inline_attributes || !PyLong_CheckExact(object.object)) return false;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(object.object, &overflow);
  return overflow == 0;
}
bool prepare_integer(Check& check, Reached seen) { return integer_holds(check, seen); }
std::string integer_text(const Check&, const std::string& path) {
  return "type(" + path + ") is int and -2**63 <= " + path + " < 2**63";
}
std::string integer_failure(const Check&, const std::string& path, Reached object) {
  return path + ": expected an int of 64 bits, got " + object_text(object.object);
}

// --- the table
// --------------------------------------------------------------------------------------------------------

Stability always_stable(const Check&) noexcept { return Stability::Stable; }
Stability always_volatile(const Check&) noexcept { return Stability::Volatile; }

struct Row {
  GuardKind kind;
  const char* name;
  GuardSubject subject;
  bool (*prepare)(Check&, Reached);
  Stability (*stability)(const Check&) noexcept;
  bool (*holds)(const Check&, Reached) noexcept;
  std::string (*text)(const Check&, const std::string&);
  std::string (*failure)(const Check&, const std::string&, Reached);
};

constexpr Row kRows[] = {
    {GuardKind::Identity, "Identity", GuardSubject::Object, prepare_identity, identity_stability, identity_holds,
     identity_text, identity_failure},
    {GuardKind::Names, "Names", GuardSubject::Object, prepare_names, always_stable, names_hold, names_text,
     names_failure},
    {GuardKind::ExactType, "ExactType", GuardSubject::Object, prepare_exact_type, exact_type_stability,
     exact_type_holds, exact_type_text, exact_type_failure},
    {GuardKind::Constant, "Constant", GuardSubject::Object, prepare_constant, constant_stability, constant_holds,
     constant_text, constant_failure},
    {GuardKind::Value, "Value", GuardSubject::Object, prepare_value, value_stability, value_holds, value_text,
     value_failure},
    {GuardKind::Length, "Length", GuardSubject::Contents, prepare_length, length_stability, length_holds, length_text,
     length_failure},
    {GuardKind::DictKeys, "DictKeys", GuardSubject::Contents, prepare_dict_keys, dict_keys_stability, dict_keys_hold,
     dict_keys_text, dict_keys_failure},
    {GuardKind::SetItems, "SetItems", GuardSubject::Contents, prepare_set_items, set_items_stability, set_items_hold,
     set_items_text, set_items_failure},
    {GuardKind::SpecialMethods, "SpecialMethods", GuardSubject::Class, prepare_special_methods, class_stability,
     special_methods_hold, special_methods_text, special_methods_failure},
    {GuardKind::Bases, "Bases", GuardSubject::Class, prepare_bases, class_stability, bases_hold, bases_text,
     bases_failure},
    {GuardKind::Missing, "Missing", GuardSubject::Object, nullptr, always_volatile, nullptr, nullptr, nullptr},
    {GuardKind::Tensor, "Tensor", GuardSubject::Object, prepare_tensor, always_volatile, tensor_holds, tensor_text,
     tensor_failure},
    {GuardKind::Present, "Present", GuardSubject::Object, needs_no_preparation, always_volatile, present_holds,
     present_text, present_failure},
    {GuardKind::Integer, "Integer", GuardSubject::Object, prepare_integer, always_stable, integer_holds, integer_text,
     integer_failure},
    {GuardKind::HeldOnce, "HeldOnce", GuardSubject::Object, needs_no_preparation, always_volatile, held_once_holds,
     held_once_text, held_once_failure},
};
static_assert(
    [] {
      for (size_t i = 0; i < std::size(kRows); ++i)
        if (kRows[i].kind != static_cast<GuardKind>(i)) return false;
      return true;
    }(),
    "in the order of enum GuardKind");

const Row& row(const Check& check) noexcept { return kRows[static_cast<size_t>(check.kind)]; }

}  // namespace

bool prepare_check(Check& check, Reached seen) {
  const Row& kind = row(check);
  if (!kind.prepare(check, seen)) return false;
  check.holds = kind.holds;
  check.stability = kind.stability(check);
  return true;
}
bool holds_by_address(const Check& check) noexcept {
  const bool by_identity =
      check.kind == GuardKind::Identity || (check.kind == GuardKind::Constant && check.form < kByValue);
  return by_identity && check.form != kDescriptor;
}
void each_held_weakly(const Check& check, const std::function<void(PyObject*)>& use) {
  const bool wants_identity = check.kind == GuardKind::Identity || check.kind == GuardKind::ExactType ||
                              (check.kind == GuardKind::Constant && check.form < kByValue);
  if (check.expected && (!wants_identity || check.form == kDescriptor))
    return each_mortal_part(check.expected.get(), use);
  if (wants_identity && check.form == kWeak && remembered(check) == check.address) use(check.address);
}

std::string check_text(const Check& check, const std::string& path) { return row(check).text(check, path); }
std::string failure_text(const Check& check, const std::string& path, Reached object) {
  return row(check).failure(check, path, object);
}

GuardSubject subject_of(GuardKind kind) noexcept {
  const auto index = static_cast<size_t>(kind);
  return index < std::size(kRows) ? kRows[index].subject : GuardSubject::Object;
}

const char* guard_name(GuardKind kind) noexcept {
  switch (kind) {
    case GuardKind::SameAs:
      return "SameAs";
    case GuardKind::NotSameAs:
      return "NotSameAs";
    case GuardKind::DistinctTensors:
      return "DistinctTensors";
    case GuardKind::StorageSharing:
      return "StorageSharing";
    case GuardKind::Sizes:
      return "Sizes";
    default:
      return kRows[static_cast<size_t>(kind)].name;
  }
}

}  // namespace minidynamo
