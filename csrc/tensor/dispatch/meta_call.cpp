#include "tensor/dispatch/meta_call.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <cstring>
#include <optional>

#include "python/error_set_aside.h"
#include "python/named_item.h"
#include "python/process/held_gil.h"
#include "python/process/out_of_memory.h"
#include "python/ref.h"
#include "tensor/dispatch/cpu_layouts.h"
#include "tensor/dispatch/native_metadata.h"
#include "tensor/fake/fake.h"
#include "tensor/python_errors.h"

namespace minidynamo {
namespace {

thread_local int running = 0;

struct IgnoreWarnings final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

// The thread's state while a meta kernel runs: dispatch starts below everything that has seen the call already, no
// __torch_function__, no warnings (the real call will give them).
class BelowEverything {
 public:
  BelowEverything()
      : keys_(c10::DispatchKeySet(c10::DispatchKey::BackendSelect), excluded()),
        warnings_(&ignore_),
        torch_function_(at::impl::PythonTorchFunctionTLS::get_disabled_state()) {
    at::impl::PythonTorchFunctionTLS::set_disabled_state(at::impl::TorchFunctionDisabledState::ALL_DISABLED);
  }
  ~BelowEverything() { at::impl::PythonTorchFunctionTLS::set_disabled_state(torch_function_); }
  BelowEverything(const BelowEverything&) = delete;
  BelowEverything& operator=(const BelowEverything&) = delete;

 private:
  const WorkOnOperator work_;

  static c10::DispatchKeySet excluded() {
    return c10::DispatchKeySet(c10::DispatchKey::Fake) | c10::DispatchKeySet(c10::DispatchKey::Python) |
           c10::DispatchKeySet(c10::DispatchKey::PythonTLSSnapshot) | c10::autograd_dispatch_keyset |
           c10::autocast_dispatch_keyset | c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView) |
           c10::DispatchKeySet(c10::DispatchKey::FuncTorchDynamicLayerFrontMode) |
           c10::DispatchKeySet(c10::DispatchKey::FuncTorchDynamicLayerBackMode) |
           c10::DispatchKeySet(c10::DispatchKey::Functionalize) | c10::DispatchKeySet(c10::DispatchKey::Tracer);
  }

  c10::impl::ForceDispatchKeyGuard keys_;
  IgnoreWarnings ignore_;
  c10::WarningUtils::WarningHandlerGuard warnings_;
  at::impl::TorchFunctionDisabledState torch_function_;
};

// Contents of twins: nothing, on the meta device; or, on the CPU, zeros; ones, but zeros in tensors of integers, which
// may be indices; or ones everywhere, for what divides by integers.
enum class Contents : uint8_t { None, Zeros, Ones, OnesEverywhere };

// The shadows of a call's tensors; tensors that share a storage have twins that share one.
class Twins {
 public:
  explicit Twins(c10::ArrayRef<const at::Tensor*> tensors, Contents contents = Contents::None)
      : tensors_(tensors), contents_(contents) {
    twins_.reserve(tensors.size());
    for (const at::Tensor* tensor : tensors) twins_.push_back(make(*tensor));
  }

  // The arguments with twins in place of tensors. Consumes the twins in order.
  c10::IValue replace(const c10::IValue& value) {
    if (value.isTensor()) return twins_[next_++].tensor;
    if (value.isList()) {
      bool has_tensor = false;
      for (const c10::IValue& item : value.toListRef()) has_tensor = has_tensor || item.isTensor();
      if (!has_tensor) return value;
      c10::List<c10::IValue> list = value.toList().copy();
      for (size_t i = 0; i < list.size(); ++i) {
        if (value.toListRef()[i].isTensor()) list.set(i, twins_[next_++].tensor);
      }
      return list;
    }
    if (value.isDevice() && contents_ == Contents::None) return c10::Device(c10::kMeta);
    if (value.isStorage()) return storage(value.toStorage());
    return value;
  }

