#include "runtime/kernels/text/flat_table.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<FlatTable> FlatTable::Root(absl::string_view buffer) {
  if (buffer.size() < 4) return OutOfBuffer();
  return TableAt(buffer, FlatTable(buffer, 0, 0, 0).ReadAt<uint32_t>(0));
}

absl::StatusOr<FlatTable> FlatTable::Table(int field) const {
  const uint64_t at = Position(field);
  if (at == 0 || at + 4 > buffer_.size()) return OutOfBuffer();
  return TableAt(buffer_, at + ReadAt<uint32_t>(at));
}

absl::StatusOr<FlatTable> FlatTable::TableAt(absl::string_view buffer, uint64_t table) {
  if (table + 4 > buffer.size()) return OutOfBuffer();
  const FlatTable bytes(buffer, 0, 0, 0);
  const int64_t directory = static_cast<int64_t>(table) - bytes.ReadAt<int32_t>(table);
  if (directory < 0 || static_cast<uint64_t>(directory) + 4 > buffer.size()) return OutOfBuffer();
  const auto at = static_cast<uint64_t>(directory);
  const uint16_t size = bytes.ReadAt<uint16_t>(at);
  if (size < 4 || at + size > buffer.size()) return OutOfBuffer();
  return FlatTable(buffer, table, at + 4, (size - 4) / 2);
}

uint64_t FlatTable::Position(int field) const {
  if (field >= num_fields_) return 0;
  const auto offset = ReadAt<uint16_t>(fields_ + 2 * static_cast<uint64_t>(field));
  return offset == 0 ? 0 : table_ + offset;
}

absl::StatusOr<absl::string_view> FlatTable::String(int field) const {
  ASSIGN_OR_RETURN(const FlatVector<char> text, Vector<char>(field));
  return absl::string_view(text.data, text.size);
}

absl::StatusOr<absl::string_view> FlatTable::StringOf(const FlatVector<uint32_t>& strings,
                                                      uint32_t i) const {
  if (i >= strings.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no string ", i, " among ", strings.size));
  }
  const auto at = static_cast<uint64_t>(strings.data - buffer_.data()) + uint64_t{i} * 4;
  ASSIGN_OR_RETURN(const FlatVector<char> text, VectorAt<char>(at));
  return absl::string_view(text.data, text.size);
}

absl::Status FlatTable::OutOfBuffer() {
  return absl::InvalidArgumentError("the model is damaged: a part of it lies outside of it");
}

}  // namespace tessera
