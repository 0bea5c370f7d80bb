// The boxed kernel behind DispatchKey::Fake: every operator on a fake, and every operator on a tracing thread, arrives
// here below autograd, autocast and the Python key, and leaves with fakes.
//
// In order: real tensors among the arguments are replaced or refused, the observer hears of writes and random numbers,
// metadata comes from the memo or the meta kernel, results are built, and the call is reported if no Python call stands
// for it.
//
// Usually runs without the GIL (torch's bindings release it), so Python is touched on the rare paths only.
#include "python/process/held_gil.h"
#include "python/process/out_of_memory.h"
#include "tensor/dispatch/composite_overrides.h"
#include "tensor/dispatch/memo.h"
#include "tensor/dispatch/meta_call.h"
#include "tensor/dispatch/operator_info.h"
#include "tensor/dispatch/operator_report.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/fake/tensor_object.h"
#include "tensor/process/override_probe.h"
#include "tensor/process/trace_state.h"
#include "tensor/symbolic/symbolic_fake.h"
#include "tensor/symbolic/symbolic_metadata.h"
#include "tensor/symbolic/unknown_sizes.h"
#include "tensor/values/known_storages.h"
#include "tensor/values/memory_overlap.h"
#include "tensor/values/real_storages.h"

#include <algorithm>
#include <unordered_map>

#include <ATen/MemoryOverlap.h>
#include <torch/csrc/autograd/variable.h>

namespace minidynamo {
namespace {

using Tensors = c10::SmallVector<const at::Tensor*, 8>;

void collect(const c10::IValue& value, Tensors& tensors) {
  if (value.isTensor()) {
    tensors.push_back(&value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor()) tensors.push_back(&item.toTensor());
    }
  }
}

// A tensor among an operator's arguments.
struct Place {
  static constexpr int64_t kNoList = -1;
  const at::Tensor* tensor;
  size_t argument;
  int64_t item = kNoList;  // index in a list

  bool is_in_list() const noexcept { return item != kNoList; }
};

// A number inside a tensor that C++ made during this very call (a Python scalar, an operator's own constant): the
// program cannot hold it, so it is part of the operator.
bool is_constant(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return impl->is_wrapped_number() ||
         (impl->dim() == 0 && impl->is_cpu() && !impl->pyobj_slot()->load_pyobj() && !tensor.requires_grad());
}

void deliver(OperatorObserver& observer, const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments,
             c10::ArrayRef<c10::IValue> results) {
  const HeldGil gil;
  const OperatorReport report = describe_call(op, arguments, results);
  if (!observer.operator_ran(report.target.get(), report.args.get(), report.kwargs.get(), report.result.get())) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_RuntimeError, "%s was refused", toString(op.operator_name()).c_str());
    throw_python_error();
  }
}

// The caller of the operator may replace its results' tensor objects as long as it is their only owner (autograd makes
// views and variables so), so until the report is due they are held weakly. Results that died leave nothing to report,
// unless the operator was called for its effect.
class PendingReport {
 public:
  void set(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<c10::IValue> results,
           bool impure) {
    op_.emplace(op);
    has_side_effect_ = impure;
    grad_mode_ = c10::GradMode::is_enabled();
    arguments_ = arguments.vec();
    results_.clear();
    for (const c10::IValue& result : results) {
      Result& held = results_.emplace_back();
      held.is_list = result.isTensorList();
      if (held.is_list) {
        for (const c10::IValue& item : result.toListRef()) held.tensors.emplace_back(item.toTensor().getIntrusivePtr());
      } else if (result.isTensor()) {
        held.tensors.emplace_back(result.toTensor().getIntrusivePtr());
      } else {
        held.value = result;
      }
    }
  }

  bool empty() const noexcept { return !op_.has_value(); }
  void clear() noexcept {
    op_.reset();
    arguments_.clear();
    results_.clear();
  }

