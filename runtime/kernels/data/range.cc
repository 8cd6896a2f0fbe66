// RangeDataset: numbers at a fixed distance.
#include "Eigen/Core"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/elements_dataset.h"
#include "runtime/kernels/host_values.h"

namespace tessera {
namespace {

int64_t CountOf(int64_t start, int64_t stop, int64_t step) {
  // In unsigned numbers, because the distance of two numbers may exceed int64.
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t count = (distance - 1) / stride + 1;
  return static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX));
}

absl::StatusOr<Tensor> NumberAs(DType dtype, int64_t value, Allocator* allocator) {
  switch (dtype) {
    case DType::kInt64:
      return ScalarIn(allocator, value);
    case DType::kInt32:
      return ScalarIn(allocator, static_cast<int32_t>(value));
    case DType::kInt16:
      return ScalarIn(allocator, static_cast<int16_t>(value));
    case DType::kInt8:
      return ScalarIn(allocator, static_cast<int8_t>(value));
    case DType::kUint64:
      return ScalarIn(allocator, static_cast<uint64_t>(value));
    case DType::kUint32:
      return ScalarIn(allocator, static_cast<uint32_t>(value));
    case DType::kUint16:
      return ScalarIn(allocator, static_cast<uint16_t>(value));
    case DType::kUint8:
      return ScalarIn(allocator, static_cast<uint8_t>(value));
    case DType::kFloat:
      return ScalarIn(allocator, static_cast<float>(value));
    case DType::kHalf:
      return ScalarIn(allocator, Eigen::half(static_cast<float>(value)));
    case DType::kBfloat16:
      return ScalarIn(allocator, Eigen::bfloat16(static_cast<float>(value)));
    case DType::kDouble:
      return ScalarIn(allocator, static_cast<double>(value));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("Unsupported data type for RangeDataset: ", DTypeName(dtype)));
  }
}

class RangeDataset final : public IndexedDataset {
 public:
  // Requires a dtype that NumberAs() takes. A range up to the last number stands for one without an
  // end, as that of enumerate().
  RangeDataset(int64_t start, int64_t stop, int64_t step, ElementSpec spec, Allocator* allocator)
      : IndexedDataset(std::move(spec), CountOf(start, stop, step),
                       stop == INT64_MAX ? kInfinite : CountOf(start, stop, step)),
        start_(start),
        step_(step),
        allocator_(allocator) {}

  Element At(int64_t i) const override {
    // In unsigned numbers, which may wrap on the way.
    const uint64_t value =
        static_cast<uint64_t>(start_) + static_cast<uint64_t>(step_) * static_cast<uint64_t>(i);
    return {NumberAs(spec().dtypes[0], static_cast<int64_t>(value), allocator_).value()};
  }

 private:
  const int64_t start_, step_;
  Allocator* const allocator_;
};

// Errors: INVALID_ARGUMENT for a step of zero.
class RangeKernel final : public DatasetKernel {
 public:
  explicit RangeKernel(const KernelBuild& build) : spec_(SpecOf(build)) {
    if (spec_.dtypes.size() != 1) {
      build.Fail(absl::InvalidArgumentError("a range has one component"));
    } else {
      build.Fail(NumberAs(spec_.dtypes[0], 0, HostAllocatorOf(build)).status());
    }
  }

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t start, ScalarInput<int64_t>(ctx, 0, "start"));
    ASSIGN_OR_RETURN(const int64_t stop, ScalarInput<int64_t>(ctx, 1, "stop"));
    ASSIGN_OR_RETURN(const int64_t step, ScalarInput<int64_t>(ctx, 2, "step"));
    if (step == 0) return absl::InvalidArgumentError("step must be a non-zero integer.");
    return std::make_shared<RangeDataset>(start, stop, step, spec_, ctx.host_allocator());
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("RangeDataset", kCpu, RangeKernel);

}  // namespace
}  // namespace tessera
