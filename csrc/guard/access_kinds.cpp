// The table of accesses. Fast and slow fetches stand side by side; the printed forms are one function over paths, since
// how a step prints depends on the one before (an entry of an instance's __dict__ prints as an attribute).
#include "guard/access_kinds.h"

#include <cmath>
#include <cstring>

#include "guard/constants.h"
#include "python/code/annotations.h"
#include "python/objects/context_variable.h"
#include "python/objects/iterators.h"
#include "python/objects/lru_cache.h"
#include "python/objects/mapping_proxy.h"
#include "python/objects/native_contents.h"
#include "python/process/collector.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "tensor/fake/array_elements.h"
#include "tensor/fake/number_tensor.h"
#include "tensor/fake/plain_tensor.h"
#include "tensor/fake/tensor_facts.h"

namespace minidynamo {
namespace {

enum Form : uint8_t {
  Plain,
  TupleElement,
  ListElement,
  DequeElement,
  FunctionClosure,
  FunctionDefaults,
  FunctionKeywordDefaults,
  FunctionCode,
  FunctionGlobals,
  FunctionBuiltins,
  MethodFunction,
  MethodSelf,
};

Lookup found(Reached& result, PyObject* object) noexcept {
  result = {object, false};
  return object ? Lookup::Found : Lookup::Absent;
}

// Slow lookup by scanning: another path than the probe of python/version/dict_version.cpp.
Lookup scan_dict(PyObject* dict, PyObject* key, Py_hash_t hash, PyObject*& value) noexcept {
  Py_ssize_t at = 0;
  PyObject *stored, *stored_value;
  Py_hash_t stored_hash;
  bool undecided = false;
  while (next_with_hash(dict, at, stored, stored_value, stored_hash)) {
    if (stored == key) {
      value = stored_value;
      return Lookup::Found;
    }
    if (stored_hash != hash) continue;
    if (!compares_natively(stored) || !compares_natively(key)) {
      undecided = true;
      continue;
    }
    int equal = PyObject_RichCompareBool(stored, key, Py_EQ);
    if (equal < 0) clear_error();
    if (equal > 0) {
      value = stored_value;
      return Lookup::Found;
    }
  }
  return undecided ? Lookup::Undecided : Lookup::Absent;
}

struct InlineScan {
  PyObject* name;
  PyObject* value;
};

bool scan_step(void* state, PyObject* name, PyObject* value) {
  auto* scan = static_cast<InlineScan*>(state);
  if (!constants_equal(name, scan->name)) return true;
  scan->value = value;
  return false;
}

// --- one pair of fetches per access
// -------------------------------------------------------------------------------------

Lookup fetch_nothing(AccessStep&, Reached, Reached& result, Ref&) noexcept { return found(result, nullptr); }
Lookup fetch_nothing_slowly(const AccessStep&, Reached, Reached& result, Ref&) noexcept {
  return found(result, nullptr);
}

Lookup fetch_attribute_slowly(const AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  if (parent.inline_attributes) return found(result, nullptr);
  if (makes_annotations(parent.object, step.key)) return Lookup::Undecided;
  CollectorPaused nothing_else_runs;
  owned = native_attribute(parent.object, step.key);
  if (!owned) clear_error();
  return found(result, owned.get());
}

PyObject* or_none(PyObject* object) noexcept { return object ? object : Py_None; }

Lookup fetch_attribute(AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  // The commonest getters, without the audit event that CPython raises in them.
  if (PyObject* const* place = place_of(Access::Attribute, step, parent)) return found(result, or_none(*place));
  Lookup lookup = fetch_attribute_slowly(step, parent, result, owned);
  // An object that has another owner too outlives the check, in which no code runs that could release it.
  if (owned && is_shared(owned.get())) owned.reset();
  return lookup;
}

Lookup fetch_call_result_slowly(const AccessStep&, Reached parent, Reached& result, Ref& owned) noexcept {
  owned = Ref::steal(PyObject_CallNoArgs(parent.object));
  if (!owned) clear_error();
  return found(result, owned.get());
}
// Called before the walk.
Lookup fetch_call_result(AccessStep& step, Reached, Reached& result, Ref&) noexcept { return found(result, step.key); }

Lookup fetch_instance_dict(AccessStep&, Reached parent, Reached& result, Ref&) noexcept {
  if (parent.inline_attributes || !has_instance_dict(Py_TYPE(parent.object))) return found(result, nullptr);
  if (PyObject* dict = instance_dict(parent.object)) return found(result, dict);
  result = {parent.object, true};
  return Lookup::Found;
}
Lookup fetch_instance_dict_slowly(const AccessStep&, Reached parent, Reached& result, Ref& owned) noexcept {
  AccessStep unused;
  return fetch_instance_dict(unused, parent, result, owned);
}

Lookup fetch_dict_item(AccessStep& step, Reached parent, Reached& result, Ref&) noexcept {
  result = {};
  if (parent.inline_attributes) return found(result, inline_attribute(parent.object, step.key, step.hash, step.hint));
  if (!PyDict_Check(parent.object)) return Lookup::Undecided;
  return dict_item(parent.object, step.key, step.hash, step.hint, result.object);
}
Lookup fetch_dict_item_slowly(const AccessStep& step, Reached parent, Reached& result, Ref&) noexcept {
  result = {};
  if (parent.inline_attributes) {
    InlineScan scan{step.key, nullptr};
    visit_inline_attributes(parent.object, scan_step, &scan);
    return found(result, scan.value);
  }
  if (!PyDict_Check(parent.object)) return Lookup::Undecided;
  return scan_dict(parent.object, step.key, step.hash, result.object);
}

Lookup fetch_index_slowly(const AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  result = {};
  PyObject* sequence = parent.object;
  if (parent.inline_attributes || step.index < 0) return Lookup::Undecided;
  if (step.form == TupleElement && PyTuple_Check(sequence))
    return found(result, step.index < PyTuple_GET_SIZE(sequence) ? PyTuple_GET_ITEM(sequence, step.index) : nullptr);
  if (step.form == ListElement && PyList_Check(sequence))
    return found(result, step.index < PyList_GET_SIZE(sequence) ? PyList_GET_ITEM(sequence, step.index) : nullptr);
  if (step.form == DequeElement) {
    PyTypeObject* deque = deque_base(Py_TYPE(sequence));
    if (!deque) return Lookup::Undecided;
    CollectorPaused nothing_else_runs;
    owned = Ref::steal(deque->tp_as_sequence->sq_item(sequence, step.index));
    if (!owned) clear_error();
    return found(result, owned.get());
  }
  return Lookup::Undecided;
}
Lookup fetch_index(AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  Lookup lookup = fetch_index_slowly(step, parent, result, owned);
  owned.reset();  // the sequence owns it
  return lookup;
}

Lookup fetch_type_slowly(const AccessStep&, Reached parent, Reached& result, Ref&) noexcept {
  PyTypeObject* type = parent.inline_attributes ? &PyDict_Type : Py_TYPE(parent.object);
  return found(result, as_object(type));
}

Lookup fetch_class_attribute(AccessStep& step, Reached parent, Reached& result, Ref&) noexcept {
  result = {};
  if (parent.inline_attributes || !PyType_Check(parent.object)) return Lookup::Undecided;
  return found(result, class_attribute(as_type(parent.object), step.key));
}
Lookup fetch_class_attribute_slowly(const AccessStep& step, Reached parent, Reached& result, Ref&) noexcept {
  result = {};
  if (parent.inline_attributes || !PyType_Check(parent.object)) return Lookup::Undecided;
  PyObject* mro = as_type(parent.object)->tp_mro;
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); ++i) {
    auto* base = as_type(PyTuple_GET_ITEM(mro, i));
    Lookup lookup = scan_dict(namespace_of(base), step.key, step.hash, result.object);
    if (lookup != Lookup::Absent) return lookup;
  }
  return Lookup::Absent;
}