  void flush(OperatorObserver& observer) {
    const c10::OperatorHandle op = *std::exchange(op_, std::nullopt);
    const std::vector<c10::IValue> arguments = std::move(arguments_);
    std::vector<c10::IValue> results;
    bool wanted = has_side_effect_;
    for (Result& held : results_) {
      c10::List<at::Tensor> list;
      for (auto& weak : held.tensors) {
        c10::intrusive_ptr<c10::TensorImpl> impl = weak.lock();
        wanted = wanted || impl.defined();
        // One of several that died unused still needs an object in its place.
        list.push_back(impl.defined() ? at::Tensor(std::move(impl)) : at::Tensor());
      }
      if (held.is_list) {
        results.emplace_back(std::move(list));
      } else {
        results.push_back(held.tensors.empty() ? held.value : c10::IValue(list.get(0)));
      }
    }
    clear();
    observer.operator_ran_in_grad_mode(grad_mode_);
    if (wanted) deliver(observer, op, arguments, results);
  }

 private:
  struct Result {
    std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> tensors;
    bool is_list = false;
    c10::IValue value;
  };
  std::optional<c10::OperatorHandle> op_;
  std::vector<c10::IValue> arguments_;
  std::vector<Result> results_;
  bool has_side_effect_ = false, grad_mode_ = true;
};

thread_local PendingReport pending;

