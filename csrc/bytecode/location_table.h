// The location table of a code object (co_linetable, 3.11's format and later): a position for every run of code units.
//
// An entry holds how many code units it covers (1 to 8) and a line relative to the entry before, in one of five forms
// from "none" to "line, end line and both columns". Knows nothing of instructions.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/instruction.h"

namespace minidynamo {

// Walks a table entry by entry, in code unit order. A table that ends early yields positions without a line.
class LocationReader {
 public:
  LocationReader(std::span<const uint8_t> table, int32_t first_line) noexcept : table_(table), line_(first_line) {}

  // The position of a code unit; units must be asked for in ascending order.
  const Position& at(int32_t unit) noexcept {
    while (unit >= end_) read_entry();
    return position_;
  }

 private:
  void read_entry() noexcept;
  uint32_t varint() noexcept;
  int32_t signed_varint() noexcept;
  uint8_t byte() noexcept { return next_ < table_.size() ? table_[next_++] : 0; }

  std::span<const uint8_t> table_;
  size_t next_ = 0;
  int32_t end_ = 0;  // code unit after the current entry
  int32_t line_;
  Position position_;
};

class LocationWriter {
 public:
  explicit LocationWriter(int32_t first_line) noexcept : line_(first_line) {}
  void add(const Position& position, int32_t units);
  std::span<const uint8_t> bytes() const noexcept { return bytes_; }

 private:
  void entry(const Position& position, int32_t units);
  void head(int form, int32_t units);
  void varint(uint32_t value);
  void signed_varint(int32_t value);

  std::vector<uint8_t> bytes_;
  int32_t line_;
};

}  // namespace minidynamo