Lookup fetch_cell_slowly(const AccessStep&, Reached parent, Reached& result, Ref&) noexcept {
  result = {};
  if (parent.inline_attributes || !PyCell_Check(parent.object)) return Lookup::Undecided;
  return found(result, PyCell_GET(parent.object));
}

Lookup fetch_upcoming_slowly(const AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  if (parent.inline_attributes || !can_peek(parent.object)) return Lookup::Undecided;
  // The next item of a dict that has changed its size, or its keys, is an error.
  const bool is_of_dict = is_dict_iterator(Py_TYPE(parent.object));
  if (is_of_dict && is_stale_dict_iterator(parent.object)) return Lookup::Undecided;
  if (Py_IS_TYPE(parent.object, &PySetIter_Type) && look_at_set_iterator(parent.object).is_stale)
    return Lookup::Undecided;
  CollectorPaused nothing_else_runs;
  owned = peek_item(parent.object, step.index);
  if (owned && is_of_dict && is_beyond_size(parent.object, step.index)) return Lookup::Undecided;
  return found(result, owned.get());
}
Lookup fetch_upcoming(AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  Lookup lookup = fetch_upcoming_slowly(step, parent, result, owned);
  if (owned && is_shared(owned.get())) owned.reset();  // the sequence owns it
  return lookup;
}

