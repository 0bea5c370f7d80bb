// Trials without a clock: what the calls took is made up.
#if __has_include(<catch2/catch_test_macros.hpp>)  // version 3
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include "cache/trial.h"

using namespace minidynamo;

namespace {

// Makes calls until the trial is over; how many were timed uncaptured, or -1 if it was never over.
int run(Trial& trial, uint64_t captured, uint64_t plain, uint64_t entries) {
  int plain_calls = 0;
  for (int i = 0; i < 1000; ++i) {
    const Trial::Call call = trial.next();
    if (call == Trial::Call::Stopped) return plain_calls;
    if (call == Trial::Call::Usual) continue;
    plain_calls += call == Trial::Call::Plain;
    trial.took(call, call == Trial::Call::Plain ? plain : captured, entries);
  }
  return trial.is_stopped() ? -1 : plain_calls;
}

}  // namespace

TEST_CASE("what is slower captured is stopped") {
  Trial trial;
  CHECK(run(trial, 2000, 1000, 5) == Trial::kPairs);
  CHECK(trial.is_stopped());
  CHECK(trial.captured_median() == 2000);
  CHECK(trial.plain_median() == 1000);
  trial.start_again();
  CHECK(trial.next() == Trial::Call::Stopped);
}

TEST_CASE("what is as fast, or faster, is kept, and not timed any more") {
  for (uint64_t captured : {500, 1000, 1040}) {
    Trial trial;
    CHECK(run(trial, captured, 1000, 5) == Trial::kPairs);
    CHECK_FALSE(trial.is_stopped());
    CHECK(trial.next() == Trial::Call::Usual);
    trial.start_again();
    CHECK(run(trial, captured, 1000, 5) == Trial::kPairs);
  }
}

TEST_CASE("big graphs are not tried") {
  Trial trial;
  CHECK(run(trial, 900'000, 1, 3) <= 3);
  CHECK_FALSE(trial.is_stopped());
}

TEST_CASE("a few slow calls decide nothing") {
  Trial trial;
  int timed = 0;
  for (int i = 0; i < 1000; ++i) {
    const Trial::Call call = trial.next();
    if (call == Trial::Call::Usual) continue;
    const bool is_slow = call == Trial::Call::Captured && ++timed % 3 == 0;
    trial.took(call, is_slow ? 9000 : 1000, 2);
  }
  CHECK_FALSE(trial.is_stopped());
}

TEST_CASE("a timed call that tells nothing is made again") {
  Trial trial;
  for (int i = 0; i < 100; ++i)
    if (trial.next() != Trial::Call::Usual) trial.nothing_learnt();
  CHECK(run(trial, 2000, 1000, 1) == Trial::kPairs);
  CHECK(trial.is_stopped());
}

TEST_CASE("a call inside of a timed one is a usual one") {
  Trial trial;
  Trial::Call call = Trial::Call::Usual;
  while (call == Trial::Call::Usual) call = trial.next();
  CHECK(trial.next() == Trial::Call::Usual);
}
