// Parsing serialized tensorflow.Example protos into tensors: the work behind ParseExample.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/parsing/example_wire.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A feature with the same number of values in every example, or, if the first dimension of its
// shape is unknown, one that is padded to the longest of the batch.
struct DenseFeature {
  std::string key;
  DType dtype = DType::kInvalid;
  PartialShape shape;
  // No elements: the feature is required. Otherwise of the feature's shape, or one value to pad a
  // feature of unknown length with.
  Tensor default_value;
};

// A feature with any number of values, given as indices, values and shape.
struct SparseFeature {
  std::string key;
  DType dtype = DType::kInvalid;
};

// A feature with any number of values, given as values and row splits.
struct RaggedFeature {
  std::string key;
  DType dtype = DType::kInvalid;
  DType split_type = DType::kInt64;
};

struct ExampleSpec {
  std::vector<SparseFeature> sparse;
  std::vector<DenseFeature> dense;
  std::vector<RaggedFeature> ragged;
  // Dense features of a kContext have a fully known shape and without a default are never missing,
  // even if there are no examples or no elements. In contexts of both forms a dense feature without
  // a list is an error, whether there is a default or not.
  ExampleForm form = ExampleForm::kExample;
};

struct ParsedExamples {
  std::vector<Tensor> sparse_indices, sparse_values, sparse_shapes, dense_values, ragged_values,
      ragged_row_splits;
};

// Checks dtypes, shapes and defaults once. Errors: INVALID_ARGUMENT naming the feature.
absl::Status CheckExampleSpec(const ExampleSpec& spec);

// Parses a batch into tensors from `allocator`; `names` are empty or one an example, for messages.
// With `batched` false there is one example, and its tensors have no batch dimension. Errors:
// INVALID_ARGUMENT naming example and feature: not an Example, a required feature that is missing,
// values of another type, or too many or few of them. If two features of `spec` have one key, all
// features count as absent.
absl::StatusOr<ParsedExamples> ParseExamples(const ExampleSpec& spec,
                                             absl::Span<const std::string> serialized,
                                             absl::Span<const std::string> names, bool batched,
                                             Allocator* allocator);

}  // namespace tessera
