// Arithmetic of expressions, conditions on them, and what both are for given numbers.
#include "size/expression.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "size/polynomial.h"

namespace minidynamo {

namespace {

using namespace polynomial;

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

// The greatest term that divides all terms of both; its coefficient is positive.
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
  const bool is_extreme = kind == Kind::Minimum || kind == Kind::Maximum;
  if (b < a && (kind == Kind::Add || kind == Kind::Multiply || is_extreme)) std::swap(a, b);
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
        if (static_cast<size_t>(atom->number) < symbols.size()) factor = symbols[static_cast<size_t>(atom->number)];
      } else if (atom->kind == Kind::FloatConstant) {
        factor = atom->number;
      } else if (const auto x = value_of(atom->left->terms, symbols)) {
        const auto y = value_of(atom->right->terms, symbols);
        if (y) factor = operands_of(atom->kind) == 1 ? applied(atom->kind, *x) : applied(atom->kind, *x, *y);
      }
      if (!factor || __builtin_mul_overflow(value, *factor, &value)) return std::nullopt;
    }
    if (__builtin_add_overflow(total, value, &total)) return std::nullopt;
  }
  return total;
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

std::optional<int64_t> run_steps(std::span<const SizeStep> steps, std::span<const int64_t> symbols) noexcept {
  constexpr size_t kUsual = 32;
  std::array<int64_t, kUsual> usual;
  std::vector<int64_t> large;
  if (steps.size() > kUsual) large.resize(steps.size());  // no step puts more than one number there
  int64_t* stack = large.empty() ? usual.data() : large.data();
  size_t depth = 0;
  for (const auto& [kind, operand] : steps) {
    const auto operands = static_cast<size_t>(operands_of(kind));
    if (depth < operands) return std::nullopt;
    std::optional<int64_t> result;
    if (operands == 2) {
      result = applied(kind, stack[depth - 2], stack[depth - 1]);
    } else if (operands == 1) {
      result = applied(kind, stack[depth - 1]);
    } else if (kind != Kind::Symbol) {
      result = operand;
    } else if (operand >= 0 && static_cast<size_t>(operand) < symbols.size()) {
      result = symbols[static_cast<size_t>(operand)];
    }
    if (!result) return std::nullopt;
    depth -= operands;
    stack[depth++] = *result;
  }
  return depth == 1 ? std::optional(stack[0]) : std::nullopt;
}

}  // namespace minidynamo
