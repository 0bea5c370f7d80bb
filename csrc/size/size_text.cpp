// Expressions and conditions written down: as Python writes them, as steps, and which symbols occur in them.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "size/polynomial.h"

namespace minidynamo {

namespace {

using namespace polynomial;

void collect_symbols(const Polynomial& p, std::vector<int32_t>& found) {
  for (const Term& term : p) {
    for (const Atom* atom : term.atoms) {
      if (atom->kind == Kind::Symbol) {
        found.push_back(static_cast<int32_t>(atom->number));
      } else if (atom->kind != Kind::FloatConstant) {
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
  const Atom* atom = p[0].atoms[0];
  switch (atom->kind) {
    case Kind::FloatOf:
      return is_primary(atom->left->terms);
    case Kind::FloatConstant:
      return !std::signbit(float_of_bits(atom->number));
    case Kind::FloorDivide:
    case Kind::Modulo:
    case Kind::FloatAdd:
    case Kind::FloatSubtract:
    case Kind::FloatMultiply:
    case Kind::FloatDivide:
    case Kind::Power:
      return false;
    default:  // a name, or a call
      return true;
  }
}
std::string operand_text(const Polynomial& p, std::span<const std::string> names) {
  return is_primary(p) ? text_of(p, names) : "(" + text_of(p, names) + ")";
}

// The shortest that is read as the same number.
std::string float_text(double value) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  std::string written(text.data(), end);
  return written.find_first_of(".en") == std::string::npos ? written + ".0" : written;
}

std::string text_of(const Atom* atom, std::span<const std::string> names) {
  if (atom->kind == Kind::Symbol) {
    const auto number = static_cast<size_t>(atom->number);
    return number < names.size() ? names[number] : "s" + std::to_string(atom->number);
  }
  if (atom->kind == Kind::FloatConstant) return float_text(float_of_bits(atom->number));
  const Polynomial &left = atom->left->terms, &right = atom->right->terms;
  const auto between = [&](const char* sign) { return operand_text(left, names) + sign + operand_text(right, names); };
  const auto call = [&](const char* function) { return function + ("(" + text_of(left, names)) + ")"; };
  switch (atom->kind) {
    case Kind::Minimum:
    case Kind::Maximum:
      return (atom->kind == Kind::Minimum ? "min(" : "max(") + text_of(left, names) + ", " + text_of(right, names) +
             ")";
    case Kind::FloorDivide:
      return between("//");
    case Kind::Modulo:
      return between(" % ");
    case Kind::FloatOf:  // an integer beside a float is made one
      return text_of(left, names);
    case Kind::FloatAdd:
      return between(" + ");
    case Kind::FloatSubtract:
      return between(" - ");
    case Kind::FloatMultiply:
      return between("*");
    case Kind::FloatDivide:
      return between("/");
    case Kind::Power:
      return between("**");
    case Kind::SquareRoot:
      return call("math.sqrt");
    case Kind::Floor:
      return call("math.floor");
    case Kind::Ceiling:
      return call("math.ceil");
    case Kind::Truncate:
      return call("int");
    case Kind::Nearest:
      return call("round");
    default:  // Order, within more than a condition
      return "(" + between(" > ") + ") - (" + between(" < ") + ")";
  }
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
    const bool is_division = atom->kind == Kind::FloorDivide || atom->kind == Kind::Modulo || atom->kind == Kind::Order;
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
  const int operands = operands_of(atom->kind);
  if (operands == 0) return steps.push_back({atom->kind, atom->number});
  append_steps(atom->left->terms, steps);
  if (operands == 2) append_steps(atom->right->terms, steps);
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

int operands_of(SizeStep::Kind kind) noexcept {
  switch (kind) {
    case Kind::Constant:
    case Kind::Symbol:
    case Kind::FloatConstant:
      return 0;
    case Kind::FloatOf:
    case Kind::SquareRoot:
    case Kind::Floor:
    case Kind::Ceiling:
    case Kind::Truncate:
    case Kind::Nearest:
      return 1;
    default:
      return 2;
  }
}

bool is_float_step(SizeStep::Kind kind) noexcept { return kind >= Kind::FloatConstant && kind <= Kind::SquareRoot; }

Expression result_of(SizeStep step, Expression left, Expression right) {
  const FloatExpression x{left}, y{right};
  switch (step.kind) {
    case Kind::Constant:
      return constant(step.operand);
    case Kind::Symbol:
      return symbol(static_cast<int32_t>(step.operand));
    case Kind::Add:
      return left + right;
    case Kind::Subtract:
      return left - right;
    case Kind::Multiply:
      return left * right;
    case Kind::FloorDivide:
      return floor_divide(left, right);
    case Kind::Modulo:
      return modulo(left, right);
    case Kind::Minimum:
      return minimum(left, right);
    case Kind::Maximum:
      return maximum(left, right);
    case Kind::FloatConstant:
      return float_constant(float_of_bits(step.operand)).bits;
    case Kind::FloatOf:
      return float_of(right).bits;
    case Kind::FloatAdd:
      return (x + y).bits;
    case Kind::FloatSubtract:
      return (x - y).bits;
    case Kind::FloatMultiply:
      return (x * y).bits;
    case Kind::FloatDivide:
      return (x / y).bits;
    case Kind::Power:
      return power(x, y).bits;
    case Kind::SquareRoot:
      return square_root(y).bits;
    case Kind::Order:
      return order_of(x, y);
    case Kind::Floor:
      return rounded(Rounding::Floor, y);
    case Kind::Ceiling:
      return rounded(Rounding::Ceiling, y);
    case Kind::Truncate:
      return rounded(Rounding::Truncate, y);
    case Kind::Nearest:
      return rounded(Rounding::Nearest, y);
  }
  return {};
}

std::vector<int32_t> symbols_of(Expression e) {
  std::vector<int32_t> found;
  collect_symbols(terms_of(e), found);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string text_of(Expression e, std::span<const std::string> names) { return text_of(terms_of(e), names); }
std::string text_of(FloatExpression e, std::span<const std::string> names) {
  const Atom* atom = terms_of(e.bits)[0].atoms[0];
  const std::string text = text_of(atom, names);
  return atom->kind == Kind::FloatOf ? "float(" + text + ")" : text;
}

namespace {

// A comparison of two floats; empty: it is none.
std::string comparison_text(SizeRelation relation, const Polynomial& p, std::span<const std::string> names) {
  const bool is_alone = !p.empty() && p.size() <= 2 && p[0].atoms.size() == 1 && p[0].atoms[0]->kind == Kind::Order &&
                        magnitude(p[0].coefficient) == 1 && (p.size() == 1 || p[1].atoms.empty());
  if (!is_alone) return "";
  const bool is_negated = p[0].coefficient < 0;
  // -order + c <= 0 is not order <= c - 1
  const int64_t offset = is_negated ? 1 - constant_part(p) : constant_part(p);
  const Atom* order = p[0].atoms[0];
  const bool is_equality = relation == SizeRelation::Equal || relation == SizeRelation::NotEqual;
  if (is_equality ? constant_part(p) != 0 : relation != SizeRelation::LessEqual || (offset != 0 && offset != 1))
    return "";
  const char* sign = relation == SizeRelation::Equal      ? " == "
                     : relation == SizeRelation::NotEqual ? " != "
                     : offset == 1                        ? " < "
                                                          : " <= ";
  const std::string text = text_of(order->left->terms, names) + sign + text_of(order->right->terms, names);
  return is_negated && !is_equality ? "not " + text : text;
}

}  // namespace

std::string text_of(SizeCondition condition, std::span<const std::string> names) {
  const Polynomial& p = terms_of(condition.expression);
  if (const auto value = constant_of(p)) return holds(condition.relation, *value) ? "True" : "False";
  if (std::string comparison = comparison_text(condition.relation, p, names); !comparison.empty()) return comparison;
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

}  // namespace minidynamo
