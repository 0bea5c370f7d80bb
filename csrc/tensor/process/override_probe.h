// Finds what torch would pass to a __torch_function__, without running one.
//
// Only torch knows which of its calls consult modes and classes, and what they pass (the function, the classes, the
// arguments as torch has parsed them). So a call is made for show, with an object on the thread's stack of modes that
// records what it receives, and leaves the call by an error. A call that consults no mode has no effect either: its
// first operator is refused.
#pragma once
#include <cstddef>
#include <cstdint>

#include "python/ref.h"

namespace minidynamo {

// The overrides that DisableTorchFunctionSubclass and DisableTorchFunction have left, as the program sees it.
enum class FunctionOverrides : uint8_t { All, OfModes, None };
FunctionOverrides function_overrides() noexcept;

// While one lives, on a thread that traces, the __torch_function__ of classes is not called: code that inspects a fake
// must not run the program's code. The program's setting is kept aside.
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

  // The arguments of the first call of a mode or class: (function, types, args) or (function, types, args, kwargs).
  // Null: there was none.
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
