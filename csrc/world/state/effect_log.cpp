#include "world/state/effect_log.h"

#include <algorithm>

#include "python/process/out_of_memory.h"

namespace minidynamo {

const AttributeWrite* EffectLog::pending(PyObject* object, PyObject* name) const {
  if (last_write_.empty()) return nullptr;
  const auto found = last_write_.find({object, name});
  if (found == last_write_.end()) return nullptr;
  const AttributeWrite& write = write_at(found->second);
  note_read(write.value);
  return &write;
}

bool EffectLog::has_writes_but(PyObject* object, PyObject* name) const {
  const auto found = by_object_.find(object);
  return found != by_object_.end() && std::any_of(found->second.begin(), found->second.end(),
                                                  [&](size_t place) { return !write_at(place).name.is(name); });
}

void EffectLog::write(PyObject* object, PyObject* name, PyObject* value) {
  ++changes_;
  ++writes_;
  const auto [last, is_first] = last_write_.try_emplace({object, name}, effects_.size());
  if (!is_first) {
    auto& earlier = std::get<AttributeWrite>(effects_[last->second]);
    const bool was_forgotten = !earlier.value && value;  // deleted and set again: a dict forgets the place
    if (last->second >= barrier_ && !was_forgotten) {
      if (!value && take_back_setting(object, name, last->second)) return;
      earlier.value = Ref::borrow(value);
      return;
    }
    last->second = effects_.size();
  }
  by_object_[object].push_back(effects_.size());
  effects_.emplace_back(AttributeWrite{Ref::borrow(object), Ref::borrow(name), Ref::borrow(value)});
}

// Deleted, set and deleted again: the first deletion stands. False: there is none.
bool EffectLog::take_back_setting(PyObject* object, PyObject* name, size_t& last) {
  std::vector<size_t>& places = by_object_[object];
  const auto setting = std::find(places.begin(), places.end(), last);
  const auto deletion = std::find_if(std::make_reverse_iterator(setting), places.rend(),
                                     [&](size_t place) { return write_at(place).name.is(name); });
  if (deletion == places.rend() || write_at(*deletion).value) return false;
  last = *deletion;
  effects_[*setting] = std::monostate();
  places.erase(setting);
  return true;
}

EffectLog::TakenWrites EffectLog::take_writes(PyObject* object) {
  TakenWrites taken;
  const auto found = by_object_.find(object);
  if (found == by_object_.end()) return taken;
  for (const size_t place : found->second) {
    const bool is_logged = place < barrier_;
    std::vector<AttributeWrite>& own = is_logged ? taken.logged : taken.removed;
    own.push_back(write_at(place));
    last_write_.erase({object, own.back().name.get()});
    if (!is_logged) effects_[place] = std::monostate();
  }
  by_object_.erase(found);
  std::erase_if(writers_of_dicts_, [object](const auto& entry) { return entry.second == object; });
  return taken;
}

void EffectLog::set_context(ContextSet set) {
  ++changes_;
  sets_[set.variable.get()].push_back(effects_.size());
  set_of_token_.emplace(set.token.get(), effects_.size());
  effects_.emplace_back(std::move(set));
}

const ContextSet* EffectLog::last_set(PyObject* variable) const {
  const auto found = sets_.find(variable);
  if (found == sets_.end() || found->second.empty()) return nullptr;
  const auto& set = std::get<ContextSet>(effects_[found->second.back()]);
  note_read(set.value);
  return &set;
}

bool EffectLog::undo_last_set(PyObject* variable) {
  std::vector<size_t>& sets = sets_[variable];
  if (sets.back() < barrier_) return false;
  ++changes_;
  set_of_token_.erase(std::get<ContextSet>(effects_[sets.back()]).token.get());
  effects_[sets.back()] = std::monostate();
  sets.pop_back();
  return true;
}

std::vector<const ContextSet*> EffectLog::sets_until(PyObject* token) const {
  std::vector<const ContextSet*> until;
  const auto own = set_of_token_.find(token);
  if (own == set_of_token_.end()) return until;
  const auto& variable = std::get<ContextSet>(effects_[own->second]).variable;
  for (const size_t place : sets_.at(variable.get()))
    if (place <= own->second) until.push_back(&std::get<ContextSet>(effects_[place]));
  return until;
}

void EffectLog::advance(PyObject* iterator) {
  ++changes_;
  if (advances_.try_emplace(iterator, effects_.size()).second)
    effects_.emplace_back(IteratorAdvance{Ref::borrow(iterator)});
}

PyObject* EffectLog::copy_of_generator(PyObject* generator) const {
  const auto found = generators_.find(generator);
  if (found == generators_.end()) return nullptr;
  const Ref& copy = std::get<GeneratorMove>(effects_[found->second]).copy;
  note_read(copy);
  return copy.get();
}

bool EffectLog::may_move_copy(PyObject* generator) const noexcept {
  const auto found = generators_.find(generator);
  return found != generators_.end() && found->second >= barrier_;
}

void EffectLog::move_generator(PyObject* generator, Ref copy) {
  ++changes_;
  const auto [last, is_first] = generators_.try_emplace(generator, effects_.size());
  if (!is_first && last->second >= barrier_) {
    std::get<GeneratorMove>(effects_[last->second]).copy = std::move(copy);
    return;
  }
  last->second = effects_.size();
  effects_.emplace_back(GeneratorMove{Ref::borrow(generator), std::move(copy)});
}

void EffectLog::defer_call(DeferredCall call, size_t from) {
  for (size_t place = from; place < effects_.size(); ++place)
    if (std::holds_alternative<DeferredCall>(effects_[place])) effects_[place] = std::monostate();
  effects_.emplace_back(std::move(call));
  barrier_ = effects_.size();
}

PyObject* EffectLog::cached_by_trace(PyObject* function, PyObject* key) const noexcept {
  const auto of_function = cached_.find(function);
  if (of_function == cached_.end()) return nullptr;
  const auto [first, last] = of_function->second.equal_range(PyObject_Hash(key));
  for (auto known = first; known != last; ++known) {
    const int is_same = PyObject_RichCompareBool(known->second.first.get(), key, Py_EQ);
    if (is_same > 0) return known->second.second.get();
    if (is_same < 0) clear_error();
  }
  return nullptr;
}

size_t EffectLog::cached_by_trace(PyObject* function) const noexcept {
  const auto of_function = cached_.find(function);
  return of_function == cached_.end() ? 0 : of_function->second.size();
}

}  // namespace minidynamo
