// What a descriptor of C code is made of: two of one type with the same parts do the same.
#pragma once
#include <array>
#include <span>

#include "python/ref.h"

namespace minidynamo {

class DescriptorParts {
 public:
  // Of a property, classmethod or staticmethod its functions; of a member of a Python class (a slot, __dict__) the
  // class and the name. None of anything else.
  static DescriptorParts of(PyObject* descriptor) noexcept;

  std::span<PyObject* const> parts() const noexcept { return {parts_.data(), count_}; }  // borrowed

 private:
  std::array<PyObject*, 3> parts_{};
  size_t count_ = 0;

  void add(PyObject* descriptor, Py_ssize_t offset) noexcept;
};

}  // namespace minidynamo