  int number_of(const at::Tensor& result) const {
    for (size_t i = 0; i < twins_.size(); ++i) {
      if (twins_[i].tensor.defined() && twins_[i].tensor.is_same(result)) return static_cast<int>(i);
    }
    return -1;
  }
  // The first argument whose storage a result shares, or -1.
  int sharing_storage(const at::Tensor& result) const {
    for (size_t i = 0; i < twins_.size(); ++i) {
      if (twins_[i].tensor.defined() && same_storage(twins_[i].tensor.storage(), result.storage())) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  // Carries what the kernel did to the twins over to the fakes. True if there was anything.
  bool apply_changes() {
    bool changed = false;
    for (StorageTwin& pair : storages_) {
      const size_t bytes = pair.twin.nbytes();
      if (bytes == pair.bytes) continue;
      changed = true;
      const_cast<c10::Storage&>(pair.original).set_nbytes(bytes);
    }
    for (size_t i = 0; i < twins_.size(); ++i) {
      const Twin& twin = twins_[i];
      if (!twin.tensor.defined()) continue;
      const FakeLayout after = FakeLayout::of(twin.tensor);
      const bool moved = !same_storage(twin.tensor.storage(), twin.storage);
      if (!moved && after == twin.before) continue;
      changed = true;
      const c10::Storage destination = moved ? original_of(twin.tensor, tensors_[i]->device()) : c10::Storage();
      change_fake(*tensors_[i], after, moved ? &destination : nullptr);
    }
    return changed;
  }

 private:
  struct Twin {
    at::Tensor tensor;
    FakeLayout before;
    c10::Storage storage;
  };
  struct StorageTwin {
    c10::Storage original, twin;
    size_t bytes;
  };

  c10::Storage storage(const c10::Storage& original) {
    for (const StorageTwin& pair : storages_) {
      if (same_storage(pair.original, original)) return pair.twin;
    }
    const size_t bytes = original ? original.nbytes() : 0;
    c10::Allocator* allocator = c10::GetAllocator(contents_ == Contents::None ? c10::kMeta : c10::kCPU);
    at::DataPtr data = contents_ == Contents::None ? at::DataPtr(nullptr, c10::kMeta) : allocator->allocate(bytes);
    if (contents_ != Contents::None && bytes) std::memset(data.get(), 0, bytes);
    c10::Storage twin(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                                            c10::SymInt(static_cast<int64_t>(bytes)), std::move(data),
                                                            allocator, /*resizable=*/true));
    storages_.push_back({original, twin, bytes});
    return twin;
  }

  c10::Storage original_of(const at::Tensor& twin, c10::Device device) {
    for (const StorageTwin& pair : storages_) {
      if (same_storage(pair.twin, twin.storage())) return pair.original;
    }
    return new_fake_storage(static_cast<int64_t>(twin.storage().nbytes()), device);
  }

  Twin make(const at::Tensor& tensor) {
    if (!tensor.defined()) return {};
    for (size_t i = 0; i < twins_.size(); ++i) {
      if (tensors_[i]->is_same(tensor)) return twins_[i];
    }
    Twin result;
    result.before = FakeLayout::of(tensor);
    result.before.symbols = nullptr;  // the numbers of this call
    // A number in a tensor's clothes goes anywhere, and Python meta kernels want its value.
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
      result.tensor = tensor;
      result.storage = tensor.storage();
      return result;
    }
    result.storage = storage(tensor.unsafeGetTensorImpl()->unsafe_storage());
    const c10::DispatchKeySet keys(contents_ == Contents::None ? c10::DispatchKey::Meta : c10::DispatchKey::CPU);
    auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(result.storage), keys, result.before.dtype);
    impl->set_sizes_and_strides(result.before.sizes, result.before.strides, result.before.offset);
    if (result.before.conjugate) impl->_set_conj(true);
    if (result.before.negative) impl->_set_neg(true);
    result.tensor = at::Tensor(std::move(impl));
    if (contents_ == Contents::OnesEverywhere || (contents_ == Contents::Ones && result.tensor.is_floating_point()))
      result.tensor.fill_(1);
    return result;
  }

  c10::ArrayRef<const at::Tensor*> tensors_;
  const Contents contents_;
  std::vector<Twin> twins_;
  std::vector<StorageTwin> storages_;
  size_t next_ = 0;
};

