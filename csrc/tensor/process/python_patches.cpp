#include "tensor/process/python_patches.h"

#include <pybind11/eval.h>
#include <torch/csrc/Storage.h>

#include "tensor/fake/fake.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/fake/tensor_object.h"
#include "tensor/torch_pybind.h"

namespace py = pybind11;

namespace minidynamo {
namespace {

std::string describe(const at::Tensor& tensor, const char* class_name) {
  std::string text = std::string("FakeTensor(") + class_name + ", size=(";
  for (int64_t i = 0; i < tensor.dim(); ++i) text += c10::str(i ? ", " : "", tensor.sizes()[i]);
  text += c10::str(tensor.dim() == 1 ? ",)" : ")", ", dtype=torch.", torch::getTHPDtype(tensor.scalar_type())->name,
                   ", device='", tensor.device(), "'");
  if (tensor.grad_fn()) {
    text += c10::str(", grad_fn=<", tensor.grad_fn()->name(), ">");
  } else if (tensor.requires_grad()) {
    text += ", requires_grad=True";
  }
  return text + ")";
}

void wrap(py::object owner, const char* name, py::object (*make)(py::object original)) {
  py::object original = owner.attr(name);
  if (py::hasattr(original, "_minidynamo_original")) return;
  py::object wrapper = make(original);
  py::module_::import("functools").attr("update_wrapper")(wrapper, original);
  wrapper.attr("_minidynamo_original") = original;
  owner.attr(name) = wrapper;
}

// Plain Python functions, since a method must bind to its object and tracers inline what has bytecode.
py::object python_function(const char* source, py::dict names) {
  py::exec(source, names);
  return names["wrapper"];
}

py::object repr_wrapper(py::object original) {
  py::dict names;
  names["original"] = original;
  names["is_fake"] = py::cpp_function([](py::handle object) { return is_fake(object.ptr()); });
  names["describe"] = py::cpp_function(
      [](py::handle object) { return describe(unpack_tensor(object.ptr()), Py_TYPE(object.ptr())->tp_name); });
  return python_function(R"(
def wrapper(self, *args, **kwargs):
    return describe(self) if is_fake(self) else original(self, *args, **kwargs)
)",
                         names);
}

py::object is_shared_wrapper(py::object original) {
  py::dict names;
  names["original"] = original;
  names["is_fake_storage"] = py::cpp_function([](py::handle object) {
    return THPStorage_Check(object.ptr()) && is_fake_storage(THPStorage_Unpack(object.ptr()));
  });
  return python_function(R"(
def wrapper(self):
    return False if is_fake_storage(self) else original(self)
)",
                         names);
}

}  // namespace

void patch_torch_for_fakes() {
  wrap(py::module_::import("torch._tensor_str"), "_str", &repr_wrapper);
  wrap(py::module_::import("torch").attr("UntypedStorage"), "is_shared", &is_shared_wrapper);
}

}  // namespace minidynamo
