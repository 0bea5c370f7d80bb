#include "hook/run/profiler_switch.h"

#include "python/named_item.h"

namespace minidynamo {

void profiler_details::look_again() noexcept {
  PyObject* module = named_item(PyImport_GetModuleDict(), "torch.autograd.profiler");
  if (!module || !PyModule_Check(module)) return;
  static Ref* const kept = new Ref;  // the version is read from the dict
  *kept = Ref::borrow(PyModule_GetDict(module));
  watched.version = version_word(kept->get());
  watched.is_on = named_item(kept->get(), "_is_profiler_enabled") == Py_True;
}

}  // namespace minidynamo
