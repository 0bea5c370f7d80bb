#include "size/expression.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace minidynamo {

namespace {

using Kind = SizeStep::Kind;

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) throw SizeOverflow();
  return result;
}

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) throw SizeOverflow();
  return result;
}

// Of a divisor that is not 0, with a quotient that fits.
int64_t floored_quotient(int64_t x, int64_t y) noexcept { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }
int64_t floored_remainder(int64_t x, int64_t y) noexcept {
  if (y == -1) return 0;  // the processor would trap on INT64_MIN
  const int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

// What Python's operator gives, if it fits and the divisor is not 0.
std::optional<int64_t> applied(Kind kind, int64_t x, int64_t y) noexcept {
  int64_t result;
  switch (kind) {
    case Kind::Add:
      if (__builtin_add_overflow(x, y, &result)) return std::nullopt;
      return result;
    case Kind::Subtract:
      if (__builtin_sub_overflow(x, y, &result)) return std::nullopt;
      return result;
    case Kind::Multiply:
      if (__builtin_mul_overflow(x, y, &result)) return std::nullopt;
      return result;
    case Kind::FloorDivide:
      if (y == 0 || (x == INT64_MIN && y == -1)) return std::nullopt;
      return floored_quotient(x, y);
    case Kind::Modulo:
      if (y == 0) return std::nullopt;
      return floored_remainder(x, y);
    case Kind::Minimum:
      return std::min(x, y);
    case Kind::Maximum:
      return std::max(x, y);
    case Kind::Constant:
    case Kind::Symbol:
      break;
  }
  return std::nullopt;
}

int64_t folded(Kind kind, int64_t x, int64_t y) {
  if (const auto result = applied(kind, x, y)) return *result;
  throw SizeOverflow();
}

// Nodes and atoms are never changed once they are in the table, and live for ever: they are walked without its lock.
struct Node;
struct Atom {
  Kind kind;
  int32_t symbol;  // its number
  const Node *left, *right;
};
using Monomial = std::vector<const Atom*>;  // sorted; repeated for powers
struct Term {
  Monomial atoms;
  int64_t coefficient;
  bool operator==(const Term&) const = default;
};
using Polynomial = std::vector<Term>;  // sorted, no coefficient is 0
struct Node {
  Polynomial terms;
  int32_t id;
};

// The order of terms. It depends on what is written only, not on what the process met first, and goes well with
// multiplication (a term that comes first still does when both are multiplied), which division needs. Higher powers
// come first, constants last.
int compare(const Polynomial& a, const Polynomial& b);
int compare(const Atom* a, const Atom* b) {
  if (a == b) return 0;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (a->kind == Kind::Symbol) return a->symbol < b->symbol ? -1 : 1;
  const int left = compare(a->left->terms, b->left->terms);
  return left != 0 ? left : compare(a->right->terms, b->right->terms);
}
int compare(const Monomial& a, const Monomial& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (const int order = compare(a[i], b[i])) return order;
  }
  return 0;
}
int compare(const Polynomial& a, const Polynomial& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (const int order = compare(a[i].atoms, b[i].atoms)) return order;
    if (a[i].coefficient != b[i].coefficient) return a[i].coefficient < b[i].coefficient ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() > b.size() ? -1 : 1;
}
constexpr auto before = [](const auto& a, const auto& b) { return compare(a, b) < 0; };
using TermMap = std::map<Monomial, int64_t, decltype(before)>;

Monomial product(const Monomial& a, const Monomial& b) {
  Monomial result;
  result.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result), before);
  return result;
}
bool divides(const Monomial& divisor, const Monomial& whole) {
  return std::includes(whole.begin(), whole.end(), divisor.begin(), divisor.end(), before);
}
Monomial quotient(const Monomial& whole, const Monomial& divisor) {
  Monomial result;
  std::set_difference(whole.begin(), whole.end(), divisor.begin(), divisor.end(), std::back_inserter(result), before);
  return result;
}

Polynomial of_map(TermMap&& terms) {
  Polynomial result;
  for (auto& [atoms, coefficient] : terms) {
    if (coefficient != 0) result.push_back({atoms, coefficient});
  }
  return result;
}

std::optional<int64_t> constant_of(const Polynomial& p) noexcept {
  if (p.empty()) return 0;
  if (p.size() == 1 && p[0].atoms.empty()) return p[0].coefficient;
  return std::nullopt;
}

