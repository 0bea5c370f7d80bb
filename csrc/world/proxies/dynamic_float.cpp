#include "world/proxies/dynamic_float.h"

#include <algorithm>
#include <cctype>

#include "tensor/fake/number_tensor.h"
#include "world/proxies/held_number.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo {

namespace {

constexpr std::string_view kGroups = ".param_groups[";
constexpr std::string_view kKey = "]['";

}  // namespace

std::string dynamic_float(std::string_view path) {
  const size_t groups = path.rfind(kGroups);
  if (groups == std::string_view::npos) return {};
  const size_t number = groups + kGroups.size();
  size_t end = number;
  while (end < path.size() && std::isdigit(static_cast<unsigned char>(path[end]))) ++end;
  if (end == number || !path.substr(end).starts_with(kKey)) return {};
  return std::string(path.substr(0, number)) + std::string(path.substr(end));
}

bool is_of_groups(std::string_view name) {
  const size_t groups = name.rfind(kGroups);
  return groups != std::string_view::npos && name.substr(groups + kGroups.size()).starts_with(kKey);
}

bool changes(const Tracer& tracer, const Source* source) {
  const auto& numbers = tracer.limits.dynamic_floats;
  if (numbers.empty() || !PyFloat_CheckExact(source->value.get())) return false;
  const std::string path = source->to_text(), name = dynamic_float(path);
  if (name.empty() && !is_held_by_program(*source)) return false;
  return std::find(numbers.begin(), numbers.end(), name.empty() ? path : name) != numbers.end();
}

Ref enter_dynamic_float(Tracer& tracer, Source* source) {
  PyObject* known = nullptr;
  tracer.world.each_known([&](PyObject* object, Source* its) {
    if (its == source && is_symbolic_float(object)) known = object;
  });
  if (known) return Ref::borrow(known);
  const Ref real = tensor_of_float(source->value.get());
  Ref fake = real ? make_fake(real.get()) : Ref();
  if (!fake) return nullptr;
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Source* tensor = tracer.guards.child(source, Access::FloatTensor, nullptr, -1, real.get());
  tracer.guards.add(tensor, GuardKind::Tensor, tracer.origin());
  tracer.graph.add_placeholder(tensor->to_text(), fake);
  tracer.world.add_fake(fake.get());
  tracer.world.know(fake.get(), tensor);
  NumberFacts facts;
  facts.value = source->value;
  facts.sources.push_back(source);
  facts.is_any = dynamic_float(source->to_text()).empty();
  Ref number = make_symbolic_float(tracer, std::move(fake), std::move(facts));
  tracer.world.know(number.get(), source);
  return number;
}

std::vector<const Source*> numbers_taken(const Tracer& tracer) {
  std::vector<const Source*> taken;
  tracer.world.each_known([&](PyObject* object, Source* source) {
    if (is_symbolic_float(object) && (source->guarded >> static_cast<int>(GuardKind::Constant) & 1))
      taken.push_back(source);
  });
  return taken;
}

}  // namespace minidynamo
