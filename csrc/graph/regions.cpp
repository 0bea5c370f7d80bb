#include "graph/regions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace minidynamo {
namespace {

// Equal strings at equal distances: `times` strings of `length` calls, each `period` behind the last one.
struct Comb {
  size_t period = 0, begin = 0, length = 0, times = 0;
  bool has_gaps() const { return length < period; }
  // Calls that need not be compiled. What lies in a gap is a piece of its own, and costs as much as some calls.
  size_t saved() const {
    constexpr size_t kGap = 8;
    const size_t strings = times > 0 ? (times - 1) * length : 0, gaps = has_gaps() ? (times - 1) * kGap : 0;
    return strings > gaps ? strings - gaps : 0;
  }
  size_t end() const { return begin + (times - 1) * period + length; }
};

// The search for one graph. A call that is in a region, or in a run without one, gets a label of its own.
class Search {
 public:
  Search(const std::vector<LabelledCall>& calls, const std::vector<bool>& may_cut, const RegionLimits& limits);
  std::vector<Region> regions();

 private:
  const std::vector<LabelledCall>& calls_;
  const std::vector<bool>& may_cut_;
  const RegionLimits limits_;
  std::vector<int64_t> labels_;
  std::vector<size_t> last_use_;  // by call; calls_.size() for a result of the graph
  int64_t next_own_label_ = -1;

  std::vector<Region> marked_regions();
  Comb best_comb() const;
  Region best_region(const Comb& comb) const;
  Region best_rotation(const Comb& run) const;
  Region within_gaps(Comb comb) const;
  Region largest(const Comb& comb, size_t start) const;
  int64_t cost(const Region& region) const;
  bool have_equal_flow(size_t first, size_t second, size_t length) const;
  size_t lost_fusions(size_t begin, size_t cut, size_t end) const;
  void take(size_t begin, size_t end);
};

std::vector<size_t> last_uses(const std::vector<LabelledCall>& calls) {
  std::vector<size_t> last(calls.size(), 0);
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const int32_t edge : calls[i].edges)
      if (edge >= 0) last[static_cast<size_t>(edge)] = i;
  }
  for (size_t i = 0; i < calls.size(); ++i)
    if (calls[i].escapes) last[i] = calls.size();
  return last;
}

Search::Search(const std::vector<LabelledCall>& calls, const std::vector<bool>& may_cut, const RegionLimits& limits)
    : calls_(calls), may_cut_(may_cut), limits_(limits), last_use_(last_uses(calls)) {
  labels_.reserve(calls.size());
  for (const LabelledCall& call : calls) labels_.push_back(call.label);
}

void Search::take(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) labels_[i] = next_own_label_--;
}

// All periods at once: the list of labels compared with itself, shifted. For one period, `repeats[i]` is how often the
// label at i comes again in steps of it; the best comb is the largest rectangle below that curve.
Comb Search::best_comb() const {
  Comb best;
  const size_t count = labels_.size();
  std::vector<size_t> repeats(count);
  std::vector<std::pair<size_t, size_t>> rising;  // begins of rectangles that are open, and their heights
  if (count < limits_.least_length * limits_.least_times) return best;
  const size_t longest = std::min(limits_.longest, (count - limits_.least_length) / (limits_.least_times - 1));
  for (size_t period = limits_.least_length; period <= longest; ++period) {
    for (size_t i = count; i-- > 0;)
      repeats[i] = i + period < count && labels_[i] == labels_[i + period] ? repeats[i + period] + 1 : 0;
    rising.clear();
    for (size_t i = 0; i <= count; ++i) {
      const size_t height = i < count ? repeats[i] : 0;
      size_t begin = i;
      while (!rising.empty() && rising.back().second > height) {
        begin = rising.back().first;
        const Comb comb{period, begin, std::min(i - begin, period), rising.back().second + 1};
        rising.pop_back();
        if (comb.times >= limits_.least_times && comb.length >= limits_.least_length && comb.saved() > best.saved())
          best = comb;
      }
      if (height > 0 && (rising.empty() || rising.back().second < height)) rising.emplace_back(begin, height);
    }
  }
  return best;
}

