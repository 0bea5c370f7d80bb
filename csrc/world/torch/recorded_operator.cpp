#include "world/torch/recorded_operator.h"

#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"

namespace minidynamo {

// reshape() of a tensor that can be viewed so comes as a view, which a compiler cannot make where it has laid the
// tensor out otherwise (Inductor's cat may).
RecordedOperator recorded_operator(PyObject* target, PyObject* arguments) {
  if (target != "torch.ops.aten.view.default"_imported && target != "torch.ops.aten._reshape_alias.default"_imported)
    return {Ref::borrow(target), Ref::borrow(arguments)};
  return {Ref::borrow("torch.ops.aten.reshape.default"_imported), Ref::made(PyTuple_GetSlice(arguments, 0, 2))};
}

// The mask of a dropout: Inductor may read a new tensor before the call that fills it in place with random numbers.
bool fills_last(Graph& graph, PyObject* target, PyObject* arguments, PyObject* keywords) {
  const bool has_generator = keywords && PyDict_GET_SIZE(keywords) > 0;
  if (target != "torch.ops.aten.bernoulli_.float"_imported || has_generator) return false;
  Ref given = Ref::borrow(arguments);
  if (PyTuple_GET_SIZE(arguments) == 1)  // which the one has a default for, and the other has not
    given = Ref::made(Py_BuildValue("(Od)", PyTuple_GET_ITEM(arguments, 0), 0.5));
  return graph.fill_last("torch.ops.aten.empty_like.default"_imported, "torch.ops.aten.bernoulli.p"_imported,
                         given.get());
}

}  // namespace minidynamo
