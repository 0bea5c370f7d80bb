#include "model/tensors/tensor_names.h"

#include <string_view>
#include <unordered_map>

#include "python/cached.h"

namespace minidynamo {
namespace {

using How = TensorName::How;

TensorName make(const char* name, How how) { return {name, how}; }
TensorName make(const char* name, How how, TensorFact fact) { return {name, how, fact}; }

const TensorName kNames[] = {
#define TENSOR_NAME(name, how, ...) make(name, How::how __VA_OPT__(, ) __VA_ARGS__),
#include "model/tensors/tensor_names.def"
#include "python/process/out_of_memory.h"
#undef TENSOR_NAME
};

std::string_view text_of(PyObject* name) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : nullptr;
  if (!text) clear_error();
  return {text ? text : "", static_cast<size_t>(size)};
}

}  // namespace

const TensorName* find_tensor_name(PyObject* name) {
  static constinit Cached<std::unordered_map<std::string_view, const TensorName*>> cache;
  const auto* rows = cache.get([] {
    auto made = std::make_unique<std::unordered_map<std::string_view, const TensorName*>>();
    for (const TensorName& row : kNames) made->emplace(row.name, &row);
    return made;
  });
  const auto found = rows->find(text_of(name));
  return found == rows->end() ? nullptr : found->second;
}

bool is_made_of_operators(PyObject* name) {
  return find_tensor_name(name) != nullptr || is_operator_name(text_of(name));
}

}  // namespace minidynamo
