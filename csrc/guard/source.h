// Sources and guards: one tree. A source says how an object that existed before the trace is reached from the frame; a
// guard is a check hung on it. The tree of a trace becomes the check of its cache entry.
//
// The tree owns every object that it met while the trace runs (so addresses identify objects); `finish()` releases all
// that the checks do not need. A guard kind exists once: guard_kinds.cpp makes fast check, message and printed form
// from one table.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "python/ref.h"
#include "python/version/fast_locals.h"
#include "size/expression.h"

namespace minidynamo {

enum class Access : uint8_t {
  Local,         // root; key: str, index: fast-locals index of the frame
  Function,      // root; the function object whose frame it is
  Pinned,        // root; an object by itself (key): class, module, names of another module. The entry dies with it
  Attribute,     // PyObject_GetAttr: only where the tracer knows that no user code runs (getset and member descriptors)
  InstanceDict,  // the object's __dict__, as the dict itself (never created by asking)
  DictItem,      // dict[key]; key: any hashable constant
  Index,         // element of a list, tuple or deque; index
  Type,          // type(object)
  ClassAttribute,  // _PyType_Lookup(class, key): raw, unbound; parent is a class
  CellContents,    // contents of a cell object
  Upcoming,        // the item that an iterator will yield after `index` others
  IteratorPart,    // element `index` of what enumerate or zip were made from, as they stand now
  CallResult,      // object(), for a C function that only reads a state of the process
  Proxied,         // the mapping that a mappingproxy shows
  Referent,        // the referent of a weak reference
  ContextValue,    // the value of a context variable; index 1: its own default counts
  CachedResult,    // a result in an lru_cache; key: (key,), or (key, the value if there is no result)
  TensorFact,      // a fact about a tensor beyond its metadata; index: enum TensorFact
  ArrayElements,   // a numpy.ndarray as a tensor over the same memory
  FloatTensor,     // a float as a tensor
  Compared,        // true if a float compares so with another one; key: that, index: Py_LT... or kOutgrows
  Draw,            // the next number of a generator of random numbers: leads to the generator itself
  PlainTensor,     // a tensor of a class of its own as a plain one
  // add kinds here and one row in access_kinds.cpp
};

// A comparison of floats of its own: whether one is finite, and of a larger magnitude than the other.
constexpr int kOutgrows = Py_GE + 1;

enum class GuardKind : uint8_t {
  Identity,        // is the object seen
  Names,           // the dict of names that functions of the module share, by its address (see guard_kinds.cpp)
  ExactType,       // type(x) is the type seen
  Constant,        // same type and equal (floats: same bits; containers of constants element by element)
  Value,           // the plain value of a str, bytes, int, float, complex or frozenset, whatever its class adds
  Length,          // len() of list, tuple, dict, set as seen
  DictKeys,        // same keys in the same order (by identity or equality of constants)
  SetItems,        // same constant elements
  SpecialMethods,  // whatever C code looks up in a class (__eq__, __len__, __getattr__...) as seen, or absent
  Bases,           // a class has the same MRO
  Missing,    // operand: (Access, key) cannot be reached: key absent in dict, no such class attribute, empty cell, null
              // local
  Tensor,     // TensorRecord
  Present,    // there is something, whatever it is
  Integer,    // an int, of no subclass, that fits into 64 bits
  HeldOnce,   // only its object refers to a __dict__
  SameAs,     // operand: another source; both lead to one object
  NotSameAs,  // operand: another source; they lead to different objects
  DistinctTensors,  // on the tree, not a source: all gathered graph inputs are different objects
  StorageSharing,   // on the tree: written graph inputs share storages with the same others
  Sizes             // on the tree: a condition on numbers that may differ
};

// Where the program caused a guard, for printing.
struct GuardOrigin {
  PyCodeObject* code = nullptr;
  int32_t line = 0;
};

class Source {
 public:
  Access access = Access::Local;
  Source* parent = nullptr;  // null for roots
  Ref key;                   // Local: name; Pinned: object; Attribute, ClassAttribute: str; DictItem: the key
  int32_t index = -1;        // Local, Index
  Ref value;                 // its object when first reached; null only where absence is guarded (GuardKind::Missing)
  std::string to_text() const;  // L['self'].layers[0].weight

  // The rest belongs to guard/.
  uint64_t open_sizes = 0;  // Tensor: dimensions whose sizes may differ, by bit (tensor/fake/metadata.h)
  bool absent = false;
  bool kept = false;                  // Pinned: the entry keeps the object alive
  bool inline_attributes = false;     // InstanceDict without a dict object: value is the instance
  bool held_elsewhere = false;        // InstanceDict: when first reached, more than the instance referred to the dict
  uint16_t guarded = 0;               // GuardKinds that were added, as bits
  uint32_t id = 0;                    // order of making
  int32_t slot = -1;                  // gathered
  Py_hash_t hash = 0;                 // the key's, see build_hash
  const std::string* text = nullptr;  // Pinned
};

// A number that may differ from call to call: a tensor's size in a dimension, or an int itself (dimension -1).
struct OpenNumber {
  Source* source;
  int32_t dimension;
  std::string to_text() const;  // L['x'].size(0)
};
struct SizeGuard {
  SizeCondition condition;  // symbols are the positions of open numbers
  GuardOrigin origin;
};

// Some of the specialized numbers of an entry that have changed, by the texts of their sources. A bit for each
// dimension of a tensor; all for an int.
using ChangedNumbers = std::vector<std::pair<std::string, uint64_t>>;

// The frame that a check is run against: its function and its fast locals.
struct FrameView {
  PyObject* function;
  FastLocals locals;
};

// Which of the guards the user wants checked, by position (guard/guard_filter.h).
struct OfferedGuard;
using GuardFilter = std::function<std::vector<bool>(const std::vector<OfferedGuard>&)>;

class GuardTree {
 public:
  GuardTree();
  ~GuardTree();
  GuardTree(GuardTree&&) noexcept;
  GuardTree& operator=(GuardTree&&) noexcept;

