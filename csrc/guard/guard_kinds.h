// Guards as data: one row per GuardKind defines the fast check, whether it can change while the object stays the same,
// the printed form, and the message of a failure.
//
// A check keeps alive: constants (immutable values), and otherwise only weak references to the objects and classes
// whose identity it wants (strong ones where the type knows no weak references).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "guard/access_kinds.h"
#include "guard/source.h"
#include "tensor/fake/metadata.h"

namespace minidynamo {

// When a check has to be repeated.
enum class Stability : uint8_t {
  Stable,     // never, for the same object
  Versioned,  // when the object's own version changed (dicts)
  Volatile,   // always
};

// One cache line: a walk over a big model touches thousands.
struct alignas(64) Check {
  GuardKind kind;
  uint8_t form = 0;  // chosen by the row from the object seen
  Stability stability = Stability::Volatile;
  int32_t line = 0;
  uint32_t origin = UINT32_MAX;                             // index into the tree's table of code objects
  bool (*holds)(const Check&, Reached) noexcept = nullptr;  // the row's, here to save a step
  union {
    Py_ssize_t number = 0;  // Length
    OpenSizes open;         // Tensor: which sizes it leaves open, to be set before it is prepared
    PyObject* address;      // Identity, ExactType: the object, while `expected` proves that it is alive
  };
  Ref expected;  // Constant: the value; DictKeys, SetItems: tuple; Identity, ExactType: see above
  Ref passed;    // Constant: the equal object that was seen last
  std::optional<TensorRecord> tensor;
};
static_assert(sizeof(Check) == 64);

// Prepares the check of an object that was seen. False if this kind can say nothing about it.
bool prepare_check(Check& check, Reached seen);
// True if it holds of an object. No user code, no Python error left.
inline bool holds(const Check& check, Reached object) noexcept { return check.holds(check, object); }
// True if the check compares addresses only. The object that passed it stays alive, or its death invalidates the
// program of guards, so that no other object can appear at that address.
bool holds_by_address(const Check& check) noexcept;
// Calls with each object that the check holds weakly: when one is gone, the check fails for ever.
void each_held_weakly(const Check& check, const std::function<void(PyObject*)>& use);
// As a Python expression about `path`.
std::string check_text(const Check& check, const std::string& path);
// "L['x']: expected 3, got 4"
std::string failure_text(const Check& check, const std::string& path, Reached object);

const char* guard_name(GuardKind kind) noexcept;

// The part of an object that a guard checks.
enum class GuardSubject : uint8_t {
  Object,    // the object itself
  Contents,  // the contents of a container
  Class,     // the attributes that instances inherit from a class
};
GuardSubject subject_of(GuardKind kind) noexcept;

}  // namespace minidynamo