Lookup fetch_iterator_part_slowly(const AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  if (parent.inline_attributes || !is_made_of_iterators(Py_TYPE(parent.object))) return Lookup::Undecided;
  CollectorPaused nothing_else_runs;
  const Ref parts = Ref::steal(PyObject_CallMethod(parent.object, "__reduce__", nullptr));
  clear_error();
  PyObject* made_from = parts && PyTuple_Check(parts.get()) && PyTuple_GET_SIZE(parts.get()) == 2
                            ? PyTuple_GET_ITEM(parts.get(), 1)
                            : nullptr;
  if (!made_from || !PyTuple_Check(made_from)) return Lookup::Undecided;
  if (step.index >= PyTuple_GET_SIZE(made_from)) return Lookup::Absent;
  owned = Ref::borrow(PyTuple_GET_ITEM(made_from, step.index));
  return found(result, owned.get());
}

Lookup fetch_proxied_slowly(const AccessStep&, Reached parent, Reached& result, Ref&) noexcept {
  if (parent.inline_attributes || !Py_IS_TYPE(parent.object, &PyDictProxy_Type)) return Lookup::Undecided;
  return found(result, proxied_mapping(parent.object));
}

// Never owned: a check must not keep alive what the program only refers to.
Lookup fetch_referent_slowly(const AccessStep&, Reached parent, Reached& result, Ref&) noexcept {
  if (parent.inline_attributes || !PyWeakref_CheckRefExact(parent.object)) return Lookup::Undecided;
  PyObject* referent = PyWeakref_GET_OBJECT(parent.object);
  return found(result, referent == Py_None ? nullptr : referent);
}

Lookup fetch_context_value_slowly(const AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  if (parent.inline_attributes || !PyContextVar_CheckExact(parent.object)) return Lookup::Undecided;
  CollectorPaused nothing_else_runs;
  owned = Ref::steal(context_value(parent.object, step.index == 1));
  return found(result, owned.get());
}
Lookup fetch_context_value(AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  Lookup lookup = fetch_context_value_slowly(step, parent, result, owned);
  owned.reset();  // the context or the variable owns it
  return lookup;
}

// A key of a cache, with the objects in place of the weak references by which an entry holds them, and the program's
// own weak references, which it holds in lists; null: an object is gone.
Ref live_key(PyObject* held) noexcept {
  Py_ssize_t at = 0;
  const Py_ssize_t size = PyTuple_CheckExact(held) ? PyTuple_GET_SIZE(held) : 0;
  const auto is_held = [](PyObject* part) { return PyWeakref_CheckRefExact(part) || PyList_CheckExact(part); };
  while (at < size && !is_held(PyTuple_GET_ITEM(held, at))) ++at;
  if (at == size) return Ref::borrow(held);
  CollectorPaused nothing_else_runs;
  Ref key;
  try_to([&] { key = Ref::made(PyTuple_New(size)); });
  if (!key) return nullptr;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* part = PyTuple_GET_ITEM(held, i);
    if (PyList_CheckExact(part))
      part = PyList_GET_ITEM(part, 0);
    else if (PyWeakref_CheckRefExact(part))
      part = PyWeakref_GET_OBJECT(part);
    if (part == Py_None && PyTuple_GET_ITEM(held, i) != Py_None) return nullptr;
    PyTuple_SET_ITEM(key.get(), i, Ref::borrow(part).release());
  }
  return key;
}

Lookup fetch_cached_result_slowly(const AccessStep& step, Reached parent, Reached& result, Ref&) noexcept {
  result = {};
  if (parent.inline_attributes || !Py_IS_TYPE(parent.object, lru_cache_type())) return Lookup::Undecided;
  const Ref key = live_key(PyTuple_GET_ITEM(step.key, 0));
  if (!key) return Lookup::Undecided;
  const Lookup lookup = find_in_lru_cache(parent.object, key.get(), result.object);
  if (lookup != Lookup::Absent || PyTuple_GET_SIZE(step.key) < 2) return lookup;
  return found(result, PyTuple_GET_ITEM(step.key, 1));
}

