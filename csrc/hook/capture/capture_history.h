// Fills the record of a capture (capture_record.h) while it is made. Log records and break records that are written
// meanwhile get its id.
#pragma once
#include <chrono>
#include <string>

#include "cache/code_cache.h"
#include "hook/capture/capture_record.h"

namespace minidynamo {

// A capture that is being made on this thread. They nest, should one be made within another.
class OpenCapture {
 public:
  OpenCapture(CodeCache& cache, PyObject* config, const FrameView& view);
  ~OpenCapture();
  OpenCapture(const OpenCapture&) = delete;

  static OpenCapture* innermost() noexcept;

  const CaptureId& id() const noexcept { return record_.id; }
  // The time since the last lap was spent on a phase.
  void lap(Phase phase);
  void lap() noexcept;  // or on nothing that is counted
  // Seconds that were counted for one phase belong to another.
  void move_seconds(Phase from, Phase to, double seconds) noexcept;
  void ends_with(const CacheEntry& entry);

 private:
  void begin(CodeCache& cache, const FrameView& view);
  void end(PyObject* error);
  using Clock = std::chrono::steady_clock;
  double since_beginning() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  CaptureRecord record_;
  Ref code_, config_;
  OpenCapture* outer_;
  Clock::time_point began_ = Clock::now();
  double last_lap_ = 0;
  int64_t peak_memory_;
};

// The id of a function that has been captured before, "3", or of the capture that is open on this thread, "3/1".
std::string function_id(PyCodeObject* code);
std::string open_capture_id();

// Seconds in which the backend of the capture that is open on this thread, if any, loaded modules.
void note_imports(double seconds) noexcept;

// As minidynamo.debug.Capture has it; null with a Python error set on failure.
Ref to_dict(const CaptureRecord& record);

}  // namespace minidynamo
