// Decodes the attributes and types of the VHLO dialect.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/stablehlo/bytecode.h"
#include "runtime/stablehlo/module.h"

namespace tessera::stablehlo {

// Decodes the attributes and types of a file on demand, each once. Not thread-safe.
class AttributeReader {
 public:
  // The bytecode must outlive the reader.
  explicit AttributeReader(const Bytecode& bytecode);

  // Returns an attribute by its number. Errors: INVALID_ARGUMENT for anything malformed,
  // RESOURCE_EXHAUSTED above the limit of Charge().
  absl::StatusOr<AttributePtr> Attribute(uint64_t index);
  // Types that cannot be held here are read as far as an error needs to name them.
  absl::StatusOr<std::shared_ptr<const Type>> TypeOf(uint64_t index);

  // Counts memory that a few bytes of the file can ask for again and again: constants that repeat
  // one element, strings, dictionaries of ops. Errors: RESOURCE_EXHAUSTED if a module asks for more
  // than 2 GiB, the limit of a message.
  absl::Status Charge(int64_t bytes);

 private:
  absl::StatusOr<stablehlo::Attribute> Decode(const Bytecode::Entry& entry);
  absl::StatusOr<stablehlo::Attribute> DecodeVhlo(ByteCursor in);
  absl::StatusOr<stablehlo::Attribute> DecodeBuiltin(ByteCursor in);
  absl::StatusOr<std::string> DecodeString(uint64_t index);
  absl::StatusOr<stablehlo::Attribute> DecodeDictionary(ByteCursor in);
  absl::StatusOr<stablehlo::Attribute> DecodeTensor(ByteCursor in);
  absl::StatusOr<stablehlo::Attribute> DecodeInteger(ByteCursor in);
  absl::StatusOr<stablehlo::Attribute> DecodeFloat(ByteCursor in);
  absl::StatusOr<Type> DecodeType(const Bytecode::Entry& entry);

  const Bytecode& bytecode_;
  std::vector<AttributePtr> attributes_;  // null until they are asked for
  std::vector<std::shared_ptr<const Type>> types_;
  int depth_ = 0;
  int64_t charged_bytes_ = 0;
};

}  // namespace tessera::stablehlo
