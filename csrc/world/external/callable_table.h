// C callables that a table names, found by what they are: a method counts as the same bound or not.
#pragma once
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "python/cached.h"
#include "python/code/bound_method.h"
#include "world/external/known_types.h"

namespace minidynamo {

template <class Value>
class CallableTable {
 public:
  using Row = std::pair<const char*, Value>;  // the dotted path

  // The callable's value; null: no row names it. A path that this Python does not have is passed over.
  const Value* find(PyObject* callable, std::span<const Row> rows) {
    const auto& values = *values_.get([rows] {
      auto found = std::make_unique<Values>();
      for (const auto& [path, value] : rows) {
        if (Ref object = import_object(path)) found->emplace(definition_of(object.release()), value);
        clear_error();
      }
      return found;
    });
    const auto known = values.find(definition_of(callable));
    return known == values.end() ? nullptr : &known->second;
  }

 private:
  using Values = std::unordered_map<const void*, Value>;
  Cached<Values> values_;
};

}  // namespace minidynamo
