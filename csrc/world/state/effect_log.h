// The changes that a trace has made to the world before it: one log, in the order of the program. None of them has
// happened yet: reads look into the log first, and the residual code makes the changes (plan/effects.h).
//
// A silent change needs no order (writing an attribute runs no code of the program), so an attribute that is written
// again keeps the place of its first writing, which is its place in the object's dict. Calls are not silent: a cached
// function that is called when the log is replayed runs the program's code, and has to find the world as it was at its
// place. So a call is a *barrier*: a write behind one is a new entry.
//
// Containers have no entries of their own: they change in shadows, by whatever C code, and the changes are found at the
// end by comparing. Where a call may look at them, their contents of that time are put into the log before it.
#pragma once
#include <deque>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

struct ShadowContainer;

// A pending attribute write; a null value is a deletion. Names of a module are keys of its dict, and what a cell holds
// is its `cell_contents`.
struct AttributeWrite {
  Ref object, name, value;
};

// A ContextVar that the trace has set, to an in-trace value.
struct ContextSet {
  Ref variable, value, token;
};

// The state that a generator of random numbers has come to: that of `copy`, the trace's own.
struct GeneratorMove {
  Ref generator, copy;
};

// A call for the residual code to make, of which the trace knows the result.
struct DeferredCall {
  Ref callable, positional, keywords;  // keywords may be null
};

// The elements of a container before a call that may look at it: `content` is a copy of its shadow of that time.
struct ContentChange {
  ShadowContainer* container;
  std::vector<Ref> before;  // its elements until then, as ShadowContainer::snapshot
  Ref content;
  bool keeps_places;  // for a deque
};

// An iterator from before the call that moves on (world/external/external_iterator.h says how far).
struct IteratorAdvance {
  Ref iterator;
};

// monostate: taken back.
using Effect = std::variant<std::monostate, AttributeWrite, ContextSet, GeneratorMove, DeferredCall, ContentChange,
                            IteratorAdvance>;

class EffectLog {
 public:
  const std::deque<Effect>& effects() const noexcept { return effects_; }
  // The number of changes made, calls apart: equal numbers mean that nothing was in between.
  size_t changes() const noexcept { return changes_; }

  // The number of attributes written.
  size_t writes() const noexcept { return writes_; }

  // Attributes of external instances, globals and cells. Null: as it was before the trace.
  const AttributeWrite* pending(PyObject* object, PyObject* name) const;
  bool has_writes(PyObject* object) const noexcept { return by_object_.count(object) > 0; }
  bool has_writes_but(PyObject* object, PyObject* name) const;  // to another attribute than this
  void write(PyObject* object, PyObject* name, PyObject* value);
  void write_class(PyObject* type, PyObject* name, PyObject* value) {
    writes_classes_ = true;
    write(type, name, value);
  }
  bool writes_classes() const noexcept { return writes_classes_; }
  // Those of one object, oldest first, which are no longer pending then. Those that a later call has to see are in the
  // log still.
  struct TakenWrites {
    std::vector<AttributeWrite> logged, removed;
  };
  TakenWrites take_writes(PyObject* object);
  // The same of an attribute that lies in the object's __dict__, if it has one yet: others may share that.
  void write_in_dict(PyObject* object, PyObject* dict, PyObject* name, PyObject* value) {
    if (dict) note_writer(dict, object);
    write(object, name, value);
  }
  void note_writer(PyObject* dict, PyObject* object) { writers_of_dicts_.emplace(dict, object); }
  // The object with pending writes whose __dict__ it is; null: none.
  PyObject* writer_of(PyObject* dict) const noexcept {
    if (writers_of_dicts_.empty() || !dict) return nullptr;
    const auto found = writers_of_dicts_.find(dict);
    return found == writers_of_dicts_.end() ? nullptr : found->second;
  }

  // Context variables.
  void set_context(ContextSet set);
  const ContextSet* last_set(PyObject* variable) const;  // null: the trace has not set it
  // False: a call behind it has to see it.
  bool undo_last_set(PyObject* variable);
  // The set() that returned a token, and all those of its variable until then, oldest first; empty if it was taken
  // back.
  std::vector<const ContextSet*> sets_until(PyObject* token) const;

