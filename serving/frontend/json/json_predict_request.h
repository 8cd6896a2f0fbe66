// DecodePredictBody: reads the bodies of REST predict requests into tensors.
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

// The layout of tensors in JSON. In rows, {"instances": [...]}, element i of the list is row i of
// every input. In columns, {"inputs": ...}, there are whole tensors by name. The reply has the same
// layout.
enum class PredictLayout { kRow, kColumnar };

struct InputType {
  absl::string_view name;
  DType dtype = DType::kInvalid;
  // Whether bodies may leave the input out: in rows, out of all or of none.
  bool has_default = false;
};

struct PredictBody {
  PredictLayout layout = PredictLayout::kRow;
  std::string signature_name;  // "" if the body has none
  // In the order of the input types, without those that were left out. The names are views of those
  // in the input types.
  std::vector<std::pair<absl::string_view, Tensor>> inputs;
};

// Returns the inputs of a signature, by name in ascending order. They must stay valid as long as
// the names in the PredictBody are used. The function may be called twice, and for a name that the
// body turns out not to have.
using FindInputTypes =
    absl::FunctionRef<absl::StatusOr<absl::Span<const InputType>>(absl::string_view signature)>;

//   {"signature_name": "s", "instances": [[1, 2], [3, 4]]}            one input, [2,2]
//   {"instances": [{"a": 1, "b": [2.5]}, {"a": 3, "b": [4]}]}         a: [2], b: [2,1]
//   {"inputs": 5}, {"inputs": {"a": [1, 2], "b": [[0.5]]}}            any shapes
// Numbers must be of the kind of the input: 1 may be a float, but 1.0 is no integer, and "1" is a
// string. Bytes are {"b64": "..."}. Nothing else is converted. Text after the end of the object is
// ignored, and so are other keys.
//
// Bodies may be hostile: nested as deep as they are long, ragged, and of any size up to
// kMaxJsonBytes.
//
// Errors, in this order: INVALID_ARGUMENT if the body is no JSON object, or its signature_name is
// no string; those of `find_inputs`; INVALID_ARGUMENT for values that do not fit their input, with
// the value and its position; UNIMPLEMENTED for inputs in columns of a type that has no JSON form.
absl::Status DecodePredictBody(absl::string_view json, FindInputTypes find_inputs,
                               PredictBody* body);

// Does the same without the fast path for arrays of numbers. Tests compare the two.
absl::Status DecodePredictBodyByDocument(absl::string_view json, FindInputTypes find_inputs,
                                         PredictBody* body);

}  // namespace tessera::serving
