// What is looked up once per process, without a lock.
//
// A function-local static with an initializer is filled under a C++ lock. If filling it lets go of the GIL (an import,
// a finalizer), a second thread that takes the GIL and comes to the same static waits for that lock with the GIL in its
// hands, and the first for the GIL: both wait for good. So what has to ask Python is made here: constant-initialized,
// filled by whoever comes first. Two threads that come together both make it; the first to be ready wins, and the
// other's is let go of. scripts/check_statics.py refuses statics that are filled in another way.
//
// Python code that runs for it is not the program's: a trace that asks first does not see it.
//
// Needs the GIL. What is found is never released: it lives as long as the process.
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
  PyTypeObject* type() { return as_type(get()); }  // of a class

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

// A structure. `make` gives a std::unique_ptr<T>; a null one is not remembered, nor one from whose making memory was
// refused: std::bad_alloc is thrown.
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
