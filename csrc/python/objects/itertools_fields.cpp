#include "python/objects/itertools_fields.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "python/objects/sequence.h"

namespace minidynamo {
namespace {

static_assert(PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000, "check the structs of itertools");

// A letter a field, in the order of the struct (Modules/itertoolsmodule.c). They are aligned as C aligns them.
//   O  an object, or null: also a result that was given up half made, as by a product with nothing
//   T  a tuple, null where an iterator of it has ended
//   V  room for 57 objects, of which as many are there as the first int says
//   n  a Py_ssize_t, or a long
//   i  an int
//   b  a bool
//   P  a pointer to as many Py_ssize_t as the first object has items
//   R  a pointer to as many Py_ssize_t as the only number of type Py_ssize_t says
//   G  the groupby that a group belongs to; which group is the one that it is at is in that one's pointer
//   x  a pointer that a new one does not have: weak references to it, the group that a groupby is at
// From 3.12 on some end with a pointer to the module's state. Two have a field more from 3.13 on, one has one less
// in 3.14.
struct Struct {
  const char *type, *fields;
};
constexpr bool kIs313 = PY_VERSION_HEX >= 0x030D0000, kIs314 = PY_VERSION_HEX >= 0x030E0000;
constexpr Struct structs[] = {
    {"itertools.accumulate", "OOOO"},
    {"itertools.batched", kIs313 ? "Onb" : "On"},
    {"itertools.chain", "OO"},
    {"itertools.combinations", "OROni"},
    {"itertools.combinations_with_replacement", "OROni"},
    {"itertools.compress", "OO"},
    {"itertools.count", "nOO"},
    {"itertools.cycle", kIs314 ? "OOn" : "OOni"},
    {"itertools.dropwhile", "OOn"},
    {"itertools.filterfalse", "OO"},
    {"itertools.groupby", "OOOOOx"},
    {"itertools.islice", "Onnnn"},
    {"itertools.pairwise", kIs313 ? "OOO" : "OO"},
    {"itertools.permutations", "OPROni"},
    {"itertools.product", "OPOi"},
    {"itertools.repeat", "On"},
    {"itertools.starmap", "OO"},
    {"itertools.takewhile", "OOn"},
    {"itertools._grouper", "GO"},
    {"itertools._tee", "Oix"},
    {"itertools._tee_dataobject", "OiiOV"},
    {"itertools.zip_longest", "nnTOO"},
};
constexpr size_t kCells = 57;

const char* letters_of(PyTypeObject* type) noexcept {
  for (const Struct& known : structs)
    if (!std::strcmp(type->tp_name, known.type)) return known.fields;
  return nullptr;
}

// The module's state, where its types keep a pointer to it.
void* state_of_module(PyTypeObject* type) noexcept {
  return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && PyType_GetModule(type) ? PyType_GetModuleState(type) : nullptr;
}

struct Field {
  char letter;
  char* place;

  PyObject*& object() const noexcept { return *reinterpret_cast<PyObject**>(place); }
  PyObject** cells() const noexcept { return reinterpret_cast<PyObject**>(place); }
  Py_ssize_t& size() const noexcept { return *reinterpret_cast<Py_ssize_t*>(place); }
  bool& truth() const noexcept { return *reinterpret_cast<bool*>(place); }
  int& number() const noexcept { return *reinterpret_cast<int*>(place); }
  Py_ssize_t*& array() const noexcept { return *reinterpret_cast<Py_ssize_t**>(place); }
  void*& pointer() const noexcept { return *reinterpret_cast<void**>(place); }
};

// The fields of an iterator; that of the module's state, if there is one, has the letter S. Empty if the struct has
// another size.
std::vector<Field> fields_in(PyObject* iterator) {
  std::vector<Field> fields;
  PyTypeObject* const type = Py_TYPE(iterator);
  char* const start = reinterpret_cast<char*>(iterator);
  size_t offset = sizeof(PyObject);
  auto align = [&] { offset = (offset + sizeof(void*) - 1) / sizeof(void*) * sizeof(void*); };
  for (const char* letter = letters_of(type); letter && *letter; ++letter) {
    if (*letter != 'i') align();
    fields.push_back({*letter, start + offset});
    offset += *letter == 'b'   ? sizeof(bool)
              : *letter == 'i' ? sizeof(int)
              : *letter == 'V' ? kCells * sizeof(void*)
                               : sizeof(void*);
  }
  align();
  const size_t size = static_cast<size_t>(type->tp_basicsize);
  if (size == offset + sizeof(void*) && state_of_module(type)) {
    fields.push_back({'S', start + offset});
    offset = size;
  }
  if (size != offset) fields.clear();
  return fields;
}

Py_ssize_t length_of_array(const std::vector<Field>& fields, char letter) noexcept {
  for (const Field& field : fields) {
    if (letter == 'P' && field.letter == 'O') return PyTuple_GET_SIZE(field.object());
    if (letter == 'R' && field.letter == 'n') return field.size();
  }
  return 0;
}

int number_of_cells(const std::vector<Field>& fields) noexcept {
  for (const Field& field : fields)
    if (field.letter == 'i') return field.number();
  return 0;
}

// None is no iterator, so it stands for one that has ended.
Ref with_none_for_ended(PyObject* iterators) {
  std::vector<Ref> copy = items_of(iterators);
  for (Ref& iterator : copy)
    if (!iterator) iterator = Ref::none();
  return tuple_of(copy);
}

Ref with_null_for_ended(PyObject* iterators) {
  std::vector<Ref> copy = items_of(iterators);
  for (Ref& iterator : copy)
    if (iterator.is(Py_None)) iterator.reset();
  return tuple_of(copy);
}

// The pointer to a groupby's current group, which is no owned reference. Null for another type of object.
void** current_group_of(PyObject* groupby) {
  for (const Field& field : fields_in(groupby))
    if (field.letter == 'x') return &field.pointer();
  return nullptr;
}

Ref numbers_in(const Py_ssize_t* numbers, Py_ssize_t count) {
  std::vector<Ref> made;
  for (Py_ssize_t i = 0; numbers && i < count; ++i) made.push_back(Ref::made(PyLong_FromSsize_t(numbers[i])));
  return tuple_of(made);
}

Ref cells_in(PyObject* const* cells, int count) {
  std::vector<Ref> made;
  for (int i = 0; i < count; ++i) made.push_back(Ref::borrow(cells[i]));
  return tuple_of(made);
}

Py_ssize_t* array_of(PyObject* numbers) {
  const Py_ssize_t count = PyTuple_GET_SIZE(numbers);
  auto* array = static_cast<Py_ssize_t*>(PyMem_Malloc(static_cast<size_t>(count) * sizeof(Py_ssize_t)));
  if (!array) throw_out_of_memory();
  for (Py_ssize_t i = 0; i < count; ++i) array[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, i));
  return array;
}

bool is_half_made(PyObject* object) {
  if (!object || !PyTuple_CheckExact(object)) return false;
  const std::vector<Ref> items = items_of(object);
  return std::ranges::find(items, Ref()) != items.end();
}

// An object's place in the tuple that holds the fields: itself in a tuple of one, or an empty tuple for null.
Ref maybe(Ref object) { return object ? tuple_of(std::vector<Ref>{object}) : Ref::made(PyTuple_New(0)); }

}  // namespace