Lookup fetch_tensor_fact_slowly(const AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  if (parent.inline_attributes) return Lookup::Undecided;
  owned = tensor_fact(parent.object, static_cast<TensorFact>(step.index));
  return found(result, owned.get());
}
Lookup fetch_tensor_fact(AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  Lookup lookup = fetch_tensor_fact_slowly(step, parent, result, owned);
  if (owned && is_shared(owned.get())) owned.reset();  // the tensor owns it, or it is a constant for good
  return lookup;
}

// A tensor that is made of an object each time.
template <auto make>
Lookup fetch_made_tensor(const AccessStep&, Reached parent, Reached& result, Ref& owned) noexcept {
  if (parent.inline_attributes) return Lookup::Undecided;
  owned = make(parent.object);
  return found(result, owned.get());
}

// By the number of a comparison.
bool compares(double left, int comparison, double right) noexcept {
  switch (comparison) {
    case Py_LT:
      return left < right;
    case Py_LE:
      return left <= right;
    case Py_EQ:
      return left == right;
    case Py_NE:
      return left != right;
    case Py_GT:
      return left > right;
    case kOutgrows:
      return std::isfinite(left) && std::abs(left) > right;
    default:
      return left >= right;
  }
}

Lookup fetch_comparison_slowly(const AccessStep& step, Reached parent, Reached& result, Ref&) noexcept {
  if (parent.inline_attributes || !PyFloat_CheckExact(parent.object)) return Lookup::Undecided;
  const double left = PyFloat_AS_DOUBLE(parent.object), right = PyFloat_AS_DOUBLE(step.key);
  return found(result, compares(left, step.index, right) ? Py_True : Py_False);
}

Lookup fetch_draw_slowly(const AccessStep&, Reached parent, Reached& result, Ref&) noexcept {
  return parent.inline_attributes ? Lookup::Undecided : found(result, parent.object);
}

// --- the table
// ----------------------------------------------------------------------------------------------------------

// For kinds that have nothing to remember from one walk to the next.
template <auto slowly>
Lookup as_slowly(AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  return slowly(step, parent, result, owned);
}

struct Row {
  const char* name;
  Lookup (*fetch)(AccessStep&, Reached parent, Reached&, Ref& owned) noexcept;
  Lookup (*fetch_slowly)(const AccessStep&, Reached parent, Reached&, Ref& owned) noexcept;
};

constexpr Row kRows[] = {
    // in the order of enum Access
    {"Local", fetch_nothing, fetch_nothing_slowly},
    {"Function", fetch_nothing, fetch_nothing_slowly},
    {"Pinned", fetch_nothing, fetch_nothing_slowly},
    {"Attribute", fetch_attribute, fetch_attribute_slowly},
    {"InstanceDict", fetch_instance_dict, fetch_instance_dict_slowly},
    {"DictItem", fetch_dict_item, fetch_dict_item_slowly},
    {"Index", fetch_index, fetch_index_slowly},
    {"Type", as_slowly<fetch_type_slowly>, fetch_type_slowly},
    {"ClassAttribute", fetch_class_attribute, fetch_class_attribute_slowly},
    {"CellContents", as_slowly<fetch_cell_slowly>, fetch_cell_slowly},
    {"Upcoming", fetch_upcoming, fetch_upcoming_slowly},
    {"IteratorPart", as_slowly<fetch_iterator_part_slowly>, fetch_iterator_part_slowly},
    {"CallResult", fetch_call_result, fetch_call_result_slowly},
    {"Proxied", as_slowly<fetch_proxied_slowly>, fetch_proxied_slowly},
    {"Referent", as_slowly<fetch_referent_slowly>, fetch_referent_slowly},
    {"ContextValue", fetch_context_value, fetch_context_value_slowly},
    {"CachedResult", as_slowly<fetch_cached_result_slowly>, fetch_cached_result_slowly},
    {"TensorFact", fetch_tensor_fact, fetch_tensor_fact_slowly},
    {"ArrayElements", as_slowly<fetch_made_tensor<tensor_over_array>>, fetch_made_tensor<tensor_over_array>},
    {"FloatTensor", as_slowly<fetch_made_tensor<tensor_of_float>>, fetch_made_tensor<tensor_of_float>},
    {"Compared", as_slowly<fetch_comparison_slowly>, fetch_comparison_slowly},
    {"Draw", as_slowly<fetch_draw_slowly>, fetch_draw_slowly},
    {"PlainTensor", as_slowly<fetch_made_tensor<plain_tensor>>, fetch_made_tensor<plain_tensor>},
};
static_assert(std::size(kRows) == static_cast<size_t>(Access::PlainTensor) + 1);

