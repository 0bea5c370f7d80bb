// The thread's observer, if a trace runs on it.
#pragma once
#include "tensor/fake/fake.h"

namespace minidynamo {

OperatorObserver* current_observer() noexcept;
// Returns the previous one.
OperatorObserver* exchange_observer(OperatorObserver* observer) noexcept;

// Forgets reports that were not delivered.
void drop_operator_reports() noexcept;

}  // namespace minidynamo
