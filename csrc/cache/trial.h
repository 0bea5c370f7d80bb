// True if captured calls of a wrapped function are worth it: a few of them are timed beside as many uncaptured ones,
// which give the same results. Only what goes on in several graphs is tried, or what no entry fits; one graph as such
// is what the program asked for. A trial is one wrapper's: another one of the same code (a container's forward) is
// another program.
//
// Where graphs are big, nothing is tried: what surrounds them is small beside them.
#pragma once
#include <array>
#include <cstdint>

namespace minidynamo {

class Trial {
 public:
  enum class Call : uint8_t {
    Usual,     // as if there were no trial
    Captured,  // the same, timed
    Plain,     // uncaptured, timed
    Stopped,   // uncaptured, for good
  };

  // Decides how the next call runs. After a timed one, `took` or `nothing_learnt` has to follow.
  Call next() noexcept;
  // A timed call took so many nanoseconds, and ran so many entries. True: that was the last one, and it is stopped now.
  bool took(Call call, uint64_t nanoseconds, uint64_t entries) noexcept;
  // It raised, was captured anew, or met another.
  void nothing_learnt() noexcept { is_timing_ = false; }
  // Something new was captured: what was measured is out of date. What is stopped stays so, but for `forget`.
  void start_again() noexcept;
  void forget() noexcept { *this = Trial(); }

  bool is_stopped() const noexcept { return state_ == State::Stopped; }
  double captured_median() const noexcept { return median(captured_); }  // nanoseconds
  double plain_median() const noexcept { return median(plain_); }

  static constexpr int kPairs = 12;

 private:
  enum class State : uint8_t { Warming, Timing, Kept, Stopped };
  using Samples = std::array<uint64_t, kPairs>;
  static double median(Samples samples) noexcept;
  bool decide() noexcept;

  State state_ = State::Warming;
  bool is_timing_ = false;
  int calls_ = 0;  // in the state
  int rounds_ = 0;
  uint64_t shortest_ = UINT64_MAX;  // nanoseconds for each entry that ran
  Samples captured_{}, plain_{};
  int captured_count_ = 0, plain_count_ = 0;
};

}  // namespace minidynamo
