// Reading FlatBuffers whose schema is known, without trusting them.
//
//   ASSIGN_OR_RETURN(const FlatTable model, FlatTable::Root(bytes));
//   const auto limit = model.Scalar<int32_t>(4, 100);             // field 4, 100 if it is absent
//   ASSIGN_OR_RETURN(const absl::string_view name, model.String(5));
#pragma once

#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// A vector of a FlatBuffer: `size` elements of T from `data` on, which need not be aligned.
template <typename T>
struct FlatVector {
  const char* data = nullptr;
  uint32_t size = 0;

  T operator[](uint32_t i) const {
    T value;
    std::memcpy(&value, data + uint64_t{i} * sizeof(T), sizeof(T));
    return value;
  }
};

// A table within a buffer, which must outlive it. Fields are named by their number in the schema.
class FlatTable {
 public:
  // The table that the buffer is about. Errors: INVALID_ARGUMENT if it does not lie in the buffer.
  static absl::StatusOr<FlatTable> Root(absl::string_view buffer);

  // The field, or `absent` if the table lacks it or ends before it.
  template <typename T>
  T Scalar(int field, T absent) const {
    const uint64_t at = Position(field);
    if (at == 0 || at + sizeof(T) > buffer_.size()) return absent;
    return ReadAt<T>(at);
  }
  // The vector that a field refers to, empty if the table lacks it.
  // Errors: INVALID_ARGUMENT if it does not lie in the buffer.
  template <typename T>
  absl::StatusOr<FlatVector<T>> Vector(int field) const {
    const uint64_t at = Position(field);
    if (at == 0) return FlatVector<T>();
    return VectorAt<T>(at);
  }
  // Whether the table has a value of its own for the field.
  bool Has(int field) const { return Position(field) != 0; }
  // The table that a field refers to. Errors: INVALID_ARGUMENT if this table lacks it, or if it
  // does not lie in the buffer.
  absl::StatusOr<FlatTable> Table(int field) const;
  // The same as Vector() for a string.
  absl::StatusOr<absl::string_view> String(int field) const;
  // The string that element i of a vector of strings refers to.
  // Errors: INVALID_ARGUMENT if it does not lie in the buffer.
  absl::StatusOr<absl::string_view> StringOf(const FlatVector<uint32_t>& strings, uint32_t i) const;

 private:
  FlatTable(absl::string_view buffer, uint64_t table, uint64_t fields, int num_fields)
      : buffer_(buffer), table_(table), fields_(fields), num_fields_(num_fields) {}

  template <typename T>
  T ReadAt(uint64_t at) const {
    T value;
    std::memcpy(&value, buffer_.data() + at, sizeof(T));
    return value;
  }
  // The table at this position.
  static absl::StatusOr<FlatTable> TableAt(absl::string_view buffer, uint64_t table);
  // Returns the position of the field; 0 if the table lacks it.
  uint64_t Position(int field) const;
  // The vector that the offset at this position refers to.
  template <typename T>
  absl::StatusOr<FlatVector<T>> VectorAt(uint64_t at) const {
    if (at + 4 > buffer_.size()) return OutOfBuffer();
    const uint64_t vector = at + ReadAt<uint32_t>(at);
    if (vector + 4 > buffer_.size()) return OutOfBuffer();
    const uint32_t size = ReadAt<uint32_t>(vector);
    if (vector + 4 + uint64_t{size} * sizeof(T) > buffer_.size()) return OutOfBuffer();
    return FlatVector<T>{buffer_.data() + vector + 4, size};
  }
  static absl::Status OutOfBuffer();

  absl::string_view buffer_;
  uint64_t table_, fields_;  // positions of the table, and of the offsets of its fields
  int num_fields_;
};

}  // namespace tessera
