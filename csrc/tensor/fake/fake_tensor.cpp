// Construction of fake tensors, and the public questions and conversions of fake.h.
#include "tensor/fake/fake_tensor.h"

#include <functional>

#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "python/error_set_aside.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "python/version/dict_version.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_object.h"
#include "tensor/fake/wrapper_fake.h"
#include "tensor/process/trace_state.h"
#include "tensor/symbolic/stride_recipe.h"
#include "tensor/symbolic/symbolic_fake.h"
#include "tensor/symbolic/symbolic_size.h"
#include "tensor/values/real_storages.h"

namespace minidynamo {
namespace {

constexpr const char* kNoData =
    "This is a fake tensor: it has sizes and strides but no data, so its values cannot be read or written outside of "
    "tensor operations.";

constexpr c10::DispatchKeySet kConjugateKeys(c10::DispatchKey::Conjugate);
constexpr c10::DispatchKeySet kNegativeKeys(c10::DispatchKey::Negative);

c10::DispatchKeySet with_view_bits(c10::DispatchKeySet keys, const FakeLayout& layout) {
  keys = keys - kConjugateKeys - kNegativeKeys;
  if (layout.conjugate) keys = keys | kConjugateKeys;
  if (layout.negative) keys = keys | kNegativeKeys;
  return keys.add(c10::DispatchKey::Fake);
}

// `how`: what the constructor takes before the storage.
template <typename... How>
at::Tensor made(const FakeLayout& layout, c10::Storage storage, c10::DispatchKeySet keys, How... how) {
  if (layout.symbols) {
    auto impl = c10::make_intrusive<SymbolicFake>(how..., std::move(storage), keys, layout.dtype);
    impl->set(layout);
    return at::Tensor(std::move(impl));
  }
  auto impl = c10::make_intrusive<c10::TensorImpl>(how..., std::move(storage), keys, layout.dtype);
  impl->set_sizes_and_strides(layout.sizes, layout.strides, layout.offset);
  return at::Tensor(std::move(impl));
}

FakeLayout with_constant_sizes(FakeLayout layout);

using ViewMeta = torch::autograd::DifferentiableViewMeta;

// Autograd's record of a view whose base has changed since autograd last brought the view's history up to date. Null:
// the tensor is no such view.
const ViewMeta* outdated_view(const at::Tensor& tensor) {
  const ViewMeta* view = torch::autograd::impl::get_view_autograd_meta(tensor);
  const bool is_outdated =
      view && view->has_bw_view() && !tensor.is_inference() && view->get_attr_version() != tensor._version();
  return is_outdated ? view : nullptr;
}

bool is_history_unmade(const ViewMeta& view) {
  return !view.grad_fn_ && view.get_backward_view().base_.requires_grad();
}

// Why a real tensor cannot be stood for by a fake; empty if it can.
std::string why_not(const at::Tensor& tensor) {
  const c10::DispatchKeySet keys = tensor.key_set();
  if (is_fake_tensor(tensor)) return "it is a fake tensor already";
  if (keys.has(c10::DispatchKey::Python)) return "its class has a __torch_dispatch__ of its own";
  if (keys.has(c10::DispatchKey::FuncTorchGradWrapper) || keys.has(c10::DispatchKey::FuncTorchBatched)) {
    return "it belongs to a torch.func transform that is running";
  }
  if (keys.has(c10::DispatchKey::Functionalize)) return "it is a functionalization wrapper";
  if (tensor.is_nested()) return "nested tensors are not supported";
  if (tensor.is_quantized()) return "quantized tensors are not supported";
  if (tensor.layout() != c10::kStrided) {
    return c10::str("its layout is ", tensor.layout(), ", and only strided tensors are supported");
  }
  if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) return "its sizes are symbolic";
  if (tensor._fw_grad(0).defined()) return "it carries a forward-mode tangent";
  if (const ViewMeta* view = outdated_view(tensor)) {
    if (is_history_unmade(*view)) return "it is a view whose history is not made yet";
    try {
      (void)tensor.grad_fn();  // is made anew, as by whatever looks at the tensor
    } catch (const c10::Error&) {
      return "it is a view that autograd refuses since its base has changed";
    }
  }
  return "";
}

// In autograd, a fake is what its tensor is: a leaf, or something computed. For the second, a node that stands for all
// that was computed before the trace.
void set_autograd_state(at::Tensor& fake, const at::Tensor& real) {
  if (!real.requires_grad()) return;
  if (real.is_leaf()) {
    fake.set_requires_grad(true);
    return;
  }
  at::Tensor origin = new_fake_view(FakeLayout::of(fake), fake);
  origin.set_requires_grad(true);
  auto node = c10::make_intrusive<torch::autograd::Identity>();
  node->set_next_edges(torch::autograd::collect_next_edges(origin));
  torch::autograd::set_history(fake, node);
}

at::Tensor fake_of(const at::Tensor& real, const FakeLayout& layout) {
  const int64_t bytes = real.has_storage() ? static_cast<int64_t>(real.unsafeGetTensorImpl()->unsafe_storage().nbytes())
                                           : storage_bytes(layout);
  // The constructor for views takes the dispatch keys as they are, so an inference tensor stays one in any mode.
  at::Tensor fake = made(layout, new_fake_storage(bytes, real.device()), with_view_bits(real.key_set(), layout),
                         c10::TensorImpl::VIEW);
  if (!real.is_inference() && real._version() != 0) {
    fake.unsafeGetTensorImpl()->set_version_counter(c10::VariableVersion(static_cast<uint32_t>(real._version())));
  }
  set_autograd_state(fake, real);
  return fake;
}

}  // namespace

