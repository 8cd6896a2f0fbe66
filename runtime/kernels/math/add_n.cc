// AddN: the sum of several tensors of one shape.
#include <algorithm>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/tensor_list.h"

namespace tessera {
namespace {

// Elements summed over all inputs before the next ones: they stay in the first-level cache.
constexpr int64_t kChunk = 2048;

// Errors: INVALID_ARGUMENT for different shapes.
class AddNKernel : public OpKernel {
 public:
  explicit AddNKernel(const KernelBuild& build)
      : dtype_(build.output_types()[0]), loop_(FindElementwiseLoop("AddV2", dtype_)) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Shape shape = ctx.input(0).shape();
    std::vector<const char*> data;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (!(ctx.input(i).shape() == shape)) {
        return absl::InvalidArgumentError(
            absl::StrCat("AddN needs inputs of one shape; input 0 has ", shape.ToString(),
                         ", input ", i, " has ", ctx.input(i).shape().ToString()));
      }
      data.push_back(ctx.input(i).raw());
    }
    if (data.size() == 1) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    // The result is written while input 0 alone is read for the last time.
    ASSIGN_OR_RETURN(Tensor * sum, ctx.ForwardOrAllocateOutput({0}, 0, shape));
    char* const out = sum->mutable_raw();
    const int64_t size = static_cast<int64_t>(DTypeSize(dtype_));
    ctx.ParallelFor(shape.num_elements(), 0.2 * data.size(), [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += kChunk) {
        const int64_t count = std::min(kChunk, end - begin);
        const int64_t offset = begin * size;
        for (size_t i = 1; i < data.size(); ++i) {
          Add((i == 1 ? data[0] : out) + offset, data[i] + offset, out + offset, count, size);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  void Add(const char* x, const char* y, char* z, int64_t count, int64_t size) const {
    LoopBlock block;
    block.rows = 1;
    block.columns = count;
    block.data[0] = z;
    block.data[1] = const_cast<char*>(x);
    block.data[2] = const_cast<char*>(y);
    std::fill_n(block.column_stride, 3, size);
    std::fill_n(block.row_stride, 3, 0);
    if (IsNarrowFloat(dtype_)) {
      RunAsFloat(block, {dtype_, dtype_, dtype_}, *loop_);
    } else {
      loop_(block);
    }
  }

  const DType dtype_;
  const LoopFn loop_;
};
REGISTER_KERNEL("AddN", kCpu, AddNKernel).TypeConstraint("T", DTypeList(kNumeric));
REGISTER_KERNEL("AccumulateNV2", kCpu, AddNKernel).TypeConstraint("T", DTypeList(kNumeric));

// The sum of tensor lists, element by element: what gradients of loops add up.
class AddNListsKernel : public OpKernel {
 public:
  explicit AddNListsKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(TensorListInput(ctx, 0).status());
    Variant sum = ctx.input(0).scalar<Variant>();
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(const auto so_far, GetTensorList(sum));
      ASSIGN_OR_RETURN(const auto next, TensorListInput(ctx, i));
      ASSIGN_OR_RETURN(sum, AddTensorLists(*so_far, *next, ctx.host_allocator()));
    }
    ctx.set_output(0, Tensor::Scalar(std::move(sum)));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("AddN", kCpu, AddNListsKernel).TypeConstraint<Variant>("T");

}  // namespace
}  // namespace tessera
