// The captured forms of code objects: per code object a few entries, each valid where its guards hold, and the reasons
// why a code object runs uncaptured.
//
// A cache hangs on its code object (co_extra) and dies with it; the registry knows all of them, for reset() and
// reports. Everything here needs the GIL. Letting go of an entry may run arbitrary code (backends' objects die), so
// entries are always taken out of the cache first and destroyed last.
//
// Code objects are unknown to the garbage collector, so an entry owns nothing that may lead back to the function whose
// code it hangs on: what it guards by identity is held weakly, and the entry leaves the cache when such an object dies;
// the residual function owns neither names nor objects of the program (LentFunction). The graph and what the backend
// made of it are owned.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cache/capture_id.h"
#include "guard/source.h"
#include "python/code/code_extra.h"
#include "python/code/lent_function.h"
#include "python/ref.h"
#include "tensor/values/saved_inputs.h"
#include "world/proxies/open_numbers.h"

namespace minidynamo {

// Whose entries: two optimize() wrappers with different backends share nothing. 0 is a valid id.
using ConfigId = uint64_t;

struct CacheEntry {
  CaptureId id;
  ConfigId config = 0;
  GuardTree guards;                // finished
  LentFunction residual_function;  // called with the gathered values
  Ref compiled;                    // the backend's result; null if nothing was recorded
  Ref graph_module;
  size_t operators = 0;             // in the graph
  uint32_t graph_inputs = 0;        // the first gathered slots are the graph's inputs
  bool uses_live = false;           // the residual function also wants the tuple of everything gathered
  bool is_broken = false;           // the residual function runs an instruction and goes on with a resume function
  bool frees_locals = false;        // the residual function lets go of what `rebinds` names, once the graph has run
  std::vector<bool> rebinds;        // by parameter of a resume function: whether it loses its value before the end
  bool may_run_again = false;       // the graph changes nothing
  bool keeps_random_state = false;  // but the state of torch's generator, which is put back before that
  std::optional<WrittenInputs> written_inputs;  // and these of its inputs, which are put back too
  bool sets_modes = false;                      // the graph changes modes of the thread, and puts them back at its end
  bool changes_state = false;                   // one of the last three
  std::string source;                           // the residual plan as Python source
  uint64_t hits = 0;
  double guard_seconds = 0;          // one check of the guards, measured when the entry was made
  class CodeCache* cache = nullptr;  // that it is in
  std::shared_ptr<CacheEntry> next_dead;
  bool has_suppositions = false;  // the graph checks what was supposed of numbers that only its run knows
  uint32_t wrong_suppositions = 0;
};

// Room for what a check gathers, on the caller's stack if it is little.
class GatheredSlots {
 public:
  PyObject** reserve(size_t count) {
    if (count <= few_.size()) return few_.data();
    if (many_.size() < count) many_.resize(count);
    return many_.data();
  }

 private:
  std::array<PyObject*, 24> few_;
  std::vector<PyObject*> many_;
};

// Why a code object, or a frame of it, runs as it is.
struct SkipMark {
  ConfigId config = 0;
  std::string reason;  // the stable short name
  std::string detail;  // a sentence
  int32_t line = 0;    // 0: the code's first
};

struct LookupResult {
  enum class Outcome : uint8_t {
    Hit,         // entry; slots are filled
    Miss,        // capture it
    Uncaptured,  // run it as it is; skip says why
  };
  Outcome outcome = Outcome::Miss;
  std::shared_ptr<CacheEntry> entry;
  PyObject** slots = nullptr;  // borrowed objects, entry->guards.gathered() of them, valid until something else runs
  const SkipMark* skip = nullptr;
};

class CodeCache {
 public:
  // The cache of a code object; `find` returns null if it has none, `get` makes it (null with a Python error on
  // failure).
  static CodeCache* find(PyCodeObject* code) noexcept;
  static CodeCache* get(PyCodeObject* code);

  // The first entry of the configuration whose guards hold, which becomes the first to be checked next time; `slots`
  // are then filled as in LookupResult.
  std::shared_ptr<CacheEntry> find_hit(ConfigId config, const FrameView& frame, GatheredSlots& room, PyObject**& slots);
  // The result where no entry fits: Miss or Uncaptured.
  LookupResult miss(ConfigId config);
  // find_hit(), and miss() where it finds none.
  LookupResult lookup(ConfigId config, const FrameView& frame, GatheredSlots& room);

