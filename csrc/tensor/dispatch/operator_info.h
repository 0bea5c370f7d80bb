// The properties of an operator that the fallback needs, computed once from its schema, tags and the rule table.
//
// Entries live as long as the operator is registered; a thread looks one up without a lock once it has seen it.
#pragma once
#include <string>
#include <vector>

#include "tensor/dispatch/operator_rules.h"
#include "tensor/torch_headers.h"

namespace minidynamo {

struct OperatorInfo {
  std::string name;  // "aten::add.Tensor"
  size_t argument_count = 0, return_count = 0;
  std::vector<uint16_t> written_arguments;
  int pin_memory_argument = -1;
  bool builtin = false;         // in a namespace that torch itself defines: its metadata depends on its arguments only
  bool composite = false;       // defined by other operators, which arrive one by one
  bool random = false;          // draws random numbers
  bool communicates = false;    // with other processes, which wait for it
  bool may_fail = false;        // because of values, which a trace does not know
  bool divides = false;         // and may fail so, if it divides whole numbers
  bool changes_layout = false;  // t_, resize_, set_...
  bool converts_operands = false;  // pointwise, and computes in one dtype that it converts all of them to
  bool dynamic_output = false;     // output shape or value depends on data
  OperatorRule rule = OperatorRule::None;
  const c10::KernelFunction* structured = nullptr;  // structured_kernels.h
};

const OperatorInfo& operator_info(const c10::OperatorHandle& op);

// Called when an operator is deregistered, so that memo entries of its address can be dropped.
void on_operator_removed(void (*callback)());

}  // namespace minidynamo
