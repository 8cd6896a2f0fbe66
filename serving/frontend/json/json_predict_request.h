// Bodies of REST predict requests: JSON -> tensors.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"

namespace tessera::serving {

// How tensors are laid out in JSON: {"instances": [...]}, element i of the list being row i of
// every input, or {"inputs": ...}, whole tensors by name. The reply has the same layout.
enum class PredictLayout { kRow, kColumnar };

struct InputType {
  absl::string_view name;
  DType dtype = DType::kInvalid;
};

struct PredictBody {
  PredictLayout layout = PredictLayout::kRow;
  std::string signature_name;  // "" if the body has none
  // In the order of the input types; names are views of theirs.
  std::vector<std::pair<absl::string_view, Tensor>> inputs;
};

// The inputs of a signature, by name in ascending order. What it returns must stay valid as long as
// the names in the PredictBody are used. May be called twice, and for a name that the body turns
// out not to have.
using FindInputTypes =
    absl::FunctionRef<absl::StatusOr<absl::Span<const InputType>>(absl::string_view signature)>;

//   {"signature_name": "s", "instances": [[1, 2], [3, 4]]}            one input, [2,2]
//   {"instances": [{"a": 1, "b": [2.5]}, {"a": 3, "b": [4]}]}         a: [2], b: [2,1]
//   {"inputs": 5}, {"inputs": {"a": [1, 2], "b": [[0.5]]}}            any shapes
// Numbers must be of the input's kind: 1 may be a float, 1.0 no integer, and "1" is a string.
// Bytes are {"b64": "..."}. Nothing else is converted. What follows the value's end is ignored, and
// so are other keys.
//
// Bodies may be hostile: nested as deep as they are long, ragged, of any size up to kMaxJsonBytes.
//
// Errors, in this order: INVALID_ARGUMENT for what is no JSON object or has a signature_name that
// is no string; those of `find_inputs`; INVALID_ARGUMENT for values that do not fit their input,
// with the value and where it is; UNIMPLEMENTED for inputs, in columns, of a type that has no JSON
// form.
absl::Status DecodePredictBody(absl::string_view json, FindInputTypes find_inputs,
                               PredictBody* body);

// The same without the short way for arrays of numbers, which tests hold it against.
absl::Status DecodePredictBodyByDocument(absl::string_view json, FindInputTypes find_inputs,
                                         PredictBody* body);

}  // namespace tessera::serving
