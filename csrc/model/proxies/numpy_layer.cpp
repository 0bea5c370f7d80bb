#include "model/proxies/numpy_layer.h"

#include <algorithm>
#include <unordered_map>

#include "model/protocols/abstract.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

Ref attribute(PyObject* object, const char* name) { return Ref::steal(PyObject_GetAttrString(object, name)); }

PyTypeObject* layer_array_type() {
  static constinit ImportedType type{"torch._numpy.ndarray"};
  return type;
}

// The replacements in torch._numpy for NumPy's functions and classes, by address. NumPy keeps these for good.
class Layer {
 public:
  Layer() {
    // The numbers that it computes with by default are decided once, which imports a module.
    if (const Ref specialize = import_object("torch._numpy._dtypes_impl.default_dtypes"))
      Ref::drop(PyObject_CallNoArgs(specialize.get()));
    clear_error();
    for (const char* part : {"", ".linalg", ".fft"}) {
      const Ref own = import_object((std::string("numpy") + part).c_str()),
                layer = import_object((std::string("torch._numpy") + part).c_str());
      const Ref names = layer ? Ref::steal(PyObject_Dir(layer.get())) : Ref();
      for (Py_ssize_t i = 0; own && names && i < PyList_GET_SIZE(names.get()); ++i) {
        PyObject* name = PyList_GET_ITEM(names.get(), i);
        const Ref theirs = Ref::steal(PyObject_GetAttr(own.get(), name)),
                  ours = theirs ? Ref::steal(PyObject_GetAttr(layer.get(), name)) : Ref();
        clear_error();
        if (!theirs || !ours || !PyCallable_Check(theirs.get()) || !PyCallable_Check(ours.get())) continue;
        if (PyUnicode_READ_CHAR(name, 0) != '_' && !ours.is(as_object(layer_array_type())))
          pairs_.try_emplace(theirs, ours);
      }
      clear_error();
    }
  }

  PyObject* of(PyObject* callable) const noexcept {
    auto found = pairs_.find(Ref::borrow(callable));
    return found == pairs_.end() ? nullptr : found->second.get();
  }

 private:
  std::unordered_map<Ref, Ref> pairs_;
};

}  // namespace

PyObject* layer_of(PyObject* callable) {
  static constinit Cached<Layer> cache;
  return cache
      .get([] {
        const TensorTraceSuspended suspended;
        return std::make_unique<Layer>();
      })
      ->of(callable);
}

bool is_another_in_layer(std::string_view name, bool of_complex) noexcept {
  static constexpr std::string_view kAll[] = {"cbrt", "modf", "fix", "angle", "cond", "ldexp", "nextafter"};
  static constexpr std::string_view kComplex[] = {
      "rint", "round", "around", "sign",  "nan_to_num", "std",         "var",     "maximum",  "minimum", "fmax",
      "fmin", "pinv",  "astype", "power", "pow",        "float_power", "__pow__", "__rpow__", "__ipow__"};
  auto is_among = [name](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return is_among(kAll) || (of_complex && is_among(kComplex));
}

Ref layer_array(PyObject* elements) {
  PyTypeObject* const type = layer_array_type();
  const Ref nothing = Ref::made(PyTuple_New(0));
  Ref made = type ? Ref::steal(type->tp_new(type, nothing.get(), nullptr)) : Ref();
  return made && PyObject_GenericSetAttr(made.get(), "tensor"_name, elements) == 0 ? made : Ref();
}

Ref elements_of_layer_array(PyObject* object) {
  Ref elements = Ref::steal(PyObject_GenericGetAttr(object, "tensor"_name));
  clear_error();
  return elements && is_fake(elements.get()) ? elements : Ref();
}

bool is_layer_array(PyObject* object) { return Py_IS_TYPE(object, layer_array_type()); }

Ref method_of_layer_array(const char* name) { return attribute(as_object(layer_array_type()), name); }

Ref call_layer_method(Tracer& tracer, const char* name, const char* reflected, const Ref& left, const Ref& right) {
  const bool is_left = is_layer_array(left.get());
  const Ref method = method_of_layer_array(is_left ? name : reflected);
  if (!method) return nullptr;
  if (!right) return call(tracer, method.get(), {left});
  return is_left ? call(tracer, method.get(), {left, right}) : call(tracer, method.get(), {right, left});
}

Ref call_layer(Tracer& tracer, PyObject* callable, const std::vector<Ref>& values, PyObject* keyword_names) {
  static constexpr const char* kUnused[] = {"device", "like"};
  const Py_ssize_t keywords = keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0;
  std::vector<Ref> kept(values.begin(), values.end() - keywords);
  const Ref names = Ref::made(PyList_New(0));
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keyword_names, i);
    const Ref& value = values[values.size() - static_cast<size_t>(keywords - i)];
    const bool is_unused =
        value.is(Py_None) && std::any_of(std::begin(kUnused), std::end(kUnused),
                                         [&](const char* of) { return !PyUnicode_CompareWithASCIIString(name, of); });
    if (is_unused) continue;
    kept.push_back(value);
    if (PyList_Append(names.get(), name) < 0) return nullptr;
  }
  const Ref tuple = Ref::made(PyList_AsTuple(names.get()));
  return call(tracer, callable, Arguments{kept, PyTuple_GET_SIZE(tuple.get()) ? tuple.get() : nullptr});
}

}  // namespace minidynamo