FakeLayout FakeLayout::of(const at::Tensor& tensor) {
  if (const SymbolicFake* symbolic = SymbolicFake::of(tensor)) return symbolic->layout();
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  FakeLayout layout;
  layout.sizes.assign(impl->sizes().begin(), impl->sizes().end());
  layout.strides.assign(impl->strides().begin(), impl->strides().end());
  layout.offset = impl->storage_offset();
  layout.dtype = impl->dtype();
  layout.conjugate = impl->is_conj();
  layout.negative = impl->is_neg();
  return layout;
}

c10::Storage new_fake_storage(int64_t bytes, c10::Device device) {
  auto impl =
      c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), c10::SymInt(bytes),
                                            at::DataPtr(nullptr, device), /*allocator=*/nullptr, /*resizable=*/false);
  c10::Storage storage(std::move(impl));
  refuse_data(storage);
  return storage;
}

void refuse_data(const c10::Storage& storage) {
  storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(kNoData);
}

bool is_fake_storage(const c10::Storage& storage) noexcept {
  // Storages without an allocator are otherwise views of foreign memory, which have a pointer.
  c10::StorageImpl* impl = storage.unsafeGetStorageImpl();
  return impl && !impl->allocator() && !impl->resizable() && !impl->_mutable_data_ptr_no_checks().get() &&
         impl->nbytes() != 0;
}

int64_t storage_bytes(const FakeLayout& layout) {
  int64_t last = layout.offset;
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.sizes[i] == 0) return 0;
    last += (layout.sizes[i] - 1) * layout.strides[i];
  }
  return (last + 1) * static_cast<int64_t>(layout.dtype.itemsize());
}

at::Tensor new_fake_on(const FakeLayout& layout, c10::Storage storage, c10::Device device) {
  const c10::DispatchKey key = c10::computeDispatchKey(c10::typeMetaToScalarType(layout.dtype), c10::kStrided, device);
  return made(layout, std::move(storage), with_view_bits(c10::DispatchKeySet(key), layout));
}

at::Tensor new_fake(const FakeLayout& layout, int64_t bytes, c10::Device device) {
  return new_fake_on(layout, new_fake_storage(bytes, device), device);
}

at::Tensor new_fake_view(const FakeLayout& layout, const at::Tensor& base) {
  const c10::TensorImpl* base_impl = base.unsafeGetTensorImpl();
  return made(layout, c10::Storage(base_impl->unsafe_storage()), with_view_bits(base_impl->key_set(), layout),
              c10::TensorImpl::VIEW);
}

void change_fake(const at::Tensor& fake, const FakeLayout& layout, const c10::Storage* storage) {
  c10::TensorImpl* impl = fake.unsafeGetTensorImpl();
  if (storage && !same_storage(*storage, impl->unsafe_storage())) impl->set_storage_keep_dtype(*storage);
  if (SymbolicFake* symbolic = SymbolicFake::of(fake))
    symbolic->set(layout.symbols ? layout : with_constant_sizes(layout));
  else
    impl->set_sizes_and_strides(layout.sizes, layout.strides, layout.offset);
  if (impl->is_conj() != layout.conjugate) impl->_set_conj(layout.conjugate);
  if (impl->is_neg() != layout.negative) impl->_set_neg(layout.negative);
}

bool is_tensor(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !THPVariableClass)
    return false;  // its classes are made by Python code
  return as_object(type) == ParameterClass || PyType_IsSubtype(type, as_type(THPVariableClass));
}