  // Roots and children: found again if they exist (same access, key and index), so a call costs one hash lookup.
  // `value` is what is there now. DictItem and friends print prettily where they came through an instance or a module.
  // InstanceDict: `value` is the dict, or null (or the instance itself) where no dict object exists yet; its items are
  // then read from the instance, then and later, whichever form it has at the time.
  Source* local(int32_t index, PyObject* name, PyObject* value);
  Source* function(PyObject* function);
  Source* pinned(PyObject* object,
                 const std::string& text);                  // text: how it prints, e.g. "G" or "torch.nn.functional"
  Source* kept(PyObject* object, const std::string& text);  // the same, for an object that may have no other owner
  Source* child(Source* parent, Access access, PyObject* key, int32_t index, PyObject* value);
  // The same, if it exists; parent null for roots (Function: no key; Pinned: the object).
  Source* find(Source* parent, Access access, PyObject* key, int32_t index) const noexcept;

  // Guards; each is recorded once however often it is asked for. The expected value is source->value.
  void add(Source* source, GuardKind kind, GuardOrigin origin);
  void add_missing(Source* parent, Access access, PyObject* key, int32_t index,
                   GuardOrigin origin);                                                  // a null local has no parent
  void add_relation(Source* source, GuardKind kind, Source* other, GuardOrigin origin);  // SameAs, NotSameAs

  // The check also gathers: after a successful check, slot n of the result holds source n's object. Found again if
  // asked twice.
  uint32_t gather(Source* source);
  uint32_t gathered() const noexcept;
  // True if the next check of some root reads a list instead of walking over nodes (steady_walk.h). For tests.
  bool has_steady_walk() const noexcept;
  // Each of `written` must be an object of its own: none of the other written ones, and none of `others`, of which two
  // may well be one.
  void require_disjoint(std::vector<Source*> written, std::vector<Source*> others);
  // Gathered slots whose tensors must be different objects (graph inputs).
  void distinct(std::vector<uint32_t> slots);
  // Gathered slots with tensors of which some, by position, are written to: they share storages as they do now.
  void storages(std::vector<uint32_t> slots, std::vector<bool> written);

  // Numbers that may differ, and what must hold of them.
  void sizes(std::vector<OpenNumber> numbers, std::vector<SizeGuard> guards);

  // Ends building: keeps torch's global state, drops sources that lead to no guard or gather, lets go of values that
  // checks do not need, orders checks (cheap and likely to fail first). Records tensors and torch's state as they are
  // now, so it must run after TensorTraceScope has ended. The first successful check takes the version stamps. With a
  // filter, those that it does not want are dropped, as far as the check can do without them.
  void finish(const GuardFilter& filter = nullptr);
  bool finished() const noexcept;

  // From then on, calls back once when an object dies that the guards want to see by identity: no frame can pass any
  // more.
  void when_object_dies(std::function<void()> told);

  // True if every guard holds; then slots[0..gathered()) hold borrowed references, alive as long as nothing else runs
  // (they may be null pointers' room otherwise: a failed check leaves them undefined). `slots` may be null. Runs no
  // user code beyond == on str, int, float, bytes. noexcept, leaves no Python error.
  bool check(const FrameView& frame, PyObject** slots) noexcept;
  // An object that passed a check and has no other owner is kept alive until then, or until the next check.
  void release() noexcept;
  // The same as `check` by the plain slow way, without stamps; tests compare both (mirror mode).
  bool check_slowly(const FrameView& frame) const noexcept;
  // The first guard that fails, with the value seen and the user line that caused it; "" if all hold.
  std::string explain_failure(const FrameView& frame) const;
  // The same with the kind of the guard by name; "" where it is none of GuardKind's.
  struct Refusal {
    std::string kind, message;
    std::string changed_number;  // the source of an int or float that had to have one value; "" for anything else
    bool is_equality_of_sizes = false;  // dynamic sizes had to be equal, or to have one value
  };
  Refusal refusal(const FrameView& frame) const;

  // The changed numbers, if the frame is refused on account of numbers alone; empty if it is not.
  ChangedNumbers changed_numbers(const FrameView& frame) const;

  std::vector<std::string> to_text() const;  // one Python expression per guard, with "# file:line" of its cause
  size_t guard_count() const noexcept;       // sources' guards; torch's global state comes on top

  // For the garbage collector: the owner's tp_traverse and tp_clear. A cleared tree refuses every frame.
  int traverse(visitproc visit, void* arg) const;
  void clear() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace minidynamo
