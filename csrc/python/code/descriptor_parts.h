// The parts of a descriptor of C code: two descriptors of one type with the same parts do the same.
#pragma once
#include <array>
#include <span>

#include "python/ref.h"

namespace minidynamo {

class DescriptorParts {
 public:
  // The functions of a property, classmethod or staticmethod; the class and the name of a member of a Python class (a
  // slot, __dict__). Any other descriptor has no parts.
  static DescriptorParts of(PyObject* descriptor) noexcept;

  std::span<PyObject* const> parts() const noexcept { return {parts_.data(), count_}; }  // borrowed

 private:
  std::array<PyObject*, 3> parts_{};
  size_t count_ = 0;

  void add(PyObject* descriptor, Py_ssize_t offset) noexcept;
};

}  // namespace minidynamo
