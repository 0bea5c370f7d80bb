#include "model/proxies/unknown_reads.h"

#include <algorithm>

#include "model/tensors/tensor_call.h"
#include "python/native_scope.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo {
namespace {

enum class Numbers : uint8_t { Ints, Floats, Bools, Others };

Numbers numbers_of(PyObject* tensor) {
  static constinit Imported ints[] = {Imported{"torch.int64"}, Imported{"torch.int32"}, Imported{"torch.int16"},
                                      Imported{"torch.int8"}, Imported{"torch.uint8"}};
  static constinit Imported floats[] = {Imported{"torch.float32"}, Imported{"torch.float64"},
                                        Imported{"torch.bfloat16"}, Imported{"torch.float16"}};
  const Ref dtype = native_attribute(tensor, "dtype"_name);
  clear_error();
  const auto is = [&](PyObject* one) { return dtype.is(one); };
  if (std::ranges::any_of(ints, is)) return Numbers::Ints;
  if (std::ranges::any_of(floats, is)) return Numbers::Floats;
  return is("torch.bool"_imported) ? Numbers::Bools : Numbers::Others;
}

bool is_on_cpu(PyObject* tensor) {
  const Ref answer = native_attribute(tensor, "is_cpu");
  clear_error();
  return answer.is(Py_True);
}

Ref record_method(Tracer& tracer, const char* name, std::initializer_list<Ref> values) {
  const Ref method = Ref::made(PyUnicode_InternFromString(name));
  return record_call(tracer, NodeKind::CallMethod, method.get(),
                     Arguments{std::span<const Ref>(values.begin(), values.size())});
}

// As a tensor of its own without dimensions; null without a break: none can be had.
Ref read_float(Tracer& tracer, PyObject* tensor, bool has_dimensions) {
  if (!is_on_cpu(tensor)) return nullptr;
  Ref value = record_method(tracer, "detach", {Ref::borrow(tensor)});
  if (value && has_dimensions) value = record_method(tracer, "reshape", {value, Ref::made(PyTuple_New(0))});
  const Ref operands[] = {value, Ref::borrow("torch.float64"_imported), Ref::boolean(true)};
  const Ref names = Ref::made(PyTuple_Pack(1, "copy"_name));
  if (value) value = record_call(tracer, NodeKind::CallMethod, "to"_name, Arguments{operands, names.get()});
  if (!value) return nullptr;
  NumberFacts facts;
  facts.asked = tracer.unbacked_numbers.make(UnbackedNumbers::Kind::Float, SizeRange{});
  facts.is_any = true;
  return facts.asked ? make_symbolic_float(tracer, std::move(value), std::move(facts)) : Ref();
}

// True if one is not 0.
Ref read_truth(Tracer& tracer, PyObject* tensor, Numbers kind) {
  const Ref as_int = kind == Numbers::Ints
                         ? Ref::borrow(tensor)
                         : record_method(tracer, "to", {Ref::borrow(tensor), Ref::borrow("torch.int64"_imported)});
  const Ref number = as_int ? tracer.unbacked_numbers.read(as_int.get()) : Ref();
  if (!number) return nullptr;
  const NativeScope native;
  return symbolic_bool(tracer.symbols.sizes(), is_equal(expression_of(number.get()), constant(0)).negated());
}

// Reads one element. Null as below.
Ref read_one(Tracer& tracer, PyObject* tensor, std::string_view method, Numbers kind, bool has_dimensions) {
  if (method == "__float__" || (method == "item" && kind == Numbers::Floats))
    return read_float(tracer, tensor, has_dimensions);
  if (kind == Numbers::Floats) return nullptr;
  if (method == "__bool__" || (method == "item" && kind == Numbers::Bools)) return read_truth(tracer, tensor, kind);
  return kind == Numbers::Ints ? tracer.unbacked_numbers.read(tensor) : Ref();
}

constexpr Py_ssize_t kMostNumbers = 16;  // that a list is made of

}  // namespace

Ref read_numbers(Tracer& tracer, PyObject* tensor, std::string_view name) {
  static constexpr std::string_view kOne[] = {"item", "__int__", "__index__", "__float__", "__bool__"};
  const bool is_list = name == "tolist";
  if ((!is_list && std::ranges::find(kOne, name) == std::end(kOne)) || tracer.graph.producer(tensor) == kNoNode)
    return nullptr;
  const Numbers kind = numbers_of(tensor);
  if (kind == Numbers::Others) return nullptr;
  // Modes and classes of the program's would hear of the operators that stand for the read. Of a gradient torch warns.
  if (kind != Numbers::Ints && (tracer.function_modes.any() || !is_plain_tensor_class(Py_TYPE(tensor)))) return nullptr;
  if (name == "__float__" && requires_gradient(tensor)) return nullptr;
  const Ref shape = native_attribute(tensor, "shape");
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
      const Ref number = element ? read_one(tracer, element.get(), "item", kind, false) : Ref();
      if (!number) return nullptr;
      PyList_Append(list.get(), number.get());
    }
    return list;
  }
  for (Py_ssize_t d = 0; d < dimensions; ++d) {
    PyObject* const size = PyTuple_GET_ITEM(shape.get(), d);
    if (is_list || !PyLong_CheckExact(size) || PyLong_AsLong(size) != 1) return nullptr;
  }
  return read_one(tracer, tensor, name, kind, dimensions > 0);
}

}  // namespace minidynamo