bool is_of_itertools(PyTypeObject* type) noexcept { return letters_of(type) != nullptr; }

Ref fields_of(PyObject* iterator) {
  const std::vector<Field> fields = fields_in(iterator);
  if (fields.empty()) return nullptr;
  std::vector<Ref> values;
  for (const Field& field : fields) {
    switch (field.letter) {
      case 'O':
        values.push_back(maybe(is_half_made(field.object()) ? Ref() : Ref::borrow(field.object())));
        break;
      case 'T':
        values.push_back(maybe(field.object() ? with_none_for_ended(field.object()) : Ref()));
        break;
      case 'G': {
        void** const current = current_group_of(field.object());
        if (!current) return nullptr;
        const bool is_current = *current == iterator;
        values.push_back(tuple_of(std::vector<Ref>{Ref::borrow(field.object()), Ref::boolean(is_current)}));
        break;
      }
      case 'V':
        values.push_back(cells_in(field.cells(), number_of_cells(fields)));
        break;
      case 'n':
        values.push_back(Ref::made(PyLong_FromSsize_t(field.size())));
        break;
      case 'i':
        values.push_back(Ref::made(PyLong_FromLong(field.number())));
        break;
      case 'b':
        values.push_back(Ref::boolean(field.truth()));
        break;
      case 'P':
      case 'R':
        values.push_back(numbers_in(field.array(), length_of_array(fields, field.letter)));
        break;
      case 'S':
        if (field.pointer() != state_of_module(Py_TYPE(iterator))) return nullptr;
        break;
    }
  }
  return tuple_of(values);
}

Ref make_empty_iterator(PyTypeObject* type) noexcept {
  Ref made = Ref::steal(type->tp_alloc(type, 0));
  if (made && fields_in(made.get()).empty()) {
    PyErr_Format(PyExc_TypeError, "minidynamo: %s is not as expected", type->tp_name);
    return nullptr;
  }
  return made;
}

void set_fields(PyObject* empty_iterator, PyObject* values) {
  Py_ssize_t next = 0;
  for (const Field& field : fields_in(empty_iterator)) {
    if (field.letter == 'x') continue;
    if (field.letter == 'S') {
      field.pointer() = state_of_module(Py_TYPE(empty_iterator));
      continue;
    }
    PyObject* const value = PyTuple_GET_ITEM(values, next++);
    switch (field.letter) {
      case 'O':
        if (PyTuple_GET_SIZE(value)) field.object() = Py_NewRef(PyTuple_GET_ITEM(value, 0));
        break;
      case 'T':
        if (PyTuple_GET_SIZE(value)) field.object() = with_null_for_ended(PyTuple_GET_ITEM(value, 0)).release();
        break;
      case 'G':
        field.object() = Py_NewRef(PyTuple_GET_ITEM(value, 0));
        if (PyTuple_GET_ITEM(value, 1) == Py_True) *current_group_of(field.object()) = empty_iterator;
        break;
      case 'V':
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
          field.cells()[i] = Py_NewRef(PyTuple_GET_ITEM(value, i));
        break;
      case 'n':
        field.size() = PyLong_AsSsize_t(value);
        break;
      case 'i':
        field.number() = static_cast<int>(PyLong_AsLong(value));
        break;
      case 'b':
        field.truth() = value == Py_True;
        break;
      default:
        field.array() = array_of(value);
    }
  }
}

}  // namespace minidynamo
