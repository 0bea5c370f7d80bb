// Objects that are looked up once per process, without a lock.
//
// A function-local static with an initializer is filled under a C++ lock. If filling it lets go of the GIL (an import,
// a finalizer), a second thread that takes the GIL and comes to the same static waits for that lock with the GIL held,
// and the first waits for the GIL: a deadlock. So an object that needs Python code to be made is made here: the static
// is constant-initialized, and filled by the thread that comes first. Two threads that come together both make it; the
// first to be ready wins, and the other's is released. scripts/check_statics.py refuses statics that are filled in
// another way.
//
// Python code that runs to make it is not the program's: a trace that needs the object first does not see it.
//
// Needs the GIL. An object that is found is never released: it lives as long as the process.
#pragma once
#include <memory>

#include "python/native_scope.h"
#include "python/process/out_of_memory.h"
#include "python/ref.h"

namespace minidynamo {

// One object. Null with a Python error set if it cannot be had: then it is asked for again next time. For want of
// memory std::bad_alloc is thrown.
class CachedObject {
 public:
  using Make = Ref (*)(const char* what);
  constexpr explicit CachedObject(Make make, const char* what = nullptr) noexcept : make_(make), what_(what) {}
  CachedObject(const CachedObject&) = delete;
  CachedObject& operator=(const CachedObject&) = delete;

  PyObject* get() { return object_ ? object_ : fill(); }  // borrowed
  operator PyObject*() { return get(); }
  PyTypeObject* type() { return as_type(get()); }  // for an object that is a class

 private:
  Make make_;
  const char* what_;
  PyObject* object_ = nullptr;

  PyObject* fill() {
    const NativeScope native;
    Ref made = make_(what_);
    if (!made && is_out_of_memory()) throw_out_of_memory();
    if (!object_)
      object_ = made.release();
    else if (!made)
      clear_error();  // the other thread had more luck
    return object_;
  }
};

// Makes a class that is defined in C ready, in one go: no other thread sees it half made. Throws std::bad_alloc.
void make_ready(PyTypeObject& type);

// A structure. `make` returns a std::unique_ptr<T>; a null one is not remembered, nor one that ran out of memory while
// it was made: std::bad_alloc is thrown.
template <class T>
class Cached {
 public:
  constexpr Cached() noexcept = default;
  Cached(const Cached&) = delete;
  Cached& operator=(const Cached&) = delete;

  template <class Make>
  T* get(Make make) {
    return value_ ? value_ : fill(make);
  }

 private:
  T* value_ = nullptr;

  template <class Make>
  [[gnu::noinline]] T* fill(Make make) {
    const NativeScope native;
    const MemoryWatch memory;
    std::unique_ptr<T> made = make();
    if (memory.failed()) throw_out_of_memory();
    if (!value_) value_ = made.release();
    return value_;
  }
};

}  // namespace minidynamo
