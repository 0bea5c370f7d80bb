// Expressions and conditions written down: as Python writes them, as steps, and which symbols occur in them.
#include <algorithm>

#include "size/polynomial.h"

namespace minidynamo {

namespace {

using namespace polynomial;

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

}  // namespace minidynamo
