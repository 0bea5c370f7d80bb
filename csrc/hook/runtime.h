// The state that outlives a frame: this thread's capture mode, and the process-wide counters and records.
#pragma once
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "hook/capture/capture_record.h"
#include "python/ref.h"
#include "world/state/tracer.h"

namespace minidynamo {

// The capture state of the frame hook on this thread. Outside a capture region it lets every frame pass.
struct ThreadMode {
  PyObject* config = nullptr;      // the CaptureConfig of the region; null: capture nothing
  PyCodeObject* target = nullptr;  // the code object that the region was entered for; captured whatever the policy says
  bool disabled = false;           // minidynamo.disable: capture nothing, not even in global mode
};
inline constexpr ThreadMode kCaptureNothing{nullptr, nullptr, true};
inline ThreadMode& thread_mode() noexcept {
  static constinit thread_local ThreadMode mode;
  return mode;
}

// Sets the thread's mode for a scope.
class ModeScope {
 public:
  explicit ModeScope(ThreadMode mode) noexcept : saved_(std::exchange(thread_mode(), mode)) {}
  ~ModeScope() { thread_mode() = saved_; }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  ThreadMode saved_;
};

// A place where a capture stopped, and why.
struct Uncaptured {
  enum class Kind : uint8_t {
    GraphBreak,  // the frame was split there
    Frame,       // the frame ran uncaptured
  };
  Kind kind = Kind::Frame;
  Ref frame_code;               // weak: the code object of the frame that was to be captured
  Ref code;                     // weak: the code object of the place, another one in a traced call
  Ref filename;                 // the file name of the place
  std::string frame, function;  // display names
  std::string reason, detail, user_stack;
  std::string capture;  // the id of the capture that stopped, or of the function alone
  int line = 0, column = -1, end_column = -1;
};

// For tests (config.stress): every frame is worth a capture, whoever's code it is, and may be cut anywhere.
struct Stress {
  bool on = false;
  long break_every = 0;  // a break before every n-th instruction of a trace; 0: none but those that must be
  unsigned long seed = 0;
};

struct Statistics {
  long frames = 0, captured = 0, graphs = 0, guards = 0, operators = 0, instructions = 0;
  PhaseSeconds seconds{};
};

struct Runtime {
  Statistics statistics;
  std::deque<Uncaptured> uncaptured;         // the last kMostRecords
  std::deque<CaptureRecord> captures;        // the last kMostRecords
  std::map<std::string, long> break_counts;  // all breaks, by reason
  // Their addresses name cache entries, which go when one dies: weak references that say so.
  std::unordered_map<PyObject*, Ref> configs;
  Ref global_config;  // the configuration of MINIDYNAMO=1; null otherwise. See set_global_config.
  long compiled_functions = 0;
  TraceLimits limits;
  Stress stress;
};
inline constexpr size_t kMostRecords = 1000;
Runtime& runtime() noexcept;

// True if `global_config` is there, for those who ask at every call of the program.
inline constinit bool captures_globally = false;
void set_global_config(PyObject* config) noexcept;

// Drops all entries, records and counters.
void reset_runtime();

}  // namespace minidynamo