uint64_t magnitude(int64_t value) noexcept {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// The coefficient of 1.
int64_t constant_part(const Polynomial& p) noexcept {
  return p.empty() || !p.back().atoms.empty() ? 0 : p.back().coefficient;
}

// Of the coefficients, without that of 1; 0 if there are none.
uint64_t content(const Polynomial& p) noexcept {
  uint64_t result = 0;
  for (const Term& term : p) {
    if (!term.atoms.empty()) result = std::gcd(result, magnitude(term.coefficient));
  }
  return result;
}

// All expressions of the process. Numbers are given out for good: operators may run as long as the process does.
class ExpressionTable {
 public:
  ExpressionTable() { nodes_.push_back({{}, 0}), ids_.insert(&nodes_.front()); }
  static ExpressionTable& instance() {
    static ExpressionTable* table = new ExpressionTable;
    return *table;
  }

  const Node* node(Expression e) {
    const std::lock_guard lock(mutex_);
    return &nodes_[static_cast<size_t>(e.id)];
  }

  Expression constant(int64_t value) {
    if (value == 0) return {};
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = constants_.try_emplace(value, 0);
    if (fresh) at->second = interned({{{}, value}});
    return {at->second};
  }

  Expression symbol(int32_t number) {
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = symbols_.try_emplace(number, 0);
    if (fresh) {
      atoms_.push_back({Kind::Symbol, number, nullptr, nullptr});
      at->second = interned({{{&atoms_.back()}, 1}});
    }
    return {at->second};
  }

  Expression intern(Polynomial terms) {
    const std::lock_guard lock(mutex_);
    return {interned(std::move(terms))};
  }

  // The atom as an expression.
  Expression atom(Kind kind, Expression a, Expression b) {
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = operations_[index(kind)].try_emplace(pair(a, b), 0);
    if (fresh) {
      atoms_.push_back({kind, 0, &nodes_[static_cast<size_t>(a.id)], &nodes_[static_cast<size_t>(b.id)]});
      at->second = interned({{{&atoms_.back()}, 1}});
    }
    return {at->second};
  }

  // The result if it is remembered; else the operands, to compute it from.
  std::optional<Expression> remembered(Kind kind, Expression a, Expression b, const Node*& x, const Node*& y) {
    const std::lock_guard lock(mutex_);
    const auto& results = results_[index(kind)];
    if (const auto known = results.find(pair(a, b)); known != results.end()) return Expression{known->second};
    x = &nodes_[static_cast<size_t>(a.id)], y = &nodes_[static_cast<size_t>(b.id)];
    return std::nullopt;
  }
  Expression remember(Kind kind, Expression a, Expression b, Expression result) {
    const std::lock_guard lock(mutex_);
    results_[index(kind)][pair(a, b)] = result.id;
    return result;
  }

 private:
  static constexpr size_t kKinds = static_cast<size_t>(Kind::Maximum) + 1;
  struct Hash {
    size_t operator()(uint64_t key) const noexcept {
      key *= 0x9E3779B97F4A7C15ull;
      return key ^ key >> 32;
    }
    size_t operator()(const Node* node) const noexcept {
      uint64_t hash = node->terms.size();
      for (const auto& [atoms, coefficient] : node->terms) {
        for (const Atom* atom : atoms) hash = (hash ^ reinterpret_cast<uintptr_t>(atom)) * 0xFF51AFD7ED558CCDull;
        hash = (hash ^ static_cast<uint64_t>(coefficient)) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 31;
      }
      return hash;
    }
  };
  struct SameTerms {
    bool operator()(const Node* a, const Node* b) const noexcept { return a->terms == b->terms; }
  };

  static size_t index(Kind kind) noexcept { return static_cast<size_t>(kind); }
  static uint64_t pair(Expression a, Expression b) noexcept {
    return uint64_t{static_cast<uint32_t>(a.id)} << 32 | static_cast<uint32_t>(b.id);
  }

  int32_t interned(Polynomial&& terms) {
    Node node{std::move(terms), static_cast<int32_t>(nodes_.size())};
    if (const auto known = ids_.find(&node); known != ids_.end()) return (*known)->id;
    if (nodes_.size() > INT32_MAX) throw std::length_error("too many expressions of sizes");
    nodes_.push_back(std::move(node));
    ids_.insert(&nodes_.back());
    return nodes_.back().id;
  }

  std::mutex mutex_;
  std::deque<Node> nodes_;  // by number; addresses stay
  std::deque<Atom> atoms_;
  std::unordered_set<const Node*, Hash, SameTerms> ids_;
  std::unordered_map<int64_t, int32_t> constants_;
  std::unordered_map<int32_t, int32_t> symbols_;
  std::array<std::unordered_map<uint64_t, int32_t, Hash>, kKinds> operations_;  // atoms, by kind and operands
  std::array<std::unordered_map<uint64_t, int32_t, Hash>, kKinds> results_;     // by kind and operands
};

ExpressionTable& table() { return ExpressionTable::instance(); }
const Polynomial& terms_of(Expression e) { return table().node(e)->terms; }
Expression of_node(const Node* node) noexcept { return {node->id}; }

Polynomial sum(const Polynomial& p, const Polynomial& q, int64_t sign) {
  Polynomial result;
  result.reserve(p.size() + q.size());
  size_t i = 0, j = 0;
  while (i < p.size() || j < q.size()) {
    const int order = i == p.size() ? 1 : j == q.size() ? -1 : compare(p[i].atoms, q[j].atoms);
    if (order < 0) {
      result.push_back(p[i++]);
      continue;
    }
    const int64_t mine = order == 0 ? p[i++].coefficient : 0;
    int64_t coefficient;
    if (sign > 0 ? __builtin_add_overflow(mine, q[j].coefficient, &coefficient)
                 : __builtin_sub_overflow(mine, q[j].coefficient, &coefficient)) {
      throw SizeOverflow();
    }
    if (coefficient != 0) result.push_back({q[j].atoms, coefficient});
    ++j;
  }
  return result;
}

Polynomial product(const Polynomial& p, const Polynomial& q) {
  TermMap terms;
  for (const Term& a : p) {
    for (const Term& b : q) {
      int64_t& coefficient = terms[product(a.atoms, b.atoms)];
      coefficient = checked_add(coefficient, checked_multiply(a.coefficient, b.coefficient));
    }
  }
  return of_map(std::move(terms));
}

struct Division {
  Polynomial quotient, remainder;
};

// dividend == quotient * divisor + remainder: whatever divides by the divisor's first term, whose coefficient is
// positive.
Division divided(const Polynomial& dividend, const Polynomial& divisor) {
  const auto& [first, leading] = divisor[0];
  Division result;
  TermMap rest;
  for (const auto& [atoms, coefficient] : dividend) rest.emplace(atoms, coefficient);
  while (!rest.empty()) {
    auto term = rest.extract(rest.begin());
    if (term.mapped() == 0) continue;
    // A term keeps its sign, so that ranges stay narrow (-s // 4 is not 3*s // 4 - s); a constant is put into
    // 0...divisor.
    const int64_t factor = !divides(first, term.key()) ? 0
                           : term.key().empty()        ? floored_quotient(term.mapped(), leading)
                                                       : term.mapped() / leading;
    if (const int64_t left = term.mapped() - factor * leading) result.remainder.push_back({term.key(), left});
    if (factor == 0) continue;
    Monomial atoms = quotient(term.key(), first);
    for (size_t i = 1; i < divisor.size(); ++i) {
      int64_t& coefficient = rest[product(atoms, divisor[i].atoms)];
      coefficient = checked_add(coefficient, checked_multiply(-factor, divisor[i].coefficient));
    }
    result.quotient.push_back({std::move(atoms), factor});
  }
  return result;
}

// What divides all terms of both; its coefficient is positive.
Term common_factor(const Polynomial& a, const Polynomial& b) {
  Monomial atoms = b[0].atoms;
  uint64_t coefficient = 0;
  for (const Polynomial* p : {&a, &b}) {
    for (const Term& term : *p) {
      coefficient = std::gcd(coefficient, magnitude(term.coefficient));
      Monomial shared;
      std::set_intersection(atoms.begin(), atoms.end(), term.atoms.begin(), term.atoms.end(),
                            std::back_inserter(shared), before);
      atoms = std::move(shared);
    }
  }
  if (coefficient > INT64_MAX) throw SizeOverflow();
  return {std::move(atoms), static_cast<int64_t>(coefficient)};
}

Expression without_factor(const Polynomial& p, const Term& factor) {
  Polynomial result;
  for (const Term& term : p) {
    result.push_back({quotient(term.atoms, factor.atoms), term.coefficient / factor.coefficient});
  }
  return table().intern(std::move(result));
}

// If `p` is an atom of this kind, perhaps with a constant added: the atom.
const Atom* lone_atom(const Polynomial& p, Kind kind) noexcept {
  if (p.empty() || p.size() > 2 || p[0].coefficient != 1 || p[0].atoms.size() != 1) return nullptr;
  if (p.size() == 2 && !p[1].atoms.empty()) return nullptr;
  return p[0].atoms[0]->kind == kind ? p[0].atoms[0] : nullptr;
}

// a // b or a % b, reduced; the divisor may have any value but 0.
Expression division(Kind kind, Expression a, Expression b, const Polynomial& x, const Polynomial& y) {
  const bool quotient_wanted = kind == Kind::FloorDivide;
  const auto apply = [&](Expression p, Expression q) { return quotient_wanted ? floor_divide(p, q) : modulo(p, q); };
  const auto divisor = constant_of(y);
  if (divisor == 0) throw std::domain_error("division of a size by zero");
  if (x.empty()) return {};
  if (const auto dividend = constant_of(x); dividend && divisor) return constant(folded(kind, *dividend, *divisor));
  if (y[0].coefficient < 0) return quotient_wanted ? apply(-a, -b) : -apply(-a, -b);
  if (const Term factor = common_factor(x, y); factor.coefficient != 1 || !factor.atoms.empty()) {
    const Expression reduced = apply(without_factor(x, factor), without_factor(y, factor));
    return quotient_wanted ? reduced : reduced * table().intern({factor});
  }
  try {
    Division parts = divided(x, y);
    if (parts.remainder.empty()) return quotient_wanted ? table().intern(std::move(parts.quotient)) : Expression();
    // For a divisor that is a sum, only what gets simpler.
    if (!parts.quotient.empty() && (y.size() == 1 || parts.remainder.size() < x.size())) {
      const Expression rest = apply(table().intern(std::move(parts.remainder)), b);
      return quotient_wanted ? table().intern(std::move(parts.quotient)) + rest : rest;
    }
    if (divisor) {
      const int64_t offset = constant_part(x);
      const auto step = static_cast<int64_t>(std::gcd(content(x), static_cast<uint64_t>(*divisor)));
      if (quotient_wanted && step > 1) {  // (2*s + 3) // 4 is (s + 1) // 2
        const Expression whole = a - constant(floored_remainder(offset, step));
        return floor_divide(without_factor(terms_of(whole), {{}, step}), constant(*divisor / step));
      }
      if (const Atom* inner = lone_atom(x, kind)) {
        const auto k = constant_of(inner->right->terms);
        // (p // k + c) // d is (p + k*c) // (k*d)
        if (quotient_wanted && k && *k > 0) {
          return floor_divide(of_node(inner->left) + constant(checked_multiply(*k, offset)),
                              constant(checked_multiply(*k, *divisor)));
        }
        if (!quotient_wanted && k && *k > 0) {
          if (*k % *divisor == 0) return modulo(of_node(inner->left) + constant(offset), b);
          if (*divisor % *k == 0 && offset == 0) return a;
        }
      }
    }
  } catch (const SizeOverflow&) {
    // As it stands, then.
  }
  return table().atom(kind, a, b);
}

Expression extreme(Kind kind, Expression a, Expression b, const Polynomial& x, const Polynomial& y) {
  try {
    if (const auto difference = constant_value(a - b)) return (*difference < 0) == (kind == Kind::Minimum) ? a : b;
  } catch (const SizeOverflow&) {
    if (const auto p = constant_of(x), q = constant_of(y); p && q) return constant(folded(kind, *p, *q));
  }
  return compare(x, y) < 0 ? table().atom(kind, a, b) : table().atom(kind, b, a);
}

Expression operation(Kind kind, Expression a, Expression b) {
  if (b < a && (kind == Kind::Add || kind == Kind::Multiply || kind >= Kind::Minimum)) std::swap(a, b);
  const Node *x = nullptr, *y = nullptr;
  if (const auto known = table().remembered(kind, a, b, x, y)) return *known;
  Expression result;
  switch (kind) {
    case Kind::Add:
    case Kind::Subtract:
      result = table().intern(sum(x->terms, y->terms, kind == Kind::Add ? 1 : -1));
      break;
    case Kind::Multiply:
      result = table().intern(product(x->terms, y->terms));
      break;
    case Kind::FloorDivide:
    case Kind::Modulo:
      result = division(kind, a, b, x->terms, y->terms);
      break;
    default:
      result = extreme(kind, a, b, x->terms, y->terms);
  }
  return table().remember(kind, a, b, result);
}

// Ends beyond 64 bits are cut to the weaker bound: an end that is no bound is kInfinite or its negative.
using Wide = __int128;
constexpr Wide kInfinite = Wide{1} << 100;
struct Interval {
  Wide lower = -kInfinite, upper = kInfinite;
};

Interval weakened(Wide lower, Wide upper) {
  return {lower < INT64_MIN ? -kInfinite : std::min(lower, Wide{INT64_MAX}),
          upper > INT64_MAX ? kInfinite : std::max(upper, Wide{INT64_MIN})};
}
Wide wide_product(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  const bool finite = a > -kInfinite && a < kInfinite && b > -kInfinite && b < kInfinite;
  return finite ? a * b : (a < 0) == (b < 0) ? kInfinite : -kInfinite;
}
Wide wide_quotient(Wide a, Wide b) {  // rounds down; b is not 0
  const bool same_sign = (a < 0) == (b < 0);
  if (b == kInfinite || b == -kInfinite) return a == 0 || same_sign ? 0 : -1;
  if (a == kInfinite || a == -kInfinite) return same_sign ? kInfinite : -kInfinite;
  return a / b - (a % b != 0 && !same_sign);
}
Interval of_corners(Interval a, Interval b, Wide (*function)(Wide, Wide)) {
  const auto [least, most] = std::minmax(
      {function(a.lower, b.lower), function(a.lower, b.upper), function(a.upper, b.lower), function(a.upper, b.upper)});
  return weakened(least, most);
}
Interval added(Interval a, Interval b) {
  const bool open_below = a.lower == -kInfinite || b.lower == -kInfinite;
  const bool open_above = a.upper == kInfinite || b.upper == kInfinite;
  return weakened(open_below ? -kInfinite : a.lower + b.lower, open_above ? kInfinite : a.upper + b.upper);
}
Interval multiplied(Interval a, Interval b) { return of_corners(a, b, wide_product); }
Interval hull(Interval a, Interval b) { return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)}; }

