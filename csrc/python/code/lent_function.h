// A function that owns neither its globals nor the objects that its code names: it has them while it runs.
//
// Residual code hangs on the code object of the captured function, and code objects are unknown to the garbage
// collector: what residual code held for good (the module's names, which hold the function, which holds the code) would
// never die. So the code finds such objects in its free variables, whose cells are filled from weak references for the
// time of a call, and the globals are those of the function in whose place it runs.
#pragma once
#include <vector>

#include "python/ref.h"

namespace minidynamo {

class LentFunction {
 public:
  // A free variable of the code. `weak`: the object is held by a weak reference.
  struct Variable {
    Ref object;
    bool weak = false;
  };

  LentFunction() noexcept = default;
  // The variables in the order of the code's free ones. Null (false) with a Python error set on failure.
  LentFunction(Ref code, const std::vector<Variable>& variables);
  LentFunction(LentFunction&&) noexcept = default;
  LentFunction& operator=(LentFunction&&) noexcept = default;

  explicit operator bool() const noexcept { return static_cast<bool>(code_); }
  PyCodeObject* code() const noexcept { return as_code(code_.get()); }

  // Lends everything, with the globals of `owner`, for a scope, which may lie within another of the same function.
  // False: an object that the code needs is gone.
  class Loan {
   public:
    Loan(LentFunction& function, PyObject* owner) noexcept;
    ~Loan();
    Loan(const Loan&) = delete;
    explicit operator bool() const noexcept { return static_cast<bool>(callable_); }
    PyObject* callable() const noexcept { return callable_.get(); }

   private:
    LentFunction& function_;
    Ref callable_;
  };

  // An ordinary function that owns all of it, for tests. Null with a Python error set on failure.
  Ref to_function(PyObject* globals) const;

  int traverse(visitproc visit, void* arg) const;

 private:
  struct WeakCell {
    Ref cell, reference;
  };
  Ref code_, closure_;
  std::vector<WeakCell> weak_cells_;
  Ref idle_;          // a function without globals that waits for the next call; null while it runs
  long running_ = 0;  // loans that are out

  bool fill_cells() const noexcept;
  std::vector<Ref> empty_cells() const noexcept;
};

}  // namespace minidynamo
