// The modes of this thread that a graph may change on its way: what a graph that raised in the middle left of them is
// put back.
#pragma once
#include <memory>

namespace minidynamo {

class ThreadModes {
 public:
  ThreadModes();  // as they are now
  ~ThreadModes();
  ThreadModes(const ThreadModes&) = delete;
  void restore() const;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace minidynamo
