// The public face: a builder until finish(), a program afterwards.
#include "guard/guard_filter.h"
#include "guard/guard_program.h"
#include "guard/mirror.h"
#include "python/process/out_of_memory.h"
#include "python/process/thread_switches.h"

namespace minidynamo {

struct GuardTree::State {
  std::unique_ptr<GuardBuilder> builder = std::make_unique<GuardBuilder>();
  std::unique_ptr<GuardProgram> program;
};

GuardTree::GuardTree() : state_(std::make_unique<State>()) {}
GuardTree::~GuardTree() = default;
GuardTree::GuardTree(GuardTree&&) noexcept = default;
GuardTree& GuardTree::operator=(GuardTree&&) noexcept = default;

Source* GuardTree::local(int32_t index, PyObject* name, PyObject* value) {
  return state_->builder->find_or_make(nullptr, Access::Local, name, index, value, false);
}

Source* GuardTree::function(PyObject* function) {
  return state_->builder->find_or_make(nullptr, Access::Function, nullptr, -1, function, false);
}

Source* GuardTree::pinned(PyObject* object, const std::string& text) {
  Source* source = state_->builder->find_or_make(nullptr, Access::Pinned, object, -1, object, false);
  state_->builder->name_pinned(source, text);
  return source;
}

Source* GuardTree::kept(PyObject* object, const std::string& text) {
  Source* source = pinned(object, text);
  source->kept = true;
  return source;
}

Source* GuardTree::child(Source* parent, Access access, PyObject* key, int32_t index, PyObject* value) {
  return state_->builder->find_or_make(parent, access, key, index, value, false);
}

Source* GuardTree::find(Source* parent, Access access, PyObject* key, int32_t index) const noexcept {
  return state_->builder->find(parent, access, key, index, false);
}

void GuardTree::add(Source* source, GuardKind kind, GuardOrigin origin) {
  state_->builder->add(source, kind, nullptr, origin);
}

void GuardTree::add_missing(Source* parent, Access access, PyObject* key, int32_t index, GuardOrigin origin) {
  Source* source = state_->builder->find_or_make(parent, access, key, index, nullptr, true);
  state_->builder->add(source, GuardKind::Missing, nullptr, origin);
}

void GuardTree::add_relation(Source* source, GuardKind kind, Source* other, GuardOrigin origin) {
  state_->builder->add(source, kind, other, origin);
}

uint32_t GuardTree::gather(Source* source) { return state_->builder->gather(source); }

bool GuardTree::has_steady_walk() const noexcept { return state_->program && state_->program->has_steady_walk(); }

uint32_t GuardTree::gathered() const noexcept {
  if (state_->program) return state_->program->gathered();
  return state_->builder ? static_cast<uint32_t>(state_->builder->gathered().size()) : 0;
}

void GuardTree::distinct(std::vector<uint32_t> slots) { state_->builder->distinct.push_back(std::move(slots)); }

void GuardTree::require_disjoint(std::vector<Source*> written, std::vector<Source*> others) {
  state_->builder->require_disjoint(std::move(written), std::move(others));
}

void GuardTree::storages(std::vector<uint32_t> slots, std::vector<bool> written) {
  state_->builder->storage_slots = std::move(slots);
  state_->builder->storage_written = std::move(written);
}

void GuardTree::sizes(std::vector<OpenNumber> numbers, std::vector<SizeGuard> guards) {
  state_->builder->numbers = std::move(numbers);
  for (const SizeGuard& guard : guards) state_->builder->add_size_guard(guard);
}

void GuardTree::finish(const GuardFilter& filter) {
  if (!state_->builder) return;
  if (filter) filter_guards(*state_->builder, filter);
  state_->program = std::make_unique<GuardProgram>(*state_->builder);
  state_->builder.reset();
}

bool GuardTree::finished() const noexcept { return state_->program != nullptr; }

void GuardTree::when_object_dies(std::function<void()> told) {
  if (state_->program) state_->program->when_object_dies(std::move(told));
}

bool GuardTree::check(const FrameView& frame, PyObject** slots) noexcept {
  if (!state_->program) return false;
  const MemoryWatch memory;
  const unsigned long switches = mirror_mode == Mirror::Off ? 0 : thread_switches();
  bool holds = false;
  try_to([&] { holds = state_->program->check(frame, slots); });
  if (mirror_mode != Mirror::Off && !memory.failed()) [[unlikely]] {
    // Tensors that the slow check makes die in it, which lets other threads check, and change what was gathered.
    std::vector<Ref> gathered;
    if (holds && slots)
      try_to([&] {
        for (uint32_t i = 0; i < state_->program->gathered(); ++i) gathered.push_back(Ref::borrow(slots[i]));
      });
    mirror_check(*state_->program, frame, holds, switches);
    try_to([&] { state_->program->keep(std::move(gathered)); });
  }
  return holds;
}

void GuardTree::release() noexcept {
  if (state_->program) state_->program->release();
}

bool GuardTree::check_slowly(const FrameView& frame) const noexcept {
  return state_->program && !state_->program->first_failure(frame);
}

std::string GuardTree::explain_failure(const FrameView& frame) const { return refusal(frame).message; }

GuardTree::Refusal GuardTree::refusal(const FrameView& frame) const {
  if (!state_->program) return {"", "the guards are gone"};
  std::optional<Failure> failure = state_->program->first_failure(frame);
  if (!failure) return {};
  Refusal refusal{"", state_->program->failure_text(*failure)};
  if (failure->check) {
    refusal.kind = guard_name(failure->check->kind);
    refusal.changed_number = state_->program->number_of(*failure);
  } else if (failure->relation) {
    refusal.kind = guard_name(failure->relation->same ? GuardKind::SameAs : GuardKind::NotSameAs);
  } else if (failure->size) {
    refusal.kind = guard_name(GuardKind::Sizes);
    refusal.is_equality_of_sizes = failure->size->condition.relation == SizeRelation::Equal;
  }
  return refusal;
}

ChangedNumbers GuardTree::changed_numbers(const FrameView& frame) const {
  return state_->program ? state_->program->changed_numbers(frame) : ChangedNumbers();
}

std::vector<std::string> GuardTree::to_text() const {
  if (state_->program) return state_->program->to_text();
  std::vector<std::string> lines;
  if (!state_->builder) return lines;
  for (const GuardRequest& request : state_->builder->requests()) {
    const std::string path = request.source->to_text();
    if (request.other) {
      lines.push_back(path + (request.kind == GuardKind::SameAs ? " is " : " is not ") + request.other->to_text());
    } else if (request.kind == GuardKind::Missing) {
      lines.push_back(path + " is absent");
    } else {
      Check check{request.kind};
      check.open = request.source->open_sizes;
      if (prepare_check(check, {request.source->value.get(), request.source->inline_attributes}))
        lines.push_back(check_text(check, path));
    }
  }
  return lines;
}

size_t GuardTree::guard_count() const noexcept {
  if (state_->program) return state_->program->guard_count();
  return state_->builder ? state_->builder->requests().size() : 0;
}

int GuardTree::traverse(visitproc visit, void* arg) const {
  if (state_->builder)
    if (int result = state_->builder->traverse(visit, arg)) return result;
  return state_->program ? state_->program->traverse(visit, arg) : 0;
}

void GuardTree::clear() noexcept {
  // Moved out first: letting go of objects may run code that comes back here.
  std::unique_ptr<GuardBuilder> builder = std::move(state_->builder);
  std::unique_ptr<GuardProgram> program = std::move(state_->program);
}

}  // namespace minidynamo
