#include "world/external/types.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "python/cached.h"
#include "python/code/bound_method.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

constexpr TypeRow row(PyTypeObject* symbol, bool is_family, WrapRule enters, Known known, ReconstructRule leaves,
                      Base base) {
  return {nullptr, symbol, is_family, enters, known, leaves, base};
}
constexpr TypeRow row(const char* path, bool is_family, WrapRule enters, Known known, ReconstructRule leaves,
                      Base base) {
  return {path, nullptr, is_family, enters, known, leaves, base};
}

const TypeRow kRows[] = {
#define MINIDYNAMO_TYPE(type, enters, known, leaves, base) \
  row(type, false, WrapRule::enters, Known::known, ReconstructRule::leaves, Base::base),
#define MINIDYNAMO_FAMILY(type, enters, known, leaves, base) \
  row(type, true, WrapRule::enters, Known::known, ReconstructRule::leaves, Base::base),
#include "world/external/types.def"
#undef MINIDYNAMO_TYPE
#undef MINIDYNAMO_FAMILY
};
constexpr TypeRow kUnknown = row("", false, WrapRule::Identity, Known::Nothing, ReconstructRule::Never, Base::Unknown);
constexpr TypeRow kOpaque = row("", false, WrapRule::Opaque, Known::Nothing, ReconstructRule::Never, Base::Unknown);
constexpr TypeRow kIterator = row("", false, WrapRule::Opaque, Known::Nothing, ReconstructRule::Never, Base::Opaque);

// By address, open addressing. Types in it live as long as the process.
class TypeTable {
 public:
  TypeTable() {
    for (const TypeRow& row : kRows) find_type(row);
    for (const TypeRow& row : kRows)
      if (PyTypeObject* type = row.is_family ? type_of(row) : nullptr; type && !find(type)) add(type, row);
  }

  const TypeRow* find(PyTypeObject* type) const noexcept {
    for (size_t at = place(type); slots_[at].type; at = (at + 1) % kSlots)
      if (slots_[at].type == type) return slots_[at].row;
    return nullptr;
  }

  // Finds the row of a C type that find() has not found: its module has been imported since, or the row is a family's.
  const TypeRow* find_late(PyTypeObject* type) {
    const char* const dot = std::strrchr(type->tp_name, '.');
    const char* const name = dot ? dot + 1 : type->tp_name;
    for (size_t i = 0; i < pending_.size(); ++i) {
      const TypeRow& row = *pending_[i];
      if (std::strcmp(std::strrchr(row.path, '.') + 1, name) != 0 || !find_type(row)) continue;
      pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i));
      break;
    }
    if (const TypeRow* found = find(type)) return found;
    for (const TypeRow& row : kRows) {
      PyTypeObject* const head = row.is_family ? type_of(row) : nullptr;
      if (!head || !PyType_IsSubtype(type, head)) continue;
      Py_INCREF(type);
      add(type, row);
      return &row;
    }
    return nullptr;
  }

  void find_pending() {
    for (const TypeRow* row : std::exchange(pending_, {})) find_type(*row);
  }

  PyTypeObject* type_of(const TypeRow& row) const noexcept { return types_[&row - kRows]; }

 private:
  static constexpr size_t kSlots = 4096;  // a power of two; the table stays far from full
  struct Slot {
    PyTypeObject* type;
    const TypeRow* row;
  };
  std::array<Slot, kSlots> slots_{};
  std::array<PyTypeObject*, std::size(kRows)> types_{};
  std::vector<const TypeRow*> pending_;  // their modules were not imported
  size_t count_ = 0;

  static size_t place(PyTypeObject* type) noexcept {
    return (reinterpret_cast<uintptr_t>(type) >> 4) * 0x9E3779B97F4A7C15u >> (64 - std::countr_zero(kSlots));
  }

  void add(PyTypeObject* type, const TypeRow& row) {
    if (++count_ > kSlots / 2) return;
    size_t at = place(type);
    while (slots_[at].type) at = (at + 1) % kSlots;
    slots_[at] = {type, &row};
  }

  bool find_type(const TypeRow& row) {
    Ref imported = row.path ? import_loaded(row.path) : Ref();
    // Some are Python code in one CPython, and C code in a later one.
    const bool is_type = imported && PyType_Check(imported.get()) && !is_python_class(as_type(imported.get()));
    PyTypeObject* type = is_type ? as_type(imported.release()) : row.symbol;
    types_[&row - kRows] = type;
    if (!type)
      pending_.push_back(&row);
    else if (!row.is_family)
      add(type, row);
    return type != nullptr;
  }
};

