// The graph as text, for people and for golden tests. One line per node.
#include "graph/graph.h"
#include "graph/subgraph.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"

namespace minidynamo {
namespace {

std::string utf8(const Ref& unicode) {
  const char* characters = unicode ? PyUnicode_AsUTF8(unicode.get()) : nullptr;
  if (characters) return characters;
  clear_error();
  return "?";
}

std::string string_of(PyObject* object) { return utf8(Ref::steal(PyObject_Str(object))); }
std::string repr_of(PyObject* object) { return utf8(Ref::steal(PyObject_Repr(object))); }

std::string attribute_text(PyObject* object, const char* name) {
  Ref value = Ref::steal(PyObject_GetAttrString(object, name));
  if (value) return string_of(value.get());
  clear_error();
  return "";
}

// A callable by module and name: its repr may hold an address.
std::string callable_text(PyObject* callable) {
  std::string name = attribute_text(callable, PyType_Check(callable) ? "__qualname__" : "__name__");
  if (name.empty()) return Py_TYPE(callable)->tp_name;
  std::string module = attribute_text(callable, "__module__");
  if (module == "_operator") module = "operator";
  if (module.empty() || module == "None" || module == "builtins") return name;
  return module + "." + name;
}

std::string constant_text(PyObject* constant) {
  return PyCallable_Check(constant) && !PyTuple_Check(constant) ? callable_text(constant) : repr_of(constant);
}

void append_argument(std::string& out, const Argument& argument);

void append_items(std::string& out, const std::vector<Argument>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    append_argument(out, items[i]);
  }
}

void append_argument(std::string& out, const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::Node:
      out += '%' + std::to_string(argument.node);
      return;
    case Argument::Kind::Constant:
      out += constant_text(argument.constant.get());
      return;
    case Argument::Kind::Tuple:
      if (argument.constant) out += callable_text(argument.constant.get());
      out += '(';
      append_items(out, argument.items);
      out += argument.items.size() == 1 ? ",)" : ")";
      return;
    case Argument::Kind::List:
      out += '[';
      append_items(out, argument.items);
      out += ']';
      return;
    case Argument::Kind::Slice:
      out += "slice(";
      append_items(out, argument.items);
      out += ')';
      return;
    case Argument::Kind::Dict:
      out += '{';
      for (size_t i = 0; i < argument.items.size(); ++i) {
        if (i > 0) out += ", ";
        out += repr_of(PyTuple_GET_ITEM(argument.constant.get(), static_cast<Py_ssize_t>(i))) + ": ";
        append_argument(out, argument.items[i]);
      }
      out += '}';
      return;
    case Argument::Kind::Subgraph:
      out += '<' + subgraph_of(argument.constant.get())->name + '>';
  }
}

// float32[2, 3] for a tensor, (float32[2], int64[2]) for several
std::string example_text(PyObject* example) {
  if (is_tensor(example)) {
    const Ref parts[] = {native_attribute(example, "dtype"), native_attribute(example, "device"),
                         native_attribute(example, "shape")};
    const auto& [dtype_object, device_object, shape] = parts;
    const std::string dtype = dtype_object ? string_of(dtype_object.get()) : "";
    const std::string device = device_object ? string_of(device_object.get()) : "";
    Ref sizes = shape ? Ref::steal(PySequence_List(shape.get())) : Ref();
    if (!sizes) clear_error();
    std::string text = dtype.starts_with("torch.") ? dtype.substr(6) : dtype;
    text += sizes ? repr_of(sizes.get()) : "[?]";
    if (device != "cpu") text += '@' + device;
    return text;
  }
  if (PyTuple_Check(example) || PyList_Check(example)) {
    std::string text = "(";
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(example); ++i) {
      if (i > 0) text += ", ";
      text += example_text(PySequence_Fast_GET_ITEM(example, i));
    }
    return text + ")";
  }
  return example == Py_None ? "None" : Py_TYPE(example)->tp_name;
}

}  // namespace

std::string Graph::to_text() const {
  std::string out;
  for (size_t id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    out += '%' + std::to_string(id);
    if (node.example) out += ": " + example_text(node.example.get());
    out += " = ";
    if (node.kind == NodeKind::Placeholder) {
      out += "placeholder " + utf8(node.target);
      if (node.input >= 0) out += "  # input " + std::to_string(node.input);
    } else {
      out += node.kind == NodeKind::CallMethod ? '.' + utf8(node.target) : callable_text(node.target.get());
      out += '(';
      append_items(out, node.args);
      for (size_t i = 0; i < node.kwargs.size(); ++i) {
        if (i > 0 || !node.args.empty()) out += ", ";
        out += utf8(node.kwargs[i].first) + '=';
        append_argument(out, node.kwargs[i].second);
      }
      out += ')';
      if (node.impure) out += "  # impure";
    }
    if (node.site) out += "  # " + utf8(Ref::borrow(node.site->code->co_name)) + ':' + std::to_string(node.site->line);
    out += '\n';
  }
  return out;
}

}  // namespace minidynamo