bool is_fake_data_error(PyObject* exception) noexcept {
  if (!PyErr_GivenExceptionMatches(exception, PyExc_RuntimeError)) return false;
  const ErrorSetAside error;
  const Ref text = Ref::steal(PyObject_Str(exception));
  const char* characters = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  const std::string_view message = characters ? characters : "";
  // The second is how Tensor.new_tensor() and Tensor.new() fail: they construct by the tensor's dispatch key.
  const bool answer = message.find(kNoData) != std::string_view::npos ||
                      message.find("DispatchKey Fake doesn't correspond to a device") != std::string_view::npos;
  if (!text || !characters) clear_error();
  return answer;
}

bool is_fake(PyObject* object) noexcept {
  constexpr c10::DispatchKeySet kFakeOrWrapper{c10::DispatchKey::Fake, c10::DispatchKey::FuncTorchGradWrapper,
                                               c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::Batched};
  return is_tensor(object) && (unpack_tensor(object).key_set().has_any(kFakeOrWrapper) || is_wrapper_of_fakes(object));
}

namespace {

// The layout with the given dimensions as symbols; strides that follow from sizes follow from these.
FakeLayout with_symbols(FakeLayout layout, OpenDimensions open, const std::vector<Expression>& symbols) {
  auto made = std::make_shared<SymbolicLayout>();
  made->offset = constant(layout.offset);
  auto next = symbols.begin();
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    const bool is_open = i < 64 && (open >> i & 1);
    made->sizes.push_back(is_open ? *next++ : constant(layout.sizes[i]));
    made->strides.push_back(constant(layout.strides[i]));
  }
  const StrideRecipe recipe = stride_recipe(layout.sizes, layout.strides);
  // Strides grow along a recipe, so that one of n dimensions is done after n rounds.
  for (size_t round = 1; round < recipe.size(); ++round)
    for (size_t i = 0; i < recipe.size(); ++i)
      if (recipe[i] >= 0) made->strides[i] = made->sizes[recipe[i]] * made->strides[recipe[i]];
  layout.symbols = std::move(made);
  return layout;
}

FakeLayout with_constant_sizes(FakeLayout layout) { return with_symbols(std::move(layout), 0, {}); }

Ref fake_in_place_of(PyObject* real, const std::function<FakeLayout(const at::Tensor&)>& layout) {
  if (!is_tensor(real)) {
    PyErr_Format(PyExc_TypeError, "make_fake() needs a torch.Tensor, not '%.200s'", Py_TYPE(real)->tp_name);
    return nullptr;
  }
  try {
    install_fake_fallback();
    const at::Tensor& tensor = unpack_tensor(real);
    const std::string reason = why_not(tensor);
    if (!reason.empty()) {
      PyErr_Format(PyExc_NotImplementedError, "This tensor cannot be faked: %s", reason.c_str());
      return nullptr;
    }
    at::Tensor fake = fake_of(tensor, layout(tensor));
    if (current_observer()) RealStorages::of_thread().note(fake, tensor);
    return wrap_tensor(std::move(fake), Py_TYPE(real));
  } catch (...) {
    set_python_error_from_exception();
    return nullptr;
  }
}

}  // namespace

bool has_unmade_history(PyObject* tensor) noexcept {
  const ViewMeta* view = outdated_view(unpack_tensor(tensor));
  return view && is_history_unmade(*view);
}

Ref make_fake(PyObject* real) { return fake_in_place_of(real, &FakeLayout::of); }

Ref make_symbolic_fake(PyObject* real, OpenDimensions open, const std::vector<Expression>& symbols) {
  return fake_in_place_of(
      real, [&](const at::Tensor& tensor) { return with_symbols(FakeLayout::of(tensor), open, symbols); });
}

OpenDimensions dimensions_to_open(PyObject* real, OpenDimensions wanted) {
  const c10::TensorImpl* impl = unpack_tensor(real).unsafeGetTensorImpl();
  if (!wanted || impl->layout() != c10::kStrided || impl->has_symbolic_sizes_strides()) return 0;
  OpenDimensions open = 0;
  const c10::IntArrayRef sizes = impl->sizes();
  for (size_t i = 0; i < sizes.size() && i < 64; ++i)
    if ((wanted >> i & 1) && sizes[i] > 1) open |= OpenDimensions{1} << i;
  return open;
}

bool has_symbolic_sizes(PyObject* fake) noexcept { return is_fake(fake) && SymbolicFake::of(unpack_tensor(fake)); }

