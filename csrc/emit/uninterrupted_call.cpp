#include "emit/uninterrupted_call.h"

#include <opcode.h>

#include "python/cached.h"
#include "python/process/out_of_memory.h"
#include "python/version/eval_frame.h"

namespace minidynamo {
namespace {

static_assert(kMatrixMultiply == NB_MATRIX_MULTIPLY);

PyObject* call_items(PyObject*, PyObject* items) {
  if (!PyTuple_CheckExact(items) || PyTuple_GET_SIZE(items) == 0) Py_RETURN_NOTIMPLEMENTED;
  PyObject* const* callable = &PyTuple_GET_ITEM(items, 0);
  const OneLevelMore for_what_the_program_does_not_call(PyThreadState_Get());
  return PyObject_Vectorcall(*callable, callable + 1, PyTuple_GET_SIZE(items) - 1, nullptr);
}

}  // namespace

PyObject* uninterrupted_call() {
  static constinit CachedObject call{
      [](const char* name) {
        static PyType_Slot slots[] = {{Py_nb_matrix_multiply, reinterpret_cast<void*>(entry<call_items>)}, {}};
        PyType_Spec spec = {name, 0, 0, Py_TPFLAGS_DEFAULT, slots};
        const Ref type = Ref::steal(PyType_FromSpec(&spec));
        return type ? Ref::steal(PyObject_CallNoArgs(type.get())) : Ref();
      },
      "minidynamo._C.UninterruptedCall"};
  return call;
}

}  // namespace minidynamo
