// Datasets and iterators: what the ops of an input pipeline make, and what runs it.
//
// A dataset is a description of a sequence of elements; an iterator is one walk over it. Pipelines
// are chains of datasets (a batch of a map of a range), and their iterators are chains as well,
// each of which pulls elements from the one before.
//
//   std::unique_ptr<Iterator> iterator = dataset->MakeIterator();
//   Element element;
//   while (true) {
//     ASSIGN_OR_RETURN(const bool more, iterator->Next(step, &element));
//     if (!more) break;
//     ...
//   }
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"
#include "runtime/tensor/variant.h"

namespace tessera {

class IteratorArchive;  // runtime/data/iterator_archive.h

// The components of one element, such as an image and its label.
using Element = std::vector<Tensor>;

// The type of a dataset's elements: a dtype and a partial shape for each component.
struct ElementSpec {
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;

  // Errors: INVALID_ARGUMENT with the first component in which `other` has another dtype, or a
  // shape that no tensor could have as well.
  absl::Status CheckFits(const ElementSpec& other) const;
  // Errors: INVALID_ARGUMENT unless the element has a tensor of the right dtype for each component.
  absl::Status CheckTypes(absl::Span<const Tensor> element) const;
  // Errors: those of CheckTypes(); INVALID_ARGUMENT for a tensor whose shape is not the
  // component's.
  absl::Status CheckElement(absl::Span<const Tensor> element) const;
};

// One walk over a dataset. Used by one thread at a time; the threads may differ.
//
// An error belongs to one element: unless the step is over, the next call goes on behind it.
class Iterator {
 public:
  virtual ~Iterator() = default;

  // Puts the next element into *element and returns true, or returns false at the end and at every
  // call after that. `step` lends its thread pools and resources, and cancels the call.
  // Errors: CANCELLED and DEADLINE_EXCEEDED if the step is over; those of files and functions.
  absl::StatusOr<bool> Next(StepContext& step, Element* element);
  // Leaves out up to `count` elements. Returns how many there were.
  virtual absl::StatusOr<int64_t> Skip(StepContext& step, int64_t count);
  // Puts the position into the archive, or takes it from there. An iterator that could not be
  // restored can only be destroyed; one that could not be saved is as it was.
  // Errors: UNIMPLEMENTED if the position cannot be saved; CANCELLED and DEADLINE_EXCEEDED if an
  // element that is being made takes longer than IteratorArchive::waits() lasts; DATA_LOSS for an
  // archive that another dataset wrote.
  virtual absl::Status Transfer(IteratorArchive& archive) = 0;

 protected:
  virtual absl::StatusOr<bool> Produce(StepContext& step, Element* element) = 0;
};

// A sequence of elements, held by a variant tensor. Immutable; thread-safe.
class Dataset : public VariantValue, public std::enable_shared_from_this<Dataset> {
 public:
  // Values of cardinality() that are no counts, with TensorFlow's numbers.
  static constexpr int64_t kInfinite = -1;
  static constexpr int64_t kUnknown = -2;
  // The deepest chain of datasets, each of whose iterators takes some stack, and the most iterators
  // that one walk may need.
  static constexpr int kMaxDepth = 500;
  static constexpr int64_t kMaxIterators = 1'000'000;

  std::string TypeName() const override { return "tensorflow::DatasetVariantWrapper"; }
  std::string DebugString() const override { return "dataset"; }

  const ElementSpec& spec() const { return spec_; }
  int num_components() const { return static_cast<int>(spec_.dtypes.size()); }
  // Returns the number of elements, kInfinite, or kUnknown.
  int64_t cardinality() const { return cardinality_; }
  // Returns the length of the longest chain of datasets that ends with this one.
  int depth() const { return depth_; }
  // Returns TensorFlow's serialised options that were set on this dataset and on its inputs.
  const std::string& options() const { return options_; }
  // Errors: RESOURCE_EXHAUSTED for a chain deeper or wider than the limits above.
  absl::Status CheckSize() const;

  // The iterator shares this dataset, which a shared_ptr must own.
  virtual std::unique_ptr<Iterator> MakeIterator() const = 0;

  // Random access, which global shuffles need. Errors: FAILED_PRECONDITION if this dataset, or one
  // that it reads, can only be walked over.
  virtual absl::Status CheckRandomAccess() const;
  // Returns the element at a position. Requires that CheckRandomAccess() succeeds and
  // 0 <= index < cardinality(). Errors: those of functions; OUT_OF_RANGE if there are fewer
  // elements than the cardinality said.
  virtual absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const;

 protected:
  // `inputs` are the datasets over which an iterator of this one walks. Their options count here.
  Dataset(ElementSpec spec, int64_t cardinality,
          absl::Span<const std::shared_ptr<const Dataset>> inputs = {});
  void AddOptions(const std::string& options) { options_ += options; }

  // Returns a share in this dataset, which is a D.
  template <typename D>
  std::shared_ptr<const D> Share() const {
    return std::static_pointer_cast<const D>(shared_from_this());
  }

 private:
  const ElementSpec spec_;
  const int64_t cardinality_;
  int depth_ = 1;
  int64_t num_iterators_ = 1;
  std::string options_;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

// Returns the dataset in a scalar variant tensor.
// Errors: INVALID_ARGUMENT if there is none, which calls the tensor `name`.
absl::StatusOr<DatasetPtr> DatasetIn(const Tensor& tensor, absl::string_view name);
// Returns a scalar variant tensor that holds the dataset.
Tensor DatasetTensor(DatasetPtr dataset);

}  // namespace tessera
