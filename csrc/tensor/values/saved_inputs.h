// Keeps a copy of what a compiled graph is about to write to, so that it can be put back where the graph raises.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// Which of a graph's inputs: by position, those that are written to before an operator that may raise, and those that
// are written to behind the last of these alone.
struct WrittenInputs {
  std::vector<uint32_t> before, behind;
};

// How many bytes of memory a tensor shows; nothing: it is no plain tensor on the CPU.
bool can_be_saved(PyObject* tensor, uint64_t& bytes) noexcept;

class SavedInputs {
 public:
  // `inputs`: a tuple. Copies the tensors of `written.before`, and notes how often the others were written to.
  SavedInputs(PyObject* inputs, const WrittenInputs& written);
  ~SavedInputs();
  SavedInputs(const SavedInputs&) = delete;
  SavedInputs& operator=(const SavedInputs&) = delete;
  // Puts them back. False, and nothing is done: one of the others was written to.
  bool restore() const;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace minidynamo
