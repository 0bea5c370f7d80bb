// The exception table of a code object (co_exceptiontable), in code units; instruction indices are its callers' matter.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/instruction.h"

namespace minidynamo {

// Appends the table's rows, with start, end and target in code units. False if the table is cut short.
bool read_exception_table(std::span<const uint8_t> table, std::vector<ExceptionRegion>& rows);

// Appends one row, given in code units.
void write_exception_row(const ExceptionRegion& row, std::vector<uint8_t>& table);

}  // namespace minidynamo