// By a divisor of one sign.
Interval divided(Kind kind, Interval a, Interval b) {
  if (kind == Kind::FloorDivide) return of_corners(a, b, wide_quotient);
  if (b.lower > 0) {
    if (a.lower >= 0 && a.upper < b.lower) return a;
    const Wide most = b.upper == kInfinite ? kInfinite : b.upper - 1;
    return {0, a.lower >= 0 ? std::min(most, a.upper) : most};
  }
  if (a.upper <= 0 && a.lower > b.upper) return a;
  const Wide least = b.lower == -kInfinite ? -kInfinite : b.lower + 1;
  return {a.upper <= 0 ? std::max(least, a.lower) : least, 0};
}

Interval interval_of(const Polynomial& p, std::span<const SizeRange> ranges);
Interval interval_of(const Atom* atom, std::span<const SizeRange> ranges) {
  if (atom->kind == Kind::Symbol) {
    if (static_cast<size_t>(atom->symbol) >= ranges.size()) return {};
    const auto [lower, upper] = ranges[static_cast<size_t>(atom->symbol)];
    return {lower == INT64_MIN ? -kInfinite : lower, upper == INT64_MAX ? kInfinite : upper};
  }
  const Interval a = interval_of(atom->left->terms, ranges), b = interval_of(atom->right->terms, ranges);
  if (atom->kind == Kind::Minimum) return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
  if (atom->kind == Kind::Maximum) return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
  // The divisor is not 0: there is no value where it is.
  const Interval above{std::max(b.lower, Wide{1}), b.upper}, below{b.lower, std::min(b.upper, Wide{-1})};
  if (b.lower >= 0) return b.upper > 0 ? divided(atom->kind, a, above) : Interval();
  if (b.upper <= 0) return divided(atom->kind, a, below);
  return hull(divided(atom->kind, a, above), divided(atom->kind, a, below));
}

