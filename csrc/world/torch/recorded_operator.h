// The form in a graph of operators that are recorded below autograd, where compilers do not take them as torch runs
// them.
#pragma once
#include "graph/graph.h"

namespace minidynamo {

struct RecordedOperator {
  Ref target, arguments;  // a tuple
};
RecordedOperator recorded_operator(PyObject* target, PyObject* arguments);

// True if the operator fills a tensor that the last node made: then both are one node, which is the last now.
bool fills_last(Graph& graph, PyObject* target, PyObject* arguments, PyObject* keywords);

}  // namespace minidynamo
