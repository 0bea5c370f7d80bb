// What torch would hand to a __torch_function__, found out without running one.
//
// Which calls of torch's ask modes and classes, and what they hand over (the function, the classes, the arguments as it
// has parsed them), only torch knows. So a call is made for show, with an object on the thread's stack of modes that
// writes down what it is asked, and leaves the call by an error. A call that asks nobody has no effect either: its
// first operator is refused.
#pragma once
#include <cstddef>
#include <cstdint>

#include "python/ref.h"

namespace minidynamo {

// What DisableTorchFunctionSubclass and DisableTorchFunction have left, as the program sees it.
enum class FunctionOverrides : uint8_t { All, OfModes, None };
FunctionOverrides function_overrides() noexcept;

// While one lives, on a thread that traces, classes have no say: who looks at a fake must not run the program's code.
// What the program has set is kept aside.
class SubclassesMuted {
 public:
  SubclassesMuted() noexcept;
  ~SubclassesMuted();
  SubclassesMuted(const SubclassesMuted&) = delete;
  SubclassesMuted& operator=(const SubclassesMuted&) = delete;

 private:
  FunctionOverrides outer_;
  bool was_muted_;
};

// For what asks for this state, or changes it: while one lives, it is as the program has set it.
class OverridesAsSet {
 public:
  OverridesAsSet() noexcept;
  ~OverridesAsSet();
  OverridesAsSet(const OverridesAsSet&) = delete;
  OverridesAsSet& operator=(const OverridesAsSet&) = delete;
};

// DisableTorchFunctionSubclass, as the program would see it.
class SubclassesDisabled {
 public:
  SubclassesDisabled() noexcept;
  ~SubclassesDisabled();
  SubclassesDisabled(const SubclassesDisabled&) = delete;
  SubclassesDisabled& operator=(const SubclassesDisabled&) = delete;

 private:
  FunctionOverrides outer_;
};

class OverrideProbe {
 public:
  OverrideProbe();
  ~OverrideProbe();
  OverrideProbe(const OverrideProbe&) = delete;
  OverrideProbe& operator=(const OverrideProbe&) = delete;

  static bool is_open() noexcept;  // on this thread; then no operator runs

  // Of the first who was asked: (function, types, args) or (function, types, args, kwargs). Null: nobody.
  const Ref& asked() const noexcept { return asked_; }

 private:
  static PyObject* note(PyObject* self, PyObject* arguments);
  static PyObject* mode();
  const OverridesAsSet as_set_;
  Ref asked_;
  OverrideProbe* outer_;
};

// So many modes lie on the thread's stack while it lives: for who only wants to know whether there are any.
class FunctionModesShown {
 public:
  explicit FunctionModesShown(size_t count);
  ~FunctionModesShown();
  FunctionModesShown(const FunctionModesShown&) = delete;
  FunctionModesShown& operator=(const FunctionModesShown&) = delete;

 private:
  const OverridesAsSet as_set_;
  size_t count_;
};

}  // namespace minidynamo