Interval interval_of(const Monomial& atoms, std::span<const SizeRange> ranges) {
  Interval result{1, 1};
  for (size_t i = 0; i < atoms.size();) {
    const Interval base = interval_of(atoms[i], ranges);
    Interval power = base;
    size_t exponent = 1;
    for (const Atom* atom = atoms[i++]; i < atoms.size() && atoms[i] == atom; ++i, ++exponent) {
      power = multiplied(power, base);
      if (exponent % 2 == 1) power.lower = std::max(power.lower, Wide{0});  // a square
    }
    result = multiplied(result, power);
  }
  return result;
}

Interval interval_of(const Polynomial& p, std::span<const SizeRange> ranges) {
  Interval result{0, 0};
  for (const auto& [atoms, coefficient] : p) {
    result = added(result, multiplied({coefficient, coefficient}, interval_of(atoms, ranges)));
  }
  return result;
}

// What an atom is bounded by, as expressions that are simpler: least / scale <= atom <= most / scale.
struct AtomBounds {
  int64_t scale = 1;
  std::vector<Expression> least, most;
  bool is_one_of_them = false;  // min, max: it is one of these
};
AtomBounds bounds_of(const Atom* atom, std::span<const SizeRange> ranges) {
  const Expression a = of_node(atom->left), b = of_node(atom->right);
  if (atom->kind == Kind::Minimum) return {1, {}, {a, b}, true};
  if (atom->kind == Kind::Maximum) return {1, {a, b}, {}, true};
  const auto k = constant_of(atom->right->terms);
  if (atom->kind == Kind::FloorDivide && k && *k > 0) return {*k, {a - constant(*k - 1)}, {a}};
  if (interval_of(atom->right->terms, ranges).lower < 0) return {};
  const bool dividend_is_natural = interval_of(atom->left->terms, ranges).lower >= 0;
  AtomBounds result;
  if (dividend_is_natural) result.most.push_back(a);
  if (atom->kind == Kind::Modulo && !k) result.most.push_back(b - constant(1));
  return result;
}

