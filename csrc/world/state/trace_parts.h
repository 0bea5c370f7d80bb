// The parts of a trace's state that are more than one field and less than a room: how it may end, what the trace made,
// what distinguishes its objects, what dies with it, what a backward pass leaves behind.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "guard/source.h"
#include "python/ref.h"
#include "tensor/autograd/history.h"
#include "tensor/fake/tensor_facts.h"
#include "world/state/break_reason.h"

namespace minidynamo {
struct Frame;

// Where a trace is to end: before an instruction, counted over the whole trace. A trace changes nothing, so a second
// one comes to the same instruction with the same count.
struct BreakPoint {
  long executed = -1;
  PyCodeObject* code = nullptr;
  int32_t instruction = -1;
};

// Why and where a trace was given up.
struct Break {
  BreakReason reason;
  std::string detail;
  Ref code_object;
  int32_t line = 0;
  int32_t column = -1, end_column = -1;  // in bytes; the end is -1 on another line
  std::string user_stack;                // as in a traceback, outermost frame first
  // The instructions before which the trace may end instead, the best one first: the innermost traced instruction that
  // runs alone, then the calls that led to it.
  std::vector<BreakPoint> points;
  bool is_innermost = true;  // the first of them is the instruction that the trace was at
};

// A code object with its globals, and the answer to whether it names a function that looks at frames.
struct KnownReader {
  Ref code, globals;
  bool answer;
};
using KnownReaders = std::map<std::pair<PyCodeObject*, PyObject*>, KnownReader>;

// The places where the trace may end before the program does.
struct Breaks {
  BreakPoint point;                      // end the trace there
  std::function<void(Frame&)> on_break;  // called at `point`, while all frames are alive
  bool are_allowed = true;               // false: all of the frame or nothing
  long forced_at = 0;                    // one is to come at this instruction, counted as `executed`; 0: none
  // The instruction that raised the exception that is propagating now, as `executed` and as places to end instead.
  long raised_at = -1;
  Break raised;
  KnownReaders readers;

  // True if nothing has begun yet that could be cut in two at `at`; then the next instruction is asked.
  bool delay_forced(const Frame& at) noexcept;

 private:
  bool has_left_prologue_ = false;
};

// Objects from before the call that die where the trace ends.
struct ObjectEnds {
  std::vector<Source*> released;  // after all effects: by then nothing else may hold them
  // By parameter of a resume function: whether it is unbound when that returns. The others live until then.
  std::vector<bool> lost_at_return;
  // Objects that a place held before, and holds no more; the place itself is unchanged until the trace ends.
  std::unordered_set<PyObject*> let_go;
  size_t writes_known = 0, looked_at = 0;  // for that: the writes counted so far, and the end of the effect log then
  bool ask_for_break = false;              // one is to come because the program deleted what it will see the end of
};

// The objects that the trace has made, which it distinguishes from those from before.
struct MadeObjects {
  std::unordered_set<Ref> functions;         // by MAKE_FUNCTION: not external, though C code may call them
  std::unordered_set<Ref> namespaces;        // dicts that are the globals of code which it runs
  std::unordered_set<PyObject*> generators;  // that are alive
  // Instances whose __dict__ the program uses as such, by that dict.
  std::unordered_map<PyObject*, Ref> instance_dicts;
  // Those that were given a __dict__, which they may share with others, or be themselves.
  std::unordered_set<Ref> given_dicts;
  PyObject* owner_of_dict(PyObject* dict) const noexcept {
    auto found = instance_dicts.find(dict);
    return found == instance_dicts.end() ? nullptr : found->second.get();
  }
};

// Addresses as the program sees them.
struct Identities {
  std::unordered_set<Ref> given_out;  // results of id(): the very objects, which may not leave the trace
  std::vector<Ref> kept;              // arguments of id(), so that no address comes twice
};

// The needs of a backward pass within the trace, and what it leaves to be done.
struct BackwardState {
  struct HookToCome {
    Ref leaf, hook;
    bool is_after;  // the gradient was accumulated
  };
  bool needs_below_autograd = false;  // one is to run whose operators can be recorded below autograd only
  int passes = 0;
  // Leaves from before the call whose gradients a pass is computing: their fakes have them, not the effect log.
  std::unordered_set<PyObject*> receiving;
  // Hooks that the trace has put on leaves from before the call, in their order; effects do it when the graph has run.
  std::vector<HookToCome> hooks_to_come;
  UsedUpHistories used_up;
};

// Memory that operators have to do with, by its address in the fakes.
struct Storages {
  std::unordered_set<const void*> written;  // by operators so far
  std::vector<const void*> wrapped;         // in wrappers from before (world/proxies/wrapper_tensors.h)
  // In numbers of nodes that were there: where each was first written to, all writes, and the last operator that may
  // raise because of values.
  std::unordered_map<const void*, size_t> first_written;
  std::vector<std::pair<const void*, size_t>> writes;
  std::optional<size_t> last_may_fail;
  bool is_shared_with_processes = false;  // an operator communicates
  bool is_written(PyObject* fake) const noexcept { return written.count(storage_of_fake(fake)) > 0; }
  void note_written(const void* storage, size_t at) {
    written.insert(storage);
    first_written.try_emplace(storage, at);
    writes.emplace_back(storage, at);
  }

  // While this lives, only the memory written since then counts as written; after that, also the memory written before.
  class WrittenWithin {
   public:
    explicit WrittenWithin(Storages& storages) noexcept : storages_(storages) { before_.swap(storages_.written); }
    ~WrittenWithin() { storages_.written.merge(before_); }
    WrittenWithin(const WrittenWithin&) = delete;
    WrittenWithin& operator=(const WrittenWithin&) = delete;

   private:
    Storages& storages_;
    std::unordered_set<const void*> before_;
  };
};

// An assumption that the trace has made at an instruction, as `executed`, and that only its end can check. Where it
// turns out wrong, the frame is traced again without it.
struct Assumption {
  enum class Kind : uint8_t {
    PureGraph,      // the graph changes nothing: where it raises, the frame can run uncaptured
    StaysInside,    // `object`, a fake, does not leave the trace
    Unwritten,      // the graph writes to nothing that shares its memory with `object`, a fake
    Private,        // nor does anything that shares its memory leave the trace
    GraphComputes,  // the graph calls something, or nothing at all was recorded
    IsNoOrigin,     // `object`, a leaf, can be left out of the histories of what leaves the trace
  };
  Kind kind;
  long executed;
  Ref object = nullptr;
};

// A number that residual code draws and passes to the graph (world/proxies/drawn_number.h).
struct DrawnNumber {
  Ref fake, method, arguments;
  Source* source;  // Access::Draw
};

}  // namespace minidynamo