bool is_string(PyObject* key) noexcept { return key && PyUnicode_CheckExact(key); }
bool is_identifier(PyObject* key) noexcept { return is_string(key) && PyUnicode_IsIdentifier(key); }

bool is_digits(PyObject* key) noexcept {
  if (!is_string(key) || PyUnicode_GET_LENGTH(key) == 0) return false;
  for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(key); ++i)
    if (!Py_UNICODE_ISDIGIT(PyUnicode_READ_CHAR(key, i)) || PyUnicode_READ_CHAR(key, i) > '9') return false;
  return true;
}

// True if step n of a path is obj.__dict__['_modules'], ['_parameters'] or ['_buffers']: torch.nn.Module shows what
// lies in these as attributes of obj.
bool is_module_registry(std::span<const PathStep> path, size_t n) {
  if (n < 2 || path[n].access != Access::DictItem || path[n - 1].access != Access::InstanceDict) return false;
  if (!is_string(path[n].key)) return false;
  for (const char* name : {"_modules", "_parameters", "_buffers"})
    if (PyUnicode_CompareWithASCIIString(path[n].key, name) == 0) return true;
  return false;
}

}  // namespace

PyTypeObject* deque_base(PyTypeObject* type) noexcept {
  while (type && !is_static_class(type)) type = type->tp_base;
  return type && std::strcmp(type->tp_name, "collections.deque") == 0 ? type : nullptr;
}

Lookup fetch_root(Access access, const AccessStep& step, const FrameView& frame, PyObject*& value) noexcept {
  switch (access) {
    case Access::Local:
      value = step.index >= 0 && frame.locals ? frame.locals[step.index] : nullptr;
      break;
    case Access::Function:
      value = frame.function;
      break;
    default:
      // Callbacks of other weak references may run while it dies, before those by which the program is told.
      value = step.key && !is_dying(step.key) ? step.key : nullptr;
  }
  return value ? Lookup::Found : Lookup::Absent;
}

Lookup fetch(Access access, AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  return kRows[static_cast<size_t>(access)].fetch(step, parent, result, owned);
}

