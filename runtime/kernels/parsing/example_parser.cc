#include "runtime/kernels/parsing/example_parser.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/element_type.h"
#include "tensorflow/core/example/example.pb.h"

namespace tessera {
namespace {

using tensorflow::Example;
using tensorflow::Feature;

// A batch of parsed protos and how to name them.
class Batch {
 public:
  explicit Batch(Allocator* allocator) : allocator_(allocator) {}

  absl::Status Parse(absl::Span<const std::string> serialized,
                     absl::Span<const std::string> names) {
    names_ = names;
    for (size_t i = 0; i < serialized.size(); ++i) {
      auto* example = google::protobuf::Arena::CreateMessage<Example>(&arena_);
      if (!example->ParseFromString(serialized[i])) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Could not parse example input, value: ", Describe(i), " is no serialized Example"));
      }
      examples_.push_back(example);
    }
    return absl::OkStatus();
  }

  // Where tensors that are made of the batch lie.
  Allocator* allocator() const { return allocator_; }
  int64_t size() const { return static_cast<int64_t>(examples_.size()); }

  // From now on no example has any feature.
  void HideFeatures() { hidden_ = true; }

  // The feature of example i, null if it is absent or empty.
  // Errors: INVALID_ARGUMENT if it has values of another type.
  absl::StatusOr<const Feature*> Find(size_t i, const std::string& key, DType dtype) const {
    const auto& features = examples_[i]->features().feature();
    const auto it = features.find(key);
    if (hidden_ || it == features.end() || it->second.kind_case() == Feature::KIND_NOT_SET)
      return nullptr;
    const DType given = it->second.has_float_list()   ? DType::kFloat
                        : it->second.has_int64_list() ? DType::kInt64
                                                      : DType::kString;
    if (given != dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat(Describe(i), ", Feature: ", key, ": Data types don't match. Data type: ",
                       DTypeName(given), " but expected type: ", DTypeName(dtype)));
    }
    return &it->second;
  }

  std::string Describe(size_t i) const {
    return absl::StrCat("Name: ", i < names_.size() ? names_[i] : "<unknown>", ", Example: ", i);
  }

 private:
  google::protobuf::Arena arena_;
  std::vector<const Example*> examples_;
  absl::Span<const std::string> names_;
  Allocator* const allocator_;
  bool hidden_ = false;
};

int64_t CountValues(const Feature* feature) {
  if (feature == nullptr) return 0;
  switch (feature->kind_case()) {
    case Feature::kFloatList:
      return feature->float_list().value_size();
    case Feature::kInt64List:
      return feature->int64_list().value_size();
    default:
      return feature->bytes_list().value_size();
  }
}

// Writes the feature's values to elements [at, ...) of `to`, which has the feature's dtype.
void CopyValues(const Feature* feature, int64_t at, Tensor* to) {
  if (feature == nullptr) return;
  switch (feature->kind_case()) {
    case Feature::kFloatList:
      std::copy(feature->float_list().value().begin(), feature->float_list().value().end(),
                to->data<float>() + at);
      break;
    case Feature::kInt64List:
      std::copy(feature->int64_list().value().begin(), feature->int64_list().value().end(),
                to->data<int64_t>() + at);
      break;
    default:
      std::copy(feature->bytes_list().value().begin(), feature->bytes_list().value().end(),
                to->data<std::string>() + at);
  }
}

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

absl::StatusOr<Tensor> FixedDense(const Batch& batch, const DenseFeature& feature, bool batched) {
  ASSIGN_OR_RETURN(Shape shape, feature.shape.AsShape());
  const int64_t elements = shape.num_elements();
  if (batched) shape.InsertDim(0, batch.size());
  ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(feature.dtype, shape, batch.allocator()));
  for (int64_t i = 0; i < batch.size(); ++i) {
    ASSIGN_OR_RETURN(const Feature* const found, batch.Find(i, feature.key, feature.dtype));
    if (found != nullptr) {
      const int64_t count = CountValues(found);
      if (count != elements) return WrongCount(batch, i, feature, count);
      CopyValues(found, i * elements, &out);
    } else if (feature.default_value.num_elements() == 0 && elements > 0) {
      return Missing(batch, i, feature);
    } else {
      CopyDefault(feature.default_value, elements, i * elements, &out);
    }
  }
  return out;
}

