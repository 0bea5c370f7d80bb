// The state of torch's generator of random numbers on the CPU.
#pragma once
#include <memory>

namespace minidynamo {

class RandomState {
 public:
  RandomState();  // as it is now
  ~RandomState();
  RandomState(const RandomState&) = delete;
  void restore() const;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace minidynamo