c10::Device with_index(c10::Device device) {
  if (device.has_index() || device.is_cpu() || device.is_meta()) return device;
  return c10::impl::hasDeviceGuardImpl(device.type()) ? c10::impl::VirtualGuardImpl(device.type()).getDevice() : device;
}

// Operators whose later arguments may live on other devices than the first.
bool first_argument_decides(std::string_view name) {
  return name.starts_with("aten::copy_") || name.starts_with("aten::index") ||
         name.starts_with("aten::_index_put_impl_") || name.starts_with("aten::_copy_from") ||
         name.starts_with("aten::set_");
}

// Where an operator's new tensors live: where it is told, else where its arguments are (a 0-dim CPU tensor goes
// anywhere).
c10::Device result_device(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                          c10::ArrayRef<const at::Tensor*> tensors) {
  for (const c10::IValue& value : arguments) {
    if (value.isDevice()) return with_index(value.toDevice());
  }
  std::optional<c10::Device> found;
  for (const at::Tensor* tensor : tensors) {
    if (!tensor->defined()) continue;
    const c10::Device device = tensor->device();
    if (first_argument_decides(info.name)) return device;
    if (device.is_cpu() && tensor->dim() == 0) continue;
    if (found && *found != device) {
      throw CannotFake{FakeProblem::Devices, c10::str(info.name, " got tensors on ", *found, " and on ", device)};
    }
    found = device;
  }
  return found.value_or(c10::kCPU);
}

