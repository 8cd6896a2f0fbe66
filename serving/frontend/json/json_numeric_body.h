// DecodeNumericBody: a fast path for predict requests whose inputs are numbers alone.
#pragma once

#include "absl/strings/string_view.h"
#include "serving/frontend/json/json_predict_request.h"

namespace tessera::serving {

// If the body is one of
//   {"signature_name": "s", "instances": NUMBERS}
//   {"signature_name": "s", "inputs": NUMBERS}
//   {"signature_name": "s", "inputs": {"a": NUMBERS, "b": NUMBERS}}
// where the name may be left out or come last, and NUMBERS are nested rectangular lists of finite
// numbers that fit their input, then this fills *body with exactly the same bits as
// DecodePredictBodyByDocument(). It makes one pass over the text and writes into the memory of the
// tensors.
//
// Returns false in every other case, whether it is an error or only unusual; *body is unspecified
// then.
bool DecodeNumericBody(absl::string_view json, FindInputTypes find_inputs, PredictBody* body);

}  // namespace tessera::serving
