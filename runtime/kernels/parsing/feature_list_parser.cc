#include "runtime/kernels/parsing/feature_list_parser.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "runtime/base/status.h"
#include "runtime/kernels/host_values.h"
#include "runtime/kernels/parsing/example_wire.h"
#include "runtime/kernels/row_splits.h"

namespace tessera {
namespace {

using FeatureList = std::vector<FeatureView>;

// The feature lists of each example by their names, which are read when they are asked for.
class Batch {
 public:
  explicit Batch(Allocator* allocator) : allocator_(allocator) {}

  absl::Status Parse(absl::Span<const std::string> serialized,
                     absl::Span<const std::string> names) {
    names_ = names;
    lists_.resize(serialized.size());
    for (size_t i = 0; i < serialized.size(); ++i) {
      absl::Status status = ParseSequenceExample(
          serialized[i],
          [&](absl::string_view name, absl::string_view list) { lists_[i][name] = list; });
      if (!status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Could not parse example input, value: ", Describe(i), ": ", status.message()));
      }
    }
    return absl::OkStatus();
  }

  // Where tensors that are made of the batch lie.
  Allocator* allocator() const { return allocator_; }
  int64_t size() const { return static_cast<int64_t>(lists_.size()); }
  // The list of this name of each example; nothing where the example has none. Errors:
  // INVALID_ARGUMENT for malformed bytes.
  absl::StatusOr<std::vector<absl::optional<FeatureList>>> Find(const std::string& key) const {
    std::vector<absl::optional<FeatureList>> found(lists_.size());
    for (size_t i = 0; i < lists_.size(); ++i) {
      const auto it = lists_[i].find(key);
      if (it == lists_[i].end()) continue;
      absl::StatusOr<FeatureList> list = ParseFeatureList(it->second);
      if (!list.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(Describe(i), ", Feature list: ", key, ": ", list.status().message()));
      }
      found[i] = *std::move(list);
    }
    return found;
  }
  std::string Describe(size_t i) const {
    return absl::StrCat("Name: ", i < names_.size() ? names_[i] : "<unknown>", ", Example: ", i);
  }

  // The number of values. Errors: INVALID_ARGUMENT for another type.
  absl::StatusOr<int64_t> Count(int64_t i, const std::string& key, const FeatureView& feature,
                                DType dtype) const {
    if (feature.dtype == dtype || feature.dtype == DType::kInvalid) return feature.CountValues();
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(i), ", Feature list: ", key, ": Data types don't match. Data type: ",
                     DTypeName(feature.dtype), " but expected type: ", DTypeName(dtype)));
  }

 private:
  // The names and lists point into the serialized examples.
  std::vector<absl::flat_hash_map<absl::string_view, absl::string_view>> lists_;
  absl::Span<const std::string> names_;
  Allocator* const allocator_;
};

// All values of lists of one name in a row, with how they are parted.
struct Gathered {
  Tensor values;
  std::vector<int64_t> lengths;  // of each example's list
  std::vector<int64_t> counts;   // of each feature, list by list
};

absl::StatusOr<Gathered> Gather(const Batch& batch, const std::string& key, DType dtype) {
  Gathered all;
  ASSIGN_OR_RETURN(const auto lists, batch.Find(key));
  int64_t total = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    all.lengths.push_back(lists[i].has_value() ? static_cast<int64_t>(lists[i]->size()) : 0);
    if (!lists[i].has_value()) continue;
    for (const FeatureView& feature : *lists[i]) {
      ASSIGN_OR_RETURN(const int64_t count, batch.Count(i, key, feature, dtype));
      all.counts.push_back(count);
      total += count;
    }
  }
  ASSIGN_OR_RETURN(all.values, Tensor::Allocate(dtype, {total}, batch.allocator()));
  int64_t at = 0;
  size_t n = 0;
  for (const absl::optional<FeatureList>& list : lists) {
    if (!list.has_value()) continue;
    for (const FeatureView& feature : *list) {
      feature.CopyTo(&all.values, at, all.counts[n]);
      at += all.counts[n++];
    }
  }
  return all;
}

absl::Status ParseSparse(const Batch& batch, const SparseFeature& feature, bool batched,
                         ParsedFeatureLists* result) {
  ASSIGN_OR_RETURN(Gathered all, Gather(batch, feature.key, feature.dtype));
  const int64_t rank = batched ? 3 : 2;
  ASSIGN_OR_RETURN(Tensor indices,
                   Tensor::Allocate(DType::kInt64, {all.values.dim(0), rank}, batch.allocator()));
  int64_t* at = indices.data<int64_t>();
  int64_t longest = 0, most = 0;
  size_t n = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    longest = std::max(longest, all.lengths[i]);
    for (int64_t t = 0; t < all.lengths[i]; ++t) {
      const int64_t count = all.counts[n++];
      most = std::max(most, count);
      for (int64_t k = 0; k < count; ++k) {
        if (batched) *at++ = i;
        *at++ = t;
        *at++ = k;
      }
    }
  }
  result->sparse_indices.push_back(std::move(indices));
  result->sparse_values.push_back(std::move(all.values));
  ASSIGN_OR_RETURN(Tensor shape,
                   batched ? VectorIn<int64_t>(batch.allocator(), {batch.size(), longest, most})
                           : VectorIn<int64_t>(batch.allocator(), {longest, most}));
  result->sparse_shapes.push_back(std::move(shape));
  return absl::OkStatus();
}

