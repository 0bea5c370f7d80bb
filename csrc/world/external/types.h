// The facts about C types: the rows of types.def, and questions about objects that they answer.
#pragma once
#include <cstdint>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// Columns of types.def: a value, and what docs/coverage.md says of it.
#define MINIDYNAMO_ENTERS(X)                                                             \
  X(Constant, "by its value")                                                            \
  X(Date, "by its value, by its identity if its time zone is Python code")               \
  X(ConstantOrOpaque, "by its value if all that it holds has one, else opaque")          \
  X(Value, "by its type and its value")                                                  \
  X(Tuple, "item by item")                                                               \
  X(Container, "its elements when they are asked for")                                   \
  X(ByteArray, "its bytes when they are asked for, opaque while exported")               \
  X(Proxy, "what it is a view of")                                                       \
  X(View, "the dict that it is a view of")                                               \
  X(Iterator, "the items that are taken from it")                                        \
  X(Function, "by its identity, a nested one by its parts")                              \
  X(Method, "its function and its object")                                               \
  X(NativeMethod, "the object that it is bound to, else by its identity")                \
  X(Super, "its class and its object")                                                   \
  X(Instance, "its attributes when they are asked for")                                  \
  X(Match, "by its identity, opaque over a bytearray")                                   \
  X(Alias, "by its arguments, or its identity if these are objects")                     \
  X(NumberFormat, "by its dtype")                                                        \
  X(Identity, "by its identity")                                                         \
  X(Definition, "by its identity, as what a program defines once")                       \
  X(NumpyArray, "as a tensor over its memory; opaque where torch.from_numpy makes none") \
  X(Opaque, "opaque: can only be passed on")

#define MINIDYNAMO_KNOWN(X)                                                                                   \
  X(Nothing, "nothing")                                                                                       \
  X(Attributes, "getters: they run no Python code, and give the same while nothing has changed")              \
  X(Given, "getters, and native code may be given it")                                                        \
  X(MethodsInTrace, "methods: they compute from their arguments alone; on one from before the call, getters") \
  X(Methods, "methods: they compute from their arguments alone")

#define MINIDYNAMO_LEAVES(X)                                                                    \
  X(Never, "cannot be made again")                                                              \
  X(Constant, "as it is")                                                                       \
  X(Date, "a new one")                                                                          \
  X(NumpyScalar, "a copy")                                                                      \
  X(Class, "as it is, if the trace did not make it")                                            \
  X(Tuple, "of its items")                                                                      \
  X(Record, "of its items")                                                                     \
  X(List, "of its items")                                                                       \
  X(Dict, "of its items")                                                                       \
  X(Set, "of its elements")                                                                     \
  X(Slice, "of its parts")                                                                      \
  X(Deque, "of its items and maxlen")                                                           \
  X(DefaultDict, "of its items and factory")                                                    \
  X(ByteArray, "of its bytes")                                                                  \
  X(DictView, "of its dict")                                                                    \
  X(NumberFormat, "of its dtype")                                                               \
  X(Proxy, "of its mapping")                                                                    \
  X(Cell, "of what it holds")                                                                   \
  X(ListIterator, "of its list, put where it stood")                                            \
  X(DictIterator, "of its dict, put where it stood")                                            \
  X(DictIteratorBackwards, "of its dict, walked to where it stood, while that has not changed") \
  X(DequeIterator, "of its deque, walked to where it stood, while that has not changed")        \
  X(Fields, "of what its struct holds")                                                         \
  X(OrderedDictIterator, "of its dict, walked to where it stood, while that has not changed")   \
  X(SetIterator, "of its set, walked to where it stood, while that has not changed")            \
  X(Function, "of its code, cells and attributes")                                              \
  X(Method, "bound again")                                                                      \
  X(NativeMethod, "bound again")                                                                \
  X(Partial, "of its parts")                                                                    \
  X(Object, "a new one")                                                                        \
  X(Instance, "of its elements and attributes, without __init__")                               \
  X(Super, "of its class and object")                                                           \
  X(Property, "of its functions")                                                               \
  X(Wrapper, "of its function")                                                                 \
  X(Union, "of its members")                                                                    \
  X(Exception, "of its args, attributes, cause, context and traceback, without __init__")       \
  X(WeakReference, "of what it refers to")                                                      \
  X(Lock, "as it is held")                                                                      \
  X(RecursiveLock, "as it is held")                                                             \
  X(RandomNumbers, "in its state")                                                              \
  X(Stream, "in its state")                                                                     \
  X(Array, "of its items")                                                                      \
  X(NumpyArray, "a copy, if it shares its memory with no other")                                \
  X(Reduced, "by its __reduce_ex__, where that names C code")

