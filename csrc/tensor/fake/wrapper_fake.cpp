#include "tensor/fake/wrapper_fake.h"

#include <c10/core/SafePyObject.h>
#include <torch/csrc/PyInterpreter.h>

#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_object.h"
#include "tensor/python_errors.h"
#include "tensor/torch_headers.h"

namespace minidynamo {
namespace {

// On the TensorImpl, since others of the same address may follow it.
struct HoldsFakes final : c10::BackendMeta {
  // For a wrapper that the trace makes; copies of the TensorImpl share this. They end where the GIL may have been
  // released.
  const c10::TensorImpl* made = nullptr;
  std::optional<c10::SafePyObject> arguments, keywords;
};

// True if a class computes sizes, strides, device or layout in Python, which a mere inspection must not call.
struct Policies : c10::TensorImpl {
  static bool any(const c10::TensorImpl* impl) noexcept {
    const auto* open = static_cast<const Policies*>(impl);
    return open->matches_policy(SizesStridesPolicy::CustomStrides) || open->device_policy_ || open->layout_policy_;
  }
};

const at::Tensor& tensor_of(PyObject* object) noexcept { return unpack_tensor(object); }

HoldsFakes* note_on(PyObject* wrapper) noexcept {
  return dynamic_cast<HoldsFakes*>(tensor_of(wrapper).unsafeGetTensorImpl()->get_backend_meta());
}

}  // namespace

bool is_wrapper(PyObject* object) noexcept {
  constexpr c10::DispatchKeySet kOthers{c10::DispatchKey::Fake, c10::DispatchKey::FuncTorchGradWrapper,
                                        c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::Functionalize};
  if (!is_tensor(object)) return false;
  const c10::TensorImpl* impl = tensor_of(object).unsafeGetTensorImpl();
  if (!impl->key_set().has(c10::DispatchKey::Python) || impl->key_set().has_any(kOthers)) return false;
  return !Policies::any(impl) && impl->layout() == c10::kStrided && !impl->has_symbolic_sizes_strides() &&
         class_attribute(Py_TYPE(object), "__tensor_flatten__"_name) &&
         class_attribute(Py_TYPE(object), "__tensor_unflatten__"_name);
}

bool is_wrapper_of_fakes(PyObject* object) noexcept { return is_wrapper(object) && note_on(object) != nullptr; }

void note_wrapper_of_fakes(PyObject* wrapper) {
  tensor_of(wrapper).unsafeGetTensorImpl()->set_backend_meta(c10::make_intrusive<HoldsFakes>());
}

void note_made_wrapper(PyObject* wrapper, Ref arguments, Ref keywords) {
  c10::TensorImpl* impl = tensor_of(wrapper).unsafeGetTensorImpl();
  auto note = c10::make_intrusive<HoldsFakes>();
  note->made = impl;
  note->arguments.emplace(arguments.release(), getPyInterpreter());
  note->keywords.emplace(keywords.release(), getPyInterpreter());
  impl->set_backend_meta(std::move(note));
}

std::optional<MadeWrapper> made_wrapper(PyObject* object) noexcept {
  if (!is_wrapper(object)) return std::nullopt;
  const HoldsFakes* note = note_on(object);
  if (!note || note->made != tensor_of(object).unsafeGetTensorImpl()) return std::nullopt;
  return MadeWrapper{note->arguments->ptr(getPyInterpreter()), note->keywords->ptr(getPyInterpreter())};
}

Ref with_history_of(PyObject* fake_wrapper, PyObject* real) {
  try {
    const at::Tensor &fake = tensor_of(fake_wrapper), &outside = tensor_of(real);
    if (!fake.is_leaf()) return nullptr;
    fake.set_requires_grad(outside.requires_grad());
    if (!outside.requires_grad() || outside.is_leaf()) return Ref::borrow(fake_wrapper);
    const c10::AutoGradMode with_history(true);
    return wrap_tensor(fake.clone());
  } catch (...) {
    set_python_error_from_exception();
    clear_error();
    return nullptr;
  }
}

bool have_same_layout(PyObject* one, PyObject* other) noexcept {
  const c10::TensorImpl *a = tensor_of(one).unsafeGetTensorImpl(), *b = tensor_of(other).unsafeGetTensorImpl();
  return !a->has_symbolic_sizes_strides() && a->sizes() == b->sizes() && a->strides() == b->strides() &&
         a->dtype() == b->dtype() && a->device() == b->device();
}

}  // namespace minidynamo
