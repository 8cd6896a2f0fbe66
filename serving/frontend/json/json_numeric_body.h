// The short way for predict requests that hold nothing but numbers.
#pragma once

#include "absl/strings/string_view.h"
#include "serving/frontend/json/json_predict_request.h"

namespace tessera::serving {

// If the body is one of
//   {"signature_name": "s", "instances": NUMBERS}
//   {"signature_name": "s", "inputs": NUMBERS}
//   {"signature_name": "s", "inputs": {"a": NUMBERS, "b": NUMBERS}}
// (the name may be left out, or come last), NUMBERS being lists, nested and rectangular, of finite
// numbers that fit their input: fills *body as DecodePredictBodyByDocument() does, bit for bit,
// from one pass over the text, straight into the tensors' memory.
//
// False in every other case, be it an error or only unusual; *body is in no particular state then.
bool DecodeNumericBody(absl::string_view json, FindInputTypes find_inputs, PredictBody* body);

}  // namespace tessera::serving
