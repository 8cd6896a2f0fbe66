// The container of MLIR bytecode: its sections, and the tables of names, attributes and types that
// the IR refers to by number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/stablehlo/byte_cursor.h"

namespace tessera::stablehlo {

// The tables of a bytecode file, before any attribute or type is decoded. Views into the file.
struct Bytecode {
  // Versions of the container at which something that is read here has changed.
  static constexpr uint64_t kWithDialectVersions = 1;
  static constexpr uint64_t kWithLazyRegions = 2;
  static constexpr uint64_t kWithUseListOrders = 3;
  static constexpr uint64_t kWithElidedLocations = 4;
  static constexpr uint64_t kWithProperties = 5;
  static constexpr uint64_t kNewest = 6;

  struct OpName {
    absl::string_view dialect;
    absl::string_view name;  // "add_v1"
  };
  // An encoded attribute or type.
  struct Entry {
    absl::string_view dialect;
    bool is_binary = false;  // otherwise the bytes are assembly text
    ByteCursor bytes;
  };

  uint64_t version = 0;
  std::vector<absl::string_view> strings;
  std::vector<OpName> op_names;
  std::vector<Entry> attributes;
  std::vector<Entry> types;
  std::vector<ByteCursor> properties;
  std::optional<ByteCursor> ir;
};

// Errors: INVALID_ARGUMENT for anything malformed, UNIMPLEMENTED for a newer container.
absl::StatusOr<Bytecode> ReadBytecode(absl::string_view file);

// Reads the header of a section, and skips the section. Returns its contents and sets *id.
ByteCursor ReadSection(ByteCursor* cursor, int* id);
inline constexpr int kIrSection = 4;

}  // namespace tessera::stablehlo
