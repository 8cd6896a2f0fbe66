// Parsing the feature lists of serialized tensorflow.SequenceExample protos into tensors: the work
// behind ParseSequenceExample. Their context is what example_parser.h parses.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/parsing/example_parser.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A list whose every feature has the shape's number of values; padded to the longest of the batch.
struct DenseFeatureList {
  std::string key;
  DType dtype = DType::kInvalid;
  PartialShape shape;
  bool may_be_missing = false;  // a missing list is then an empty one
};

struct FeatureListSpec {
  std::vector<SparseFeature> sparse;
  std::vector<DenseFeatureList> dense;
  std::vector<RaggedFeature> ragged;
};

struct ParsedFeatureLists {
  std::vector<Tensor> sparse_indices, sparse_values, sparse_shapes;
  // [batch, longest, ...], and how long each list is.
  std::vector<Tensor> dense_values, dense_lengths;
  // Lists of an example, values of a list.
  std::vector<Tensor> ragged_values, ragged_outer_splits, ragged_inner_splits;
};

// Parses a batch; `names`, `batched` and `allocator` as for ParseExamples().
// Errors: INVALID_ARGUMENT naming example and list: not a SequenceExample, a list that is missing,
// values of another type, or, in a dense list, another number of them; or a dense shape that is not
// fully known.
absl::StatusOr<ParsedFeatureLists> ParseFeatureLists(const FeatureListSpec& spec,
                                                     absl::Span<const std::string> serialized,
                                                     absl::Span<const std::string> names,
                                                     bool batched, Allocator* allocator);

}  // namespace tessera
