// The modes of this thread that a trace or a graph may change on its way: what one that ended in the middle left of
// them is put back.
#pragma once
#include <memory>

namespace minidynamo {

// True if autograd notes what operators do.
bool gradients_are_on() noexcept;
void set_gradients(bool on) noexcept;

class GradientsOn {
 public:
  explicit GradientsOn() noexcept : were_on_(gradients_are_on()) { set_gradients(true); }
  ~GradientsOn() { set_gradients(were_on_); }
  GradientsOn(const GradientsOn&) = delete;

 private:
  const bool were_on_;
};

class ThreadModes {
 public:
  ThreadModes();  // as they are now
  ~ThreadModes();
  ThreadModes(const ThreadModes&) = delete;
  // Other threads may run before it returns, if casts of an autocast that is open are forgotten.
  void restore(bool forgets_casts = true) const;
  bool were_within_autocast() const noexcept;
  // Empties autocast's cache, which all threads share. Whoever does so holds its lock while tensors die, which may want
  // the GIL: so it is let go of, and other threads may run.
  static void forget_casts() noexcept;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace minidynamo