  // Why each entry of the configuration refuses the frame, the first to be asked first; kept as last_miss().
  const std::vector<std::string>& explain_miss(ConfigId config, const FrameView& frame);
  const std::vector<std::string>& last_miss() const noexcept { return last_miss_; }

  // False, and nothing happens, if the configuration has as many entries as the recompile limit allows.
  bool add(std::shared_ptr<CacheEntry> entry);
  void remove(const CacheEntry* entry) noexcept;

  // From now on frames that no entry fits run as they are.
  void skip(SkipMark mark);
  const SkipMark* skipped(ConfigId config) const noexcept;
  std::span<const SkipMark> skips() const noexcept { return skips_; }

  // Held: guards may run code of the program's, and other threads, which change the cache.
  std::vector<std::shared_ptr<CacheEntry>> entries() const { return entries_; }
  size_t entry_count(ConfigId config) const noexcept;
  uint64_t changes() const noexcept { return changes_; }  // entries and marks: another number, another content
  PyCodeObject* code() const noexcept { return code_; }

  // The messages about the code object since the last reset, so that each appears once.
  struct Told {
    bool limit = false, uncaptured = false, stopped = false, loop = false;
    bool first_call = false;        // has been, under a stance that captures from the second one on
    const char* passing = nullptr;  // the last passing reason not to capture; of static life
  };
  Told told;

  // Numbers that captures under a configuration leave open.
  std::unordered_map<ConfigId, DynamicSizes> open_numbers;

  // How often no entry was used. Calls that an entry serves are its hits; those of entries that are gone count here.
  struct Calls {
    uint64_t captured = 0, uncaptured = 0, of_former_entries = 0;
  };
  Calls calls;

  // Numbers for captures of this code object and of its resume functions (hook/capture/capture_history.h).
  struct Numbers {
    std::optional<uint32_t> function;  // none: no capture was tried
    uint32_t captures = 0;
  };
  Numbers numbers;

  // An entry was removed so that the same is captured again (CacheRegistry::capture_again). A stance or a setting that
  // forbids captures is about new ones.
  bool is_captured_again = false;

  // Captured calls may not pay (cache/trial.h): another number for each reason to look at that, 0 for none.
  uint64_t doubt = 0;

 private:
  friend class CacheRegistry;
  explicit CodeCache(PyCodeObject* code) noexcept : code_(code) {}
  ~CodeCache();

  PyCodeObject* code_;  // borrowed: it owns the cache
  std::vector<std::shared_ptr<CacheEntry>> entries_;
  std::vector<SkipMark> skips_;
  std::vector<std::string> last_miss_;
  uint64_t changes_ = 0;
};

// For a scope on this thread, entries that die are put aside: letting go of one runs code of a backend's objects, which
// must not be taken for the program's by a trace.
class DestructionDeferred {
 public:
  DestructionDeferred() noexcept;
  ~DestructionDeferred();
  DestructionDeferred(const DestructionDeferred&) = delete;
};

struct CacheStatistics {
  uint64_t hits = 0, misses = 0, uncaptured = 0;  // lookups by outcome
  uint64_t entries_added = 0, guards_added = 0;   // since the last reset
  uint64_t refused_by_limit = 0;                  // lookups that met the recompile limit
};

// All caches of the interpreter, their settings and counters.
class CacheRegistry {
 public:
  static CacheRegistry& instance() noexcept;

  size_t recompile_limit = 8;  // entries per code object and configuration
  CacheStatistics statistics;
  uint64_t resets = 0;  // how often

  // Drops all entries, marks and counters. Entries in use live until their check or call is over.
  void reset() noexcept;
  // Drops all of a configuration that is gone.
  void forget(ConfigId config) noexcept;

  size_t live_entries() const noexcept;
  // Removes the entries that run this graph, so that the next call is captured.
  void capture_again(PyObject* graph_module) noexcept;

  // Every code object with a cache; strong references, since looking at them may run code.
  std::vector<Ref> codes() const;

 private:
  friend class CodeCache;
  friend class DestructionDeferred;
  std::unordered_set<CodeCache*> caches_;
  std::shared_ptr<CacheEntry> retired_;  // dead entries, a list, since burying may need no memory

  void retire(std::shared_ptr<CacheEntry> dead) noexcept;
  template <class Predicate>
  void retire_if(CodeCache& cache, Predicate is_over) noexcept;  // the entries for which is_over(entry) is true
  void free_retired() noexcept;                                  // those put aside, unless a scope forbids it now
  static CodeSlot& slot() noexcept;
  static void free_cache(void* data) noexcept;
};

}  // namespace minidynamo
