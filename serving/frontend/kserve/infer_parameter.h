// Parameters of KServe's protocol: settings of a request, an input or an output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

struct InferParameter {
  std::string name;
  // A whole number is a uint64_t only if it is too large for an int64_t, or was sent as one.
  std::variant<bool, int64_t, uint64_t, double, std::string> value;
};
using InferParameters = std::vector<InferParameter>;

// Checks the parameters of a request. Those without a meaning are accepted, and so are those of
// Triton's schedule policy and sequences, which have no effect on models like ours, if their values
// are of the right kind. Errors: INVALID_ARGUMENT for another kind, or for a name that is reserved.
absl::Status CheckRequestParameters(const InferParameters& parameters);

// Checks the parameters of one tensor. `kind` is "input" or "output". Errors: INVALID_ARGUMENT if
// the elements are to be in shared memory, an extension that this server does not have.
absl::Status CheckTensorParameters(absl::string_view kind, absl::string_view name,
                                   const InferParameters& parameters);

// These return the value of a parameter; nullopt if there is none of this name. Errors:
// INVALID_ARGUMENT if the value is of another kind.
absl::StatusOr<std::optional<bool>> BoolParameter(const InferParameters& parameters,
                                                  absl::string_view name);
// Further errors: INVALID_ARGUMENT for a negative number.
absl::StatusOr<std::optional<int64_t>> CountParameter(const InferParameters& parameters,
                                                      absl::string_view name);

}  // namespace tessera::serving
