// Any bytes as a chain of dataset ops, the last of which is walked over: an op is refused, an
// element fails with a status, or there are elements, from a position that is saved on the way too.
// The first byte of each step names an op, those behind it its inputs, so that most inputs mean
// something.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "runtime/data/dataset.h"
#include "runtime/data/iterator_archive.h"
#include "runtime/framework/op.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

constexpr int kMostSteps = 12;
constexpr int kMostElements = 64;

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  // Mostly small, now and then at an end of the range.
  int64_t Number() {
    const uint8_t byte = Byte();
    switch (byte) {
      case 255:
        return INT64_MAX;
      case 254:
        return INT64_MIN;
      case 253:
        return int64_t{1} << 40;
      default:
        return static_cast<int64_t>(byte % 24) - 2;
    }
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

// Ops of datasets over datasets that need no function.
constexpr const char* kOps[] = {
    "BatchDataset",
    "BatchDatasetV2",
    "CacheDataset",
    "ConcatenateDataset",
    "RepeatDataset",
    "PrefetchDataset",
    "RebatchDatasetV2",
    "SamplingDataset",
    "ShardDataset",
    "ShuffleAndRepeatDataset",
    "ShuffleDataset",
    "SkipDataset",
    "SleepDataset",
    "TakeDataset",
    "UnbatchDataset",
    "UniqueDataset",
    "WindowDataset",
    "ZipDataset",
    "ParallelBatchDataset",
    "DirectedInterleaveDataset",
    "PaddedBatchDatasetV2",
    "TensorSliceDataset",
    "RangeDataset",
    "IgnoreErrorsDataset",
    "AssertCardinalityDataset",
    "OptionsDataset",
    "RandomDataset",
};

Tensor Range(int64_t end) {
  return RunOp("RangeDataset",
               {Tensor::Scalar<int64_t>(0), Tensor::Scalar(end), Tensor::Scalar<int64_t>(1)},
               {{"output_types", std::vector<DType>{DType::kInt64}},
                {"output_shapes", std::vector<PartialShape>{PartialShape(Shape())}}})
      .value();
}

// Makes an input of the declared type.
Tensor InputOf(const ArgDef& arg, const std::vector<Tensor>& datasets, Bytes& bytes) {
  switch (arg.type) {
    case DType::kVariant:
      return datasets[bytes.Byte() % datasets.size()];
    case DType::kBool:
      return Tensor::Scalar(bytes.Byte() % 2 == 1);
    case DType::kFloat:
      return Tensor::Scalar(static_cast<float>(bytes.Number()) / 8);
    case DType::kString:
      return Tensor::Scalar(std::string());
    default:
      if (bytes.Byte() % 8 == 0) return Tensor::Vector<int64_t>({bytes.Number(), bytes.Number()});
      return Tensor::Scalar(bytes.Number() % 5000);
  }
}

void Walk(const Dataset& dataset, Bytes& bytes) {
  ResourceManager resources;
  CancellationManager cancellation;
  StepContext step;
  step.resources = &resources;
  step.cancellation = &cancellation;
  step.deadline = absl::Now() + absl::Milliseconds(50);
  std::unique_ptr<Iterator> iterator = dataset.MakeIterator();
  const int save_at = bytes.Byte() % kMostElements;
  for (int i = 0; i < kMostElements; ++i) {
    Element element;
    const absl::StatusOr<bool> more = iterator->Next(step, &element);
    if (more.ok() ? !*more : absl::IsDeadlineExceeded(more.status())) return;
    if (more.ok()) dataset.spec().CheckTypes(element).IgnoreError();
    if (i != save_at) continue;
    IteratorState state;
    IteratorArchive saved(&state);
    if (!iterator->Transfer(saved).ok()) return;
    iterator = dataset.MakeIterator();
    IteratorArchive restored(state, step);
    if (!iterator->Transfer(restored).ok()) return;
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  Bytes bytes(data, size);
  std::vector<Tensor> datasets = {Range(10)};
  for (int i = 0; i < kMostSteps && !bytes.empty(); ++i) {
    const char* const name = kOps[bytes.Byte() % std::size(kOps)];
    const OpDef* const op = OpRegistry::Global().Find(name);
    std::vector<Tensor> inputs;
    AttrMap attrs;
    for (const ArgDef& arg : op->inputs) {
      const int count = arg.number_attr.empty() ? 1 : 1 + bytes.Byte() % 2;
      if (!arg.number_attr.empty()) attrs[arg.number_attr] = count;
      for (int n = 0; n < count; ++n) inputs.push_back(InputOf(arg, datasets, bytes));
    }
    const int rank = bytes.Byte() % 4;
    for (const char* types : {"output_types", "Toutput_types"}) {
      if (op->FindAttr(types) != nullptr) attrs[types] = std::vector<DType>{DType::kInt64};
    }
    if (op->FindAttr("output_shapes") != nullptr) {
      attrs["output_shapes"] =
          std::vector<PartialShape>{rank == 3 ? PartialShape() : PartialShape::UnknownOfRank(rank)};
    }
    const absl::StatusOr<Tensor> dataset = RunOp(name, std::move(inputs), std::move(attrs));
    if (dataset.ok()) datasets.push_back(*dataset);
  }
  const absl::StatusOr<DatasetPtr> last = DatasetIn(datasets.back(), "dataset");
  if (last.ok()) Walk(**last, bytes);
  return 0;
}
