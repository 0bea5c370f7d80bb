// How the computation of an operator's metadata ends without an answer.
#pragma once
#include <string>

#include "tensor/fake/fake.h"

namespace minidynamo {

// Thrown when metadata alone does not tell the result; becomes OperatorObserver::cannot_fake.
struct CannotFake {
  FakeProblem problem;
  std::string reason;  // one sentence
};

}  // namespace minidynamo
