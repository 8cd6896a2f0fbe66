#include "runtime/kernels/parsing/example_parser.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/host_values.h"
#include "runtime/kernels/parsing/example_wire.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// The features of a batch that are asked for, where they lie in the serialized examples.
class Batch {
 public:
  // Numbers the features of the spec: the sparse ones, the dense ones, the ragged ones.
  Batch(const ExampleSpec& spec, bool batched, Allocator* allocator)
      : form_(spec.form), allocator_(allocator) {
    const auto add = [&](absl::string_view key, bool is_dense) {
      number_of_.emplace(key, untyped_counts_.size());
      untyped_counts_.push_back(form_ != ExampleForm::kExample || (batched && !is_dense));
    };
    for (const SparseFeature& feature : spec.sparse) add(feature.key, false);
    for (const DenseFeature& feature : spec.dense) add(feature.key, true);
    for (const RaggedFeature& feature : spec.ragged) add(feature.key, false);
    num_keys_ = untyped_counts_.size();
    // TensorFlow's parser finds nothing at all if two features have one key, and models were
    // trained on what it found.
    if (number_of_.size() < num_keys_) number_of_.clear();
  }

  // The bytes must outlive the batch.
  absl::Status Parse(absl::Span<const std::string> serialized,
                     absl::Span<const std::string> names) {
    names_ = names;
    size_ = serialized.size();
    views_.resize(size_ * num_keys_);
    for (size_t i = 0; i < size_; ++i) {
      bool is_valid = true;
      const auto keep = [&](absl::string_view name, FeatureView view) {
        const auto found = number_of_.find(name);
        if (found == number_of_.end()) return;
        // In a context only the last feature of a name is looked at.
        if (!view.is_valid && form_ == ExampleForm::kExample) is_valid = false;
        const size_t number = found->second;
        if (view.dtype == DType::kInvalid && !untyped_counts_[number]) return;
        views_[i * num_keys_ + number] = view;
      };
      if (!ParseExample(serialized[i], form_, keep).ok() || !is_valid) return Malformed(i);
    }
    return absl::OkStatus();
  }

  // Where tensors that are made of the batch lie.
  Allocator* allocator() const { return allocator_; }
  int64_t size() const { return static_cast<int64_t>(size_); }

  // Feature `number` of example i, without a dtype if it is absent. `key` and `dtype` are the
  // feature's in the spec. Errors: INVALID_ARGUMENT if it is malformed or has values of another
  // type.
  absl::StatusOr<FeatureView> Find(size_t i, size_t number, const std::string& key,
                                   DType dtype) const {
    const FeatureView& view = views_[i * num_keys_ + number];
    if (!view.is_valid) return Malformed(i);
    if (view.dtype == dtype || view.dtype == DType::kInvalid) return view;
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(i), ", Feature: ", key, ": Data types don't match. Data type: ",
                     DTypeName(view.dtype), " but expected type: ", DTypeName(dtype)));
  }
  // The number of values of a feature of example i. Errors: INVALID_ARGUMENT for malformed bytes.
  absl::StatusOr<int64_t> Count(size_t i, const FeatureView& view) const {
    const int64_t count = view.CountValues();
    if (count < 0) return Malformed(i);
    return count;
  }

  std::string Describe(size_t i) const {
    return absl::StrCat("Name: ", i < names_.size() ? names_[i] : "<unknown>", ", Example: ", i);
  }
  absl::Status Malformed(size_t i) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "Could not parse example input, value: ", Describe(i), " is no serialized Example"));
  }

 private:
  const ExampleForm form_;
  size_t num_keys_ = 0;
  absl::flat_hash_map<absl::string_view, size_t> number_of_;
  // By number, whether a feature that names no list hides an earlier one of the same name. In
  // TensorFlow's parsers this depends on the kind of the feature and on the op.
  std::vector<bool> untyped_counts_;
  std::vector<FeatureView> views_;  // those of an example beside each other
  size_t size_ = 0;
  absl::Span<const std::string> names_;
  Allocator* const allocator_;
};

bool HasVariableLength(const DenseFeature& feature) {
  return feature.shape.rank() > 0 && feature.shape.dim(0) < 0;
}

// Elements of the dimensions after the first one of a feature of variable length.
int64_t Stride(const DenseFeature& feature) {
  int64_t stride = 1;
  for (int d = 1; d < feature.shape.rank(); ++d) stride *= feature.shape.dim(d);
  return stride;
}

absl::Status Missing(const Batch& batch, size_t i, const DenseFeature& feature) {
  return absl::InvalidArgumentError(absl::StrCat(batch.Describe(i), ", Feature: ", feature.key,
                                                 " (data type: ", DTypeName(feature.dtype),
                                                 ") is required but could not be found."));
}

