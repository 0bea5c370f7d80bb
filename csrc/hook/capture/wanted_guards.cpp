// The filter is the user's code: it runs as a backend does, uncaptured, with interruptions let in.
#include "hook/capture/wanted_guards.h"

#include "guard/guard_filter.h"
#include "hook/runtime.h"
#include "hook/settings.h"
#include "python/error_text.h"
#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

// A list of (path, kind, what it is about, what that was fetched from...), as minidynamo/_capture/guard_filter.py wants
// it.
Ref rows_of(const std::vector<OfferedGuard>& guards) {
  Ref rows = Ref::made(PyList_New(0));
  for (const OfferedGuard& guard : guards) {
    const Ref owners = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(guard.owners.size())));
    for (size_t i = 0; i < guard.owners.size(); ++i)
      PyTuple_SET_ITEM(owners.get(), i, Ref::borrow(guard.owners[i]).release());
    const Ref row = Ref::made(
        Py_BuildValue("(ssOO)", guard.path.c_str(), guard.kind, guard.is_absent ? Py_True : Py_False, owners.get()));
    if (PyList_Append(rows.get(), row.get()) < 0) throw_out_of_memory();
  }
  return rows;
}

// Null with a Python error set: the filter raised.
Ref ask(PyObject* config, const std::vector<OfferedGuard>& guards) {
  const Ref rows = rows_of(guards);
  if (!deliver_interruptions()) return nullptr;
  const InterruptionsLetIn all;
  const ModeScope nothing_else(kCaptureNothing);
  return Ref::steal(PyObject_CallMethod(config, "wanted_guards", "O", rows.get()));
}

}  // namespace

bool finish_wanted_guards(GuardTree& guards, PyObject* config) {
  const Ref filter = setting(config, "guard_filter_fn");
  if (!filter || filter.is(Py_None)) return guards.finish(), true;
  Ref error;
  guards.finish([&](const std::vector<OfferedGuard>& offered) {
    std::vector<bool> wanted(offered.size(), true);
    const Ref answer = ask(config, offered);
    for (size_t i = 0; answer && i < wanted.size(); ++i) wanted[i] = PyList_GET_ITEM(answer.get(), i) == Py_True;
    if (!answer) error = take_error();
    return wanted;
  });
  if (!error) return true;
  set_error(std::move(error));
  return false;
}

}  // namespace minidynamo
