// Composite operators are taken apart by torch above the Fake key, on the assumption that a CPU tensor has data:
//   max_pool1d   reads the input directly when no gradient is needed; max_pool1d_with_indices means the same;
//   one_hot      checks the range of the classes even if their number is given;
//   quantile, nanquantile   check values by aten::equal, and raise if they are not as they should be; from torch 2.14
//   on they
//                select elements by address, unless a dispatch mode is there to see the operators that mean the same.
// For fakes the first two are replaced by the same meaning in other operators, at the autograd key of the CPU, and
// below it for tensors without autograd keys (inference mode). The checks of the others are taken to hold: the graph
// has the call as the program wrote it, so they are made when it runs.
#include "tensor/dispatch/composite_overrides.h"

#include <ATen/CPUFunctions.h>
#include <ATen/CompositeImplicitAutogradFunctions.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/PyInterpreter.h>

#include <memory>
#include <optional>

#include "python/scoped_value.h"
#include "tensor/dispatch/symbolic_upsampling.h"
#include "tensor/fake/fake_tensor.h"

namespace minidynamo {
namespace {

thread_local bool checking = false;  // one of those runs that check values by aten::equal

// For code that asks whether a dispatch mode is there. None is called: the dispatcher's keys for it stay as they are.
class SeemingDispatchMode {
 public:
  SeemingDispatchMode() {
    using Mode = c10::impl::PyObject_TorchDispatchMode;
    c10::impl::TorchDispatchModeTLS::push_non_infra_mode_onto_stack(
        std::make_shared<Mode>(Py_NewRef(Py_None), getPyInterpreter()));
    restore_keys();
  }
  ~SeemingDispatchMode() {
    c10::impl::TorchDispatchModeTLS::pop_stack();
    restore_keys();
  }
  SeemingDispatchMode(const SeemingDispatchMode&) = delete;
  SeemingDispatchMode& operator=(const SeemingDispatchMode&) = delete;

 private:
  const c10::impl::LocalDispatchKeySet before_ = c10::impl::tls_local_dispatch_key_set();
  void restore_keys() const { c10::impl::_force_tls_local_dispatch_key_set(before_); }
};

// The checks of quantile and nanquantile on a fake.
class QuantileOfFake {
 public:
  explicit QuantileOfFake(const at::Tensor& self) : checks_{checking, is_fake_tensor(self)} {
    if (is_fake_tensor(self)) mode_.emplace();
  }

 private:
  const ScopedValue<bool> checks_;
  std::optional<SeemingDispatchMode> mode_;
};

at::Tensor max_pool1d(const at::Tensor& self, at::IntArrayRef kernel_size, at::IntArrayRef stride,
                      at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode) {
  if (!is_fake_tensor(self)) {
    return at::compositeimplicitautograd::max_pool1d(self, kernel_size, stride, padding, dilation, ceil_mode);
  }
  const at::Tensor result =
      std::get<0>(at::max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
  // With a gradient, the result is a view of a two-dimensional pooling's; without, a tensor of its own.
  return self.requires_grad() && at::GradMode::is_enabled() ? result : result.clone();
}

at::Tensor one_hot(const at::Tensor& self, int64_t num_classes) {
  if (!is_fake_tensor(self) || num_classes <= 0 || self.scalar_type() != c10::kLong) {
    return at::compositeimplicitautograd::one_hot(self, num_classes);
  }
  return at::eq(self.unsqueeze(-1), at::arange(num_classes, self.options()))
      .to(c10::kLong, /*non_blocking=*/false, /*copy=*/true, c10::MemoryFormat::Contiguous);
}

at::Tensor quantile(const at::Tensor& self, const at::Tensor& q, std::optional<int64_t> dim, bool keepdim,
                    c10::string_view interpolation) {
  const QuantileOfFake call{self};
  return at::compositeimplicitautograd::quantile(self, q, dim, keepdim, interpolation);
}

at::Tensor quantile_of_number(const at::Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                              c10::string_view interpolation) {
  const QuantileOfFake call{self};
  return at::compositeimplicitautograd::quantile(self, q, dim, keepdim, interpolation);
}

at::Tensor nanquantile_of_number(const at::Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                                 c10::string_view interpolation) {
  const QuantileOfFake call{self};
  return at::compositeimplicitautograd::nanquantile(self, q, dim, keepdim, interpolation);
}

at::Tensor nanquantile(const at::Tensor& self, const at::Tensor& q, std::optional<int64_t> dim, bool keepdim,
                       c10::string_view interpolation) {
  const QuantileOfFake call{self};
  return at::compositeimplicitautograd::nanquantile(self, q, dim, keepdim, interpolation);
}

}  // namespace

bool checks_a_value(std::string_view operator_name) noexcept { return checking && operator_name == "aten::equal"; }

void install_composite_overrides() {
  static const bool installed = [] {
    for (c10::DispatchKey key : {c10::DispatchKey::AutogradCPU, c10::DispatchKey::Fake}) {
      // Never unregistered: operators may run while the process shuts down.
      auto* library = new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
      library->impl("max_pool1d", &max_pool1d);
      library->impl("one_hot", &one_hot);
      library->impl("quantile", &quantile);
      library->impl("nanquantile", &nanquantile);
      library->impl("quantile.scalar", &quantile_of_number);
      library->impl("nanquantile.scalar", &nanquantile_of_number);
      override_upsampling(*library);
    }
    return true;
  }();
  (void)installed;
}

}  // namespace minidynamo