absl::Status WrongCount(const Batch& batch, size_t i, const DenseFeature& feature, int64_t count) {
  return absl::InvalidArgumentError(absl::StrCat(batch.Describe(i), ", Key: ", feature.key,
                                                 ": Number of ", DTypeName(feature.dtype),
                                                 " values != expected. Values size: ", count,
                                                 " but output shape: ", feature.shape.ToString()));
}

// Copies `count` elements of `from`, from its start on, to elements [at, ...) of `to`.
void CopyDefault(const Tensor& from, int64_t count, int64_t at, Tensor* to) {
  CopyElements(to->dtype(), from.raw(),
               to->mutable_raw() + at * static_cast<int64_t>(DTypeSize(to->dtype())), count);
}

absl::StatusOr<Tensor> FixedDense(const Batch& batch, size_t number, const DenseFeature& feature,
                                  bool batched, ExampleForm form) {
  const bool is_context = form == ExampleForm::kContext;
  ASSIGN_OR_RETURN(Shape shape, feature.shape.AsShape());
  const int64_t elements = shape.num_elements();
  if (batched) shape.InsertDim(0, batch.size());
  ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(feature.dtype, shape, batch.allocator()));
  for (int64_t i = 0; i < batch.size(); ++i) {
    ASSIGN_OR_RETURN(const FeatureView found, batch.Find(i, number, feature.key, feature.dtype));
    if (found.dtype != DType::kInvalid) {
      const int64_t count = found.CopyTo(&out, i * elements, elements);
      if (count < 0) return batch.Malformed(i);
      if (count != elements) return WrongCount(batch, i, feature, count);
    } else if (found.is_named && form != ExampleForm::kExample) {
      return Missing(batch, i, feature);
    } else if (feature.default_value.num_elements() == 0 && (elements > 0 || is_context)) {
      return Missing(batch, i, feature);
    } else {
      CopyDefault(feature.default_value, elements, i * elements, &out);
    }
  }
  const bool has_default = feature.default_value.num_elements() > 0;
  if (is_context && batch.size() == 0 && elements > 0 && !has_default) {
    return absl::InvalidArgumentError(absl::StrCat("there is no example that dense feature '",
                                                   feature.key, "' of ", elements,
                                                   " elements could be in, and no default"));
  }
  return out;
}

// One feature of all examples, and how many values each has.
struct Column {
  std::vector<FeatureView> views;
  std::vector<int64_t> counts;
};

absl::StatusOr<Column> ColumnOf(const Batch& batch, size_t number, const std::string& key,
                                DType dtype) {
  Column column;
  column.views.resize(batch.size());
  column.counts.resize(batch.size());
  for (int64_t i = 0; i < batch.size(); ++i) {
    ASSIGN_OR_RETURN(column.views[i], batch.Find(i, number, key, dtype));
    ASSIGN_OR_RETURN(column.counts[i], batch.Count(i, column.views[i]));
  }
  return column;
}

absl::StatusOr<Tensor> VariableDense(const Batch& batch, size_t number, const DenseFeature& feature,
                                     bool batched) {
  const int64_t stride = Stride(feature);
  ASSIGN_OR_RETURN(const Column column, ColumnOf(batch, number, feature.key, feature.dtype));
  int64_t longest = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t count = column.counts[i];
    if (stride == 0 || count % stride != 0) return WrongCount(batch, i, feature, count);
    longest = std::max(longest, count);
  }
  Shape shape(feature.shape.dims().subspan(1));
  shape.InsertDim(0, stride == 0 ? 0 : longest / stride);
  if (batched) shape.InsertDim(0, batch.size());
  ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(feature.dtype, shape, batch.allocator()));
  for (int64_t i = 0; i < batch.size(); ++i) {
    column.views[i].CopyTo(&out, i * longest, column.counts[i]);
    if (feature.default_value.num_elements() == 0) continue;
    for (int64_t at = column.counts[i]; at < longest; ++at) {
      CopyDefault(feature.default_value, 1, i * longest + at, &out);
    }
  }
  return out;
}

// All values of a feature in a row, and how many each example has.
absl::StatusOr<Tensor> Concatenated(const Batch& batch, size_t number, const std::string& key,
                                    DType dtype, std::vector<int64_t>* counts) {
  ASSIGN_OR_RETURN(Column column, ColumnOf(batch, number, key, dtype));
  int64_t total = 0;
  for (int64_t count : column.counts) total += count;
  ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(dtype, {total}, batch.allocator()));
  int64_t at = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    column.views[i].CopyTo(&values, at, column.counts[i]);
    at += column.counts[i];
  }
  *counts = std::move(column.counts);
  return values;
}

