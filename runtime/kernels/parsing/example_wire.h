// Reading serialized tensorflow.Example messages without building them.
//
// An Example holds Features, a map from names to a Feature each, which is one of three lists:
// bytes, floats, or int64s (apis/tensorflow/core/example). A server parses thousands of them a
// second, of which it often needs a few features only: this reader finds the lists and copies their
// values straight into tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// The message whose features are read. TensorFlow reads the first two with parsers of its own,
// which refuse much that protocol buffers allow: groups, fields that the messages do not have, tags
// that are longer than necessary, and entries of maps with anything but one key and one value. They
// also accept some malformed messages: a part whose size exceeds what contains it ends there. Of a
// feature they read the first list, and of a packed list the first run of values.
enum class ExampleForm {
  kExample,
  kContext,        // the context of SequenceExamples; a key comes before its value
  kSingleContext,  // that of ParseSingleSequenceExample, in canonical form
};

// One feature's list, still serialized.
struct FeatureView {
  DType dtype = DType::kInvalid;  // kString, kFloat or kInt64; kInvalid: the feature has no list
  absl::string_view list;         // the size of the BytesList, FloatList or Int64List, and the list
  ExampleForm form = ExampleForm::kExample;
  bool is_named = false;  // whether the example has the feature, with a list or without
  bool is_valid = true;   // false: the feature has bytes, and does not begin with a list

  // How many values there are, or -1 if the bytes are malformed.
  int64_t CountValues() const;
  // Writes up to `room` values to elements [at, ...) of `to`, which has the dtype. Returns what
  // CountValues() does.
  int64_t CopyTo(Tensor* to, int64_t at, int64_t room) const;
};

// Calls `visit` for each feature of a serialized Example or context; of two of one name the later
// counts. Errors: INVALID_ARGUMENT if the bytes are not an Example.
absl::Status ParseExample(absl::string_view serialized, ExampleForm form,
                          absl::FunctionRef<void(absl::string_view name, FeatureView)> visit);

// Calls `visit` for each feature list of a serialized SequenceExample, with its bytes for
// ParseFeatureList(); of two of one name the later counts. Errors: INVALID_ARGUMENT if the bytes
// are not a SequenceExample.
absl::Status ParseSequenceExample(
    absl::string_view serialized,
    absl::FunctionRef<void(absl::string_view name, absl::string_view list)> visit);

// Returns the features of a serialized FeatureList in order. TensorFlow's parser takes whatever
// follows the first list of a feature for the next feature of the list, and so does this one.
// Errors: INVALID_ARGUMENT if the bytes are not a FeatureList.
absl::StatusOr<std::vector<FeatureView>> ParseFeatureList(absl::string_view list);

}  // namespace tessera
