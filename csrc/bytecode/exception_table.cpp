#include "bytecode/exception_table.h"

namespace minidynamo {
namespace {

// Numbers are groups of six bits, highest first; bit 6 says that another group follows, bit 7 marks a row's first byte.
constexpr uint8_t kMore = 64, kRowStart = 128;

bool read_number(std::span<const uint8_t>& rest, int32_t& number) noexcept {
  uint32_t value = 0;
  while (!rest.empty()) {
    const uint8_t byte = rest.front();
    rest = rest.subspan(1);
    value = value << 6 | (byte & 63);
    if (!(byte & kMore)) {
      number = static_cast<int32_t>(value);
      return true;
    }
  }
  return false;
}

void write_number(uint32_t value, uint8_t mark, std::vector<uint8_t>& table) {
  int shift = 0;
  while (shift < 30 && value >> shift >= 64) shift += 6;
  for (; shift >= 0; shift -= 6) {
    table.push_back(static_cast<uint8_t>((value >> shift & 63) | (shift > 0 ? kMore : 0) | mark));
    mark = 0;
  }
}

}  // namespace

bool read_exception_table(std::span<const uint8_t> table, std::vector<ExceptionRegion>& rows) {
  while (!table.empty()) {
    int32_t start, length, target, depth_and_lasti;
    if (!read_number(table, start) || !read_number(table, length) || !read_number(table, target) ||
        !read_number(table, depth_and_lasti)) {
      return false;
    }
    rows.push_back({start, start + length, target, depth_and_lasti >> 1, (depth_and_lasti & 1) != 0});
  }
  return true;
}

void write_exception_row(const ExceptionRegion& row, std::vector<uint8_t>& table) {
  write_number(static_cast<uint32_t>(row.start), kRowStart, table);
  write_number(static_cast<uint32_t>(row.end - row.start), 0, table);
  write_number(static_cast<uint32_t>(row.target), 0, table);
  write_number(static_cast<uint32_t>(row.depth << 1 | (row.push_lasti ? 1 : 0)), 0, table);
}

}  // namespace minidynamo