absl::StatusOr<Tensor> VariableDense(const Batch& batch, const DenseFeature& feature,
                                     bool batched) {
  const int64_t stride = Stride(feature);
  std::vector<const Feature*> found(batch.size());
  int64_t longest = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    ASSIGN_OR_RETURN(found[i], batch.Find(i, feature.key, feature.dtype));
    const int64_t count = CountValues(found[i]);
    if (stride == 0 || count % stride != 0) return WrongCount(batch, i, feature, count);
    longest = std::max(longest, count);
  }
  Shape shape(feature.shape.dims().subspan(1));
  shape.InsertDim(0, longest / stride);
  if (batched) shape.InsertDim(0, batch.size());
  ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(feature.dtype, shape, batch.allocator()));
  for (int64_t i = 0; i < batch.size(); ++i) {
    CopyValues(found[i], i * longest, &out);
    if (feature.default_value.num_elements() == 0) continue;
    for (int64_t at = CountValues(found[i]); at < longest; ++at) {
      CopyDefault(feature.default_value, 1, i * longest + at, &out);
    }
  }
  return out;
}

// All values of a feature in a row, and how many each example has.
absl::StatusOr<Tensor> Concatenated(const Batch& batch, const std::string& key, DType dtype,
                                    std::vector<int64_t>* counts) {
  std::vector<const Feature*> found(batch.size());
  counts->assign(batch.size(), 0);
  int64_t total = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    ASSIGN_OR_RETURN(found[i], batch.Find(i, key, dtype));
    total += (*counts)[i] = CountValues(found[i]);
  }
  ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(dtype, {total}, batch.allocator()));
  int64_t at = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {
    CopyValues(found[i], at, &values);
    at += (*counts)[i];
  }
  return values;
}

absl::Status ParseSparse(const Batch& batch, const SparseFeature& feature, bool batched,
                         ParsedExamples* result) {
  std::vector<int64_t> counts;
  ASSIGN_OR_RETURN(Tensor values, Concatenated(batch, feature.key, feature.dtype, &counts));
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
  result->sparse_shapes.push_back(batched ? Tensor::Vector<int64_t>({batch.size(), longest})
                                          : Tensor::Vector<int64_t>({longest}));
  return absl::OkStatus();
}

absl::Status ParseRagged(const Batch& batch, const RaggedFeature& feature, bool batched,
                         ParsedExamples* result) {
  std::vector<int64_t> counts;
  ASSIGN_OR_RETURN(Tensor values, Concatenated(batch, feature.key, feature.dtype, &counts));
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

// Whether two features ask for one key.
bool AsksTwice(const ExampleSpec& spec) {
  std::set<absl::string_view> keys;
  for (const auto& feature : spec.sparse) keys.insert(feature.key);
  for (const auto& feature : spec.dense) keys.insert(feature.key);
  for (const auto& feature : spec.ragged) keys.insert(feature.key);
  return keys.size() < spec.sparse.size() + spec.dense.size() + spec.ragged.size();
}

}  // namespace

absl::Status CheckExampleSpec(const ExampleSpec& spec) {
  for (const DenseFeature& feature : spec.dense) {
    const auto fail = [&](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat("dense feature '", feature.key, "': ", why));
    };
    if (!feature.shape.known_rank()) return fail("its shape must have a known rank");
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
  Batch batch(allocator);
  RETURN_IF_ERROR(batch.Parse(serialized, names));
  // TensorFlow's parser finds nothing at all then, and models were trained on what it found.
  if (AsksTwice(spec)) batch.HideFeatures();
  ParsedExamples result;
  for (const SparseFeature& feature : spec.sparse) {
    RETURN_IF_ERROR(ParseSparse(batch, feature, batched, &result));
  }
  for (const DenseFeature& feature : spec.dense) {
    ASSIGN_OR_RETURN(Tensor values, HasVariableLength(feature)
                                        ? VariableDense(batch, feature, batched)
                                        : FixedDense(batch, feature, batched));
    result.dense_values.push_back(std::move(values));
  }
  for (const RaggedFeature& feature : spec.ragged) {
    RETURN_IF_ERROR(ParseRagged(batch, feature, batched, &result));
  }
  return result;
}

}  // namespace tessera
