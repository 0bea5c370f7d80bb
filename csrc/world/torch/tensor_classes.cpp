#include "world/torch/tensor_classes.h"

#include "world/external/known_types.h"

namespace minidynamo {

bool is_tensor_class(PyTypeObject* type) {
  static constinit ImportedType tensor_class{"torch.Tensor"};
  return PyType_IsSubtype(type, tensor_class);
}

bool is_parameter_class(PyTypeObject* type) {
  static constinit ImportedType parameter_class{"torch.nn.Parameter"};
  return PyType_IsSubtype(type, parameter_class);
}

bool is_class_of_graphs(PyTypeObject* type) {
  static constinit ImportedType tensor_class{"torch.Tensor"};
  return type == tensor_class || (is_parameter_class(type) && is_plain_tensor_class(type));
}

}  // namespace minidynamo
