#include <memory>

#include "absl/container/flat_hash_map.h"
#include "runtime/kernels/primitives/choose.h"
#include "runtime/kernels/primitives/cuda/elementwise.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/elementwise.h"

namespace tessera::cuda {
namespace {

// The registered ops, by name. Written before main alone.
absl::flat_hash_map<absl::string_view, const CudaElementwiseOp*>& Ops() {
  static auto* const ops = new absl::flat_hash_map<absl::string_view, const CudaElementwiseOp*>;
  return *ops;
}

constexpr int kVectorBytes = 16;

class CudaElementwise final : public Elementwise {
 public:
  CudaElementwise(const CudaElementwiseOp& op, const Options& options)
      : kernel_((*op.kernels)[OperandIndex(options.dtype)]),
        num_operands_(1 + op.op->arity),
        dtype_(options.dtype),
        attr_(options.attr) {
    sizes_[0] = static_cast<int64_t>(DTypeSize(op.op->ResultOf(options.dtype)));
    std::fill(sizes_ + 1, sizes_ + kMaxOperands, static_cast<int64_t>(DTypeSize(options.dtype)));
  }

  absl::Status Run(KernelContext& ctx, StridedOperands& operands) const override {
    if (operands.num_elements() == 0) return absl::OkStatus();
    operands.Coalesce();
    // Operands that the op does not have repeat the result, so that all have an address.
    while (operands.num_operands() < kMaxOperands) {
      operands.Add(operands.data(0), ByteStrides(operands.rank(), 0));
    }
    ASSIGN_OR_RETURN(const StridedBox<kMaxOperands> box, MakeStridedBox<kMaxOperands>(operands));
    return Launch(ctx, box);
  }

  absl::Status RunRow(KernelContext& ctx, LoopBlock& row) const override {
    StridedBox<kMaxOperands> box;
    box.rank = 1;
    box.count = box.dims[0] = row.columns;
    for (int o = 0; o < kMaxOperands; ++o) {
      box.data[o] = row.data[o < num_operands_ ? o : 0];
      box.strides[o][0] = o < num_operands_ ? row.column_stride[o] : 0;
    }
    return Launch(ctx, box);
  }

 private:
  absl::Status Launch(KernelContext& ctx, StridedBox<kMaxOperands> box) const {
    if (box.rank == 0) {
      // One element, as a row.
      box.rank = 1;
      box.dims[0] = 1;
      for (auto& strides : box.strides) strides[0] = 0;
    }
    return LaunchItems(ctx, box.count, kernel_,
                       ElementwiseWork{box, dtype_, attr_, HasVectors(box)});
  }

  bool HasVectors(const StridedBox<kMaxOperands>& box) const {
    if (box.rank != 1 || box.strides[0][0] != sizes_[0]) return false;
    for (int o = 0; o < num_operands_; ++o) {
      if (box.strides[o][0] == 0) continue;
      if (box.strides[o][0] != sizes_[o]) return false;
      if (reinterpret_cast<uintptr_t>(box.data[o]) % kVectorBytes != 0) return false;
    }
    return true;
  }

  const ElementwiseKernel kernel_;
  const int num_operands_;
  const DType dtype_;
  const double attr_;
  int64_t sizes_[kMaxOperands];  // of elements
};

std::unique_ptr<Elementwise> MakeElementwise(const KernelBuild& build,
                                             const Elementwise::Options& options) {
  const auto it = Ops().find(options.name);
  if (it == Ops().end() || !Contains(it->second->op->dtypes, options.dtype) ||
      (*it->second->kernels)[OperandIndex(options.dtype)] == nullptr) {
    build.Fail(absl::InternalError(absl::StrCat("no elementwise function '", options.name, "' of ",
                                                DTypeName(options.dtype))));
    return nullptr;
  }
  return std::make_unique<CudaElementwise>(*it->second, options);
}
REGISTER_CUDA_PRIMITIVE(Elementwise, MakeElementwise);

template <typename T>
__global__ void ChooseElements(StridedBox<kMaxOperands> box) {
  for (int64_t i = FirstItem(); i < box.count; i += ItemStep()) {
    int64_t at[kMaxOperands];
    box.Offsets(i, at);
    const bool condition = *reinterpret_cast<const bool*>(box.data[1] + at[1]);
    const int chosen = condition ? 2 : 3;
    *reinterpret_cast<T*>(box.data[0] + at[0]) =
        *reinterpret_cast<const T*>(box.data[chosen] + at[chosen]);
  }
}

absl::Status RunChoose(KernelContext& ctx, DType dtype, StridedOperands& operands) {
  if (operands.num_elements() == 0) return absl::OkStatus();
  operands.Coalesce();
  ASSIGN_OR_RETURN(const StridedBox<kMaxOperands> box, MakeStridedBox<kMaxOperands>(operands));
  return VisitBySize(static_cast<int64_t>(DTypeSize(dtype)), [&]<typename T>() {
    return LaunchItems(ctx, box.count, ChooseElements<T>, box);
  });
}
REGISTER_CUDA_PRIMITIVE(Choose, RunChoose);

}  // namespace

CudaElementwiseRegistration::CudaElementwiseRegistration(absl::Span<const CudaElementwiseOp> ops) {
  for (const CudaElementwiseOp& op : ops) Ops().emplace(op.op->name, &op);
}

}  // namespace tessera::cuda
