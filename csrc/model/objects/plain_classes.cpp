#include "model/objects/plain_classes.h"

#include "python/process/out_of_memory.h"
#include "tensor/fake/wrapper_fake.h"
#include "world/external/known_types.h"
#include "world/state/held_values.h"
#include "world/torch/tensor_classes.h"

namespace minidynamo {

bool has_class_of_program(PyObject* object) {
  return is_fake(object) && !is_class_of_graphs(Py_TYPE(object)) && !is_wrapper(object);
}

PlainClasses::PlainClasses(std::span<const Ref> arguments) {
  for (const Ref& argument : arguments) any_held(argument.get(), [this](PyObject* held) { return add(held), false; });
}

void PlainClasses::add(PyObject* object) {
  if (!has_class_of_program(object)) return;
  shown_.push_back({Ref::borrow(object), Ref::steal(as_object(Py_TYPE(object)))});
  Py_SET_TYPE(object, as_type(Ref::borrow("torch.Tensor"_imported).release()));
}

PlainClasses::~PlainClasses() {
  for (Shown& shown : shown_) {
    const Ref plain = Ref::steal(as_object(Py_TYPE(shown.object.get())));
    Py_SET_TYPE(shown.object.get(), as_type(shown.type.release()));
  }
}

}  // namespace minidynamo
