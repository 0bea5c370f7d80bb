#include "tensor/dispatch/operator_report.h"

#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Layout.h>
#include <torch/csrc/MemoryFormat.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/python_dispatch.h>
#include <torch/csrc/utils/tensor_memoryformats.h>

#include "tensor/dispatch/meta_call.h"
#include "tensor/fake/fake_tensor.h"

namespace minidynamo {
namespace {

c10::TypeKind kind_of(c10::TypePtr type) {
  if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type->kind();
}

Ref owned(pybind11::object object) { return Ref::steal(object.release().ptr()); }

Ref to_python(const c10::IValue& value, const c10::TypePtr& type) {
  if (value.isInt()) {
    switch (kind_of(type)) {
      case c10::TypeKind::ScalarTypeType:
        return Ref::borrow(as_object(torch::getTHPDtype(value.toScalarType())));
      case c10::TypeKind::LayoutType:
        return Ref::borrow(as_object(torch::getTHPLayout(value.toLayout())));
      case c10::TypeKind::MemoryFormatType:
        return Ref::borrow(torch::utils::getTHPMemoryFormat(value.toMemoryFormat()));
      default:
        break;
    }
  }
  if (value.isTensor() && value.toTensor().defined() && !is_fake_tensor(value.toTensor()) &&
      value.toTensor().unsafeGetTensorImpl()->is_wrapped_number()) {
    c10::impl::ExcludeDispatchKeyGuard no_fake(c10::DispatchKey::Fake);
    return owned(torch::jit::toPyObject(c10::IValue(value.toTensor().item())));
  }
  return owned(torch::jit::toPyObject(value));
}

bool is_default(const c10::Argument& argument, const c10::IValue& value) {
  if (!argument.default_value()) return false;
  const c10::IValue& standard = *argument.default_value();
  if (standard.isNone() || value.isNone()) return standard.isNone() && value.isNone();
  if (value.isTensor() || value.isTensorList() || value.isGenerator() || value.isStorage()) return false;
  return standard.tagKind() == value.tagKind() && standard == value;
}

Ref checked(Ref object) {
  if (!object) throw_python_error();
  return object;
}

}  // namespace

OperatorReport describe_call(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments,
                             c10::ArrayRef<c10::IValue> results) {
  const WorkOnOperator work;  // torch.ops finds operators in Python
  const c10::FunctionSchema& schema = op.schema();
  OperatorReport report;
  report.target = Ref::borrow(torch::detail::getTorchApiFunction(op).ptr());
  size_t positional = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (!argument.kwarg_only() && !is_default(argument, arguments[i])) positional = i + 1;
  }
  report.args = checked(Ref::made(PyTuple_New(static_cast<Py_ssize_t>(positional))));
  report.kwargs = checked(Ref::made(PyDict_New()));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (i < positional) {
      Ref value = checked(to_python(arguments[i], argument.real_type()));
      PyTuple_SET_ITEM(report.args.get(), static_cast<Py_ssize_t>(i), value.release());
    } else if (!is_default(argument, arguments[i])) {
      const Ref value = checked(to_python(arguments[i], argument.real_type()));
      if (PyDict_SetItemString(report.kwargs.get(), argument.name().c_str(), value.get()) < 0) throw_python_error();
    }
  }
  if (results.size() == 1) {
    report.result = checked(to_python(results[0], schema.returns()[0].real_type()));
  } else if (results.empty()) {
    report.result = Ref::none();
  } else {
    report.result = checked(Ref::made(PyTuple_New(static_cast<Py_ssize_t>(results.size()))));
    for (size_t i = 0; i < results.size(); ++i) {
      Ref value = checked(to_python(results[i], schema.returns()[i].real_type()));
      PyTuple_SET_ITEM(report.result.get(), static_cast<Py_ssize_t>(i), value.release());
    }
  }
  return report;
}

}  // namespace minidynamo
