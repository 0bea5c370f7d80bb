// TensorRecord: what a compiled graph assumes of a tensor input.
//
// Storage offsets are left out on purpose: slices of one buffer are the same input to a graph.
#include "tensor/fake/metadata.h"

#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>

#include "python/process/out_of_memory.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/fake/tensor_object.h"
#include "tensor/symbolic/stride_recipe.h"

namespace minidynamo {
namespace {

// The keys that would take part in dispatch if only the thread's state and this tensor did.
c10::DispatchKeySet effective_keys(const c10::TensorImpl* impl) noexcept {
  const c10::impl::LocalDispatchKeySet local = c10::impl::tls_local_dispatch_key_set();
  return (impl->key_set() | local.included_) - local.excluded_;
}

std::string tuple_text(c10::IntArrayRef values) {
  std::string text = "(";
  for (size_t i = 0; i < values.size(); ++i) text += c10::str(i ? ", " : "", values[i]);
  return text + (values.size() == 1 ? ",)" : ")");
}

const char* truth(bool value) { return value ? "True" : "False"; }

std::string dtype_text(caffe2::TypeMeta dtype) {
  return std::string("torch.") + torch::getTHPDtype(c10::typeMetaToScalarType(dtype))->name;
}

std::string class_text(PyTypeObject* type) {
  if (as_object(type) == THPVariableClass) return "torch.Tensor";
  const Ref module = Ref::steal(PyObject_GetAttrString(as_object(type), "__module__"));
  const Ref name = Ref::steal(PyType_GetQualName(type));
  if (!module || !name || !PyUnicode_Check(module.get())) {
    clear_error();
    return type->tp_name;
  }
  return c10::str(PyUnicode_AsUTF8(module.get()), ".", PyUnicode_AsUTF8(name.get()));
}

bool is_leaf(const c10::TensorImpl* impl) noexcept {
  const auto* meta = static_cast<const torch::autograd::AutogradMeta*>(impl->autograd_meta());
  return !meta || !meta->grad_fn_;
}

}  // namespace

struct TensorRecord::Data {
  Ref type;
  c10::DispatchKeySet keys;
  caffe2::TypeMeta dtype;
  c10::Device device;
  bool requires_grad, leaf;
  c10::SmallVector<int64_t, 5> sizes, strides;
  OpenSizes open = 0;
  StrideRecipe recipe = {};  // if any size is open

  bool is_open(size_t dimension) const noexcept { return dimension < 64 && (open >> dimension & 1); }

  bool fits_but_for_layout(const c10::TensorImpl* impl) const noexcept {
    return effective_keys(impl) == keys && impl->dtype() == dtype && impl->device() == device &&
           impl->requires_grad() == requires_grad && (!requires_grad || is_leaf(impl) == leaf) &&
           !impl->has_symbolic_sizes_strides();
  }

  bool fits_sizes(c10::IntArrayRef now) const noexcept {
    if (!open) return now == c10::IntArrayRef(sizes);
    if (now.size() != sizes.size()) return false;
    for (size_t i = 0; i < now.size(); ++i)
      if (is_open(i) ? now[i] < 2 : now[i] != sizes[i]) return false;
    return true;
  }