// Two strings with equal labels have equal flow if each argument of a call comes from the same position in both
// strings, or from the same one of the values before them.
bool Search::have_equal_flow(size_t first, size_t second, size_t length) const {
  std::unordered_map<int32_t, int32_t> outer, back;
  for (size_t i = 0; i < length; ++i) {
    const std::vector<int32_t>&a = calls_[first + i].edges, &b = calls_[second + i].edges;
    if (a.size() != b.size()) return false;
    for (size_t k = 0; k < a.size(); ++k) {
      const bool is_inner = a[k] >= static_cast<int32_t>(first);
      if (is_inner != (b[k] >= static_cast<int32_t>(second))) return false;
      if (is_inner) {
        if (a[k] - static_cast<int32_t>(first) != b[k] - static_cast<int32_t>(second)) return false;
      } else if (outer.try_emplace(a[k], b[k]).first->second != b[k] ||
                 back.try_emplace(b[k], a[k]).first->second != a[k]) {
        return false;
      }
    }
  }
  return true;
}

// The string that begins at `start`, in the comb and elsewhere: the most instances with one flow of data.
Region Search::largest(const Comb& comb, size_t start) const {
  std::vector<Region> regions;
  const size_t length = comb.length, count = labels_.size();
  for (size_t i = 0; i + length <= count;) {
    const bool is_before = i + length <= start, is_inside = start <= i && i < comb.end();
    const bool is_in_step = is_inside ? (i - start) % comb.period == 0 : is_before || i >= comb.end();
    const bool is_equal =
        is_in_step && may_cut_[i] && may_cut_[i + length] &&
        std::equal(labels_.begin() + static_cast<ptrdiff_t>(i), labels_.begin() + static_cast<ptrdiff_t>(i + length),
                   labels_.begin() + static_cast<ptrdiff_t>(start));
    if (!is_equal) {
      ++i;
      continue;
    }
    auto same = std::ranges::find_if(
        regions, [&](const Region& region) { return have_equal_flow(region.starts.front(), i, length); });
    if (same == regions.end()) same = regions.insert(regions.end(), Region{length, {}});
    same->starts.push_back(i);
    i += length;
  }
  const auto most = std::ranges::max_element(regions, {}, [](const Region& region) { return region.starts.size(); });
  return most == regions.end() || most->starts.size() < limits_.least_times ? Region{} : std::move(*most);
}

// Values that go over the cut from one loop to another which a compiler would have made one.
size_t Search::lost_fusions(size_t begin, size_t cut, size_t end) const {
  size_t lost = 0;
  for (size_t i = cut; i < end && !calls_[i].is_library_call; ++i) {
    for (const int32_t edge : calls_[i].edges) {
      const auto from = static_cast<size_t>(edge);
      lost += edge >= 0 && from >= begin && from < cut && !calls_[from].is_library_call;
    }
  }
  return lost;
}

// In calls, for one instance: what goes over its ends, and the loops that they split.
int64_t Search::cost(const Region& region) const {
  constexpr int64_t kFusionIsWorth = 4;
  const size_t first = region.starts[0], second = region.starts[1], length = region.length;
  int64_t values = 0;
  for (size_t i = first; i < first + length; ++i) values += last_use_[i] >= first + length;
  for (const int32_t edge : outer_edges(calls_, second, second + length)) values += edge >= 0;
  const size_t end = std::min(first + 2 * length, calls_.size());
  return values + kFusionIsWorth * static_cast<int64_t>(lost_fusions(first, first + length, end));
}

