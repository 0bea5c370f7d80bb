#include "bytecode/location_table.h"

#include <algorithm>
#include <limits>

namespace minidynamo {
namespace {

// Forms 0 to 9 keep the start column's upper bits in the form itself; 10 to 12 are 10 plus the line delta.
constexpr int kOneLine = 10, kNoColumns = 13, kLong = 14, kNone = 15;
constexpr int kMaxUnits = 8;

}  // namespace

uint32_t LocationReader::varint() noexcept {
  uint8_t read = byte();
  uint32_t value = read & 63;
  for (unsigned shift = 6; (read & 64) && shift < 32; shift += 6) {
    read = byte();
    value |= static_cast<uint32_t>(read & 63) << shift;
  }
  return value;
}

int32_t LocationReader::signed_varint() noexcept {
  const uint32_t value = varint();
  const auto magnitude = static_cast<int32_t>(value >> 1);
  return value & 1 ? -magnitude : magnitude;
}

void LocationReader::read_entry() noexcept {
  position_ = Position{};
  if (next_ >= table_.size()) {
    end_ = std::numeric_limits<int32_t>::max();
    return;
  }
  const uint8_t first = byte();
  end_ += (first & 7) + 1;
  const int form = (first >> 3) & 15;
  if (form == kNone) return;
  if (form == kLong) {
    line_ += signed_varint();
    position_.end_line = line_ + static_cast<int32_t>(varint());
    position_.column = static_cast<int32_t>(varint()) - 1;
    position_.end_column = static_cast<int32_t>(varint()) - 1;
  } else if (form == kNoColumns) {
    line_ += signed_varint();
    position_.end_line = line_;
  } else if (form >= kOneLine) {
    line_ += form - kOneLine;
    position_.end_line = line_;
    position_.column = byte();
    position_.end_column = byte();
  } else {
    const uint8_t second = byte();
    position_.end_line = line_;
    position_.column = form << 3 | second >> 4;
    position_.end_column = position_.column + (second & 15);
  }
  position_.line = line_;
}

void LocationWriter::varint(uint32_t value) {
  while (value >= 64) {
    bytes_.push_back(static_cast<uint8_t>(64 | (value & 63)));
    value >>= 6;
  }
  bytes_.push_back(static_cast<uint8_t>(value));
}

void LocationWriter::signed_varint(int32_t value) {
  const auto magnitude = static_cast<uint32_t>(value < 0 ? -value : value);
  varint(magnitude << 1 | (value < 0));
}

void LocationWriter::head(int form, int32_t units) {
  bytes_.push_back(static_cast<uint8_t>(128 | form << 3 | (units - 1)));
}

void LocationWriter::add(const Position& position, int32_t units) {
  for (; units > 0; units -= kMaxUnits) entry(position, std::min(units, kMaxUnits));
}

void LocationWriter::entry(const Position& position, int32_t units) {
  if (position.line < 0) {
    head(kNone, units);
    return;
  }
  const int32_t delta = position.line - line_;
  line_ = position.line;
  const int32_t column = position.column, end_column = position.end_column;
  const int32_t end_line = position.end_line < position.line ? position.line : position.end_line;
  const bool one_line = end_line == position.line;
  if (one_line && (column < 0 || end_column < 0)) {
    head(kNoColumns, units);
    signed_varint(delta);
    return;
  }
  if (one_line && delta == 0 && column < 80 && end_column >= column && end_column - column < 16) {
    head(column >> 3, units);
    bytes_.push_back(static_cast<uint8_t>((column & 7) << 4 | (end_column - column)));
    return;
  }
  if (one_line && delta >= 0 && delta < 3 && column < 128 && end_column < 128) {
    head(kOneLine + delta, units);
    bytes_.push_back(static_cast<uint8_t>(column));
    bytes_.push_back(static_cast<uint8_t>(end_column));
    return;
  }
  head(kLong, units);
  signed_varint(delta);
  varint(static_cast<uint32_t>(end_line - position.line));
  varint(static_cast<uint32_t>(column + 1));
  varint(static_cast<uint32_t>(end_column + 1));
}

}  // namespace minidynamo
