#include "size/polynomial.h"

#include <iterator>
#include <numeric>

namespace minidynamo::polynomial {

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

int64_t floored_quotient(int64_t x, int64_t y) noexcept { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }
int64_t floored_remainder(int64_t x, int64_t y) noexcept {
  if (y == -1) return 0;  // the processor would trap on INT64_MIN
  const int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

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
    case Kind::FloatAdd:
    case Kind::FloatSubtract:
    case Kind::FloatMultiply:
    case Kind::FloatDivide:
    case Kind::Power:
    case Kind::Order:
      return applied_to_floats(kind, float_of_bits(x), float_of_bits(y));
    case Kind::Constant:
    case Kind::Symbol:
    case Kind::FloatConstant:
    case Kind::FloatOf:
    case Kind::SquareRoot:
    case Kind::Floor:
    case Kind::Ceiling:
    case Kind::Truncate:
    case Kind::Nearest:
      break;
  }
  return std::nullopt;
}

int64_t folded(Kind kind, int64_t x, int64_t y) {
  if (const auto result = applied(kind, x, y)) return *result;
  throw SizeOverflow();
}

int compare(const Atom* a, const Atom* b) {
  if (a == b) return 0;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (operands_of(a->kind) == 0) return a->number < b->number ? -1 : 1;
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

int64_t constant_part(const Polynomial& p) noexcept {
  return p.empty() || !p.back().atoms.empty() ? 0 : p.back().coefficient;
}

uint64_t content(const Polynomial& p) noexcept {
  uint64_t result = 0;
  for (const Term& term : p) {
    if (!term.atoms.empty()) result = std::gcd(result, magnitude(term.coefficient));
  }
  return result;
}

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

}  // namespace minidynamo::polynomial
