// The parts of expressions of sizes: polynomials over atoms, and the table of all of them. For size/ alone.
//
// A float expression is a node of one atom of a float, which is no part of a polynomial of more.
//
// Nodes and atoms are never changed once they are in the table, and live for ever: they are walked without its lock.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "size/expression.h"

namespace minidynamo::polynomial {

using Kind = SizeStep::Kind;

// SizeOverflow where the result does not fit.
int64_t checked_add(int64_t a, int64_t b);
int64_t checked_multiply(int64_t a, int64_t b);
// The quotient and remainder for a divisor that is not 0, with a quotient that fits.
int64_t floored_quotient(int64_t x, int64_t y) noexcept;
int64_t floored_remainder(int64_t x, int64_t y) noexcept;
inline int64_t bits_of(double value) noexcept { return std::bit_cast<int64_t>(value); }
inline double float_of_bits(int64_t bits) noexcept { return std::bit_cast<double>(bits); }
// The result of Python's operator, if it fits and there is one; floats as their bits.
std::optional<int64_t> applied(Kind kind, int64_t x, int64_t y) noexcept;
std::optional<int64_t> applied_to_floats(Kind kind, double x, double y) noexcept;
// The same of a kind with one operand.
std::optional<int64_t> applied(Kind kind, int64_t x) noexcept;
int64_t folded(Kind kind, int64_t x, int64_t y);  // SizeOverflow where there is none
uint64_t magnitude(int64_t value) noexcept;

struct Node;
struct Atom {
  Kind kind;
  int64_t number;            // Symbol: which; FloatConstant: the bits
  const Node *left, *right;  // one operand is the left
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
int compare(const Atom* a, const Atom* b);
int compare(const Monomial& a, const Monomial& b);
int compare(const Polynomial& a, const Polynomial& b);
constexpr auto before = [](const auto& a, const auto& b) { return compare(a, b) < 0; };
using TermMap = std::map<Monomial, int64_t, decltype(before)>;

Monomial product(const Monomial& a, const Monomial& b);
bool divides(const Monomial& divisor, const Monomial& whole);
Monomial quotient(const Monomial& whole, const Monomial& divisor);

Polynomial of_map(TermMap&& terms);
Polynomial sum(const Polynomial& p, const Polynomial& q, int64_t sign);  // p + sign * q
Polynomial product(const Polynomial& p, const Polynomial& q);
std::optional<int64_t> constant_of(const Polynomial& p) noexcept;
// The coefficient of 1.
int64_t constant_part(const Polynomial& p) noexcept;
// The greatest common divisor of the coefficients, without that of 1; 0 if there are none.
uint64_t content(const Polynomial& p) noexcept;

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
    if (fresh) at->second = interned_atom({Kind::Symbol, number, nullptr, nullptr});
    return {at->second};
  }

  Expression float_constant(double value) {
    const std::lock_guard lock(mutex_);
    const int64_t bits = bits_of(value);
    const auto [at, fresh] = floats_.try_emplace(bits, 0);
    if (fresh) at->second = interned_atom({Kind::FloatConstant, bits, nullptr, nullptr});
    return {at->second};
  }

  Expression intern(Polynomial terms) {
    const std::lock_guard lock(mutex_);
    return {interned(std::move(terms))};
  }

  // The atom as an expression. Where it has one operand, `b` is the constant 0.
  Expression atom(Kind kind, Expression a, Expression b = {}) {
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = operations_[index(kind)].try_emplace(pair(a, b), 0);
    if (fresh)
      at->second = interned_atom({kind, 0, &nodes_[static_cast<size_t>(a.id)], &nodes_[static_cast<size_t>(b.id)]});
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
  static constexpr size_t kKinds = static_cast<size_t>(Kind::Nearest) + 1;
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

  int32_t interned_atom(Atom atom) {
    atoms_.push_back(atom);
    return interned({{{&atoms_.back()}, 1}});
  }

  std::mutex mutex_;
  std::deque<Node> nodes_;  // by number; addresses stay
  std::deque<Atom> atoms_;
  std::unordered_set<const Node*, Hash, SameTerms> ids_;
  std::unordered_map<int64_t, int32_t> constants_;
  std::unordered_map<int32_t, int32_t> symbols_;
  std::unordered_map<int64_t, int32_t> floats_;                                 // constants, by their bits
  std::array<std::unordered_map<uint64_t, int32_t, Hash>, kKinds> operations_;  // atoms, by kind and operands
  std::array<std::unordered_map<uint64_t, int32_t, Hash>, kKinds> results_;     // by kind and operands
};

inline ExpressionTable& table() { return ExpressionTable::instance(); }
inline const Polynomial& terms_of(Expression e) { return table().node(e)->terms; }
inline Expression of_node(const Node* node) noexcept { return {node->id}; }

// See SizeStep::Kind::Order.
Expression order_of(FloatExpression a, FloatExpression b);

}  // namespace minidynamo::polynomial