TypeTable& type_table() {
  static constinit Cached<TypeTable> table;
  return *table.get([] { return std::make_unique<TypeTable>(); });
}

// Those that a trace takes by value, and others of an address that is known. Imports nothing.
const TypeRow* known_row(PyTypeObject* type) noexcept { return type_table().find(type); }

bool is_element_wise(Base base) noexcept {
  return base == Base::List || base == Base::Dict || base == Base::Set || base == Base::Deque ||
         base == Base::DefaultDict;
}

}  // namespace

void load_types() { type_table(); }

const TypeRow& row_of(PyTypeObject* type) noexcept {
  if (const TypeRow* row = known_row(type)) return *row;
  if (is_python_class(type)) return kUnknown;
  const TypeRow* row = nullptr;
  try_to([&] { row = type_table().find_late(type); });
  if (row) return *row;
  if (makes_iterators(type) && is_static_class(type)) return kIterator;
  return type->tp_call || type->tp_descr_get ? kUnknown : kOpaque;
}

const TypeRow& row_of_base(PyTypeObject* type) noexcept { return row_of(native_base(type)); }

WrapRule wrap_rule_of(PyTypeObject* type) noexcept {
  if (!is_python_class(type)) return row_of(type).enters;
  PyTypeObject* const native = native_base(type);
  switch (row_of(native).base) {
    case Base::Unknown:
    case Base::Native:
      return is_static_class(native) ? WrapRule::Identity : WrapRule::Instance;
    case Base::Opaque:
    case Base::FrozenSet:
      return WrapRule::Opaque;
    case Base::Unmade:
    case Base::Object:
    case Base::Exception:
      return WrapRule::Instance;
    case Base::Value:
      return WrapRule::Value;
    case Base::Tuple:
    case Base::Record:
      return WrapRule::Tuple;
    case Base::List:
    case Base::Dict:
    case Base::Set:
    case Base::Deque:
    case Base::DefaultDict:
      return WrapRule::Container;
    case Base::Alias:
      return WrapRule::Alias;
    case Base::Class:
    case Base::Module:
      return WrapRule::Identity;
  }
  return WrapRule::Opaque;
}

ReconstructRule reconstruct_rule_of(PyTypeObject* type) noexcept {
  if (!is_python_class(type)) return row_of(type).leaves;
  switch (row_of_base(type).base) {
    case Base::Unknown:
    case Base::Unmade:
    case Base::Opaque:
    case Base::Alias:
      return ReconstructRule::Never;
    case Base::Native:
      return row_of_base(type).leaves;
    case Base::Class:
      return ReconstructRule::Class;
    case Base::Module:
      return ReconstructRule::Constant;
    case Base::Exception:
      return ReconstructRule::Exception;
    case Base::Record:
      return ReconstructRule::Record;
    default:
      return ReconstructRule::Instance;
  }
}

bool can_be_made_empty(PyTypeObject* type) noexcept {
  const Base base = row_of_base(type).base;
  const bool is_immutable = base == Base::Value || base == Base::Tuple || base == Base::FrozenSet;
  return reconstruct_rule_of(type) == ReconstructRule::Instance && type != known_types()->ordered_dict && !is_immutable;
}

