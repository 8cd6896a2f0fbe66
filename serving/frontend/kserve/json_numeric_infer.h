// ReadNumericInfer: a fast path for inference requests whose inputs are lists of numbers.
#pragma once

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"
#include "serving/frontend/kserve/infer.h"

namespace tessera::serving {

// The text of a member `data`: lists, and perhaps numbers in them.
struct JsonNumbersText {
  absl::string_view text;
};

// If the body is a request in JSON whose members are all known, without numbers among its
// parameters, escapes in its strings, parameters of inputs, or strings in the data, then this fills
// *request as the general path does, and *numbers with the data of each input. What stands between
// the brackets of the data was not looked at. Returns false in every other case, whether it is an
// error or only unusual; *request and *numbers are unspecified then.
bool ReadNumericInfer(absl::string_view json, InferRequest* request,
                      absl::InlinedVector<JsonNumbersText, 2>* numbers);

// Reads the elements of a tensor of this dtype and shape: the bits that TensorFromJson() gives.
// Returns false if that must read them, be it that they are unusual or wrong.
bool TensorFromNumbers(JsonNumbersText numbers, DType dtype, const Shape& shape, Tensor* tensor);

}  // namespace tessera::serving
