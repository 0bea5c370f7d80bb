// Owned references as a type. The one place where Py_INCREF and Py_DECREF are written.
//
// Convention for everything in csrc/: a function that can fail in the CPython sense returns a null Ref (or false, or
// -1) with the Python error set; a plain PyObject* parameter or result is borrowed. C++ exceptions are not used for
// Python errors, but for one: where memory ends, std::bad_alloc is thrown (python/process/out_of_memory.h). None
// crosses a C boundary.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <functional>
#include <utility>

#include "python/object_casts.h"

namespace minidynamo {

[[noreturn]] void throw_out_of_memory();

class [[nodiscard]] Ref {
 public:
  Ref() noexcept = default;
  Ref(std::nullptr_t) noexcept {}
  Ref(const Ref& other) noexcept : object_(other.object_) { Py_XINCREF(object_); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  // Takes over a reference that the caller owns ("new reference" in CPython's terms); null stays null.
  static Ref steal(PyObject* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  // Releases a reference that the caller owns; null is none.
  static void drop(PyObject* object) noexcept { Py_XDECREF(object); }
  // Takes over a new object, which is null only for lack of memory: the Ref is never null.
  static Ref made(PyObject* object) {
    if (!object) [[unlikely]]
      throw_out_of_memory();
    return steal(object);
  }
  // Adds a reference of its own to an object that somebody else owns; null stays null.
  static Ref borrow(PyObject* object) noexcept {
    Py_XINCREF(object);
    return steal(object);
  }
  static Ref none() noexcept { return borrow(Py_None); }
  static Ref boolean(bool value) noexcept { return borrow(value ? Py_True : Py_False); }

  PyObject* get() const noexcept { return object_; }
  // Hands the reference to the caller, as C functions that "steal" or return new references want it.
  [[nodiscard]] PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  bool is(PyObject* other) const noexcept { return object_ == other; }
  void reset() noexcept { Ref().swap(*this); }
  void swap(Ref& other) noexcept { std::swap(object_, other.object_); }
  PyTypeObject* type() const noexcept { return Py_TYPE(object_); }

  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.object_ == b.object_; }

 private:
  PyObject* object_ = nullptr;
};

// A name as the interpreter keeps it, for good.
inline PyObject* interned(const char* text) { return Ref::made(PyUnicode_InternFromString(text)).release(); }

// The text of a string literal, as an argument of a template.
template <size_t N>
struct LiteralText {
  char characters[N];
  consteval LiteralText(const char (&text)[N]) noexcept {
    for (size_t i = 0; i < N; ++i) characters[i] = text[i];
  }
};

// "__name__"_name: the interned object, made once. Borrowed.
template <LiteralText text>
PyObject* operator""_name() {
  static PyObject* const name = interned(text.characters);
  return name;
}

}  // namespace minidynamo

template <>
struct std::hash<minidynamo::Ref> {
  std::size_t operator()(const minidynamo::Ref& ref) const noexcept { return std::hash<PyObject*>()(ref.get()); }
};