bool says_no_data(const std::string& message) {
  return message.find("cannot be called on meta tensors") != std::string::npos ||
         message.find("no data") != std::string::npos || message.find("data-dependent") != std::string::npos;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Python meta kernels say in several ways that they do not know the answer.
void throw_if_python_says_unknown(const OperatorInfo& info, PyObject* type, const std::string& message) {
  if (!type) return;
  const std::string_view name = as_type(type)->tp_name;
  const bool depends_on_data = name.find("DataDependent") != std::string_view::npos ||
                               name.find("DynamicOutputShape") != std::string_view::npos || says_no_data(message);
  const bool unknown = PyErr_GivenExceptionMatches(type, PyExc_NotImplementedError) ||
                       name.find("Unsupported") != std::string_view::npos;
  if (depends_on_data || unknown) {
    throw CannotFake{depends_on_data ? FakeProblem::Data : FakeProblem::NoImplementation,
                     c10::str(info.name, " has no metadata-only answer: ", first_line(message))};
  }
  if (!info.builtin) {
    throw CannotFake{FakeProblem::NoImplementation,
                     c10::str("the fake implementation of ", info.name, " raised ", name, ": ", first_line(message))};
  }
}

// An operator's structured kernel, if it takes such arguments. Where it raises, the dispatcher's kernel has the last
// word: some of torch's Python kernels take more (a tensor on the CPU beside those on the meta device), and their
// errors are the program's.
bool call_structured(const c10::OperatorHandle& op, const OperatorInfo& info, torch::jit::Stack& stack) {
  if (!info.structured) return false;
  torch::jit::Stack copy = stack;
  try {
    info.structured->callBoxed(op, c10::DispatchKeySet(c10::DispatchKey::Meta), &copy);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return false;
  }
  stack = std::move(copy);
  return true;
}

// torch's Python kernels import sympy when the first of them is asked, which changes the process's filters of warnings.
// A trace changes nothing: they are put back.
class KeepsWarningFilters {
 public:
  KeepsWarningFilters() {
    if (is_imported_) return;
    const HeldGil gil;
    is_imported_ = is_there();
    if (is_imported_) return;
    warnings_ = Ref::steal(PyImport_ImportModule("warnings"));
    const Ref filters = warnings_ ? Ref::steal(PyObject_GetAttrString(warnings_.get(), "filters")) : Ref();
    if (filters && PyList_CheckExact(filters.get()))
      before_ = Ref::steal(PyList_GetSlice(filters.get(), 0, PY_SSIZE_T_MAX));
    clear_error();
  }
  ~KeepsWarningFilters() {
    if (!before_) return;
    const HeldGil gil;
    if (is_there()) put_back();
    before_ = nullptr;
    warnings_ = nullptr;
  }
  KeepsWarningFilters(const KeepsWarningFilters&) = delete;

 private:
  static bool is_there() { return named_item(PyImport_GetModuleDict(), "sympy") != nullptr; }

  void put_back() {
    const ErrorSetAside error;
    const Ref filters = Ref::steal(PyObject_GetAttrString(warnings_.get(), "filters"));
    if (filters && PyList_CheckExact(filters.get()) &&
        PyList_SetSlice(filters.get(), 0, PY_SSIZE_T_MAX, before_.get()) == 0)
      Ref::drop(PyObject_CallMethod(warnings_.get(), "_filters_mutated", nullptr));
  }

  static inline std::atomic<bool> is_imported_ = false;
  Ref warnings_, before_;
};

void call(const c10::OperatorHandle& op, const OperatorInfo& info, torch::jit::Stack& stack, Contents contents) {
  BelowEverything state;
  if (contents == Contents::None && call_structured(op, info, stack)) return;
  const KeepsWarningFilters filters;
  try {
    call_watching_python_errors(
        [&] { op.callBoxed(&stack); },
        [&](PyObject* type, const std::string& message) { throw_if_python_says_unknown(info, type, message); });
  } catch (const c10::NotImplementedError& error) {
    throw CannotFake{
        FakeProblem::NoImplementation,
        c10::str(info.name, " has no fake (meta) implementation: ", first_line(error.what_without_backtrace()))};
  } catch (const c10::Error& error) {
    if (says_no_data(error.what_without_backtrace())) {
      throw CannotFake{FakeProblem::Data, c10::str("the result of ", info.name, " depends on data")};
    }
    throw;
  }
}

class ResultReader {
 public:
  ResultReader(const OperatorInfo& info, const Twins& twins, c10::Device device)
      : info_(info), twins_(twins), device_(device) {}

  MetadataResult read(c10::ArrayRef<c10::IValue> values) {
    for (const c10::IValue& value : values) {
      if (value.isTensor()) {
        result_.returns.push_back({ReturnShape::Kind::Tensor, 1, {}});
        add(value.toTensor());
      } else if (value.isTensorList()) {
        const c10::ArrayRef<c10::IValue> items = value.toListRef();
        result_.returns.push_back({ReturnShape::Kind::TensorList, items.size(), {}});
        for (const c10::IValue& item : items) add(item.toTensor());
      } else if (value.isNone() || value.isInt() || value.isBool() || value.isDouble() || value.isComplexDouble()) {
        result_.returns.push_back({ReturnShape::Kind::Value, 0, value});
      } else {
        throw CannotFake{FakeProblem::Kind,
                         c10::str(info_.name, " returns a ", value.tagKind(), ", which has no fake form")};
      }
    }
    return std::move(result_);
  }

 private:
  void add(const at::Tensor& tensor) {
    TensorResult entry;
    if (!tensor.defined()) {
      entry.kind = TensorResult::Kind::Undefined;
    } else if (tensor.layout() != c10::kStrided || tensor.is_quantized() || tensor.is_nested() ||
               c10::isQIntType(tensor.scalar_type())) {
      throw CannotFake{FakeProblem::Kind, c10::str(info_.name, " returns a tensor that is not a plain strided one")};
    } else if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
      throw CannotFake{FakeProblem::Data, c10::str(info_.name, " returns a tensor whose shape depends on data")};
    } else {
      describe(tensor, entry);
    }
    result_.tensors.push_back(std::move(entry));
    seen_.push_back(tensor);
  }

  void describe(const at::Tensor& tensor, TensorResult& entry) {
    entry.layout = FakeLayout::of(tensor);
    entry.bytes = static_cast<int64_t>(tensor.storage().nbytes());
    entry.device = device_;
    if ((entry.source = twins_.number_of(tensor)) >= 0) {
      entry.kind = TensorResult::Kind::Argument;
      return;
    }
    for (size_t i = 0; i < seen_.size(); ++i) {
      if (!seen_[i].defined() || !same_storage(seen_[i].storage(), tensor.storage())) continue;
      if (result_.tensors[i].kind != TensorResult::Kind::Fresh) break;
      entry.kind = seen_[i].is_same(tensor) ? TensorResult::Kind::Earlier : TensorResult::Kind::ViewOfEarlier;
      entry.source = static_cast<int>(i);
      return;
    }
    if ((entry.source = twins_.sharing_storage(tensor)) >= 0) entry.kind = TensorResult::Kind::View;
  }

  const OperatorInfo& info_;
  const Twins& twins_;
  c10::Device device_;
  MetadataResult result_;
  std::vector<at::Tensor> seen_;
};