// Any rotation of a string that repeats without gaps does so too, one time less than the first one perhaps. The best
// one splits the fewest loops, and lets the fewest values across the cut: that is paid in each call, compiling once.
Region Search::best_rotation(const Comb& run) const {
  std::vector<Region> rotations;
  size_t most = 0;
  for (size_t start = run.begin; start < run.begin + run.period; ++start) {
    if (!may_cut_[start]) continue;
    if (Region region = largest(run, start); !region.starts.empty()) {
      most = std::max(most, region.starts.size());
      rotations.push_back(std::move(region));
    }
  }
  std::erase_if(rotations, [&](const Region& region) { return region.starts.size() + 1 < most; });
  const auto best = std::ranges::min_element(rotations, {}, [this](const Region& region) {
    return std::pair(cost(region), -static_cast<int64_t>(region.starts.size()));
  });
  return best == rotations.end() ? Region{} : std::move(*best);
}

// Between gaps there is one place for each end, or one a little further in.
Region Search::within_gaps(Comb comb) const {
  auto may_cut_all = [&](size_t place) {
    for (size_t i = 0; i < comb.times; ++i)
      if (!may_cut_[place + i * comb.period]) return false;
    return true;
  };
  while (comb.length >= limits_.least_length && !may_cut_all(comb.begin)) ++comb.begin, --comb.length;
  while (comb.length >= limits_.least_length && !may_cut_all(comb.begin + comb.length)) --comb.length;
  return comb.length >= limits_.least_length ? largest(comb, comb.begin) : Region{};
}

Region Search::best_region(const Comb& comb) const { return comb.has_gaps() ? within_gaps(comb) : best_rotation(comb); }

// A marked call belongs to a region if another marked call has the same labels and flow of data, and if the graph may
// be cut at both of its ends.
std::vector<Region> Search::marked_regions() {
  std::vector<Region> regions;
  for (size_t begin = 0, end = 0; begin < calls_.size(); begin = end) {
    const uint32_t mark = calls_[begin].marked_region;
    for (end = begin; end < calls_.size() && calls_[end].marked_region == mark;) ++end;
    if (!mark || !may_cut_[begin] || !may_cut_[end]) continue;
    const size_t length = end - begin;
    const auto at = [this](size_t start) { return labels_.begin() + static_cast<ptrdiff_t>(start); };
    auto same = std::ranges::find_if(regions, [&](const Region& region) {
      const size_t first = region.starts.front();
      return region.length == length && std::equal(at(first), at(first + length), at(begin)) &&
             have_equal_flow(first, begin, length);
    });
    if (same == regions.end()) same = regions.insert(regions.end(), Region{length, {}, true});
    same->starts.push_back(begin);
  }
  std::erase_if(regions, [](const Region& region) { return region.starts.size() < 2; });
  for (const Region& region : regions)
    for (const size_t start : region.starts) take(start, start + region.length);
  return regions;
}

std::vector<Region> Search::regions() {
  std::vector<Region> found = marked_regions();
  for (Comb comb = best_comb(); comb.times > 0; comb = best_comb()) {
    Region region = best_region(comb);
    for (const size_t start : region.starts) take(start, start + region.length);
    if (region.starts.empty()) {
      for (size_t i = 0; i < comb.times; ++i)
        take(comb.begin + i * comb.period, comb.begin + i * comb.period + comb.length);
    } else {
      found.push_back(std::move(region));
    }
  }
  return found;
}

}  // namespace

std::vector<int32_t> outer_edges(const std::vector<LabelledCall>& calls, size_t begin, size_t end) {
  std::vector<int32_t> outer;
  std::unordered_set<int32_t> seen;
  for (size_t i = begin; i < end; ++i) {
    for (const int32_t edge : calls[i].edges)
      if (edge < static_cast<int32_t>(begin) && seen.insert(edge).second) outer.push_back(edge);
  }
  return outer;
}

std::vector<Region> find_regions(const std::vector<LabelledCall>& calls, const std::vector<bool>& may_cut,
                                 const RegionLimits& limits) {
  return Search(calls, may_cut, limits).regions();
}

}  // namespace minidynamo
