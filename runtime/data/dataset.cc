#include "runtime/data/dataset.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

absl::Status CheckCount(size_t expected, size_t given) {
  if (expected == given) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Number of components does not match: expected ",
                                                 expected, " types but got ", given, "."));
}

absl::Status TypeMismatch(size_t component, DType expected, DType given) {
  return absl::InvalidArgumentError(absl::StrCat("Data type mismatch at component ", component,
                                                 ": expected ", DTypeName(expected), " but got ",
                                                 DTypeName(given), "."));
}

template <typename AnyShape>
absl::Status CheckShape(size_t component, const PartialShape& expected, const AnyShape& given) {
  if (expected.IsCompatibleWith(given)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Incompatible shapes at component ", component,
                                                 ": expected ", expected.ToString(), " but got ",
                                                 given.ToString(), "."));
}

}  // namespace

absl::Status ElementSpec::CheckFits(const ElementSpec& other) const {
  RETURN_IF_ERROR(CheckCount(dtypes.size(), other.dtypes.size()));
  for (size_t i = 0; i < dtypes.size(); ++i) {
    if (dtypes[i] != other.dtypes[i]) return TypeMismatch(i, dtypes[i], other.dtypes[i]);
  }
  for (size_t i = 0; i < std::min(shapes.size(), other.shapes.size()); ++i) {
    RETURN_IF_ERROR(CheckShape(i, shapes[i], other.shapes[i]));
  }
  return absl::OkStatus();
}

absl::Status ElementSpec::CheckTypes(absl::Span<const Tensor> element) const {
  RETURN_IF_ERROR(CheckCount(dtypes.size(), element.size()));
  for (size_t i = 0; i < dtypes.size(); ++i) {
    if (dtypes[i] != element[i].dtype()) return TypeMismatch(i, dtypes[i], element[i].dtype());
  }
  return absl::OkStatus();
}

absl::Status ElementSpec::CheckElement(absl::Span<const Tensor> element) const {
  RETURN_IF_ERROR(CheckTypes(element));
  for (size_t i = 0; i < shapes.size(); ++i) {
    RETURN_IF_ERROR(CheckShape(i, shapes[i], element[i].shape()));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Iterator::Next(StepContext& step, Element* element) {
  // Here, because a pipeline that never yields pulls elements from something all the time.
  RETURN_IF_ERROR(CheckGoingOn(step));
  return Produce(step, element);
}

absl::StatusOr<int64_t> Iterator::Skip(StepContext& step, int64_t count) {
  Element skipped;
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const bool more, Next(step, &skipped));
    if (!more) return i;
  }
  return count;
}

Dataset::Dataset(ElementSpec spec, int64_t cardinality, absl::Span<const DatasetPtr> inputs)
    : spec_(std::move(spec)), cardinality_(cardinality) {
  for (const DatasetPtr& input : inputs) {
    depth_ = std::max(depth_, input->depth_ + 1);
    num_iterators_ = std::min(kMaxIterators + 1, num_iterators_ + input->num_iterators_);
    options_ += input->options_;
  }
}

absl::Status Dataset::CheckSize() const {
  if (depth_ > kMaxDepth) {
    return absl::ResourceExhaustedError(absl::StrCat("the dataset is at the end of a chain of ",
                                                     depth_, " datasets, at most ", kMaxDepth,
                                                     " are allowed"));
  }
  if (num_iterators_ > kMaxIterators) {
    return absl::ResourceExhaustedError(absl::StrCat("the dataset has more than ", kMaxIterators,
                                                     " inputs, directly or through others"));
  }
  return absl::OkStatus();
}

absl::Status Dataset::CheckRandomAccess() const {
  return absl::FailedPreconditionError(
      "a dataset of the pipeline does not support random access to its elements");
}

absl::StatusOr<Element> Dataset::ElementAt(StepContext&, int64_t) const {
  return CheckRandomAccess();
}

absl::StatusOr<DatasetPtr> DatasetIn(const Tensor& tensor, absl::string_view name) {
  if (tensor.dtype() == DType::kVariant && tensor.rank() == 0) {
    if (DatasetPtr dataset = tensor.scalar<Variant>().share<Dataset>()) return dataset;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be a scalar that holds a dataset, is ", tensor.ToString()));
}

Tensor DatasetTensor(DatasetPtr dataset) {
  return Tensor::Scalar(Variant(std::const_pointer_cast<Dataset>(std::move(dataset))));
}

}  // namespace tessera