constexpr size_t kMostBytes = 16 << 20;  // total size of the arguments that a real kernel is tried with

// True if the kernel itself may run on what no program will see.
bool may_run_kernel(const c10::OperatorHandle& op, const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                    c10::ArrayRef<const at::Tensor*> tensors, c10::Device device) {
  if (!info.builtin || info.random || info.communicates || info.changes_layout || info.dynamic_output ||
      !info.written_arguments.empty() || !device.is_cpu() || tensors.empty())
    return false;
  for (const at::Tag tag : {at::Tag::nondeterministic_seeded, at::Tag::dynamic_output_shape,
                            at::Tag::data_dependent_output, at::Tag::inplace_view})
    if (op.hasTag(tag)) return false;
  for (const c10::IValue& value : arguments)
    if (value.isGenerator() || value.isStorage() || value.isObject()) return false;
  size_t bytes = 0;
  for (const at::Tensor* tensor : tensors) {
    if (!tensor->defined()) continue;
    if (!tensor->device().is_cpu()) return false;
    bytes += tensor->unsafeGetTensorImpl()->unsafe_storage().nbytes();
  }
  return bytes <= kMostBytes;
}

bool are_alike(const MetadataResult& one, const MetadataResult& other) {
  const auto is_number = [](const ReturnShape& result) {
    return result.kind == ReturnShape::Kind::Value && !result.value.isNone();
  };
  if (one.tensors.size() != other.tensors.size() || one.returns.size() != other.returns.size()) return false;
  for (size_t i = 0; i < one.returns.size(); ++i)
    if (is_number(one.returns[i]) || one.returns[i].kind != other.returns[i].kind ||
        one.returns[i].count != other.returns[i].count)
      return false;
  for (size_t i = 0; i < one.tensors.size(); ++i) {
    const TensorResult &a = one.tensors[i], &b = other.tensors[i];
    if (a.kind != b.kind || a.source != b.source || a.layout != b.layout || a.bytes != b.bytes) return false;
  }
  return true;
}

// The results of a call with twins of its tensors: of the meta kernel, or of the operator's own one, on memory that no
// program sees.
MetadataResult called_with_twins(const c10::OperatorHandle& op, const OperatorInfo& info,
                                 c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors,
                                 c10::Device device, Contents contents) {
  std::optional<Twins> twins;
  {
    const BelowEverything state;
    twins.emplace(tensors, contents);
  }
  torch::jit::Stack stack;
  for (const c10::IValue& value : arguments) stack.push_back(twins->replace(value));
  call(op, info, stack, contents);
  return ResultReader(info, *twins, device).read(stack);
}

// An operator of torch's own without a meta kernel: its kernel runs on zeros, and on ones. Where the results look
// alike, they look so for any values, as torch's own fakes take it to be after one run.
std::optional<MetadataResult> by_running(const c10::OperatorHandle& op, const OperatorInfo& info,
                                         c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors,
                                         c10::Device device) {
  if (!may_run_kernel(op, info, arguments, tensors, device)) return std::nullopt;
  try {
    MetadataResult zeros = called_with_twins(op, info, arguments, tensors, device, Contents::Zeros);
    const MetadataResult ones = called_with_twins(op, info, arguments, tensors, device, Contents::Ones);
    if (are_alike(zeros, ones)) return zeros;
  } catch (const CannotFake&) {      // something else that no fake can be
  } catch (const std::exception&) {  // it does not take such values
  }
  return std::nullopt;
}

