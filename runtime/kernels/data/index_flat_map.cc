// IndexFlatMapDataset: the rows of what a function gives for each element of the input. A second
// function tells, for the position of a row, which element has it, and where.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/host_values.h"

namespace tessera {
namespace {

// Where a row of the flat dataset comes from.
struct RowPlace {
  int64_t input = 0;   // an element of the input
  int64_t offset = 0;  // a row of what the function gives for it
};

// Errors: INVALID_ARGUMENT for a component that has no such row. A scalar is the same in all rows.
absl::StatusOr<Element> RowAt(const Element& rows, int64_t offset) {
  Element element;
  for (const Tensor& component : rows) {
    if (component.rank() > 0 && (offset < 0 || offset >= component.dim(0))) {
      return absl::InvalidArgumentError(absl::StrCat("index_map_func gave offset ", offset,
                                                     " of an element with ", component.dim(0),
                                                     " rows"));
    }
    element.push_back(component.rank() == 0 ? component : component.SubSlice(offset));
  }
  return element;
}

absl::StatusOr<int64_t> PlaceIn(const Tensor& number) {
  const DType dtype = number.dtype();
  if (number.num_elements() == 1) {
    if (dtype == DType::kInt64) return number.flat<int64_t>()[0];
    if (dtype == DType::kInt32) return number.flat<int32_t>()[0];
    if (dtype == DType::kUint64) return static_cast<int64_t>(number.flat<uint64_t>()[0]);
    if (dtype == DType::kUint32) return number.flat<uint32_t>()[0];
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "The `index_map_fn` for `index_flat_map` is expected to return two int32/int64 values "
      "representing the element index and an offset within the element. Got: ",
      number.ToString()));
}

class IndexFlatMapDataset final : public UnaryDataset {
 public:
  IndexFlatMapDataset(const DatasetPtr& input, ElementSpec spec, FunctionPtr map,
                      FunctionPtr index_map, int64_t cardinality, Allocator* allocator)
      : UnaryDataset(input, std::move(spec), cardinality),
        map_(std::move(map)),
        index_map_(std::move(index_map)),
        allocator_(allocator) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override { return input().CheckRandomAccess(); }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    ASSIGN_OR_RETURN(const RowPlace place, Find(step, index));
    if (place.input < 0 || place.input >= input().cardinality()) {
      return absl::InvalidArgumentError(
          absl::StrCat("index_map_func gave element ", place.input, " of ", input().cardinality()));
    }
    ASSIGN_OR_RETURN(Element args, input().ElementAt(step, place.input));
    Element rows;
    RETURN_IF_ERROR(map_->Call(step, std::move(args), &rows));
    return Row(rows, place.offset);
  }

  absl::StatusOr<RowPlace> Find(StepContext& step, int64_t index) const {
    Element numbers;
    ASSIGN_OR_RETURN(Tensor position, ScalarIn(allocator_, index));
    RETURN_IF_ERROR(index_map_->Call(step, {std::move(position)}, &numbers));
    RowPlace place;
    ASSIGN_OR_RETURN(place.input, PlaceIn(numbers[0]));
    ASSIGN_OR_RETURN(place.offset, PlaceIn(numbers[1]));
    return place;
  }
  absl::StatusOr<Element> Row(const Element& rows, int64_t offset) const {
    ASSIGN_OR_RETURN(Element row, RowAt(rows, offset));
    RETURN_IF_ERROR(spec().CheckTypes(row));
    return row;
  }
  const CapturedFunction& map() const { return *map_; }

 private:
  const FunctionPtr map_, index_map_;
  Allocator* const allocator_;
};

// Goes on to the next element of the input whenever the second function names a later one.
class IndexFlatMapIterator final : public UnaryIterator<IndexFlatMapDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive&) override {
    return absl::UnimplementedError("IndexFlatMapDataset does not support checkpointing.");
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (dataset().cardinality() >= 0 && next_ >= dataset().cardinality()) return false;
    ASSIGN_OR_RETURN(const RowPlace place, dataset().Find(step, next_));
    if (rows_.empty() || place.input > input_index_) {
      Element args;
      ASSIGN_OR_RETURN(const bool more, input().Next(step, &args));
      if (!more) return false;
      rows_.clear();
      RETURN_IF_ERROR(dataset().map().Call(step, std::move(args), &rows_));
      input_index_ = place.input;
    }
    ++next_;
    ASSIGN_OR_RETURN(*element, dataset().Row(rows_, place.offset));
    return true;
  }

 private:
  int64_t next_ = 0;
  int64_t input_index_ = 0;
  Element rows_;  // of the element of the input that was read last
};

std::unique_ptr<Iterator> IndexFlatMapDataset::MakeIterator() const {
  return std::make_unique<IndexFlatMapIterator>(Share<IndexFlatMapDataset>());
}

class IndexFlatMapKernel final : public DatasetKernel {
 public:
  explicit IndexFlatMapKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        map_(build, "map_func", "map_func_other_args"),
        index_map_(build, "index_map_func", "index_map_func_other_args"),
        cardinality_(build.inputs("output_cardinality").begin) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(FunctionPtr map, map_.Capture(ctx, input->num_components(),
                                                   static_cast<int>(spec_.dtypes.size())));
    ASSIGN_OR_RETURN(FunctionPtr index_map, index_map_.Capture(ctx, 1, 2));
    ASSIGN_OR_RETURN(const int64_t cardinality,
                     ScalarInput<int64_t>(ctx, cardinality_, "output_cardinality"));
    return std::make_shared<IndexFlatMapDataset>(input, spec_, std::move(map), std::move(index_map),
                                                 std::max(cardinality, Dataset::kUnknown),
                                                 ctx.host_allocator());
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr map_, index_map_;
  const int cardinality_;  // the position of the input
};
REGISTER_KERNEL("IndexFlatMapDataset", kCpu, IndexFlatMapKernel);

}  // namespace
}  // namespace tessera
