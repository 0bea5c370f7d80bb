#include "tensor/fake/array_elements.h"

#include <optional>
#include <string_view>

#include "python/process/collector.h"
#include "python/process/held_gil.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_object.h"

namespace minidynamo {
namespace {

// A view of an array's memory, until the end of the scope.
class Shown {
 public:
  Shown(PyObject* array, int what) noexcept : is_valid_(PyObject_GetBuffer(array, &view_, what) == 0) {
    if (!is_valid_) clear_error();
  }
  ~Shown() {
    if (is_valid_) PyBuffer_Release(&view_);
  }
  Shown(const Shown&) = delete;
  explicit operator bool() const noexcept { return is_valid_; }
  const Py_buffer* operator->() const noexcept { return &view_; }

 private:
  Py_buffer view_;
  const bool is_valid_;
};

std::optional<at::ScalarType> dtype_of(std::string_view format, Py_ssize_t size) noexcept {
  if (format == "?") return at::kBool;
  if (format == "e") return at::kHalf;
  if (format == "f") return at::kFloat;
  if (format == "d") return at::kDouble;
  if (format == "Zf") return at::kComplexFloat;
  if (format == "Zd") return at::kComplexDouble;
  if (format.size() != 1) return std::nullopt;
  const bool is_signed = std::string_view("bhilq").find(format[0]) != std::string_view::npos;
  if (!is_signed && std::string_view("BHILQ").find(format[0]) == std::string_view::npos) return std::nullopt;
  switch (size) {
    case 1:
      return is_signed ? at::kChar : at::kByte;
    case 2:
      return is_signed ? at::kShort : at::kUInt16;
    case 4:
      return is_signed ? at::kInt : at::kUInt32;
    case 8:
      return is_signed ? at::kLong : at::kUInt64;
    default:
      return std::nullopt;
  }
}

// The array that owns the memory, or the tensor; null if neither does.
Ref owner_of(PyObject* array) noexcept {
  Ref owner = Ref::borrow(array);
  for (;;) {
    Ref base = Ref::steal(PyObject_GetAttrString(owner.get(), "base"));
    if (!base) return clear_error(), nullptr;
    if (base.is(Py_None)) return owner;
    if (is_tensor(base.get())) return base;
    if (base.type() != Py_TYPE(array)) return nullptr;
    owner = std::move(base);
  }
}

void release_array(void* array) {
  const HeldGil gil;
  Ref::drop(static_cast<PyObject*>(array));
}

c10::Storage storage_of(PyObject* owner) {
  if (is_tensor(owner)) {
    const at::Tensor& tensor = unpack_tensor(owner);
    return tensor.is_cpu() && tensor.has_storage() ? tensor.storage() : c10::Storage();
  }
  const Shown memory(owner, PyBUF_ANY_CONTIGUOUS);
  if (!memory) return {};
  c10::DataPtr data(memory->buf, Ref::borrow(owner).release(), release_array, c10::Device(c10::kCPU));
  return c10::Storage(c10::Storage::use_byte_size_t{}, static_cast<size_t>(memory->len), std::move(data));
}

}  // namespace

Ref tensor_over_array(PyObject* array) noexcept {
  const CollectorPaused nothing_else_runs;
  try {
    const Shown view(array, PyBUF_RECORDS);
    if (!view || !view->format || view->itemsize <= 0) return nullptr;
    const std::optional<at::ScalarType> dtype = dtype_of(view->format, view->itemsize);
    if (!dtype) return nullptr;
    c10::SmallVector<int64_t, 5> sizes, strides;
    for (int i = 0; i < view->ndim; ++i) {
      if (view->strides[i] < 0 || view->strides[i] % view->itemsize) return nullptr;
      sizes.push_back(view->shape[i]);
      strides.push_back(view->strides[i] / view->itemsize);
    }
    const Ref owner = owner_of(array);
    c10::Storage storage = owner ? storage_of(owner.get()) : c10::Storage();
    if (!storage) return nullptr;
    const auto offset = static_cast<char*>(view->buf) - static_cast<const char*>(storage.data());
    if (view->len > 0 && (offset < 0 || offset % view->itemsize)) return nullptr;
    const c10::InferenceMode plain(false);
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
        std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(*dtype));
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
    tensor.unsafeGetTensorImpl()->set_storage_offset(view->len > 0 ? offset / view->itemsize : 0);
    return wrap_tensor(std::move(tensor));
  } catch (...) {
    clear_error();
    return nullptr;
  }
}

}  // namespace minidynamo
