#include "tensor/symbolic/size_node_methods.h"

#include "python/process/out_of_memory.h"
#include "tensor/symbolic/size_node.h"
#include "tensor/torch_pybind.h"

namespace py = pybind11;

namespace minidynamo {
namespace {

c10::SymNode rounded_to_digits(SizeNode& node, const py::object& digits) {
  if (digits.is_none()) return node.rounded(Rounding::Nearest);
  const Ref value = Ref::made(PyFloat_FromDouble(node.guard_float("", 0)));
  const py::object rounded = py::handle(value.get()).attr("__round__")(digits);
  return node.wrap_float(rounded.cast<double>());
}

}  // namespace

void add_size_node_class(PyObject* module) {
  py::module_::import("torch");  // which has the class that this is one of
  py::class_<SizeNode, c10::SymNodeImpl, c10::intrusive_ptr<SizeNode>>(py::handle(module), "_SizeNode")
      .def("trunc", [](SizeNode& node) { return node.rounded(Rounding::Truncate); })
      .def("round", &rounded_to_digits, py::arg("ndigits") = py::none())
      .def("is_integer", &SizeNode::is_integer)
      .def("sym_sqrt", &SizeNode::square_root);
}

}  // namespace minidynamo
