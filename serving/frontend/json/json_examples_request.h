// DecodeExamplesBody: reads the bodies of REST classify and regress requests.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow_serving/apis/input.pb.h"

namespace tessera::serving {

struct ExamplesBody {
  std::string signature_name;  // "" if the body has none
  // An example_list_with_context if the body has a context, even an empty one; else an
  // example_list.
  tensorflow::serving::Input input;
};

//   {"signature_name": "s", "context": {"lang": "en"},
//    "examples": [{"age": 20, "name": ["a", {"b64": "/w=="}], "scores": [0.5, 1.0]}, ...]}
// A feature is a value or a flat list of values of one kind. Strings and bytes make a bytes_list,
// integers, true and false an int64_list, and numbers with a fraction or an exponent a float_list:
// 2 is not 2.0. An empty list makes a feature without a kind.
//
// Safe for hostile bodies, as DecodePredictBody() is.
// Errors, in this order: INVALID_ARGUMENT if the body is no JSON object; if signature_name is no
// string; if the context is wrong; if the examples are no list of objects, are empty, or hold
// another kind of value.
absl::Status DecodeExamplesBody(absl::string_view json, ExamplesBody* body);

}  // namespace tessera::serving