// Instances of Python classes over it, named by what their C part holds.
#define MINIDYNAMO_BASES(X)                                                                         \
  X(Unknown, "by their identity, by their type if the C type is a heap type; cannot be made again") \
  X(Native, "by their type, opaque to native code; random.Random can be made again")                \
  X(Unmade, "by their type; cannot be made again")                                                  \
  X(Opaque, "opaque")                                                                               \
  X(Object, "by their attributes")                                                                  \
  X(Value, "by their value and attributes")                                                         \
  X(Tuple, "item by item")                                                                          \
  X(Record, "item by item")                                                                         \
  X(List, "as the type itself")                                                                     \
  X(Dict, "as the type itself")                                                                     \
  X(Set, "as the type itself")                                                                      \
  X(FrozenSet, "opaque; can be made again")                                                         \
  X(Deque, "as the type itself")                                                                    \
  X(DefaultDict, "as the type itself")                                                              \
  X(Exception, "as the type itself")                                                                \
  X(Alias, "as the type itself; cannot be made again")                                              \
  X(Class, "by their identity")                                                                     \
  X(Module, "by their identity")

#define MINIDYNAMO_FIRST(name, ...) name,
enum class WrapRule : uint8_t { MINIDYNAMO_ENTERS(MINIDYNAMO_FIRST) };
enum class Known : uint8_t { MINIDYNAMO_KNOWN(MINIDYNAMO_FIRST) };
enum class ReconstructRule : uint8_t { MINIDYNAMO_LEAVES(MINIDYNAMO_FIRST) };
enum class Base : uint8_t { MINIDYNAMO_BASES(MINIDYNAMO_FIRST) };
#undef MINIDYNAMO_FIRST

struct TypeRow {
  const char* path;      // where it is imported from; null if
  PyTypeObject* symbol;  // it has a name in C
  bool is_family;
  WrapRule enters;
  Known known;
  ReconstructRule leaves;
  Base base;
};

// May import modules: to be called before a trace starts.
void load_types();

// The row of a C type, of a family that it belongs to, or one that knows nothing.
const TypeRow& row_of(PyTypeObject* type) noexcept;
// The same for the C type that determines the layout of a Python class's instances.
const TypeRow& row_of_base(PyTypeObject* type) noexcept;
// For objects of any type, C types and Python classes.
WrapRule wrap_rule_of(PyTypeObject* type) noexcept;
ReconstructRule reconstruct_rule_of(PyTypeObject* type) noexcept;
// True if residual code can make an instance of the class empty, and put its elements and attributes in later.
bool can_be_made_empty(PyTypeObject* type) noexcept;

// A row in words, for the docs. Rows whose modules are not imported are left out.
struct TypeFacts {
  PyTypeObject* type;
  bool is_family;
  const char *enters, *known, *leaves, *over_it;
};
std::vector<TypeFacts> all_types();

// Small numbers and operators between them need no bookkeeping at all.
inline bool is_number(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type;
}

// None, numbers, strings, torch.dtype and the like, and tuples, frozensets and slices of them: guarded by value.
bool is_constant(PyObject* object) noexcept;
// Those of them that are guarded by value whatever they hold.
bool is_constant_type(PyTypeObject* type) noexcept;

// The time zone of a date if it is not datetime's own: Python code, or C code of which nothing is known. It may have a
// state. Null without a Python error: there is none.
Ref zone_with_state(PyObject* date) noexcept;

// A constant of datetime's; one with such a time zone is none.
bool is_date(PyObject* object) noexcept;

// True if only the object's identity matters: functions of modules, classes, modules, descriptors. Such an object does
// not change in ways that a trace reads unguarded.
bool is_guarded_by_identity(PyObject* object) noexcept;

// Constants, tensors, classes, functions and modules: nothing of the program runs or is seen at their end. (For other
// objects see model/objects/witness.h.)
bool ends_unseen(PyObject* object) noexcept;

// Fit for looking up in an external dict without filling its shadow: constants, and what hashes and compares by
// identity.
bool is_plain_key(PyObject* object) noexcept;

// A tuple, list, dict, set or deque, or an instance of a class derived from one.
bool is_container(PyObject* object) noexcept;
// The builtin container type whose layout an object has, or null.
PyTypeObject* container_base(PyTypeObject* type) noexcept;

// Builtin types all of whose methods compute from their arguments alone (str, list, dict, re.Pattern...).
bool is_plain_builtin_type(PyTypeObject* type) noexcept;

// C types whose getters and members tell only what guards can ask again: they run no Python code, change nothing, and
// give the same object while nothing has changed. Any other C type is not known.
bool has_known_attributes(PyTypeObject* type) noexcept;

}  // namespace minidynamo