absl::Status ParseSparse(const Batch& batch, size_t number, const SparseFeature& feature,
                         bool batched, ParsedExamples* result) {
  std::vector<int64_t> counts;
  ASSIGN_OR_RETURN(Tensor values, Concatenated(batch, number, feature.key, feature.dtype, &counts));
  const int64_t rank = batched ? 2 : 1;
  ASSIGN_OR_RETURN(Tensor indices,
                   Tensor::Allocate(DType::kInt64, {values.dim(0), rank}, batch.allocator()));
  int64_t* at = indices.data<int64_t>();
  int64_t longest = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    longest = std::max(longest, counts[i]);
    for (int64_t n = 0; n < counts[i]; ++n) {
      if (batched) *at++ = i;
      *at++ = n;
    }
  }
  result->sparse_indices.push_back(std::move(indices));
  result->sparse_values.push_back(std::move(values));
  ASSIGN_OR_RETURN(Tensor shape, batched
                                     ? VectorIn<int64_t>(batch.allocator(), {batch.size(), longest})
                                     : VectorIn<int64_t>(batch.allocator(), {longest}));
  result->sparse_shapes.push_back(std::move(shape));
  return absl::OkStatus();
}

absl::Status ParseRagged(const Batch& batch, size_t number, const RaggedFeature& feature,
                         bool batched, ParsedExamples* result) {
  std::vector<int64_t> counts;
  ASSIGN_OR_RETURN(Tensor values, Concatenated(batch, number, feature.key, feature.dtype, &counts));
  if (!batched) {
    // One row needs no splits.
    ASSIGN_OR_RETURN(Tensor none, Tensor::Zeros(feature.split_type, {0}, batch.allocator()));
    result->ragged_values.push_back(std::move(values));
    result->ragged_row_splits.push_back(std::move(none));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor splits,
                   Tensor::Zeros(feature.split_type, {batch.size() + 1}, batch.allocator()));
  int64_t end = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    end += counts[i];
    if (feature.split_type == DType::kInt32) {
      splits.data<int32_t>()[i + 1] = static_cast<int32_t>(end);
    } else {
      splits.data<int64_t>()[i + 1] = end;
    }
  }
  result->ragged_values.push_back(std::move(values));
  result->ragged_row_splits.push_back(std::move(splits));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckExampleSpec(const ExampleSpec& spec) {
  for (const DenseFeature& feature : spec.dense) {
    const auto fail = [&](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat("dense feature '", feature.key, "': ", why));
    };
    if (!feature.shape.known_rank()) return fail("its shape must have a known rank");
    if (spec.form == ExampleForm::kContext && !feature.shape.IsFullyDefined()) {
      return fail("in the context of SequenceExamples its shape must be fully known");
    }
    for (int d = 1; d < feature.shape.rank(); ++d) {
      if (feature.shape.dim(d) < 0) return fail("only its first dimension may be unknown");
    }
    const Tensor& value = feature.default_value;
    if (value.dtype() != feature.dtype) return fail("its default value has another type");
    if (value.num_elements() == 0) continue;
    if (HasVariableLength(feature)) {
      if (value.num_elements() != 1) return fail("its default must be one value to pad with");
    } else if (!feature.shape.IsCompatibleWith(value.shape())) {
      return fail(absl::StrCat("its default has shape ", value.shape().ToString(), ", the feature ",
                               feature.shape.ToString()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ParsedExamples> ParseExamples(const ExampleSpec& spec,
                                             absl::Span<const std::string> serialized,
                                             absl::Span<const std::string> names, bool batched,
                                             Allocator* allocator) {
  Batch batch(spec, batched, allocator);
  RETURN_IF_ERROR(batch.Parse(serialized, names));
  ParsedExamples result;
  size_t number = 0;
  for (const SparseFeature& feature : spec.sparse) {
    RETURN_IF_ERROR(ParseSparse(batch, number++, feature, batched, &result));
  }
  for (const DenseFeature& feature : spec.dense) {
    ASSIGN_OR_RETURN(Tensor values, HasVariableLength(feature)
                                        ? VariableDense(batch, number, feature, batched)
                                        : FixedDense(batch, number, feature, batched, spec.form));
    ++number;
    result.dense_values.push_back(std::move(values));
  }
  for (const RaggedFeature& feature : spec.ragged) {
    RETURN_IF_ERROR(ParseRagged(batch, number++, feature, batched, &result));
  }
  return result;
}

}  // namespace tessera
