// MapAndBatchDataset: batches of what a function gives for each element. The thread that calls the
// function puts its results right into the rows of the batch, while they are in its cache.
#include "runtime/kernels/data/batching.h"
#include "runtime/kernels/data/call_window.h"
#include "runtime/kernels/data/transformations.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// A batch may be declared far larger than the dataset: beyond these limits its memory is allocated
// when its elements are there.
constexpr int64_t kMostRows = 1 << 14;
constexpr int64_t kMostBytes = int64_t{1} << 28;

class MapAndBatchDataset final : public UnaryDataset {
 public:
  MapAndBatchDataset(const DatasetPtr& input, ElementSpec element_spec, ElementMap map,
                     BatchOptions batch)
      : UnaryDataset(input, SpecOfBatches(element_spec, batch.drop_remainder ? batch.size : -1),
                     map.preserves_cardinality
                         ? NumBatches(input->cardinality(), batch.size, batch.drop_remainder)
                         : kUnknown),
        element_spec_(std::move(element_spec)),
        map_(std::move(map)),
        batch_(batch) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const ElementSpec& element_spec() const { return element_spec_; }
  const ElementMap& map() const { return map_; }
  const BatchOptions& batch() const { return batch_; }

 private:
  const ElementSpec element_spec_;
  const ElementMap map_;
  const BatchOptions batch_;
};

// The memory of a batch, allocated for the first of its elements that is there. Thread-safe.
class BatchRows {
 public:
  // Moves an element to its row. Returns false, and leaves the element, if it does not fit the
  // others or if there is no memory for all rows.
  bool Place(const BatchOptions& options, int64_t row, Element* element) {
    {
      absl::MutexLock lock(&mu_);
      if (!allocated_) Allocate(options, *element);
    }
    if (components_.size() != element->size()) return false;
    for (size_t c = 0; c < components_.size(); ++c) {
      const Tensor& rows = components_[c];
      const Tensor& value = (*element)[c];
      if (rows.dtype() != value.dtype() || rows.rank() != value.rank() + 1) return false;
      if (rows.shape().dims().subspan(1) != value.shape().dims()) return false;
    }
    for (size_t c = 0; c < components_.size(); ++c) {
      const Tensor& value = (*element)[c];
      const size_t bytes = value.size_bytes();
      // Rows do not overlap, and nobody reads them before the calls are finished.
      char* const to = components_[c].address() + static_cast<size_t>(row) * bytes;
      CopyElements(value.dtype(), value.raw(), to, value.num_elements());
    }
    element->clear();
    return true;
  }
  // Requires that the calls for the rows that are used are finished.
  const Element& components() const { return components_; }

 private:
  void Allocate(const BatchOptions& options, const Element& first)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    allocated_ = true;
    if (options.size > kMostRows) return;
    Element components;
    for (const Tensor& value : first) {
      if (static_cast<int64_t>(value.size_bytes()) > kMostBytes / options.size) return;
      absl::InlinedVector<int64_t, 6> dims = {options.size};
      dims.insert(dims.end(), value.shape().dims().begin(), value.shape().dims().end());
      const absl::StatusOr<Shape> shape = Shape::Make(dims);
      if (!shape.ok()) return;
      absl::StatusOr<Tensor> rows = Tensor::Allocate(value.dtype(), *shape, options.allocator);
      if (!rows.ok()) return;
      components.push_back(*std::move(rows));
    }
    components_ = std::move(components);
  }

  absl::Mutex mu_;
  bool allocated_ ABSL_GUARDED_BY(mu_) = false;
  Element components_;  // written once, before the first Place() returns
};