// `p` times `scale`, where the terms with the atom become at least (or at most) what they are when the atom's place,
// times `scale`, is taken by `low` (or `high`). nullopt if the sign of what the atom is multiplied by is not known.
std::optional<Expression> bounded(const Polynomial& p, const Atom* atom, int64_t scale, Expression low, Expression high,
                                  std::span<const SizeRange> ranges) {
  Expression result;
  for (const Term& term : p) {
    const auto place = std::find(term.atoms.begin(), term.atoms.end(), atom);
    if (place == term.atoms.end()) {
      result = result + constant(scale) * table().intern({term});
      continue;
    }
    Monomial others = term.atoms;
    others.erase(others.begin() + (place - term.atoms.begin()));
    const Interval sign = interval_of(others, ranges);
    if (low != high && sign.lower < 0 && sign.upper > 0) return std::nullopt;
    const bool positive = (sign.lower >= 0) == (term.coefficient > 0);
    result = result + table().intern({{std::move(others), term.coefficient}}) * (positive ? high : low);
  }
  return result;
}

Interval narrow_interval(const Polynomial& p, std::span<const SizeRange> ranges, int depth);

// Narrower through what the atom stands for.
Interval narrowed_by(const Polynomial& p, const Atom* atom, std::span<const SizeRange> ranges, int depth) {
  Interval result;
  const AtomBounds bounds = bounds_of(atom, ranges);
  const auto interval = [&](Expression e) { return narrow_interval(terms_of(e), ranges, depth - 1); };
  // For one end of a term, the atom is at one of its own ends, or the range of it is all that is known.
  const Interval plain = interval_of(atom, ranges);
  std::vector<Expression> least = bounds.least, most = bounds.most;
  const auto scaled = [&](Wide end) { return constant(checked_multiply(static_cast<int64_t>(end), bounds.scale)); };
  const size_t symbolic_least = least.size();
  if (plain.lower != -kInfinite) least.push_back(scaled(plain.lower));
  const size_t symbolic_most = most.size();
  if (plain.upper != kInfinite) most.push_back(scaled(plain.upper));
  for (size_t i = 0; i < least.size(); ++i) {
    for (size_t j = 0; j < most.size(); ++j) {
      if (i >= symbolic_least && j >= symbolic_most) continue;  // that is what interval_of does
      if (const auto e = bounded(p, atom, bounds.scale, least[i], most[j], ranges)) {
        if (const Wide upper = interval(*e).upper; upper != kInfinite) {
          result.upper = std::min(result.upper, wide_quotient(upper, bounds.scale));
        }
      }
      if (const auto e = bounded(p, atom, bounds.scale, most[j], least[i], ranges)) {
        if (const Wide lower = interval(*e).lower; lower != -kInfinite) {
          result.lower = std::max(result.lower, -wide_quotient(-lower, bounds.scale));
        }
      }
    }
  }
  // Without an end on the other side, a term that needs only this one may still be bounded.
  const auto one_sided = [&](Expression bound, bool is_upper) {
    for (const Term& term : p) {
      if (std::find(term.atoms.begin(), term.atoms.end(), atom) == term.atoms.end()) continue;
      if (term.atoms.size() != 1) return;
      const auto e = bounded(p, atom, bounds.scale, bound, bound, ranges);
      if ((term.coefficient > 0) == is_upper) {
        if (const Wide upper = interval(*e).upper; upper != kInfinite) {
          result.upper = std::min(result.upper, wide_quotient(upper, bounds.scale));
        }
      } else if (const Wide lower = interval(*e).lower; lower != -kInfinite) {
        result.lower = std::max(result.lower, -wide_quotient(-lower, bounds.scale));
      }
    }
  };
  if (least.empty()) std::for_each(most.begin(), most.end(), [&](Expression e) { one_sided(e, true); });
  if (most.empty()) std::for_each(least.begin(), least.end(), [&](Expression e) { one_sided(e, false); });
  if (bounds.is_one_of_them) {
    const Expression a = of_node(atom->left), b = of_node(atom->right);
    const Interval either =
        hull(interval(*bounded(p, atom, 1, a, a, ranges)), interval(*bounded(p, atom, 1, b, b, ranges)));
    result = {std::max(result.lower, either.lower), std::min(result.upper, either.upper)};
  }
  return result;
}