class Call {
 public:
  Call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack)
      : op_(op), keys_(keys), stack_(stack), info_(operator_info(op)), observer_(current_observer()) {}

  void run() {
    if (observer_ && !pending.empty()) pending.flush(*observer_);
    survey();
    if (!any_fake_ && !observer_) return run_for_real();
    if (any_unknown_real_ && observer_) replace_reals();
    is_symbolic_ = has_symbols(arguments(), tensors_);
    std::optional<HintsForKernels> hints;
    if (is_symbolic_) hints.emplace();
    refuse_writes_to_reals();
    refuse_partial_overlap();
    if (observer_) {
      refuse_mixed_changes();
      report_effects();
    }
    if (info_.composite || info_.rule == OperatorRule::RunOnFakes) hints.reset();
    if (info_.composite) return op_.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, *stack_);
    if (info_.rule == OperatorRule::RunOnFakes) return run_for_real();
    if (info_.rule == OperatorRule::DynamicBackwardIfMaskIndex && any_fake_ && has_gradient_of_mask())
      refuse(FakeProblem::Data,
             c10::str("the shape of the gradient of ", info_.name, " depends on the data of a mask"));
    if (info_.rule == OperatorRule::SavesByGradMode && observer_ && observer_->runs_below_autograd())
      refuse(FakeProblem::Kind,
             c10::str("what ", info_.name, " keeps for its backward is missing where autograd is off"));
    if (info_.dynamic_output && checks_a_value(info_.name)) {
      torch::jit::drop(*stack_, info_.argument_count);
      stack_->push_back(true);
      return;
    }
    std::optional<KnownCall> known = values_of_arguments();
    if (info_.dynamic_output && depends_on_data()) {
      if (!any_fake_ && !any_unknown_real_) return run_for_real();
      if (known && gives_no_tensor(op_) && answer(*std::move(known))) return;
      if (std::optional<MetadataResult> unknown = with_unknown_sizes()) return finish(*unknown, std::nullopt);
      refuse(FakeProblem::Data, c10::str("the result of ", info_.name, " depends on the data of a tensor"));
    }
    finish(*metadata(), std::move(known));
  }

  // Puts the results in the place of the arguments.
  void finish(const MetadataResult& metadata, std::optional<KnownCall> known) {
    const bool report = observer_ && !observer_->recording_call();
    c10::SmallVector<c10::IValue, 4> results;
    build(metadata, results);
    if (observer_) learn_values(std::move(known), results);
    if (report) pending.set(op_, arguments(), results, has_side_effect_);
    torch::jit::drop(*stack_, info_.argument_count);
    for (c10::IValue& result : results) stack_->push_back(std::move(result));
  }

  [[noreturn]] void refuse(FakeProblem problem, const std::string& reason) {
    if (observer_) {
      const HeldGil gil;
      observer_->cannot_fake(info_.name, problem, reason);
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_NotImplementedError, reason.c_str());
      throw_python_error();
    }
    TORCH_CHECK_NOT_IMPLEMENTED(false, "Fake tensors: ", reason);
  }

 private:
  c10::ArrayRef<c10::IValue> arguments() const {
    return c10::ArrayRef<c10::IValue>(stack_->data() + first_argument(), info_.argument_count);
  }
  size_t first_argument() const { return stack_->size() - info_.argument_count; }

  void survey() {
    tensors_.clear();
    any_fake_ = any_unknown_real_ = false;
    for (const c10::IValue& value : arguments()) collect(value, tensors_);
    for (const at::Tensor* tensor : tensors_) {
      if (!tensor->defined()) continue;
      if (is_fake_tensor(*tensor)) {
        any_fake_ = true;
      } else if (!is_constant(*tensor)) {
        any_unknown_real_ = true;
      }
    }
  }

  std::optional<KnownCall> values_of_arguments() const {
    if (is_symbolic_) return std::nullopt;
    const bool may_be = observer_ && !(any_fake_ && KnownStorages::of_thread().empty()) && !any_unknown_real_;
    return may_be ? KnownCall::of(info_, arguments()) : std::nullopt;
  }

  // The operator reads values that are known. False: it raises.
  bool answer(KnownCall known) {
    known.note_reads(arguments());
    std::optional<std::vector<c10::IValue>> values = std::move(known).run(op_, keys_);
    if (!values) return false;
    torch::jit::drop(*stack_, info_.argument_count);
    for (c10::IValue& value : *values) stack_->push_back(std::move(value));
    return true;
  }

  // Records the results' values if they are known; otherwise the values of written tensors become unknown.
  void learn_values(std::optional<KnownCall> known, c10::ArrayRef<c10::IValue> results) {
    const bool is_wanted =
        known && std::all_of(results.begin(), results.end(), [](const c10::IValue& result) {
          return !result.isTensor() || !result.toTensor().defined() || may_be_known(result.toTensor());
        });
    std::optional<std::vector<c10::IValue>> values;
    if (is_wanted) values = std::move(*known).run(op_, keys_);
    if (values) return KnownCall::learn(results, *values);
    for_each_written([](const at::Tensor& tensor) { KnownStorages::of_thread().forget(tensor); });
  }

  void run_for_real() {
    c10::impl::ExcludeDispatchKeyGuard no_fake(c10::DispatchKey::Fake);
    op_.redispatchBoxed(keys_ & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Fake), stack_);
  }

  at::Tensor fake_for(const at::Tensor& real) {
    // Python has never seen it: the recorded call made it of its own arguments (a list used as an index).
    if (observer_->recording_call() && !real.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj())
      return new_fake(FakeLayout::of(real), static_cast<int64_t>(real.storage().nbytes()), real.device());
    const HeldGil gil;
    const Ref object = wrap_tensor(real);
    if (!object) throw_python_error();
    PyObject* fake = observer_->fake_for_real(object.get());
    if (!fake) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_NotImplementedError, "a tensor that the trace does not know");
      throw_python_error();
    }
    return unpack_tensor(fake);
  }

  static bool is_unknown_real(const c10::IValue& value) {
    return value.isTensor() && value.toTensor().defined() && !is_fake_tensor(value.toTensor()) &&
           !is_constant(value.toTensor());
  }

  void replace_reals() {
    for (size_t index : info_.written_arguments) {
      if (is_unknown_real((*stack_)[first_argument() + index])) {
        refuse(FakeProblem::RealTensor, c10::str(info_.name, " writes to a tensor from outside of the trace"));
      }
    }
    for (size_t i = first_argument(); i < stack_->size(); ++i) {
      c10::IValue& value = (*stack_)[i];
      if (is_unknown_real(value)) {
        value = fake_for(value.toTensor());
      } else if (value.isList()) {
        replace_reals_in_list(value);
      }
    }
    survey();
  }

  void replace_reals_in_list(c10::IValue& value) {
    std::optional<c10::List<c10::IValue>> copy;
    for (size_t i = 0; i < value.toListRef().size(); ++i) {
      const c10::IValue& item = value.toListRef()[i];
      if (!is_unknown_real(item)) continue;
      if (!copy) copy = value.toList().copy();
      copy->set(i, fake_for(item.toTensor()));
    }
    if (copy) value = *copy;
  }

  template <typename Function>
  void for_each_written(Function function) {
    for (size_t index : info_.written_arguments) {
      const c10::IValue& value = arguments()[index];
      if (value.isTensor()) {
        if (value.toTensor().defined()) function(value.toTensor());
      } else if (value.isList()) {
        for (const c10::IValue& item : value.toListRef()) {
          if (item.isTensor() && item.toTensor().defined()) function(item.toTensor());
        }
      }
    }
  }

  // An operation of a trace must not reach real tensors, not even through autograd's view tracking.
  void refuse_writes_to_reals() {
    for_each_written([this](const at::Tensor& tensor) {
      const auto* view = torch::autograd::impl::get_view_autograd_meta(tensor);
      const bool view_of_real = view && view->has_bw_view() && !is_fake_tensor(view->get_backward_view().base_);
      if (!is_fake_tensor(tensor) || view_of_real)
        refuse(FakeProblem::RealTensor, c10::str(info_.name, " writes to a real tensor"));
      // The kernel would raise when it runs; meta kernels do not look.
      at::assert_no_internal_overlap(tensor);
      if (overlaps_itself(tensor))
        refuse(FakeProblem::Overlap, c10::str(info_.name, " writes to a tensor whose elements overlap"));
    });
  }

  // A graph cannot hand back an input with other sizes (`out=`), and compilers do not expect it to.
  void refuse_resized_inputs() {
    for_each_written([this](const at::Tensor& tensor) {
      if (RealStorages::of_thread().behind(tensor))
        refuse(FakeProblem::RealTensor,
               c10::str(info_.name, " changes the sizes of a tensor from outside of the trace"));
    });
  }

  // AOTAutograd loses the new strides of an input whose memory is written to where autograd does not look, and refuses
  // some such writes elsewhere. And a view of a leaf may not be written to where autograd looks; the fakes of a view
  // and of its base do not know each other.
  void refuse_mixed_changes() {
    for_each_written([this](const at::Tensor& tensor) {
      RealStorages::Changes* changes = RealStorages::of_thread().changes(tensor);
      if (!changes) return;
      (info_.changes_layout ? changes->layout : changes->written) = true;
      if (changes->requires_gradient && changes->written && c10::GradMode::is_enabled())
        refuse(FakeProblem::RealTensor,
               c10::str(info_.name,
                        " writes to a tensor that shares memory with one that was told to require a gradient"));
      if (changes->layout && changes->written)
        refuse(FakeProblem::RealTensor, c10::str(info_.name,
                                                 " changes a tensor from outside of the trace that is both "
                                                 "written to and given other sizes or strides"));
    });
  }

  // Most kernels raise when they run, and meta kernels do not look; where kernels do not look either, the result hangs
  // on the order of their work. A compiled graph may do neither, and writes all tensors of a list at once, where a
  // kernel takes one after the other.
  void refuse_partial_overlap() {
    if (info_.changes_layout || info_.written_arguments.empty() || tensors_.size() < 2) return;
    std::unordered_map<const void*, std::vector<Place>> storages;
    for (size_t index = 0; index < info_.argument_count; ++index) {
      auto add = [&](const at::Tensor& tensor, int64_t item) {
        if (const void* storage = RealStorages::of_thread().behind(tensor))
          storages[storage].push_back({&tensor, index, item});
      };
      const c10::IValue& value = arguments()[index];
      if (value.isTensor()) {
        add(value.toTensor(), Place::kNoList);
      } else if (value.isList()) {
        int64_t item = 0;
        for (const c10::IValue& held : value.toListRef()) {
          if (held.isTensor()) add(held.toTensor(), item);
          ++item;
        }
      }
    }
    for (const auto& [storage, places] : storages) {
      if (places.size() < 2) continue;
      for (const Place& written : places)
        for (const Place& other : places)
          if (is_written(written.argument) && &written != &other &&
              (specialize_overlap(*written.tensor, *other.tensor), is_disturbed(written, other)))
            refuse(FakeProblem::Overlap, c10::str(info_.name, " writes to memory that another of its arguments shows"));
    }
  }

  // True if memory overlaps may be another matter with other sizes, but for what lies in the same place whatever they
  // are.
  void specialize_overlap(const at::Tensor& written, const at::Tensor& other) const {
    if (!is_symbolic_) return;
    const std::shared_ptr<const SymbolicLayout> one = FakeLayout::of(written).symbols,
                                                two = FakeLayout::of(other).symbols;
    if (!(one && two && *one == *two)) specialize_all(arguments(), tensors_);
  }

  bool is_written(size_t argument) const {
    const auto& written = info_.written_arguments;
    return std::find(written.begin(), written.end(), argument) != written.end();
  }
  bool is_out(size_t argument) const { return op_.schema().arguments()[argument].kwarg_only(); }

  // True if what is read from, or written to, `other` depends on when `written` is written to.
  bool is_disturbed(const Place& written, const Place& other) const {
    const MemoryOverlap how = memory_overlap(*written.tensor, *other.tensor);
    if (how != MemoryOverlap::Full) return how == MemoryOverlap::Partial;
    if (written.is_in_list()) return written.item != other.item;
    return is_out(written.argument) && (other.is_in_list() || is_written(other.argument));
  }

  // Above this key torch counts writes to single tensors. Of the operators on lists, _foreach_*_ write to one tensor
  // after the other, which counts; the others (_fused_adam_) write in one kernel, which does not.
  void count_writes_in_lists() const {
    if (!std::string_view(info_.name).starts_with("aten::_foreach_")) return;
    for (size_t index : info_.written_arguments) {
      const c10::IValue& value = arguments()[index];
      if (!value.isList()) continue;
      for (const c10::IValue& item : value.toListRef())
        if (item.isTensor() && item.toTensor().defined() && !item.toTensor().is_inference())
          item.toTensor().unsafeGetTensorImpl()->bump_version();
    }
  }

  bool are_whole_numbers() const {
    return std::ranges::all_of(tensors_, [](const at::Tensor* tensor) {
      return tensor->defined() && c10::isIntegralType(tensor->scalar_type(), /*includeBool=*/true);
    });
  }

  void report_effects() {
    bool& impure = has_side_effect_ = info_.random || info_.communicates;
    if (info_.may_fail || (info_.divides && are_whole_numbers())) observer_->operator_may_fail();
    if (info_.communicates) observer_->operator_communicates();
    // A write to a tensor that an operator made for its own use is invisible to the program.
    for_each_written([this, &impure](const at::Tensor& tensor) {
      const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
      if (!impl->pyobj_slot()->load_pyobj() && impl->unsafe_storage().use_count() <= 1) return;
      impure = true;
      tell_of_write(*impl, is_differentiated());
    });
    count_writes_in_lists();
    if (info_.rule == OperatorRule::WritesRunningStatistics && arguments()[5].toBool()) {
      // (input, weight, bias, running_mean, running_var, training, momentum, eps)
      for (const size_t statistics : {3, 4}) {
        const c10::IValue& value = arguments()[statistics];
        if (!value.isTensor() || !value.toTensor().defined()) continue;
        impure = true;
        KnownStorages::of_thread().forget(value.toTensor());
        tell_of_write(*value.toTensor().unsafeGetTensorImpl(), false);
      }
    }
    if (impure) observer_->operator_has_side_effect();
  }

  void tell_of_write(const c10::TensorImpl& tensor, bool is_differentiated) {
    std::optional<HeldGil> gil;
    if (is_differentiated) gil.emplace();  // a trace may end here
    if (!observer_->operator_writes(tensor.unsafe_storage().unsafeGetStorageImpl(), is_differentiated))
      throw_python_error();
  }

  bool is_differentiated() const {
    return c10::GradMode::is_enabled() && std::ranges::any_of(tensors_, [](const at::Tensor* tensor) {
             return tensor->defined() && tensor->requires_grad();
           });
  }

  // True if one of the tensors first..last-1 is a mask, as an index.
  bool has_mask(size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
      if (!tensors_[i]->defined()) continue;
      const c10::ScalarType type = tensors_[i]->scalar_type();
      if (type == c10::kBool || type == c10::kByte) return true;
    }
    return false;
  }

  // x[mask] = values: the values' gradient is grad[mask], which eager autograd can compute and a graph that is made
  // ahead of time cannot.
  bool has_gradient_of_mask() const {
    const at::Tensor& values = *tensors_.back();
    return c10::GradMode::is_enabled() && values.defined() && values.requires_grad() &&
           has_mask(1, tensors_.size() - 1);
  }

  bool depends_on_data() const {
    switch (info_.rule) {
      case OperatorRule::DynamicIfMaskIndex:
        return has_mask(1, tensors_.size());
      case OperatorRule::DynamicUnlessOutputSize:
        return arguments()[1].isNone();
      default:
        return true;
    }
  }

  // A symbol for each size that depends on data. Two results of one mask are as large as each other.
  std::optional<MetadataResult> with_unknown_sizes() {
    if (!observer_ || observer_->runs_below_autograd()) return std::nullopt;
    std::optional<HintsForKernels> hints;
    if (!is_symbolic_) hints.emplace();
    return metadata_with_unknown_sizes(op_, info_, arguments(), tensors_,
                                       [this](SizeRange range, const at::Tensor* elements_of) {
                                         if (!elements_of || elements_of->is_inference())
                                           return observer_->unknown_size(range, nullptr, 0);
                                         const c10::TensorImpl* impl = elements_of->unsafeGetTensorImpl();
                                         return observer_->unknown_size(range, impl->pyobj_slot()->load_pyobj(),
                                                                        impl->version_counter().current_version());
                                       });
  }

  void check_dtypes() const {
    for (const at::Tensor* tensor : tensors_)
      TORCH_CHECK(!tensor->defined() || tensor->scalar_type() == tensors_.front()->scalar_type(), info_.name,
                  " of tensors of several dtypes");
  }

  // Nothing but torch's own operators is asked how it would be with other sizes.
  bool keeps_symbols() const { return info_.builtin && !info_.changes_layout; }

  std::shared_ptr<const MetadataResult> metadata() {
    MemoKey key;
    const bool remember = info_.builtin && !info_.changes_layout && key.build(info_, arguments(), tensors_);
    if (remember) {
      if (auto known = find_in_memo(key)) {
        for (const SizeCondition& condition : known->conditions) current_trace_sizes()->suppose(condition);
        return known;
      }
    }
    if (info_.rule == OperatorRule::OneDtype) check_dtypes();
    if (is_symbolic_ && keeps_symbols()) {
      if (std::optional<MetadataResult> symbolic = symbolic_metadata(op_, info_, arguments(), tensors_)) {
        auto result = std::make_shared<const MetadataResult>(*std::move(symbolic));
        if (remember) add_to_memo(key, result);
        return result;
      }
    }
    if (is_symbolic_) specialize_all(arguments(), tensors_);
    const std::vector<c10::IValue> hints = is_symbolic_ ? with_hints(arguments()) : std::vector<c10::IValue>();
    const c10::ArrayRef<c10::IValue> given = is_symbolic_ ? c10::ArrayRef<c10::IValue>(hints) : arguments();
    MetaOutcome outcome = run_meta_kernel(op_, info_, given, tensors_);
    if (observer_ && outcome.changed_arguments && !info_.changes_layout) refuse_resized_inputs();
    auto result = std::make_shared<const MetadataResult>(std::move(outcome.result));
    if (remember && !outcome.changed_arguments) add_to_memo(key, result);
    return result;
  }

  at::Tensor build_tensor(const TensorResult& entry, c10::ArrayRef<at::Tensor> earlier) const {
    switch (entry.kind) {
      case TensorResult::Kind::Undefined:
        return {};
      case TensorResult::Kind::Argument:
        return *tensors_[entry.source];
      case TensorResult::Kind::Earlier:
        return earlier[entry.source];
      case TensorResult::Kind::View: {
        const at::Tensor& base = *tensors_[entry.source];
        return is_fake_tensor(base) ? new_fake_view(entry.layout, base)
                                    : new_fake(entry.layout, entry.bytes, base.device());
      }
      case TensorResult::Kind::ViewOfEarlier:
        return new_fake_view(entry.layout, earlier[entry.source]);
      case TensorResult::Kind::Fresh:
        break;
    }
    return new_fake(entry.layout, entry.bytes, entry.device);
  }

  void build(const MetadataResult& metadata, c10::SmallVectorImpl<c10::IValue>& results) const {
    c10::SmallVector<at::Tensor, 4> built;
    for (const TensorResult& entry : metadata.tensors) built.push_back(build_tensor(entry, built));
    size_t next = 0;
    for (const ReturnShape& shape : metadata.returns) {
      switch (shape.kind) {
        case ReturnShape::Kind::Value:
          results.emplace_back(shape.value);
          break;
        case ReturnShape::Kind::Tensor:
          results.emplace_back(built[next++]);
          break;
        case ReturnShape::Kind::TensorList: {
          c10::List<at::Tensor> list;
          list.reserve(shape.count);
          for (size_t i = 0; i < shape.count; ++i) list.push_back(built[next++]);
          results.emplace_back(std::move(list));
        }
      }
    }
  }

  const c10::OperatorHandle& op_;
  c10::DispatchKeySet keys_;
  torch::jit::Stack* stack_;
  const OperatorInfo& info_;
  OperatorObserver* observer_;
  Tensors tensors_;
  bool any_fake_ = false, any_unknown_real_ = false, is_symbolic_ = false;
  bool has_side_effect_ = false;
};

