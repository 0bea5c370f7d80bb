#include "hook/capture/capture_history.h"

#include <sys/resource.h>

#include "emit/resume.h"
#include "hook/runtime.h"
#include "hook/settings.h"
#include "python/error_text.h"
#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

thread_local OpenCapture* innermost_capture = nullptr;

// The id belongs to the program's function, whose resume functions count as itself.
CaptureId next_id(PyCodeObject* code) {
  static uint32_t functions = 0;
  CodeCache* cache = CodeCache::get(as_code(code_of_program(code).get()));
  if (!cache) return throw_out_of_memory(), CaptureId();
  if (!cache->numbers.function) cache->numbers.function = functions++;
  return {*cache->numbers.function, cache->numbers.captures++};
}

// In bytes; Linux says it in units of 1024.
int64_t largest_resident_size() noexcept {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

double seconds_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// For an error of ours also its message: to format another one would run the program's code.
std::string text_of(PyObject* error) {
  PyObject* const of_ours = "minidynamo.exceptions.MinidynamoError"_imported.get();
  if (of_ours && PyObject_TypeCheck(error, as_type(of_ours))) {
    set_error(Ref::borrow(error));
    return take_error_text();
  }
  clear_error();
  return Py_TYPE(error)->tp_name;
}

// minidynamo._records.captures.<function>(record), if anybody follows captures while they are made.
void tell(PyObject* config, const char* function, const CaptureRecord& record) {
  ModeScope nothing_else(kCaptureNothing);
  if (!is_set(config, "follows_captures")) return;
  Ref write = import_object((std::string("minidynamo._records.captures.") + function).c_str());
  Ref facts = write ? to_dict(record) : Ref();
  if (facts) Ref::drop(PyObject_CallOneArg(write.get(), facts.get()));
  clear_error();
}

}  // namespace

OpenCapture* OpenCapture::innermost() noexcept { return innermost_capture; }

OpenCapture::OpenCapture(CodeCache& cache, PyObject* config, const FrameView& view)
    : code_(Ref::borrow(as_object(cache.code()))),
      config_(Ref::borrow(config)),
      outer_(innermost_capture),
      peak_memory_(largest_resident_size()) {
  const InterruptionsHeld until_it_is_noted;
  innermost_capture = this;
  try_to([&] { begin(cache, view); });
  clear_error();
}

void OpenCapture::begin(CodeCache& cache, const FrameView& view) {
  PyCodeObject* code = cache.code();
  record_.id = next_id(code);
  record_.code = Ref::steal(PyWeakref_NewRef(code_of_program(code).get(), nullptr));
  record_.filename = Ref::borrow(code->co_filename);
  record_.function = display_name(code);
  record_.line = code->co_firstlineno;
  record_.began = seconds_since_epoch();
  for (const std::shared_ptr<CacheEntry>& entry : cache.entries())
    if (entry->config == reinterpret_cast<ConfigId>(config_.get())) record_.why.push_back(entry->guards.refusal(view));
  const Ref backend = setting(config_.get(), "backend_name");
  if (backend && PyUnicode_Check(backend.get())) record_.backend = PyUnicode_AsUTF8(backend.get());
  tell(config_.get(), "note_start", record_);
}

OpenCapture::~OpenCapture() {
  const InterruptionsHeld until_it_is_noted;
  record_.seconds = since_beginning();
  record_.peak_memory_grew = largest_resident_size() - peak_memory_;
  Ref error = PyErr_Occurred() ? take_error() : Ref();
  try_to([&] { end(error.get()); });
  clear_error();
  if (error) set_error(std::move(error));
  innermost_capture = outer_;
}

void OpenCapture::end(PyObject* error) {
  Runtime& state = runtime();
  for (size_t i = 0; i < record_.phases.size(); ++i) state.statistics.seconds[i] += record_.phases[i];
  if (error) record_.outcome = CaptureRecord::Outcome::Error;
  if (error) record_.error = text_of(error);
  tell(config_.get(), "note_end", record_);
  state.captures.push_back(std::move(record_));
  if (state.captures.size() > kMostRecords) state.captures.pop_front();
}

void OpenCapture::lap(Phase phase) {
  const double now = since_beginning();
  of(record_.phases, phase) += now - last_lap_;
  record_.spans.push_back({phase, last_lap_, now});
  last_lap_ = now;
}

void OpenCapture::lap() noexcept { last_lap_ = since_beginning(); }

void OpenCapture::move_seconds(Phase from, Phase to, double seconds) noexcept {
  of(record_.phases, from) -= seconds;
  of(record_.phases, to) += seconds;
}

void OpenCapture::ends_with(const CacheEntry& entry) {
  record_.outcome = CaptureRecord::Outcome::Entry;
  record_.operators = entry.operators;
  record_.guards = entry.guards.guard_count();
  record_.guard_seconds = entry.guard_seconds;
}

std::string function_id(PyCodeObject* code) {
  const Ref own = code_of_program(code);
  const CodeCache* cache = CodeCache::find(as_code(own.get()));
  return cache && cache->numbers.function ? std::to_string(*cache->numbers.function) : "";
}

std::string open_capture_id() { return innermost_capture ? innermost_capture->id().text() : ""; }

void note_imports(double seconds) noexcept {
  if (innermost_capture) innermost_capture->move_seconds(Phase::Backend, Phase::Imports, seconds);
}

Ref to_dict(const CaptureRecord& record) {
  constexpr std::array<const char*, 3> kOutcomes = {"uncaptured", "entry", "error"};
  Ref phases = Ref::made(PyDict_New()), spans = Ref::made(PyList_New(0)), why = Ref::made(PyList_New(0));
  for (size_t i = 0; i < kPhaseNames.size(); ++i) {
    Ref seconds = Ref::made(PyFloat_FromDouble(record.phases[i]));
    if (PyDict_SetItemString(phases.get(), kPhaseNames[i], seconds.get()) < 0) return nullptr;
  }
  for (const CaptureRecord::Span& span : record.spans) {
    Ref row = Ref::steal(Py_BuildValue("(sdd)", kPhaseNames[static_cast<size_t>(span.phase)], span.begin, span.end));
    if (!row || PyList_Append(spans.get(), row.get()) < 0) return nullptr;
  }
  for (const GuardTree::Refusal& refusal : record.why) {
    Ref row = Ref::steal(Py_BuildValue("(ss)", refusal.kind.c_str(), refusal.message.c_str()));
    if (!row || PyList_Append(why.get(), row.get()) < 0) return nullptr;
  }
  const Ref code = record.code ? Ref::borrow(PyWeakref_GET_OBJECT(record.code.get())) : Ref::none();
  return Ref::steal(Py_BuildValue(
      "{ss sI sI sO sO ss si ss sO sd sd sO sO ss ss sn sn sd sL}", "id", record.id.text().c_str(), "function_number",
      record.id.function, "number", record.id.number, "code", code.get(), "filename", record.filename.get(), "function",
      record.function.c_str(), "line", record.line, "backend", record.backend.c_str(), "why", why.get(), "began",
      record.began, "seconds", record.seconds, "phases", phases.get(), "spans", spans.get(), "outcome",
      kOutcomes[static_cast<size_t>(record.outcome)], "error", record.error.c_str(), "operators",
      static_cast<Py_ssize_t>(record.operators), "guards", static_cast<Py_ssize_t>(record.guards), "guard_seconds",
      record.guard_seconds, "peak_memory_grew", static_cast<long long>(record.peak_memory_grew)));
}

}  // namespace minidynamo