// The symbols counted from their lower ends: s*t - s is plainly positive as (2 + s)*(2 + t) - (2 + s).
Interval shifted_interval(const Polynomial& p, std::span<const SizeRange> ranges) {
  std::vector<SizeRange> shifted(ranges.begin(), ranges.end());
  for (SizeRange& range : shifted) {
    if (range.lower == INT64_MIN) continue;
    if (range.upper != INT64_MAX) range.upper = folded(Kind::Subtract, range.upper, range.lower);
    range.lower = 0;
  }
  Polynomial result;
  for (const auto& [atoms, coefficient] : p) {
    Polynomial term{{{}, coefficient}};
    for (const Atom* atom : atoms) {
      const auto number = static_cast<size_t>(atom->symbol);
      Polynomial factor{{{atom}, 1}};
      if (number < ranges.size() && ranges[number].lower != INT64_MIN && ranges[number].lower != 0) {
        factor.push_back({{}, ranges[number].lower});
      }
      term = product(term, factor);
    }
    result = sum(result, term, 1);
  }
  return interval_of(result, shifted);
}

Interval narrow_interval(const Polynomial& p, std::span<const SizeRange> ranges, int depth) {
  Interval result = interval_of(p, ranges);
  const auto narrow = [&](Interval other) {
    result = {std::max(result.lower, other.lower), std::min(result.upper, other.upper)};
  };
  if (depth == 0 || p.size() < 2) return result;
  std::vector<const Atom*> opaque;
  bool has_products = false;
  for (const Term& term : p) {
    has_products |= term.atoms.size() > 1;
    for (const Atom* atom : term.atoms) {
      if (atom->kind != Kind::Symbol && std::find(opaque.begin(), opaque.end(), atom) == opaque.end()) {
        opaque.push_back(atom);
      }
    }
  }
  for (const Atom* atom : opaque) {
    try {
      narrow(narrowed_by(p, atom, ranges, depth));
    } catch (const SizeOverflow&) {
      // Nothing is learnt from it.
    }
  }
  if (opaque.empty() && has_products) {
    try {
      narrow(shifted_interval(p, ranges));
    } catch (const SizeOverflow&) {
    }
  }
  return result;
}

std::optional<bool> decided(SizeRelation relation, const Polynomial& p, Interval range) {
  switch (relation) {
    case SizeRelation::Equal:
      if (range.lower > 0 || range.upper < 0) return false;
      if (range.lower == 0 && range.upper == 0) return true;
      if (const uint64_t step = content(p); step != 0 && magnitude(constant_part(p)) % step != 0) return false;
      return std::nullopt;
    case SizeRelation::NotEqual:
      if (const auto equal = decided(SizeRelation::Equal, p, range)) return !*equal;
      return std::nullopt;
    case SizeRelation::Less:
      if (range.upper < 0) return true;
      if (range.lower >= 0) return false;
      return std::nullopt;
    case SizeRelation::LessEqual:
      if (range.upper <= 0) return true;
      if (range.lower > 0) return false;
      return std::nullopt;
  }
  return std::nullopt;
}

// Conditions that mean the same have one form: Less is LessEqual of one more, no factor is common to the coefficients,
// the first term of an Equal is positive, and what has no symbols is 0 == 0 or 1 == 0.
SizeCondition canonical(SizeRelation relation, Expression e) {
  if (relation == SizeRelation::Less) return canonical(SizeRelation::LessEqual, e + constant(1));
  const Polynomial& p = terms_of(e);
  if (const auto value = constant_of(p)) {
    return {SizeRelation::Equal, holds(relation, *value) ? constant(0) : constant(1)};
  }
  const int64_t offset = constant_part(p);
  uint64_t common = content(p);
  if (relation != SizeRelation::LessEqual) common = std::gcd(common, magnitude(offset));
  if (common > INT64_MAX) return {relation, e};
  auto factor = static_cast<int64_t>(common);
  if (relation != SizeRelation::LessEqual && p[0].coefficient < 0) factor = -factor;
  if (factor == 1) return {relation, e};
  Polynomial reduced;
  for (const auto& [atoms, coefficient] : p) {
    if (coefficient == INT64_MIN && factor == -1) return {relation, e};
    // k*x + c <= 0 is x + c/k, rounded up, <= 0
    const int64_t value =
        atoms.empty() ? coefficient / factor + (coefficient % factor != 0 && coefficient > 0) : coefficient / factor;
    if (value != 0) reduced.push_back({atoms, value});
  }
  return {relation, table().intern(std::move(reduced))};
}

std::optional<int64_t> value_of(const Polynomial& p, std::span<const int64_t> symbols) {
  int64_t total = 0;
  for (const auto& [atoms, coefficient] : p) {
    int64_t value = coefficient;
    for (const Atom* atom : atoms) {
      std::optional<int64_t> factor;
      if (atom->kind == Kind::Symbol) {
        if (static_cast<size_t>(atom->symbol) < symbols.size()) factor = symbols[static_cast<size_t>(atom->symbol)];
      } else {
        const auto x = value_of(atom->left->terms, symbols), y = value_of(atom->right->terms, symbols);
        if (x && y) factor = applied(atom->kind, *x, *y);
      }
      if (!factor || __builtin_mul_overflow(value, *factor, &value)) return std::nullopt;
    }
    if (__builtin_add_overflow(total, value, &total)) return std::nullopt;
  }
  return total;
}

