// Regions of a graph: strings of labels that repeat, their rotations, and what keeps stretches from being equal.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif
#include <string>
#include <vector>

#include "graph/regions.h"

namespace {

using namespace minidynamo;

// One call for each letter, equal letters being equal labels, capitals calls of a library. Each uses the result of the
// call before it, the first one the graph's input.
std::vector<LabelledCall> chain(const std::string& letters) {
  std::vector<LabelledCall> calls;
  for (size_t i = 0; i < letters.size(); ++i)
    calls.push_back({static_cast<uint32_t>(letters[i]), {static_cast<int32_t>(i) - 1}, letters[i] < 'a'});
  if (!calls.empty()) calls.back().escapes = true;
  return calls;
}

std::vector<Region> regions_of(const std::vector<LabelledCall>& calls, const std::vector<size_t>& forbidden = {},
                               RegionLimits limits = {3, 100, 3}) {
  std::vector<bool> may_cut(calls.size() + 1, true);
  for (const size_t cut : forbidden) may_cut[cut] = false;
  return find_regions(calls, may_cut, limits);
}

using Starts = std::vector<size_t>;

TEST_CASE("equal strings in a row are a region") {
  const auto regions = regions_of(chain("xyabcdabcdabcdz"));
  REQUIRE(regions.size() == 1);
  CHECK(regions[0].length == 4);
  CHECK(regions[0].starts == Starts{2, 6, 10});
}

TEST_CASE("two strings are too few, and short ones are too short") {
  CHECK(regions_of(chain("abcdabcd")).empty());
  CHECK(regions_of(chain("abababab")).empty());
  CHECK(regions_of(chain("")).empty());
}

TEST_CASE("the same string elsewhere joins") {
  const auto regions = regions_of(chain("abcdabcdabcdxyzabcdw"));
  REQUIRE(regions.size() == 1);
  CHECK(regions[0].starts == Starts{0, 4, 8, 15});
}

TEST_CASE("strings with something else between them") {
  const std::string text = "abcdefghijklvwabcdefghijklxyabcdefghijklz";
  const auto regions = regions_of(chain(text));
  REQUIRE(regions.size() == 1);
  CHECK(regions[0].length == 12);
  CHECK(regions[0].starts == Starts{0, 14, 28});
  // No further than a cut may be.
  const auto shorter = regions_of(chain(text), {0, 14, 28, 40});
  REQUIRE(shorter.size() == 1);
  CHECK(shorter[0].length == 10);
  CHECK(shorter[0].starts == Starts{1, 15, 29});
  // The calls between them are compiled too: short strings are not worth it.
  CHECK(regions_of(chain("abcdevwabcdexyabcdez")).empty());
}

TEST_CASE("several regions share no call") {
  const auto regions = regions_of(chain("abcdabcdabcdabcdefgefgefg"));
  REQUIRE(regions.size() == 2);
  CHECK(regions[0].starts == Starts{0, 4, 8, 12});
  CHECK(regions[1].starts == Starts{16, 19, 22});
}

TEST_CASE("what the program marks is a region if it is equal twice, short as it may be") {
  const auto marked = [](const std::string& letters, const std::string& marks) {
    std::vector<LabelledCall> calls = chain(letters);
    for (size_t i = 0; i < calls.size(); ++i) calls[i].marked_region = static_cast<uint32_t>(marks[i] - '0');
    return calls;
  };
  const auto regions = regions_of(marked("xabyabzab", "011022033"));
  REQUIRE(regions.size() == 1);
  CHECK(regions[0].is_marked);
  CHECK(regions[0].length == 2);
  CHECK(regions[0].starts == Starts{1, 4, 7});
  CHECK(regions_of(marked("xabyacz", "0110220")).empty());
  // Calls that lie side by side, and one where the graph may not be cut.
  CHECK(regions_of(marked("abababab", "11223344"), {2})[0].starts == Starts{4, 6});
  // The rest is searched as ever.
  const auto both = regions_of(marked("abzabcdecdecde", "11022000000000"));
  REQUIRE(both.size() == 2);
  CHECK(both[1].starts == Starts{5, 8, 11});
  CHECK(!both[1].is_marked);
}

TEST_CASE("a cut beside a call of a library loses no fusion") {
  // Any rotation of "bMa" has as many instances but the first and the last one.
  const auto regions = regions_of(chain("aMbaMbaMbaMba"));
  REQUIRE(regions.size() == 1);
  CHECK((regions[0].starts[0] == 1 || regions[0].starts[0] == 2));
}

TEST_CASE("no cut where none may be") {
  const auto all = regions_of(chain("abcdabcdabcd"));
  REQUIRE(all.size() == 1);
  CHECK(regions_of(chain("abcdabcdabcd"), {4, 5, 6, 7, 8}).empty());
  // One instance cannot be cut out: the others stay.
  const auto regions = regions_of(chain("abcdabcdabcdabcdz"), {16});
  REQUIRE(regions.size() == 1);
  CHECK(regions[0].starts.size() == 3);
}

TEST_CASE("equal labels with another flow of data are no instance") {
  auto calls = chain("abcdabcdabcdabcdz");
  REQUIRE(regions_of(calls)[0].starts.size() == 4);
  calls[7].edges = {4};  // in the second string d uses a, in the others c
  const auto regions = regions_of(calls);
  REQUIRE(regions.size() == 1);
  CHECK(std::count(regions[0].starts.begin(), regions[0].starts.end(), size_t{4}) == 0);
}

TEST_CASE("values from before are told apart, not named") {
  // Each string uses two inputs of its own; in the third both are one.
  auto with_inputs = [](bool is_one) {
    auto calls = chain("abcdabcdabcdz");
    for (size_t string = 0; string < 3; ++string) {
      const auto first = -1 - static_cast<int32_t>(2 * string + 1);
      calls[4 * string + 1].edges.push_back(first);
      calls[4 * string + 2].edges.push_back(string == 2 && is_one ? first : first - 1);
    }
    return calls;
  };
  CHECK(regions_of(with_inputs(false)).size() == 1);
  CHECK(regions_of(with_inputs(true)).empty());
}

TEST_CASE("what leaves a stretch, and what comes in") {
  auto calls = chain("abcdef");
  calls[5].edges = {1, -2, 4, 1};
  CHECK(outer_edges(calls, 4, 6) == std::vector<int32_t>{3, 1, -2});
}

}  // namespace
