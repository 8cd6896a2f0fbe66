// Bodies of REST classify and regress requests: JSON -> tensorflow.Example.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow_serving/apis/input.pb.h"

namespace tessera::serving {

struct ExamplesBody {
  std::string signature_name;  // "" if the body has none
  // An example_list, or, if the body has a context, be it empty, an example_list_with_context.
  tensorflow::serving::Input input;
};

//   {"signature_name": "s", "context": {"lang": "en"},
//    "examples": [{"age": 20, "name": ["a", {"b64": "/w=="}], "scores": [0.5, 1.0]}, ...]}
// A feature is a value or a flat list of values of one kind: texts and bytes make a bytes_list,
// integers, true and false an int64_list, numbers with a fraction or an exponent a float_list. 2 is
// not 2.0. An empty list is a feature without a kind.
//
// Safe for hostile bodies, as DecodePredictBody() is.
// Errors: INVALID_ARGUMENT for what is no JSON object; then for a signature_name that is no string,
// for the context, and for the examples, if they are no list of objects, empty, or hold a value
// that is none of the above.
absl::Status DecodeExamplesBody(absl::string_view json, ExamplesBody* body);

}  // namespace tessera::serving
