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
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// The message whose features are read. TensorFlow reads the first two with parsers of its own,
// which refuse much that protocol buffers allow: fields that the messages do not have, and entries
// of maps with anything but one key and one value. Of the lists of a feature they take the first
// one.
enum class ExampleForm {
  kExample,
  kContext,        // the context of SequenceExamples; a key comes before its value
  kSingleContext,  // that of ParseSingleSequenceExample, read as protocol buffers are
};

// One feature's list, still serialized.
struct FeatureView {
  DType dtype = DType::kInvalid;  // kString, kFloat or kInt64; kInvalid: the feature has no list
  absl::string_view list;         // the serialized BytesList, FloatList or Int64List
  bool is_named = false;          // whether the example has the feature, with a list or without
  bool is_valid = true;           // false: the feature has bytes, and does not begin with a list

  // How many values there are, or -1 if the bytes are malformed.
  int64_t CountValues() const;
  // Writes up to `room` values to elements [at, ...) of `to`, which has the dtype. Returns what
  // CountValues() does.
  int64_t CopyTo(Tensor* to, int64_t at, int64_t room) const;
};

// Calls `visit` for each feature of a serialized Example; of two of one name the later counts.
// Errors: INVALID_ARGUMENT if the bytes are not an Example.
absl::Status ParseExample(absl::string_view serialized, ExampleForm form,
                          absl::FunctionRef<void(absl::string_view name, FeatureView)> visit);

// Calls the one for each context feature of a serialized SequenceExample, which has the form
// kSingleContext, the other for each feature list, with its features in order. Errors: as above.
absl::Status ParseSequenceExample(
    absl::string_view serialized,
    absl::FunctionRef<void(absl::string_view name, FeatureView)> visit_context,
    absl::FunctionRef<void(absl::string_view name, std::vector<FeatureView>)> visit_list);

}  // namespace tessera