  bool fits_strides(c10::IntArrayRef now_sizes, c10::IntArrayRef now) const noexcept {
    if (!open) return now == c10::IntArrayRef(strides);
    for (size_t i = 0; i < now.size(); ++i) {
      const int inner = recipe[i];
      if (now[i] != (inner >= 0 ? now_sizes[inner] * now[inner] : strides[i])) return false;
    }
    return true;
  }
};

TensorRecord::TensorRecord(std::unique_ptr<Data> data) : data_(std::move(data)) {}
TensorRecord::TensorRecord(TensorRecord&&) noexcept = default;
TensorRecord& TensorRecord::operator=(TensorRecord&&) noexcept = default;
TensorRecord::~TensorRecord() = default;

TensorRecord TensorRecord::of(PyObject* tensor, OpenSizes open) {
  const c10::TensorImpl* impl = unpack_tensor(tensor).unsafeGetTensorImpl();
  const c10::IntArrayRef sizes = impl->sizes();
  const c10::IntArrayRef strides = impl->strides();
  return TensorRecord(std::unique_ptr<Data>(new Data{
      .type = Ref::borrow(as_object(Py_TYPE(tensor))),
      .keys = effective_keys(impl),
      .dtype = impl->dtype(),
      .device = impl->device(),
      .requires_grad = impl->requires_grad(),
      .leaf = is_leaf(impl),
      .sizes = c10::SmallVector<int64_t, 5>(sizes.begin(), sizes.end()),
      .strides = c10::SmallVector<int64_t, 5>(strides.begin(), strides.end()),
      .open = open,
      .recipe = open ? stride_recipe(sizes, strides) : StrideRecipe(),
  }));
}

bool TensorRecord::matches(PyObject* object) const noexcept {
  const Data& data = *data_;
  if (as_object(Py_TYPE(object)) != data.type.get()) return false;
  const c10::TensorImpl* impl = unpack_tensor(object).unsafeGetTensorImpl();
  return data.fits_but_for_layout(impl) && data.fits_sizes(impl->sizes()) &&
         data.fits_strides(impl->sizes(), impl->strides());
}

OpenSizes TensorRecord::changed_sizes(PyObject* object) const noexcept {
  const Data& data = *data_;
  if (as_object(Py_TYPE(object)) != data.type.get()) return 0;
  const c10::TensorImpl* impl = unpack_tensor(object).unsafeGetTensorImpl();
  if (!data.fits_but_for_layout(impl) || impl->dim() != static_cast<int64_t>(data.sizes.size())) return 0;
  const c10::IntArrayRef sizes = impl->sizes(), strides = impl->strides();
  if (stride_recipe(sizes, strides) != stride_recipe(data.sizes, data.strides)) return 0;
  OpenSizes changed = 0;
  for (size_t i = 0; i < sizes.size() && i < 64; ++i)
    if (!data.is_open(i) && sizes[i] != data.sizes[i]) changed |= OpenSizes{1} << i;
  return changed;
}

std::string TensorRecord::difference(PyObject* object) const {
  const Data& data = *data_;
  auto* type = as_type(data.type.get());
  if (Py_TYPE(object) != type) {
    return c10::str("type is ", class_text(Py_TYPE(object)), ", expected ", class_text(type));
  }
  const c10::TensorImpl* impl = unpack_tensor(object).unsafeGetTensorImpl();
  if (impl->dtype() != data.dtype) {
    return c10::str("dtype is ", dtype_text(impl->dtype()), ", expected ", dtype_text(data.dtype));
  }
  if (impl->device() != data.device) return c10::str("device is ", impl->device(), ", expected ", data.device);
  if (impl->requires_grad() != data.requires_grad) {
    return c10::str("requires_grad is ", truth(impl->requires_grad()), ", expected ", truth(data.requires_grad));
  }
  if (data.requires_grad && is_leaf(impl) != data.leaf) {
    return c10::str("is_leaf is ", truth(is_leaf(impl)), ", expected ", truth(data.leaf));
  }
  if (impl->has_symbolic_sizes_strides()) return "its sizes are symbolic";
  if (!data.fits_sizes(impl->sizes())) {
    return c10::str("size is ", tuple_text(impl->sizes()), ", expected ", tuple_text(data.sizes),
                    data.open ? " but for sizes that may differ and are at least 2" : "");
  }
  if (!data.fits_strides(impl->sizes(), impl->strides())) {
    return c10::str("stride is ", tuple_text(impl->strides()), ", expected ", tuple_text(data.strides));
  }
  if (effective_keys(impl) != data.keys) {
    return c10::str("dispatch keys are ", c10::toString(effective_keys(impl)), ", expected ", c10::toString(data.keys));
  }
  return "";
}

namespace {

template <typename Data>
std::string open_layout_text(const Data& data, const std::string& source) {
  std::string text = c10::str(" and ", source, ".dim() == ", data.sizes.size());
  for (size_t i = 0; i < data.sizes.size(); ++i) {
    const std::string size = c10::str(" and ", source, ".size(", i, ")");
    text += data.is_open(i) ? size + " >= 2" : c10::str(size, " == ", data.sizes[i]);
  }
  for (size_t i = 0; i < data.strides.size(); ++i) {
    const int inner = data.recipe[i];
    text += c10::str(" and ", source, ".stride(", i, ") == ");
    text += inner >= 0 ? c10::str(source, ".size(", inner, ") * ", source, ".stride(", inner, ")")
                       : c10::str(data.strides[i]);
  }
  return text;
}

}  // namespace

std::string TensorRecord::to_text(const std::string& source) const {
  const Data& data = *data_;
  const auto* type = as_type(data.type.get());
  std::string text = c10::str("type(", source, ") is ", class_text(const_cast<PyTypeObject*>(type)));
  text += c10::str(" and ", source, ".dtype == ", dtype_text(data.dtype));
  text += c10::str(" and ", source, ".device == torch.device('", data.device, "')");
  text += c10::str(" and ", source, ".requires_grad == ", truth(data.requires_grad));
  if (data.requires_grad) text += c10::str(" and ", source, ".is_leaf == ", truth(data.leaf));
  if (data.open) {
    text += open_layout_text(data, source);
  } else {
    text += c10::str(" and ", source, ".size() == ", tuple_text(data.sizes));
    text += c10::str(" and ", source, ".stride() == ", tuple_text(data.strides));
  }
  if (data.keys.has(c10::DispatchKey::Conjugate)) text += c10::str(" and ", source, ".is_conj()");
  if (data.keys.has(c10::DispatchKey::Negative)) text += c10::str(" and ", source, ".is_neg()");
  return text;
}

}  // namespace minidynamo
