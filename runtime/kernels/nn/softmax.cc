// Softmax and LogSoftmax over the last dimension.
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/softmax_row.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {
namespace {

template <typename T>
void Row(bool log, const T* x, int64_t count, T* out, std::vector<T>* scratch) {
  if (log) {
    scratch->resize(count);
    LogSoftmaxRow(x, count, out, scratch->data());
  } else {
    SoftmaxRow(x, count, out);
  }
}

// A row of a narrow type, by way of float.
template <typename Narrow>
void NarrowRow(bool log, const Narrow* x, int64_t count, Narrow* out, std::vector<float>* row,
               std::vector<float>* scratch) {
  row->resize(count);
  ToFloat(x, row->data(), count);
  Row<float>(log, row->data(), count, row->data(), scratch);
  FromFloat(row->data(), out, count);
}

// Errors: INVALID_ARGUMENT for a scalar.
class SoftmaxKernel : public OpKernel {
 public:
  explicit SoftmaxKernel(const KernelBuild& build) : log_(build.op().name == "LogSoftmax") {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& logits = ctx.input(0);
    if (logits.rank() < 1) {
      return absl::InvalidArgumentError("logits must have at least one dimension, are a scalar");
    }
    const DType dtype = logits.dtype();
    const int64_t columns = logits.dim(logits.rank() - 1);
    const int64_t rows = columns == 0 ? 0 : logits.num_elements() / columns;
    const char* const in = logits.raw();
    ASSIGN_OR_RETURN(Tensor * result, ctx.ForwardOrAllocateOutput({0}, 0, logits.shape()));
    char* const out = result->mutable_raw();
    ctx.ParallelFor(rows, 1.5 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
      switch (dtype) {
        case DType::kFloat:
          return Rows<float>(in, begin, end, columns, out);
        case DType::kDouble:
          return Rows<double>(in, begin, end, columns, out);
        case DType::kHalf:
          return NarrowRows<Eigen::half>(in, begin, end, columns, out);
        default:
          return NarrowRows<Eigen::bfloat16>(in, begin, end, columns, out);
      }
    });
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void Rows(const char* in, int64_t begin, int64_t end, int64_t columns, char* out) const {
    std::vector<T> scratch;
    for (int64_t offset = begin * columns; offset < end * columns; offset += columns) {
      Row(log_, reinterpret_cast<const T*>(in) + offset, columns,
          reinterpret_cast<T*>(out) + offset, &scratch);
    }
  }
  template <typename T>
  void NarrowRows(const char* in, int64_t begin, int64_t end, int64_t columns, char* out) const {
    std::vector<float> row, scratch;
    for (int64_t offset = begin * columns; offset < end * columns; offset += columns) {
      NarrowRow(log_, reinterpret_cast<const T*>(in) + offset, columns,
                reinterpret_cast<T*>(out) + offset, &row, &scratch);
    }
  }

  const bool log_;
};
REGISTER_KERNEL("Softmax", kCpu, SoftmaxKernel).TypeConstraint("T", DTypeList(kFloating));
REGISTER_KERNEL("LogSoftmax", kCpu, SoftmaxKernel).TypeConstraint("T", DTypeList(kFloating));

}  // namespace
}  // namespace tessera