std::optional<SizesAndStrides> symbolic_layout(PyObject* fake) {
  if (!is_fake(fake)) return std::nullopt;
  const auto* symbolic = dynamic_cast<const SymbolicFake*>(unpack_tensor(fake).unsafeGetTensorImpl());
  if (!symbolic) return std::nullopt;
  const SymbolicLayout& layout = *symbolic->symbols();
  return SizesAndStrides{{layout.sizes.begin(), layout.sizes.end()}, {layout.strides.begin(), layout.strides.end()}};
}

int dimension_of_size(PyObject* fake, Expression size) noexcept {
  const SymbolicFake* symbolic = SymbolicFake::of(unpack_tensor(fake));
  if (!symbolic) return -1;
  const auto& sizes = symbolic->symbols()->sizes;
  const auto found = std::find(sizes.begin(), sizes.end(), size);
  return found == sizes.end() ? -1 : static_cast<int>(found - sizes.begin());
}

namespace {

// A set of dimensions that torch keeps as an attribute of a tensor.
OpenDimensions marked_dimensions(PyObject* attributes, const char* name) {
  PyObject* marks = named_item(attributes, name);
  clear_error();
  OpenDimensions dimensions = 0;
  if (!marks || !PyAnySet_Check(marks)) return dimensions;
  for (int d = 0; d < 64; ++d) {
    const Ref number = Ref::made(PyLong_FromLong(d));
    if (PySet_Contains(marks, number.get()) == 1) dimensions |= OpenDimensions{1} << d;
  }
  clear_error();
  return dimensions;
}

// The range between two bounds, each a number or None.
SizeRange range_of(PyObject* lowest, PyObject* highest) {
  SizeRange range{2, INT64_MAX};
  if (lowest && PyLong_Check(lowest)) range.lower = std::max(range.lower, int64_t{PyLong_AsLongLong(lowest)});
  if (highest && PyLong_Check(highest)) range.upper = PyLong_AsLongLong(highest);
  clear_error();
  return range;
}

// mark_dynamic(min=, max=) keeps objects with dim, min and max in a set, mark_unbacked pairs in a dict.
void note_ranges(PyObject* attributes, SizeMarks& marks) {
  PyObject* const dynamic = named_item(attributes, "_dynamo_dynamic_range");
  const Ref list = Ref::steal(dynamic && PyAnySet_Check(dynamic) ? PySequence_List(dynamic) : nullptr);
  clear_error();
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list.get()); ++i) {
    PyObject* one = PyList_GET_ITEM(list.get(), i);
    const Ref dimension = Ref::steal(PyObject_GetAttrString(one, "dim")),
              lowest = Ref::steal(PyObject_GetAttrString(one, "min")),
              highest = Ref::steal(PyObject_GetAttrString(one, "max"));
    clear_error();
    if (!dimension || !PyLong_Check(dimension.get()) || (lowest.is(Py_None) && highest.is(Py_None))) continue;
    marks.bounds.push_back({static_cast<int>(PyLong_AsLong(dimension.get())), range_of(lowest.get(), highest.get())});
  }
  PyObject* const unbacked = named_item(attributes, "_dynamo_unbacked_bounds");
  Py_ssize_t position = 0;
  PyObject *dimension, *bounds;
  while (unbacked && PyDict_Check(unbacked) && PyDict_Next(unbacked, &position, &dimension, &bounds))
    if (PyLong_Check(dimension) && PyTuple_Check(bounds) && PyTuple_GET_SIZE(bounds) == 2)
      marks.bounds.push_back({static_cast<int>(PyLong_AsLong(dimension)),
                              range_of(PyTuple_GET_ITEM(bounds, 0), PyTuple_GET_ITEM(bounds, 1))});
  clear_error();
}

}  // namespace

SizeMarks size_marks(PyObject* real) {
  PyObject* attributes = instance_dict(real);
  if (!attributes || PyDict_GET_SIZE(attributes) == 0) return {};
  const OpenDimensions strict = marked_dimensions(attributes, "_dynamo_strict_unbacked_indices");
  const OpenDimensions unbacked = marked_dimensions(attributes, "_dynamo_unbacked_indices");
  SizeMarks marks{marked_dimensions(attributes, "_dynamo_dynamic_indices") | strict,
                  marked_dimensions(attributes, "_dynamo_weak_dynamic_indices") | unbacked,
                  marked_dimensions(attributes, "_dynamo_static_indices"),
                  strict | unbacked,
                  {}};
  note_ranges(attributes, marks);
  return marks;
}

int64_t size_of_tensor(PyObject* real, int dimension) noexcept {
  return unpack_tensor(real).unsafeGetTensorImpl()->sizes()[dimension];
}

}  // namespace minidynamo