  void advance(PyObject* iterator);

  // Generators of random numbers that the trace has given a state: null for others.
  PyObject* copy_of_generator(PyObject* generator) const;
  // The copy may be moved on as it is: no call in the log has to see the state that it is in.
  bool may_move_copy(PyObject* generator) const noexcept;
  void move_generator(PyObject* generator, Ref copy);
  // Something was done of which the log need not know.
  void note_change() noexcept { ++changes_; }

  // The place behind all that is there.
  size_t end() const noexcept { return effects_.size(); }
  // A call takes the place of those that it makes itself, which came since `from`; nothing else may have come since.
  void defer_call(DeferredCall call, size_t from);
  // A call of C code that looks at nothing that a trace may write to.
  void append_unordered_call(DeferredCall call) { effects_.emplace_back(std::move(call)); }
  // Notes the result that the cache of a function comes to hold by a call of it.
  void will_be_cached(PyObject* function, Ref key, Ref result) {
    const Py_hash_t hash = PyObject_Hash(key.get());
    cached_[function].emplace(hash, std::pair(std::move(key), std::move(result)));
  }
  PyObject* cached_by_trace(PyObject* function, PyObject* key) const noexcept;  // null: none
  size_t cached_by_trace(PyObject* function) const noexcept;
  bool has_calls() const noexcept { return barrier_ > 0; }
  void change_content(ContentChange change) { effects_.emplace_back(std::move(change)); }

  // An object out of a cache, which may have made another one by the time that the residual code asks it.
  void cached_by(PyObject* object, DeferredCall how) { from_caches_.emplace(object, std::move(how)); }
  const DeferredCall* cache_behind(PyObject* object) const noexcept {
    const auto found = from_caches_.find(object);
    return found == from_caches_.end() ? nullptr : &found->second;
  }

  // While one lives, what reads find in the log is collected.
  class Reads {
   public:
    explicit Reads(EffectLog& log) noexcept : log_(log), from_(log.read_.size()) { ++log_.watching_; }
    ~Reads() {
      if (--log_.watching_ == 0) log_.read_.clear();
    }
    Reads(const Reads&) = delete;
    Reads& operator=(const Reads&) = delete;
    // The values found so far.
    std::vector<Ref> values() const { return {log_.read_.begin() + static_cast<ptrdiff_t>(from_), log_.read_.end()}; }

   private:
    EffectLog& log_;
    const size_t from_;
  };

 private:
  using Place = std::pair<PyObject*, PyObject*>;  // object, name
  struct PlaceHash {
    size_t operator()(const Place& place) const noexcept {
      return std::hash<PyObject*>()(place.first) * 31 + std::hash<PyObject*>()(place.second);
    }
  };

  std::deque<Effect> effects_;  // entries stay where they are
  std::unordered_map<Place, size_t, PlaceHash> last_write_;
  std::unordered_map<PyObject*, std::vector<size_t>> by_object_;  // writes that are pending
  std::unordered_map<PyObject*, PyObject*> writers_of_dicts_;
  std::unordered_map<PyObject*, std::vector<size_t>> sets_;  // by context variable
  std::unordered_map<PyObject*, size_t> set_of_token_;
  std::unordered_map<PyObject*, DeferredCall> from_caches_;
  // By function and hash: keys, which are constants, and results.
  std::unordered_map<PyObject*, std::unordered_multimap<Py_hash_t, std::pair<Ref, Ref>>> cached_;
  std::unordered_map<PyObject*, size_t> advances_;
  std::unordered_map<PyObject*, size_t> generators_;
  size_t changes_ = 0, writes_ = 0;
  size_t barrier_ = 0;  // behind the last call
  bool writes_classes_ = false;
  int watching_ = 0;
  mutable std::vector<Ref> read_;

  bool take_back_setting(PyObject* object, PyObject* name, size_t& last);
  const AttributeWrite& write_at(size_t place) const { return std::get<AttributeWrite>(effects_[place]); }
  void note_read(const Ref& value) const {
    if (watching_ && value) read_.push_back(value);
  }
};

}  // namespace minidynamo