void collect_symbols(const Polynomial& p, std::vector<int32_t>& found) {
  for (const Term& term : p) {
    for (const Atom* atom : term.atoms) {
      if (atom->kind == Kind::Symbol) {
        found.push_back(atom->symbol);
      } else {
        collect_symbols(atom->left->terms, found), collect_symbols(atom->right->terms, found);
      }
    }
  }
}

std::string text_of(const Polynomial& p, std::span<const std::string> names);

// Behind * or -, or in front of //, this needs no parentheses.
bool is_primary(const Polynomial& p) {
  if (const auto value = constant_of(p)) return *value >= 0;
  if (p.size() != 1 || p[0].coefficient != 1 || p[0].atoms.size() != 1) return false;
  const Kind kind = p[0].atoms[0]->kind;
  return kind == Kind::Symbol || kind >= Kind::Minimum;
}
std::string operand_text(const Polynomial& p, std::span<const std::string> names) {
  return is_primary(p) ? text_of(p, names) : "(" + text_of(p, names) + ")";
}

std::string text_of(const Atom* atom, std::span<const std::string> names) {
  if (atom->kind == Kind::Symbol) {
    const auto number = static_cast<size_t>(atom->symbol);
    return number < names.size() ? names[number] : "s" + std::to_string(atom->symbol);
  }
  const Polynomial &left = atom->left->terms, &right = atom->right->terms;
  if (atom->kind == Kind::Minimum || atom->kind == Kind::Maximum) {
    return (atom->kind == Kind::Minimum ? "min(" : "max(") + text_of(left, names) + ", " + text_of(right, names) + ")";
  }
  return operand_text(left, names) + (atom->kind == Kind::FloorDivide ? "//" : " % ") + operand_text(right, names);
}

// Without its sign.
std::string text_of(const Term& term, bool needs_primary, std::span<const std::string> names) {
  const uint64_t coefficient = magnitude(term.coefficient);
  if (term.atoms.empty()) return std::to_string(coefficient);
  std::string text = coefficient == 1 ? "" : std::to_string(coefficient);
  for (size_t i = 0; i < term.atoms.size();) {
    const Atom* atom = term.atoms[i];
    size_t power = 0;
    for (; i < term.atoms.size() && term.atoms[i] == atom; ++i) ++power;
    const bool is_division = atom->kind == Kind::FloorDivide || atom->kind == Kind::Modulo;
    const bool alone = coefficient == 1 && term.atoms.size() == 1 && !needs_primary;
    if (!text.empty()) text += "*";
    text += is_division && !alone ? "(" + text_of(atom, names) + ")" : text_of(atom, names);
    if (power > 1) text += "**" + std::to_string(power);
  }
  return text;
}

// The terms as they are written: what is added first, so that few expressions begin with a sign.
std::vector<const Term*> in_written_order(const Polynomial& p) {
  std::vector<const Term*> order;
  for (const Term& term : p) order.push_back(&term);
  std::stable_partition(order.begin(), order.end(), [](const Term* term) { return term->coefficient > 0; });
  return order;
}

std::string text_of(const Polynomial& p, std::span<const std::string> names) {
  std::string text;
  for (const Term* term : in_written_order(p)) {
    const bool negative = term->coefficient < 0, first = text.empty();
    text += first ? (negative ? "-" : "") : negative ? " - " : " + ";
    text += text_of(*term, first && negative, names);
  }
  return text.empty() ? "0" : text;
}

void append_steps(const Polynomial& p, std::vector<SizeStep>& steps);
void append_steps(const Atom* atom, std::vector<SizeStep>& steps) {
  if (atom->kind == Kind::Symbol) return steps.push_back({Kind::Symbol, atom->symbol});
  append_steps(atom->left->terms, steps), append_steps(atom->right->terms, steps);
  steps.push_back({atom->kind});
}
void append_steps(const Polynomial& p, std::vector<SizeStep>& steps) {
  bool first = true;
  for (const Term* term : in_written_order(p)) {
    // A subtracted term is written without its sign where that fits.
    const bool subtracted = !first && term->coefficient < 0 && term->coefficient != INT64_MIN;
    const int64_t coefficient = subtracted ? -term->coefficient : term->coefficient;
    size_t factors = 0;
    if (coefficient != 1 || term->atoms.empty()) steps.push_back({Kind::Constant, coefficient}), ++factors;
    for (const Atom* atom : term->atoms) {
      append_steps(atom, steps);
      if (++factors > 1) steps.push_back({Kind::Multiply});
    }
    if (!first) steps.push_back({subtracted ? Kind::Subtract : Kind::Add});
    first = false;
  }
  if (first) steps.push_back({Kind::Constant, 0});
}

}  // namespace

Expression constant(int64_t value) { return table().constant(value); }
Expression symbol(int32_t number) { return table().symbol(number); }

Expression operator+(Expression a, Expression b) { return operation(Kind::Add, a, b); }
Expression operator-(Expression a, Expression b) { return operation(Kind::Subtract, a, b); }
Expression operator*(Expression a, Expression b) { return operation(Kind::Multiply, a, b); }
Expression floor_divide(Expression a, Expression b) { return operation(Kind::FloorDivide, a, b); }
Expression modulo(Expression a, Expression b) { return operation(Kind::Modulo, a, b); }
Expression minimum(Expression a, Expression b) { return operation(Kind::Minimum, a, b); }
Expression maximum(Expression a, Expression b) { return operation(Kind::Maximum, a, b); }

