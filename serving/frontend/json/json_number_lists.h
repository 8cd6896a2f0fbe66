// Reads lists of numbers from JSON text straight into the memory of a tensor, without a tree.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"
#include "serving/frontend/json/json_document.h"
#include "serving/frontend/json/json_text_scanner.h"

namespace tessera::serving {

// Reads nested rectangular lists of finite numbers that fit `dtype`, at the front of a text, in one
// pass. *tensor gets exactly the bits that a tree in this dialect would give, and the shape of the
// lists. Takes memory for as many elements as there are commas up to in.end.
//
// Returns false in every other case, whether it is an error or only unusual (empty lists, NaN,
// deep nesting, another dtype); `in` and *tensor are unspecified then.
bool ReadNumberLists(JsonTextScanner& in, DType dtype, JsonDialect dialect, Tensor* tensor);

// Returns the text of nested lists at the front of a text, and moves behind them, without a look at
// what stands between the brackets. Returns nullopt if there is no list, if it does not end, or if
// there are strings in it.
std::optional<absl::string_view> SkipNumberLists(JsonTextScanner& in);

}  // namespace tessera::serving
