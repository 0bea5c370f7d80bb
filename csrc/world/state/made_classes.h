// The classes that a trace made. They are real classes, and die with the trace: none can be in its residual code. A
// lookup in one is guarded only where it reaches an outside base.
#pragma once
#include <unordered_map>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

class MadeClasses {
 public:
  MadeClasses() = default;
  ~MadeClasses() { forget_in_bases(); }
  MadeClasses(const MadeClasses&) = delete;

  bool any() const noexcept { return !classes_.empty(); }
  bool has(PyObject* object) const noexcept { return any() && made_at_.count(object) > 0; }

  // While type.__new__ makes a class, Python code that it calls (__set_name__, __init_subclass__) may see that class.
  class Making {
   public:
    Making(MadeClasses& classes, PyTypeObject* base, PyObject* name, long now);
    ~Making();
    Making(const Making&) = delete;

   private:
    friend class MadeClasses;
    MadeClasses& classes_;
    PyTypeObject* base_;
    PyObject* name_;
    long now_;
    Ref before_;  // the newest subclass of the base until then
    Making* outer_;
  };
  // Looks for the class that is being made, if any.
  void notice();

  // The end of the trace cannot do without this class.
  void need(PyObject* type) { needed_ = made_at_.at(type); }
  // When the needed class was made, as Tracer::executed; 0: none is known to be needed.
  long needed() const noexcept { return needed_; }

  // External classes are as if none of these had been made. At the end of the trace; before that they may be used.
  void forget_in_bases() noexcept;

 private:
  std::vector<Ref> classes_;
  std::unordered_map<PyObject*, long> made_at_;
  long needed_ = 0;
  Making* making_ = nullptr;
};

}  // namespace minidynamo