std::vector<TypeFacts> all_types() {
#define MINIDYNAMO_SECOND(name, text) text,
  static constexpr const char* enters[] = {MINIDYNAMO_ENTERS(MINIDYNAMO_SECOND)};
  static constexpr const char* known[] = {MINIDYNAMO_KNOWN(MINIDYNAMO_SECOND)};
  static constexpr const char* leaves[] = {MINIDYNAMO_LEAVES(MINIDYNAMO_SECOND)};
  static constexpr const char* bases[] = {MINIDYNAMO_BASES(MINIDYNAMO_SECOND)};
#undef MINIDYNAMO_SECOND
  type_table().find_pending();
  std::vector<TypeFacts> found;
  for (const TypeRow& row : kRows)
    if (PyTypeObject* type = type_table().type_of(row))
      found.push_back({type, row.is_family, enters[static_cast<size_t>(row.enters)],
                       known[static_cast<size_t>(row.known)], leaves[static_cast<size_t>(row.leaves)],
                       bases[static_cast<size_t>(row.base)]});
  return found;
}

bool is_constant_type(PyTypeObject* type) noexcept {
  const TypeRow* row = known_row(type);
  return row && row->enters == WrapRule::Constant;
}

bool ends_unseen(PyObject* object) noexcept {
  return is_constant(object) || is_tensor(object) || PyType_Check(object) || PyFunction_Check(object) ||
         PyCFunction_Check(object) || PyModule_Check(object);
}

bool is_container(PyObject* object) noexcept {
  return PyTuple_Check(object) || PyList_Check(object) || PyDict_Check(object) || PyAnySet_Check(object) ||
         native_base(Py_TYPE(object)) == known_types()->deque;
}

PyTypeObject* container_base(PyTypeObject* type) noexcept {
  PyTypeObject* const native = native_base(type);
  return type == &PyByteArray_Type || is_element_wise(row_of(native).base) ? native : nullptr;
}

bool is_guarded_by_identity(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  // A function defined inside another is made anew whenever that runs: its code and cells are guarded.
  if (PyFunction_Check(object))
    return !PyFunction_GET_CLOSURE(object) && !(as_code(PyFunction_GET_CODE(object))->co_flags & CO_NESTED);
  if (PyType_Check(object) || PyModule_Check(object) || PyCode_Check(object)) return true;
  if (PyCFunction_Check(object)) return !is_bound_native_method(object);
  if (const TypeRow* row = known_row(type)) return row->enters == WrapRule::Definition;
  return PyObject_TypeCheck(as_object(type), known_types()->enum_meta);
}

Ref zone_with_state(PyObject* date) noexcept {
  Ref zone = Ref::steal(PyObject_GetAttrString(date, "tzinfo"));
  clear_error();
  return !zone || zone.is(Py_None) || wrap_rule_of(zone.type()) == WrapRule::Date ? Ref() : zone;
}

// A time zone of Python code would be asked in comparisons.
bool is_date(PyObject* object) noexcept {
  return wrap_rule_of(Py_TYPE(object)) == WrapRule::Date && !zone_with_state(object);
}

bool is_constant(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  const TypeRow* row = known_row(type);
  const bool is_size =
      PyTuple_Check(object) && row && row->enters == WrapRule::Constant;  // with symbolic ones, perhaps
  if (row && row->enters == WrapRule::Constant && !is_size) return true;
  if (row && row->enters == WrapRule::Date) return is_date(object);
  if (type == &PyTuple_Type || is_size) {
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
    auto* slice = as_slice(object);
    return is_constant(slice->start) && is_constant(slice->stop) && is_constant(slice->step);
  }
  return false;
}

bool is_plain_key(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (is_constant(object)) {
    if (PyObject_Hash(object) != -1) return true;
    clear_error();  // a slice, or a tuple with one
    return false;
  }
  return (!is_fake(object) && type->tp_hash == PyBaseObject_Type.tp_hash &&
          (type->tp_richcompare == PyBaseObject_Type.tp_richcompare || !type->tp_richcompare));
}

bool is_plain_builtin_type(PyTypeObject* type) noexcept { return row_of(type).known >= Known::MethodsInTrace; }

bool has_known_attributes(PyTypeObject* type) noexcept {
  return is_python_class(type) || row_of(type).known >= Known::Attributes;
}

}  // namespace minidynamo