// The layouts that the meta kernel computes have not been compared with the real ones: the real kernel is run. Where
// that cannot be, the trace ends before the call.
void measure_layouts(const c10::OperatorHandle& op, const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                     c10::ArrayRef<const at::Tensor*> tensors, c10::Device device, MetadataResult& result) {
  if (may_run_kernel(op, info, arguments, tensors, device)) {
    for (const Contents contents : {Contents::Ones, Contents::OnesEverywhere}) {
      try {
        result = called_with_twins(op, info, arguments, tensors, device, contents);
        return;
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception&) {  // it does not take such values
      }
    }
  }
  throw CannotFake{FakeProblem::NoImplementation,
                   c10::str("the memory layout of the result of ", info.name,
                            " is not known for arguments that are not contiguous or have several dtypes")};
}

// The tensors of arguments that are tensors, null for others.
c10::SmallVector<const at::Tensor*, 12> by_argument(c10::ArrayRef<c10::IValue> arguments,
                                                    c10::ArrayRef<const at::Tensor*> tensors) {
  c10::SmallVector<const at::Tensor*, 12> found;
  size_t next = 0;
  for (const c10::IValue& value : arguments) {
    const at::Tensor* tensor = value.isTensor() ? tensors[next++] : nullptr;
    found.push_back(tensor && tensor->defined() ? tensor : nullptr);
    if (!value.isList()) continue;
    for (const c10::IValue& item : value.toListRef()) next += item.isTensor();
  }
  return found;
}

// Sets the results' layouts to those of the real kernel's.
void specialize_layouts(const c10::OperatorHandle& op, const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                        c10::ArrayRef<const at::Tensor*> tensors, c10::Device device, MetadataResult& result) {
  correct_layouts(info, arguments, tensors, result);
  if (!knows_layouts(info, arguments, tensors, result)) measure_layouts(op, info, arguments, tensors, device, result);
}

}  // namespace

MetaOutcome run_meta_kernel(const c10::OperatorHandle& op, const OperatorInfo& info,
                            c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors) {
  const c10::Device device = result_device(info, arguments, tensors);
  MetaOutcome outcome;
  const NativeMetadata rule = device.is_cpu() ? native_metadata(info.name) : nullptr;
  if (rule && rule(arguments, by_argument(arguments, tensors), outcome.result)) {
    specialize_layouts(op, info, arguments, tensors, device, outcome.result);
    return outcome;
  }
  Twins twins(tensors);
  torch::jit::Stack stack;
  stack.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    // The meta device has no pinned memory; the result's metadata does not depend on it.
    const bool pins = static_cast<int>(i) == info.pin_memory_argument && arguments[i].isBool();
    stack.push_back(pins ? c10::IValue() : twins.replace(arguments[i]));
  }
  try {
    call(op, info, stack, Contents::None);
  } catch (const CannotFake& problem) {
    // One that only writes to its arguments leaves their metadata as it is.
    const bool only_writes = info.builtin && info.return_count == 0 && !info.written_arguments.empty() &&
                             !info.changes_layout && problem.problem == FakeProblem::NoImplementation;
    if (!only_writes) {
      if (problem.problem != FakeProblem::NoImplementation) throw;
      std::optional<MetadataResult> result = by_running(op, info, arguments, tensors, device);
      if (!result) throw;
      return {std::move(*result), false};
    }
    stack.clear();
  }
  outcome.result = ResultReader(info, twins, device).read(stack);
  if (const std::vector<at::Tensor> converted = converted_operands(info, tensors, outcome.result); !converted.empty()) {
    std::vector<const at::Tensor*> operands;
    for (const at::Tensor& operand : converted) operands.push_back(&operand);
    outcome.result = called_with_twins(op, info, arguments, operands, device, Contents::None);
  }
  specialize_layouts(op, info, arguments, tensors, device, outcome.result);
  outcome.changed_arguments = twins.apply_changes();
  return outcome;
}

bool fake_kernel_running() noexcept { return running > 0; }

WorkOnOperator::WorkOnOperator() noexcept { ++running; }
WorkOnOperator::~WorkOnOperator() { --running; }

}  // namespace minidynamo
