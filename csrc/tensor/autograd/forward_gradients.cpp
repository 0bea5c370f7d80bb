#include "tensor/autograd/forward_gradients.h"

#include <c10/core/AutogradState.h>

#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_object.h"

namespace minidynamo {

bool has_tangent(PyObject* tensor) noexcept { return is_tensor(tensor) && unpack_tensor(tensor)._fw_grad(0).defined(); }

ForwardGradientsOff::ForwardGradientsOff() noexcept : before_(c10::AutogradState::get_tls_state().get_fw_grad_mode()) {
  c10::AutogradState::get_tls_state().set_fw_grad_mode(false);
}

ForwardGradientsOff::~ForwardGradientsOff() { c10::AutogradState::get_tls_state().set_fw_grad_mode(before_); }

}  // namespace minidynamo