void fake_fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  TORCH_CHECK(!OverrideProbe::is_open(), "an operator runs in a call that is made for show");
  Call call(op, keys, stack);
  try {
    call.run();
  } catch (const CannotFake& failure) {
    call.refuse(failure.problem, failure.reason);
  } catch (const std::bad_alloc&) {  // torch would make a RuntimeError of it
    const HeldGil gil;
    set_error_from_exception();
    throw_python_error();
  }
}

}  // namespace
bool flush_operator_reports() noexcept {
  OperatorObserver* observer = current_observer();
  if (!observer || pending.empty()) return true;
  try {
    pending.flush(*observer);
    return true;
  } catch (...) {
    set_python_error_from_exception();
    return false;
  }
}

void drop_operator_reports() noexcept { pending.clear(); }

void install_fake_fallback() {
  // Never unregistered: operators may run while the process shuts down.
  static const torch::Library* library = [] {
    auto* made = new torch::Library(torch::Library::IMPL, "_", c10::DispatchKey::Fake, __FILE__, __LINE__);
    made->fallback(torch::CppFunction::makeFromBoxedFunction<&fake_fallback>());
    // Composite operators with kernels of their own: the composition would be taken for the kernel of any other key.
    auto* aten = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::Fake, __FILE__, __LINE__);
    for (const char* name : {"silu_backward", "mish_backward"})
      aten->impl(name, torch::CppFunction::makeFromBoxedFunction<&fake_fallback>());
    return made;
  }();
  (void)library;
  install_composite_overrides();
}

}  // namespace minidynamo
