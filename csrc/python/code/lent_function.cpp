// The function object of the last call is used again: it is given the globals, and they are taken from it, unless a
// frame object (a traceback's, say) has kept it.
#include "python/code/lent_function.h"

#include "python/cached.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"

namespace minidynamo {
namespace {

// The globals of a function while no call lends it any.
PyObject* no_names() {
  static constinit CachedObject names{[](const char*) { return Ref::made(PyDict_New()); }};
  return names;
}

// Puts an object into a member, and returns the previous one.
Ref exchange(PyObject*& member, PyObject* object) noexcept {
  return Ref::steal(std::exchange(member, Ref::borrow(object).release()));
}

}  // namespace

LentFunction::LentFunction(Ref code, const std::vector<Variable>& variables) {
  if (!code) return;
  no_names();  // which the end of a loan needs
  if (!variables.empty()) {
    closure_ = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(variables.size())));
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = variables[i];
    Ref cell = Ref::made(PyCell_New(variable.weak ? nullptr : variable.object.get()));
    PyTuple_SET_ITEM(closure_.get(), static_cast<Py_ssize_t>(i), Ref(cell).release());
    if (!variable.weak) continue;
    Ref reference = Ref::steal(PyWeakref_NewRef(variable.object.get(), nullptr));
    if (!reference) return;
    weak_cells_.push_back({std::move(cell), std::move(reference)});
  }
  code_ = std::move(code);
}

bool LentFunction::fill_cells() const noexcept {
  for (const WeakCell& lent : weak_cells_)
    if (PyWeakref_GET_OBJECT(lent.reference.get()) == Py_None) return false;
  for (const WeakCell& lent : weak_cells_)
    PyCell_SET(lent.cell.get(), Ref::borrow(PyWeakref_GET_OBJECT(lent.reference.get())).release());
  return true;
}

// The previous contents die after all cells are empty: their finalizers may fill the cells again.
std::vector<Ref> LentFunction::empty_cells() const noexcept {
  std::vector<Ref> last_holds;
  for (const WeakCell& lent : weak_cells_) {
    Ref object = Ref::steal(PyCell_GET(lent.cell.get()));
    PyCell_SET(lent.cell.get(), nullptr);
    if (object && Py_REFCNT(object.get()) == 1) try_to([&] { last_holds.push_back(std::move(object)); });
  }
  return last_holds;
}

LentFunction::Loan::Loan(LentFunction& function, PyObject* owner) noexcept : function_(function) {
  auto* whose = as_function(owner);
  Ref made;
  if (!function.idle_) {
    made = Ref::steal(PyFunction_New(function.code_.get(), whose->func_globals));
    if (made) set_builtins(as_function(made.get()), whose->func_builtins);
    if (made && function.closure_) PyFunction_SetClosure(made.get(), function.closure_.get());
    if (!made) {
      clear_error();
      return;
    }
  }
  if (!function.weak_cells_.empty()) {
    if (function.running_ == 0 && !function.fill_cells()) return;
    ++function.running_;
  }
  if (made) {
    callable_ = std::move(made);
  } else {
    callable_ = std::move(function.idle_);
    const Ref no_globals = exchange(as_function(callable_.get())->func_globals, whose->func_globals);
    const Ref no_builtins = exchange(as_function(callable_.get())->func_builtins, whose->func_builtins);
  }
}

LentFunction::Loan::~Loan() {
  if (!callable_) return;
  // Letting go may run code that comes back here: it happens at the end, when all is in order.
  Ref globals, builtins;
  std::vector<Ref> lent;
  if (Py_REFCNT(callable_.get()) == 1 && !function_.idle_) {
    globals = exchange(as_function(callable_.get())->func_globals, no_names());
    builtins = exchange(as_function(callable_.get())->func_builtins, no_names());
    function_.idle_ = std::move(callable_);
  }
  if (!function_.weak_cells_.empty() && --function_.running_ == 0) lent = function_.empty_cells();
}

Ref LentFunction::to_function(PyObject* globals) const {
  if (!fill_cells()) return nullptr;
  Ref made = Ref::made(PyFunction_New(code_.get(), globals));
  if (closure_) PyFunction_SetClosure(made.get(), closure_.get());
  return made;
}

int LentFunction::traverse(visitproc visit, void* arg) const {
  Py_VISIT(code_.get());
  Py_VISIT(closure_.get());
  Py_VISIT(idle_.get());
  for (const WeakCell& lent : weak_cells_) {
    Py_VISIT(lent.cell.get());
    Py_VISIT(lent.reference.get());
  }
  return 0;
}

}  // namespace minidynamo
