#include "tensor/process/loaded_torch.h"

#include <array>
#include <utility>

#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_object.h"
#include "tensor/torch_pybind.h"

namespace py = pybind11;

namespace minidynamo {

namespace {

using c10::DispatchKey;

// c10::toString is of the library, the numbers are of the headers.
constexpr std::array kKeys{
    std::pair{DispatchKey::Fake, "Fake"},
    std::pair{DispatchKey::Python, "Python"},
    std::pair{DispatchKey::PythonTLSSnapshot, "PythonTLSSnapshot"},
    std::pair{DispatchKey::PythonDispatcher, "PythonDispatcher"},
    std::pair{DispatchKey::PreDispatch, "PreDispatch"},
    std::pair{DispatchKey::BackendSelect, "BackendSelect"},
    std::pair{DispatchKey::Functionalize, "Functionalize"},
    std::pair{DispatchKey::Conjugate, "Conjugate"},
    std::pair{DispatchKey::Negative, "Negative"},
    std::pair{DispatchKey::ZeroTensor, "ZeroTensor"},
    std::pair{DispatchKey::ADInplaceOrView, "ADInplaceOrView"},
    std::pair{DispatchKey::AutogradOther, "AutogradOther"},
    std::pair{DispatchKey::AutogradNestedTensor, "AutogradNestedTensor"},
    std::pair{DispatchKey::AutocastCPU, "AutocastCPU"},
    std::pair{DispatchKey::AutocastCUDA, "AutocastCUDA"},
    std::pair{DispatchKey::FuncTorchBatched, "FuncTorchBatched"},
    std::pair{DispatchKey::FuncTorchGradWrapper, "FuncTorchGradWrapper"},
    std::pair{DispatchKey::FuncTorchDynamicLayerFrontMode, "FuncTorchDynamicLayerFrontMode"},
    std::pair{DispatchKey::FuncTorchDynamicLayerBackMode, "FuncTorchDynamicLayerBackMode"},
    std::pair{DispatchKey::CPU, "CPU"},
    std::pair{DispatchKey::CUDA, "CUDA"},
    std::pair{DispatchKey::Meta, "Meta"},
    std::pair{DispatchKey::QuantizedCPU, "QuantizedCPU"},
    std::pair{DispatchKey::SparseCPU, "SparseCPU"},
    std::pair{DispatchKey::AutogradCPU, "AutogradCPU"},
    std::pair{DispatchKey::AutogradCUDA, "AutogradCUDA"},
};

// Torch makes the tensor and says what it is; the headers read it.
std::string differs_in_a_tensor() {
  const py::module_ torch = py::module_::import("torch");
  const py::object storage = torch.attr("empty")(41, py::arg("dtype") = torch.attr("float64"));
  const py::object made = storage.attr("as_strided")(py::make_tuple(5, 2, 3), py::make_tuple(1, 18, 7), 3);
  made.attr("zero_")();
  made.attr("requires_grad_")();
  const at::Tensor& tensor = unpack_tensor(made.ptr());
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const auto is = [&](const char* name, int64_t read) { return py::cast<int64_t>(made.attr(name)()) == read; };
  const auto are = [&](const char* name, at::IntArrayRef read) {
    return py::list(made.attr(name)()).equal(py::cast(read.vec()));
  };
  if (!is_tensor(made.ptr()) || !tensor.defined()) return "the Python object of a tensor";
  if (!are("size", tensor.sizes())) return "the sizes of a tensor";
  if (!are("stride", tensor.strides())) return "the strides of a tensor";
  if (!is("storage_offset", tensor.storage_offset())) return "the offset of a tensor in its storage";
  if (!is("numel", impl->numel()) || !is("element_size", static_cast<int64_t>(tensor.dtype().itemsize())) ||
      tensor.scalar_type() != at::kDouble || !tensor.device().is_cpu())
    return "the element type of a tensor";
  if (py::cast<int64_t>(made.attr("_version")) != impl->version_counter().current_version())
    return "the version of a tensor";
  if (py::cast<uintptr_t>(made.attr("data_ptr")()) != reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) ||
      impl->storage().nbytes() != 41 * sizeof(double))
    return "the storage of a tensor";
  if (!tensor.key_set().has(DispatchKey::CPU) || !tensor.key_set().has(DispatchKey::AutogradCPU) ||
      tensor.key_set().has(DispatchKey::Python) || tensor.key_set().has(DispatchKey::Fake))
    return "the dispatch keys of a tensor";
  if (!tensor.requires_grad() || !tensor.is_view() || tensor.is_leaf() != py::cast<bool>(made.attr("is_leaf")))
    return "the history of a tensor";
  if (impl->pyobj_slot()->load_pyobj() != made.ptr()) return "the place of a tensor's Python object";
  return {};
}

}  // namespace

std::string differs_from_headers() {
  for (const auto& [key, name] : kKeys)
    if (std::string_view(c10::toString(key)) != name) return std::string("the dispatch key ") + name;
  return differs_in_a_tensor();
}

}  // namespace minidynamo
