#include "runtime/kernels/data/batching.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// Copies or moves the elements of `from` to `to`.
void Place(Tensor& from, char* to) {
  const int64_t count = from.num_elements();
  if (from.dtype() == DType::kString && from.CanWriteInPlace()) {
    std::move(from.data<std::string>(), from.data<std::string>() + count,
              reinterpret_cast<std::string*>(to));
    return;
  }
  CopyElements(from.dtype(), from.raw(), to, count);
}

}  // namespace

absl::StatusOr<Element> Stack(std::vector<Element> elements, ThreadPool* pool,
                              Allocator* allocator) {
  const int64_t rows = static_cast<int64_t>(elements.size());
  for (const Element& element : elements) {
    if (element.size() == elements[0].size()) continue;
    return absl::InvalidArgumentError(absl::StrCat("Cannot batch an element of ", element.size(),
                                                   " components with one of ", elements[0].size()));
  }
  Element batch;
  for (size_t c = 0; c < elements[0].size(); ++c) {
    const Tensor& first = elements[0][c];
    for (int64_t i = 1; i < rows; ++i) {
      if (elements[i][c].dtype() != first.dtype()) {
        return absl::InvalidArgumentError(
            absl::StrCat("Cannot batch tensors with different types in component ", c));
      }
      if (elements[i][c].shape() == first.shape()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Cannot batch tensors with different shapes in component ", c,
                       ". First element had shape ", first.shape().ToString(), " and element ", i,
                       " had shape ", elements[i][c].shape().ToString(), "."));
    }
    absl::InlinedVector<int64_t, 6> dims = {rows};
    dims.insert(dims.end(), first.shape().dims().begin(), first.shape().dims().end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor stacked, Tensor::Allocate(first.dtype(), shape, allocator));
    const size_t row_bytes = first.size_bytes();
    char* const to = stacked.mutable_raw();
    // A core copies about ten bytes in a nanosecond.
    ParallelFor(pool, rows, static_cast<double>(row_bytes) / 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Place(elements[i][c], to + i * row_bytes);
    });
    batch.push_back(std::move(stacked));
  }
  return batch;
}

ElementSpec SpecOfBatches(const ElementSpec& spec, int64_t rows) {
  ElementSpec batches;
  batches.dtypes = spec.dtypes;
  for (const PartialShape& shape : spec.shapes) {
    if (!shape.known_rank()) {
      batches.shapes.emplace_back();
      continue;
    }
    PartialShape batch({rows});
    for (int64_t dim : shape.dims()) batch.AddDim(dim);
    batches.shapes.push_back(std::move(batch));
  }
  return batches;
}

int64_t NumBatches(int64_t n, int64_t batch_size, bool drop_remainder) {
  if (n < 0) return n;
  return n / batch_size + (!drop_remainder && n % batch_size != 0 ? 1 : 0);
}

absl::StatusOr<std::vector<Element>> ReadElements(StepContext& step, Iterator& input,
                                                  int64_t count) {
  std::vector<Element> elements;
  // A batch may be declared far larger than the dataset.
  elements.reserve(std::min<int64_t>(count, 1024));
  while (static_cast<int64_t>(elements.size()) < count) {
    Element element;
    ASSIGN_OR_RETURN(const bool more, input.Next(step, &element));
    if (!more) break;
    elements.push_back(std::move(element));
  }
  return elements;
}

absl::StatusOr<int64_t> BatchSizeInput(const KernelContext& ctx, int i) {
  ASSIGN_OR_RETURN(const int64_t batch_size, ScalarInput<int64_t>(ctx, i, "batch_size"));
  if (batch_size <= 0) {
    return absl::InvalidArgumentError("Batch size must be greater than zero.");
  }
  return batch_size;
}

}  // namespace tessera