Lookup fetch_slowly(Access access, const AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept {
  return kRows[static_cast<size_t>(access)].fetch_slowly(step, parent, result, owned);
}

uint8_t step_form(Access access, PyObject* key, Reached parent) noexcept {
  if (access == Access::Index) {
    if (PyTuple_Check(parent.object)) return TupleElement;
    return deque_base(Py_TYPE(parent.object)) ? DequeElement : ListElement;
  }
  if (access != Access::Attribute) return Plain;
  struct Getter {
    const char* name;
    Form form;
  };
  auto form_in = [key](std::initializer_list<Getter> getters) -> Form {
    for (const Getter& getter : getters)
      if (PyUnicode_CompareWithASCIIString(key, getter.name) == 0) return getter.form;
    return Plain;
  };
  if (PyFunction_Check(parent.object))
    return form_in({{"__closure__", FunctionClosure},
                    {"__defaults__", FunctionDefaults},
                    {"__kwdefaults__", FunctionKeywordDefaults},
                    {"__code__", FunctionCode},
                    {"__globals__", FunctionGlobals},
                    {"__builtins__", FunctionBuiltins}});
  if (PyMethod_Check(parent.object)) return form_in({{"__func__", MethodFunction}, {"__self__", MethodSelf}});
  return Plain;
}

PyObject* const* place_of(Access access, const AccessStep& step, Reached parent) noexcept {
  if (parent.inline_attributes) return nullptr;
  if (access == Access::CellContents && PyCell_Check(parent.object))
    return &reinterpret_cast<PyCellObject*>(parent.object)->ob_ref;
  if (access != Access::Attribute) return nullptr;
  if (PyFunction_Check(parent.object)) {
    auto* function = as_function(parent.object);
    switch (step.form) {
      case FunctionClosure:
        return &function->func_closure;
      case FunctionDefaults:
        return &function->func_defaults;
      case FunctionKeywordDefaults:
        return &function->func_kwdefaults;
      case FunctionCode:
        return &function->func_code;
      case FunctionGlobals:
        return &function->func_globals;
      case FunctionBuiltins:
        return &function->func_builtins;
      default:
        return nullptr;
    }
  }
  if (PyMethod_Check(parent.object)) {
    auto* method = reinterpret_cast<PyMethodObject*>(parent.object);
    if (step.form == MethodFunction) return &method->im_func;
    if (step.form == MethodSelf) return &method->im_self;
  }
  return nullptr;
}

bool is_stable(Access access, uint8_t form) noexcept { return access == Access::Index && form == TupleElement; }

Py_hash_t key_hash(PyObject* key) noexcept {
  if (!key) return 0;
  Py_hash_t hash = PyObject_Hash(key);
  if (hash != -1) return hash;
  clear_error();
  return 0;
}

const char* access_name(Access access) noexcept { return kRows[static_cast<size_t>(access)].name; }

std::string path_text(std::span<const PathStep> path) {
  const PathStep& step = path.back();
  auto parent = [&](size_t up = 1) { return path_text(path.first(path.size() - up)); };
  auto key = [&] { return step.key ? object_text(step.key) : "?"; };
  auto name = [&] { return string_text(step.key); };
  switch (step.access) {
    case Access::Local:
      return "L[" + key() + "]";
    case Access::Function:
      return "F";
    case Access::Pinned:
      return step.text ? *step.text : key();
    case Access::Attribute:
      if (path.size() == 2 && path[0].access == Access::Function && name() == "__globals__") return "G";
      return parent() + "." + name();
    case Access::ClassAttribute:
      return parent() + "." + name();
    case Access::InstanceDict:
      return parent() + ".__dict__";
    case Access::DictItem:
      if (path.size() >= 3 && path[path.size() - 2].access == Access::InstanceDict && is_identifier(step.key))
        return parent(2) + "." + name();
      if (is_module_registry(path, path.size() - 2)) {
        if (is_identifier(step.key)) return parent(3) + "." + name();
        if (is_digits(step.key)) return parent(3) + "[" + name() + "]";
      }
      return parent() + "[" + key() + "]";
    case Access::Index:
      return parent() + "[" + std::to_string(step.index) + "]";
    case Access::Type:
      return "type(" + parent() + ")";
    case Access::CellContents:
      return parent() + ".cell_contents";
    case Access::IteratorPart:
      return parent() + ".__reduce__()[1][" + std::to_string(step.index) + "]";
    case Access::CallResult:
      return parent() + "()";
    case Access::Proxied:
      return "mapping of " + parent();
    case Access::Referent:
      return parent() + "()";
    case Access::ContextValue:
      return parent() + ".get()";
    case Access::CachedResult:
      return parent() + ".cache[" + (step.key ? object_text(PyTuple_GET_ITEM(step.key, 0)) : "?") + "]";
    case Access::TensorFact:
      return parent() + tensor_fact_text(static_cast<TensorFact>(step.index));
    case Access::ArrayElements:
      return "torch.from_numpy(" + parent() + ")";
    case Access::FloatTensor:
      return "torch.tensor(" + parent() + ", dtype=torch.float64)";
    case Access::Compared: {
      if (step.index == kOutgrows) return "(math.isfinite(" + parent() + ") and abs(" + parent() + ") > " + key() + ")";
      static constexpr const char* kSigns[] = {" < ", " <= ", " == ", " != ", " > ", " >= "};
      return "(" + parent() + kSigns[step.index] + key() + ")";
    }
    case Access::Draw:
      return parent() + "." + name() + "()";
    case Access::PlainTensor:
      return parent() + ".as_subclass(torch.Tensor)";
    case Access::Upcoming:
      return "upcoming(" + parent() + ", " + std::to_string(step.index) + ")";
  }
  return "?";
}

std::string absence_text(std::span<const PathStep> path) {
  const PathStep& step = path.back();
  auto parent = [&] { return path_text(path.first(path.size() - 1)); };
  auto key = [&] { return step.key ? object_text(step.key) : "?"; };
  switch (step.access) {
    case Access::Local:
      return key() + " not in L";
    case Access::DictItem:
      return key() + " not in " + parent();
    case Access::Attribute:
    case Access::ClassAttribute:
      return "not hasattr(" + parent() + ", " + key() + ")";
    case Access::InstanceDict:
      return "not hasattr(" + parent() + ", '__dict__')";
    case Access::Index:
      return "len(" + parent() + ") <= " + std::to_string(step.index);
    case Access::CellContents:
      return "not hasattr(" + parent() + ", 'cell_contents')";
    case Access::Upcoming:
      return parent() + " has " + std::to_string(step.index) + " items left";
    case Access::IteratorPart:
      return "len(" + parent() + ".__reduce__()[1]) == " + std::to_string(step.index);
    default:
      return path_text(path) + " is absent";
  }
}

}  // namespace minidynamo
