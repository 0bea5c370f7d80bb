#include "cache/trial.h"

#include <algorithm>

namespace minidynamo {
namespace {

constexpr int kWarmCalls = 8;
constexpr uint64_t kBigGraph = 100'000;     // nanoseconds for each entry that ran
constexpr uint64_t kLongCall = 20'000'000;  // nanoseconds of a call that runs no entry
constexpr double kSlower = 1.05;
constexpr int kPairsToAgree = 9;
constexpr int kPairsToSeeTheSize = 3;
constexpr int kMostRounds = 3;

}  // namespace

Trial::Call Trial::next() noexcept {
  if (state_ == State::Stopped) return Call::Stopped;
  if (state_ == State::Kept || is_timing_) return Call::Usual;
  if (state_ == State::Warming) {
    if (++calls_ > kWarmCalls) state_ = State::Timing;
    return Call::Usual;
  }
  is_timing_ = true;
  // Pairs, in turn one way round and the other, so that what changes slowly falls on both.
  const int pair = std::min(captured_count_, plain_count_);
  const bool plain_first = pair % 2 == 1;
  if (captured_count_ == plain_count_) return plain_first ? Call::Plain : Call::Captured;
  return captured_count_ < plain_count_ ? Call::Captured : Call::Plain;
}

bool Trial::took(Call call, uint64_t nanoseconds, uint64_t entries) noexcept {
  is_timing_ = false;
  if (state_ != State::Timing) return false;
  if (call == Call::Plain) {
    plain_[plain_count_++] = nanoseconds;
  } else {
    captured_[captured_count_++] = nanoseconds;
    shortest_ = std::min(shortest_, entries ? nanoseconds / entries : nanoseconds / (kLongCall / kBigGraph));
    // The machine may have had something else to do in one of them.
    if (captured_count_ == kPairsToSeeTheSize && shortest_ > kBigGraph) state_ = State::Kept;
  }
  return captured_count_ == kPairs && plain_count_ == kPairs && decide();
}

void Trial::start_again() noexcept {
  if (state_ == State::Stopped) return;
  state_ = State::Warming;
  calls_ = rounds_ = captured_count_ = plain_count_ = 0;
  shortest_ = UINT64_MAX;
}

bool Trial::decide() noexcept {
  const auto is_slower = [](double captured, double plain) { return captured > kSlower * plain; };
  const auto shortest = [](const Samples& samples) {
    return static_cast<double>(*std::min_element(samples.begin(), samples.end()));
  };
  int slower = 0;
  for (int i = 0; i < kPairs; ++i)
    slower += is_slower(static_cast<double>(captured_[i]), static_cast<double>(plain_[i]));
  const bool by_median = is_slower(captured_median(), plain_median());
  const bool by_shortest = is_slower(shortest(captured_), shortest(plain_));
  if (by_median && by_shortest && slower >= kPairsToAgree) {
    state_ = State::Stopped;
  } else if ((!by_median && !by_shortest) || ++rounds_ == kMostRounds) {
    state_ = State::Kept;
  } else {
    captured_count_ = plain_count_ = 0;  // the machine was busy: once more
  }
  return state_ == State::Stopped;
}

double Trial::median(Samples samples) noexcept {
  std::sort(samples.begin(), samples.end());
  return static_cast<double>(samples[kPairs / 2 - 1] + samples[kPairs / 2]) / 2;
}

}  // namespace minidynamo