class MapAndBatchIterator final : public UnaryIterator<MapAndBatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  // Calls under way are finished, and their results saved.
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    RETURN_IF_ERROR(archive.Flag("ended", &ended_));
    return window_.Transfer(
        archive, [this] { return MakeCall(); }, ResultsOf);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (ended_) return false;
    const int64_t size = dataset().batch().size;
    int64_t finished = 0;
    for (; finished < size; ++finished) {
      RETURN_IF_ERROR(window_.Fill(
          step, input(), /*held=*/finished, [this] { return MakeCall(); },
          [dataset = &dataset()](Call* call) { Place(*dataset, call); }));
      if (finished >= window_.size()) break;
      RETURN_IF_ERROR(window_.Finish(finished, step));
    }
    std::vector<std::shared_ptr<Call>> batch = window_.Take(finished);
    // An error takes the place of its whole batch; the function may end the dataset in its middle.
    int64_t rows = 0;
    for (const auto& call : batch) {
      ASSIGN_OR_RETURN(const bool has_element, call->outcome);
      ended_ = !has_element;
      if (ended_) break;
      ++rows;
    }
    if (rows == 0 || (rows < size && dataset().batch().drop_remainder)) {
      ended_ = true;
      return false;
    }
    batch.resize(rows);
    return Collect(step, batch, element);
  }

 private:
  struct Call : MapCall {
    std::shared_ptr<BatchRows> batch;
    int64_t row = 0;
    bool placed = false;  // the results are in the batch
  };

  // Returns a call for the next row.
  std::shared_ptr<Call> MakeCall() {
    if (next_row_ == 0) next_batch_ = std::make_shared<BatchRows>();
    auto call = std::make_shared<Call>();
    call->batch = next_batch_;
    call->row = next_row_;
    next_row_ = (next_row_ + 1) % dataset().batch().size;
    return call;
  }

  static Element ResultsOf(const Call& call) {
    if (!call.placed) return call.results;
    Element results;
    for (const Tensor& rows : call.batch->components()) results.push_back(rows.SubSlice(call.row));
    return results;
  }

  // Moves the results into the batch.
  static void Place(const MapAndBatchDataset& dataset, Call* call) {
    if (absl::Status status = dataset.element_spec().CheckTypes(call->results); !status.ok()) {
      call->outcome = std::move(status);
      return;
    }
    call->placed = call->batch->Place(dataset.batch(), call->row, &call->results);
  }

  // Makes an element of the batch whose calls these are.
  absl::StatusOr<bool> Collect(StepContext& step, const std::vector<std::shared_ptr<Call>>& calls,
                               Element* element) const {
    const auto rows = static_cast<int64_t>(calls.size());
    bool all_placed = true;
    for (const auto& call : calls) all_placed = all_placed && call->placed;
    if (all_placed) {
      element->clear();
      for (const Tensor& component : calls[0]->batch->components()) {
        element->push_back(rows == component.dim(0) ? component : component.Slice(0, rows));
      }
      return true;
    }
    std::vector<Element> elements;
    elements.reserve(rows);
    for (const auto& call : calls) {
      elements.push_back(ResultsOf(*call));
      // A position that was put back may name other elements.
      RETURN_IF_ERROR(dataset().element_spec().CheckTypes(elements.back()));
    }
    ASSIGN_OR_RETURN(*element,
                     Stack(std::move(elements), step.intra_op_pool, dataset().batch().allocator));
    return true;
  }

  std::shared_ptr<BatchRows> next_batch_;  // of the next call, unless that begins one
  int64_t next_row_ = 0;
  // The calls of the batch at hand, in the order of its rows, and those of batches after it.
  CallWindow<Call> window_{dataset().map()};
  bool ended_ = false;
};

std::unique_ptr<Iterator> MapAndBatchDataset::MakeIterator() const {
  return std::make_unique<MapAndBatchIterator>(Share<MapAndBatchDataset>());
}

ElementSpec WithoutOuterDimension(ElementSpec spec) {
  for (PartialShape& shape : spec.shapes) {
    if (shape.known_rank() && shape.rank() > 0) shape = PartialShape(shape.dims().subspan(1));
  }
  return spec;
}

class MapAndBatchKernel final : public DatasetKernel {
 public:
  explicit MapAndBatchKernel(const KernelBuild& build)
      : spec_(WithoutOuterDimension(SpecOf(build))),
        function_(build, "f", "other_arguments"),
        batch_size_(build.inputs("batch_size").begin),
        preserves_cardinality_(build.attr<bool>("preserve_cardinality")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(
        FunctionPtr function,
        function_.Capture(ctx, input->num_components(), static_cast<int>(spec_.dtypes.size())));
    ASSIGN_OR_RETURN(const int64_t batch_size, BatchSizeInput(ctx, batch_size_));
    ASSIGN_OR_RETURN(const int64_t calls,
                     ScalarInput<int64_t>(ctx, batch_size_ + 1, "num_parallel_calls"));
    ASSIGN_OR_RETURN(const bool drop_remainder,
                     ScalarInput<bool>(ctx, batch_size_ + 2, "drop_remainder"));
    RETURN_IF_ERROR(CheckParallelCalls(calls));
    return MapAndBatched(
        input, spec_,
        {.function = CallOf(std::move(function)),
         .num_parallel_calls = calls,
         .preserves_cardinality = preserves_cardinality_},
        {.size = batch_size, .drop_remainder = drop_remainder, .allocator = ctx.host_allocator()});
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr function_;
  const int batch_size_;  // position of the input; `num_parallel_calls` and `drop_remainder` follow
  const bool preserves_cardinality_;
};
REGISTER_KERNEL("MapAndBatchDataset", kCpu, MapAndBatchKernel);
REGISTER_KERNEL("ExperimentalMapAndBatchDataset", kCpu, MapAndBatchKernel);

}  // namespace

DatasetPtr MapAndBatched(const DatasetPtr& input, ElementSpec element_spec, ElementMap map,
                         const BatchOptions& batch) {
  return std::make_shared<MapAndBatchDataset>(input, std::move(element_spec), std::move(map),
                                              batch);
}

}  // namespace tessera
