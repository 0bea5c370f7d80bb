#include "hook/intercept/fx_tracers.h"

#include "python/named_item.h"
#include "python/version/type_version.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

PyObject* names_of_fx() noexcept {
  PyObject* module = named_item(PyImport_GetModuleDict(), "torch.fx._symbolic_trace");
  return module && PyModule_Check(module) ? PyModule_GetDict(module) : nullptr;
}

PyObject* method_of_modules(PyObject* name) noexcept {
  const KnownTypes* known = known_types();
  return known ? class_attribute(known->module, name) : nullptr;
}

bool is_wrapper(PyObject* method, PyObject* names) noexcept {
  return method && PyFunction_Check(method) && PyFunction_GET_GLOBALS(method) == names;
}

}  // namespace

bool is_fx_tracing() noexcept {
  PyObject* names = names_of_fx();
  if (!names) return false;
  if (named_item(names, "_is_fx_tracing_flag") == Py_True) return true;
  // The flag is one for all tracers of a process: the first to end clears it.
  return is_wrapper(method_of_modules("__call__"_name), names) ||
         is_wrapper(method_of_modules("__getattr__"_name), names);
}

uint32_t module_methods() noexcept {
  return method_of_modules("__call__"_name) ? type_version(known_types()->module) : 0;  // a lookup sets a version
}

}  // namespace minidynamo
