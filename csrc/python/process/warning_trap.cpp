// A filter is a tuple of an action, a message, a category, a module and a line. CPython asks the category's class, by
// its __subclasscheck__, whether a warning is about it.
#include "python/process/warning_trap.h"

#include "python/cached.h"
#include "python/error_set_aside.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

thread_local int traps = 0;
thread_local long caught = 0;

PyObject* is_trapped(PyObject*, PyObject*) {
  if (traps) ++caught;
  return PyBool_FromLong(traps > 0);
}

// The filter that is an error for threads with a trap. Null without memory.
PyObject* thread_filter() {
  static constinit CachedObject filter{
      [](const char* name) {
        static PyMethodDef methods[] = {{"__subclasscheck__", entry<is_trapped>, METH_O, nullptr}, {}};
        static PyType_Slot slots[] = {{Py_tp_methods, methods}, {}};
        PyType_Spec spec = {name, 0, 0, Py_TPFLAGS_DEFAULT, slots};
        const Ref type = Ref::steal(PyType_FromSpec(&spec));
        const Ref category = type ? Ref::steal(PyObject_CallNoArgs(type.get())) : Ref();
        return category ? Ref::steal(Py_BuildValue("sOOOi", "error", Py_None, category.get(), Py_None, 0)) : Ref();
      },
      "minidynamo._C.WarningsOfThread"};
  PyObject* made = nullptr;
  try_to([&] { made = filter; });
  return made;
}

PyObject* filters_of_program() noexcept {
  PyObject* module = named_item(PyImport_GetModuleDict(), "warnings");
  PyObject* filters = module && PyModule_Check(module) ? named_item(PyModule_GetDict(module), "filters") : nullptr;
  return filters && PyList_CheckExact(filters) ? filters : nullptr;
}

constexpr const char* kRegistryName = "__warningregistry__";

// The registry of warnings of the module that runs; null if it has none.
PyObject* registry_of_module() noexcept {
  PyObject* globals = PyEval_GetGlobals();
  return globals ? named_item(globals, kRegistryName) : nullptr;
}

// CPython has made one, in which there is only a number of its own.
void forget_new_registry() noexcept {
  PyObject* registry = registry_of_module();
  if (!registry || !PyDict_CheckExact(registry) || PyDict_GET_SIZE(registry) != 1 || !named_item(registry, "version"))
    return;
  if (PyDict_DelItemString(PyEval_GetGlobals(), kRegistryName) < 0) clear_error();
}

}  // namespace

long* WarningTrap::caught_by_thread() noexcept { return &caught; }

WarningTrap::WarningTrap() noexcept : had_registry_(registry_of_module()), caught_before_(caught) {
  PyObject *filters = filters_of_program(), *filter = filters ? thread_filter() : nullptr;
  if (filter && PyList_Insert(filters, 0, filter) == 0) {
    filters_ = Ref::borrow(filters);
    ++traps;
  } else {
    clear_error();
  }
}

WarningTrap::~WarningTrap() {
  if (!filters_) return;
  --traps;
  const ErrorSetAside error;
  if (has_caught() && !had_registry_) forget_new_registry();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters_.get()); ++i)
    if (PyList_GET_ITEM(filters_.get(), i) == thread_filter()) {
      if (PyList_SetSlice(filters_.get(), i, i + 1, nullptr) < 0) clear_error();
      break;
    }
}

}  // namespace minidynamo