std::optional<int64_t> constant_value(Expression e) noexcept { return constant_of(terms_of(e)); }
bool is_constant_expression(Expression e) noexcept { return constant_value(e).has_value(); }

SizeCondition SizeCondition::negated() const {
  switch (relation) {
    case SizeRelation::Equal:
      return canonical(SizeRelation::NotEqual, expression);
    case SizeRelation::NotEqual:
      return canonical(SizeRelation::Equal, expression);
    case SizeRelation::Less:
      return canonical(SizeRelation::LessEqual, -expression);
    case SizeRelation::LessEqual:
      break;
  }
  return canonical(SizeRelation::LessEqual, constant(1) - expression);
}

SizeCondition is_equal(Expression a, Expression b) { return canonical(SizeRelation::Equal, a - b); }
SizeCondition is_less(Expression a, Expression b) { return canonical(SizeRelation::Less, a - b); }
SizeCondition is_less_equal(Expression a, Expression b) { return canonical(SizeRelation::LessEqual, a - b); }

SizeRange range_of(Expression e, std::span<const SizeRange> ranges) {
  const Interval range = interval_of(terms_of(e), ranges);
  return {range.lower < INT64_MIN ? INT64_MIN : static_cast<int64_t>(range.lower),
          range.upper > INT64_MAX ? INT64_MAX : static_cast<int64_t>(range.upper)};
}

std::optional<bool> decide(SizeCondition condition, std::span<const SizeRange> ranges) {
  const Polynomial& p = terms_of(condition.expression);
  if (const auto known = decided(condition.relation, p, interval_of(p, ranges))) return known;
  return decided(condition.relation, p, narrow_interval(p, ranges, 2));
}

std::optional<int64_t> evaluate(Expression e, std::span<const int64_t> symbols) {
  return value_of(terms_of(e), symbols);
}

bool holds(SizeRelation relation, int64_t value) noexcept {
  switch (relation) {
    case SizeRelation::Equal:
      return value == 0;
    case SizeRelation::NotEqual:
      return value != 0;
    case SizeRelation::Less:
      return value < 0;
    case SizeRelation::LessEqual:
      return value <= 0;
  }
  return false;
}

std::vector<int32_t> symbols_of(Expression e) {
  std::vector<int32_t> found;
  collect_symbols(terms_of(e), found);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string text_of(Expression e, std::span<const std::string> names) { return text_of(terms_of(e), names); }

std::string text_of(SizeCondition condition, std::span<const std::string> names) {
  const Polynomial& p = terms_of(condition.expression);
  if (const auto value = constant_of(p)) return holds(condition.relation, *value) ? "True" : "False";
  // Each term on the side where it has no sign; a constant that is alone on its side is written as it is.
  Polynomial sides[2];
  const int64_t offset = constant_part(p);
  for (const Term& term : p) {
    if (term.atoms.empty()) continue;
    // -INT64_MIN does not fit, but the sign is not written: see text_of(Term).
    const bool right = term.coefficient < 0 && term.coefficient != INT64_MIN;
    sides[right].push_back({term.atoms, right ? -term.coefficient : term.coefficient});
  }
  const char* sign = condition.relation == SizeRelation::Equal      ? " == "
                     : condition.relation == SizeRelation::NotEqual ? " != "
                     : condition.relation == SizeRelation::Less     ? " < "
                                                                    : " <= ";
  const auto negative = [](int64_t value) {
    return value == INT64_MIN ? std::to_string(magnitude(value)) : std::to_string(-value);
  };
  if (sides[1].empty()) return text_of(sides[0], names) + sign + negative(offset);
  if (sides[0].empty()) {
    const char* turned = condition.relation == SizeRelation::Less ? " > " : " >= ";
    const bool is_order = condition.relation >= SizeRelation::Less;
    return text_of(sides[1], names) + (is_order ? turned : sign) + std::to_string(offset);
  }
  if (condition.relation == SizeRelation::LessEqual && offset == 1) {
    sign = " < ";
  } else if (offset > 0) {
    sides[0].push_back({{}, offset});
  } else if (offset < 0 && offset != INT64_MIN) {
    sides[1].push_back({{}, -offset});
  } else if (offset < 0) {
    sides[0].push_back({{}, offset});
  }
  return text_of(sides[0], names) + sign + text_of(sides[1], names);
}

std::vector<SizeStep> steps_of(Expression e) {
  std::vector<SizeStep> steps;
  append_steps(terms_of(e), steps);
  return steps;
}

std::optional<int64_t> run_steps(std::span<const SizeStep> steps, std::span<const int64_t> symbols) noexcept {
  constexpr size_t kUsual = 32;
  std::array<int64_t, kUsual> usual;
  std::vector<int64_t> large;
  if (steps.size() > kUsual) large.resize(steps.size());  // no step puts more than one number there
  int64_t* stack = large.empty() ? usual.data() : large.data();
  size_t depth = 0;
  for (const auto& [kind, operand] : steps) {
    if (kind == Kind::Constant) {
      stack[depth++] = operand;
    } else if (kind == Kind::Symbol) {
      if (operand < 0 || static_cast<size_t>(operand) >= symbols.size()) return std::nullopt;
      stack[depth++] = symbols[static_cast<size_t>(operand)];
    } else {
      if (depth < 2) return std::nullopt;
      const auto result = applied(kind, stack[depth - 2], stack[depth - 1]);
      if (!result) return std::nullopt;
      stack[--depth - 1] = *result;
    }
  }
  return depth == 1 ? std::optional(stack[0]) : std::nullopt;
}

}  // namespace minidynamo
