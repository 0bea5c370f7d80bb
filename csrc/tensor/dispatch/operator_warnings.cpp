#include "tensor/dispatch/operator_warnings.h"

#include <c10/util/Exception.h>

#include <string_view>

#include "python/cached.h"
#include "python/error_set_aside.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"

namespace minidynamo {
namespace {

thread_local int depth = 0;

// Stands for the message's pattern in the filters: called on the thread that warns.
PyObject* matches_here(PyObject*, PyObject*) { return PyBool_FromLong(depth > 0); }

PyMethodDef matcher_methods[] = {
    {"match", entry<matches_here>, METH_O, "Whether this thread executes an operator on fakes."},
    {nullptr, nullptr, 0, nullptr}};

constexpr PyTypeObject make_matcher_type() {
  PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
  made.tp_name = "minidynamo.operator_warnings";
  made.tp_basicsize = sizeof(PyObject);
  made.tp_flags = Py_TPFLAGS_DEFAULT;
  made.tp_methods = matcher_methods;
  return made;
}

PyTypeObject* matcher_type() {
  static constinit PyTypeObject type = make_matcher_type();
  if (type.tp_flags & Py_TPFLAGS_READY) return &type;
  type.tp_new = PyType_GenericNew;
  make_ready(type);
  return &type;
}

Ref filters_of_process() {
  PyObject* module = named_item(PyImport_GetModuleDict(), "warnings");
  Ref filters = module ? Ref::steal(PyObject_GetAttrString(module, "filters")) : Ref();
  clear_error();
  return filters && PyList_CheckExact(filters.get()) ? filters : Ref();
}

Ref make_entry(const char* action) {
  PyTypeObject* type = matcher_type();
  const Ref matcher = type ? Ref::steal(PyObject_CallNoArgs(as_object(type))) : Ref();
  return matcher ? Ref::steal(Py_BuildValue("(sOOOi)", action, matcher.get(), PyExc_Warning, Py_None, 0)) : Ref();
}

// As the warnings module compares a pattern: None, a str, or something with match().
bool pattern_matches(PyObject* pattern, PyObject* text) {
  if (pattern == Py_None) return true;
  if (PyUnicode_CheckExact(pattern)) return PyUnicode_Check(text) && PyUnicode_Compare(pattern, text) == 0;
  const Ref found = Ref::steal(PyObject_CallMethod(pattern, "match", "O", text));
  const bool matches = found && PyObject_IsTrue(found.get()) == 1;
  clear_error();
  return matches;
}

}  // namespace

OperatorWarnings::OperatorWarnings(As as) : filters_(filters_of_process()) {
  static constinit CachedObject error{make_entry, "error"};
  static constinit CachedObject ignore{make_entry, "ignore"};
  entry_ = Ref::borrow(as == As::Ignored ? ignore.get() : error.get());
  if (!entry_) clear_error();
  if (entry_ && filters_ && PyList_Insert(filters_.get(), 0, entry_.get()) < 0) throw_out_of_memory();
  warn_always_ = c10::WarningUtils::get_warnAlways();
  if (as == As::Errors) c10::WarningUtils::set_warnAlways(true);
  ++depth;
}

OperatorWarnings::~OperatorWarnings() {
  --depth;
  c10::WarningUtils::set_warnAlways(warn_always_);
  if (!filters_ || !entry_) return;
  const ErrorSetAside error;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters_.get()); ++i) {
    if (PyList_GET_ITEM(filters_.get(), i) != entry_.get()) continue;
    if (PyList_SetSlice(filters_.get(), i, i + 1, nullptr) == 0) break;
    clear_error();
    // A list that has no memory to become shorter: one that is there twice changes nothing.
    if (i + 1 < PyList_GET_SIZE(filters_.get()))
      PyList_SetItem(filters_.get(), i, Ref::borrow(PyList_GET_ITEM(filters_.get(), i + 1)).release());
    break;
  }
}

bool is_warning_ignored(PyObject* warning, PyObject* module_name, long line) {
  const Ref filters = filters_of_process();
  const Ref text = Ref::steal(PyObject_Str(warning));
  if (!filters || !text) return clear_error(), false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters.get()); ++i) {
    const Ref entry = Ref::borrow(PyList_GET_ITEM(filters.get(), i));
    if (!PyTuple_CheckExact(entry.get()) || PyTuple_GET_SIZE(entry.get()) != 5) continue;
    PyObject** const parts = items_of_tuple(entry.get());
    if (Py_IS_TYPE(parts[1], matcher_type())) continue;
    const int of_category = PyObject_IsInstance(warning, parts[2]);
    const long wanted_line = PyLong_Check(parts[4]) ? PyLong_AsLong(parts[4]) : 0;
    clear_error();
    if (of_category != 1 || (wanted_line && wanted_line != line) || !pattern_matches(parts[1], text.get()) ||
        !pattern_matches(parts[3], module_name))
      continue;
    const char* action = PyUnicode_Check(parts[0]) ? PyUnicode_AsUTF8(parts[0]) : nullptr;
    clear_error();
    return action && std::string_view(action) == "ignore";
  }
  return false;
}

}  // namespace minidynamo
