// Reads the inputs of a signature from the flags of a command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "serving/commands/image_value.h"
#include "serving/servables/servable.h"
#include "serving/server/flag_parser.h"

namespace tessera::serving {

// The flags with which every command takes inputs.
struct InputFlags {
  std::vector<std::string> inputs;  // NAME=VALUE, see ReadInputValue()
  ImageOptions image;

  // The flags write into this object, which must outlive the parser.
  void AddTo(FlagParser* flags);
};

// The facts of a signature that a caller needs for a request.
struct SignatureInputs {
  std::string signature_name;
  std::map<std::string, TensorInfo> inputs;  // by name
  std::vector<std::string> optional;         // inputs with a default value
};

// Returns the tensors of the inputs that are given, by name.
// Errors: UsageError() for a flag that is not NAME=VALUE, or a name that is given twice;
// INVALID_ARGUMENT for a value or a name that does not fit, and for an input that is not given and
// has no default; those of ReadInputValue().
absl::StatusOr<std::map<std::string, Tensor>> ReadInputs(const InputFlags& flags,
                                                         const SignatureInputs& signature);

}  // namespace tessera::serving
