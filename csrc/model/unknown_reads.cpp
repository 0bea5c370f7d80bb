#include "model/unknown_reads.h"

#include <algorithm>

#include "model/tensor_call.h"
#include "python/out_of_memory.h"
#include "tensor/fake.h"
#include "world/known_types.h"

namespace minidynamo {
namespace {

bool is_of_ints(PyObject* tensor) {
  static constinit Imported dtypes[] = {Imported{"torch.int64"}, Imported{"torch.int32"}, Imported{"torch.int16"},
                                        Imported{"torch.int8"}, Imported{"torch.uint8"}};
  static PyObject* const dtype_name = interned("dtype");
  const Ref dtype = Ref::steal(PyObject_GetAttr(tensor, dtype_name));
  clear_error();
  return std::ranges::any_of(dtypes, [&](PyObject* one) { return dtype.is(one); });
}

constexpr Py_ssize_t kMostNumbers = 16;  // that a list is made of

}  // namespace

Ref read_numbers(Tracer& tracer, PyObject* tensor, std::string_view name) {
  static constexpr std::string_view kOne[] = {"item", "__int__", "__index__"};
  const bool is_list = name == "tolist";
  if ((!is_list && std::ranges::find(kOne, name) == std::end(kOne)) || tracer.graph.producer(tensor) == kNoNode ||
      !is_of_ints(tensor))
    return nullptr;
  const Ref shape = Ref::steal(PyObject_GetAttrString(tensor, "shape"));
  if (!shape || !PyTuple_Check(shape.get())) return clear_error(), nullptr;
  const Py_ssize_t dimensions = PyTuple_GET_SIZE(shape.get());
  if (is_list && dimensions == 1) {
    PyObject* const length = PyTuple_GET_ITEM(shape.get(), 0);
    const Py_ssize_t count = PyLong_CheckExact(length) ? PyLong_AsSsize_t(length) : -1;
    if (count < 1 || count > kMostNumbers) return nullptr;
    Ref list = Ref::made(PyList_New(0));
    for (Py_ssize_t i = 0; i < count; ++i) {
      const Ref index = Ref::made(PyLong_FromSsize_t(i));
      const Ref element = record_operator(tracer, "getitem", {tensor, index.get()});
      const Ref number = element ? tracer.unknown_numbers.read(element.get()) : Ref();
      if (!number) return nullptr;
      PyList_Append(list.get(), number.get());
    }
    return list;
  }
  for (Py_ssize_t d = 0; d < dimensions; ++d) {
    PyObject* const size = PyTuple_GET_ITEM(shape.get(), d);
    if (is_list || !PyLong_CheckExact(size) || PyLong_AsLong(size) != 1) return nullptr;
  }
  return tracer.unknown_numbers.read(tensor);
}

}  // namespace minidynamo