absl::Status ParseDense(const Batch& batch, const DenseFeatureList& feature, bool batched,
                        ParsedFeatureLists* result) {
  if (!feature.shape.IsFullyDefined()) {
    return absl::InvalidArgumentError(absl::StrCat("the dense shape of feature list ", feature.key,
                                                   " is ", feature.shape.ToString(),
                                                   ": it must be fully known"));
  }
  ASSIGN_OR_RETURN(const Shape one, feature.shape.AsShape());
  const int64_t elements = one.num_elements();
  ASSIGN_OR_RETURN(
      Tensor lengths,
      Tensor::Zeros(DType::kInt64, batched ? Shape{batch.size()} : Shape(), batch.allocator()));
  ASSIGN_OR_RETURN(const auto lists, batch.Find(feature.key));
  int64_t longest = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const absl::optional<FeatureList>& list = lists[i];
    if (!list.has_value() && !feature.may_be_missing) {
      return absl::InvalidArgumentError(
          absl::StrCat(batch.Describe(i), ", Feature list '", feature.key,
                       "' is required but could not be found. Did you mean to include it in "
                       "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"));
    }
    if (!list.has_value()) continue;
    for (size_t t = 0; t < list->size(); ++t) {
      ASSIGN_OR_RETURN(const int64_t count, batch.Count(i, feature.key, (*list)[t], feature.dtype));
      if (count != elements) {
        return absl::InvalidArgumentError(absl::StrCat(
            batch.Describe(i), ", Feature list: ", feature.key, ", Index: ", t, ": Number of ",
            DTypeName(feature.dtype), " values != expected. Values size: ", count,
            " but output shape: ", one.ToString()));
      }
    }
    lengths.data<int64_t>()[i] = static_cast<int64_t>(list->size());
    longest = std::max(longest, lengths.data<int64_t>()[i]);
  }
  Shape shape = one;
  shape.InsertDim(0, longest);
  if (batched) shape.InsertDim(0, batch.size());
  ASSIGN_OR_RETURN(Tensor values, Tensor::Zeros(feature.dtype, shape, batch.allocator()));
  for (int64_t i = 0; i < batch.size(); ++i) {
    if (!lists[i].has_value()) continue;
    for (size_t t = 0; t < lists[i]->size(); ++t) {
      const int64_t at = (i * longest + static_cast<int64_t>(t)) * elements;
      (*lists[i])[t].CopyTo(&values, at, elements);
    }
  }
  result->dense_values.push_back(std::move(values));
  result->dense_lengths.push_back(std::move(lengths));
  return absl::OkStatus();
}

// 0, and the sums of the first, of the first two, ... numbers.
absl::StatusOr<Tensor> SplitsOf(const Batch& batch, absl::Span<const int64_t> lengths,
                                DType dtype) {
  std::vector<int64_t> splits = {0};
  for (int64_t length : lengths) splits.push_back(splits.back() + length);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype, {static_cast<int64_t>(splits.size())},
                                                   batch.allocator()));
  RETURN_IF_ERROR(WriteRowSplits(splits, &tensor));
  return tensor;
}

absl::Status ParseRagged(const Batch& batch, const RaggedFeature& feature, bool batched,
                         ParsedFeatureLists* result) {
  ASSIGN_OR_RETURN(Gathered all, Gather(batch, feature.key, feature.dtype));
  ASSIGN_OR_RETURN(Tensor inner, SplitsOf(batch, all.counts, feature.split_type));
  Tensor outer;
  if (batched) {
    ASSIGN_OR_RETURN(outer, SplitsOf(batch, all.lengths, feature.split_type));
  } else {
    ASSIGN_OR_RETURN(outer, Tensor::Zeros(feature.split_type, {0}, batch.allocator()));
  }
  result->ragged_values.push_back(std::move(all.values));
  result->ragged_outer_splits.push_back(std::move(outer));
  result->ragged_inner_splits.push_back(std::move(inner));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ParsedFeatureLists> ParseFeatureLists(const FeatureListSpec& spec,
                                                     absl::Span<const std::string> serialized,
                                                     absl::Span<const std::string> names,
                                                     bool batched, Allocator* allocator) {
  Batch batch(allocator);
  RETURN_IF_ERROR(batch.Parse(serialized, names));
  ParsedFeatureLists result;
  for (const SparseFeature& feature : spec.sparse) {
    RETURN_IF_ERROR(ParseSparse(batch, feature, batched, &result));
  }
  for (const DenseFeatureList& feature : spec.dense) {
    RETURN_IF_ERROR(ParseDense(batch, feature, batched, &result));
  }
  for (const RaggedFeature& feature : spec.ragged) {
    RETURN_IF_ERROR(ParseRagged(batch, feature, batched, &result));
  }
  return result;
}

}  // namespace tessera
