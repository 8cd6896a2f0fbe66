// Fused elementwise sweeps: each is one kernel, compiled when its layout is first seen. Without a
// compiler each call of a sweep is a kernel of its own.
#include "runtime/kernels/primitives/fused_elementwise.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/choose.h"
#include "runtime/kernels/primitives/cuda/compiled_kernel.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/sweep_source.h"
#include "runtime/kernels/primitives/elementwise.h"

namespace tessera::cuda {
namespace {

class CudaFusedElementwise final : public FusedElementwise {
 public:
  CudaFusedElementwise(std::vector<std::unique_ptr<Elementwise>> functions,
                       std::vector<absl::string_view> functors)
      : functions_(std::move(functions)), functors_(std::move(functors)) {}

  absl::Status Run(KernelContext& ctx, const ElementwiseSweep& sweep,
                   absl::Span<char* const> bases) const override {
    const SweepKernel kernel(sweep, bases);
    if (kernel.parameters().size() <= kMaxParameters) {
      const std::shared_ptr<const CompiledKernel> compiled = Compiled(ctx, kernel);
      if (compiled != nullptr)
        return compiled->Launch(ctx, kernel.num_items(), kernel.parameters());
    }
    return RunEachCall(ctx, sweep, bases);
  }

 private:
  // The parameters of a kernel take at most 4 KB.
  static constexpr size_t kMaxParameters = 500;
  // Layouts beyond these are looked up by their source.
  static constexpr size_t kMaxKernels = 64;

  std::shared_ptr<const CompiledKernel> Compiled(KernelContext& ctx,
                                                 const SweepKernel& kernel) const {
    absl::MutexLock lock(&mu_);
    const auto it = kernels_.find(kernel.key());
    if (it != kernels_.end()) return it->second;
    auto compiled = CompileSweep(ctx, kernel.Source(functors_));
    if (kernels_.size() < kMaxKernels) kernels_.emplace(kernel.key(), compiled);
    return compiled;
  }

  // Scratch memory is that of the device, whole arrays of it.
  absl::Status RunEachCall(KernelContext& ctx, const ElementwiseSweep& sweep,
                           absl::Span<char* const> bases) const {
    absl::InlinedVector<int64_t, 6> dims(sweep.outer_dims.begin(), sweep.outer_dims.end());
    dims.push_back(sweep.rows);
    dims.push_back(sweep.columns);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    std::vector<Tensor> slots(sweep.num_slots);
    for (Tensor& slot : slots) {
      ASSIGN_OR_RETURN(slot, ctx.AllocateTemp(DType::kFloat, shape));
    }
    for (const ElementwiseSweep::Call& call : sweep.calls) {
      StridedOperands operands(dims);
      for (int k = 0; k <= call.arity; ++k) {
        const ElementwiseSweep::Operand& operand = sweep.operands[call.operands[k]];
        if (operand.base < 0) {
          operands.Add(slots[operand.slot].address(),
                       RowMajorByteStrides(shape, operand.column_stride));
          continue;
        }
        ByteStrides strides(operand.outer_strides.begin(), operand.outer_strides.end());
        strides.push_back(operand.row_stride);
        strides.push_back(operand.column_stride);
        operands.Add(bases[operand.base] + operand.offset, strides);
      }
      const Elementwise* const function = functions_[call.function].get();
      RETURN_IF_ERROR(function != nullptr ? function->Run(ctx, operands)
                                          : choose_(ctx, DType::kFloat, operands));
    }
    return absl::OkStatus();
  }

  const std::vector<std::unique_ptr<Elementwise>> functions_;  // null: SelectV2
  Choose::Function* const choose_ = PrimitiveImplementations<Choose>::Find(kDeviceType);
  const std::vector<absl::string_view> functors_;  // by function
  mutable absl::Mutex mu_;
  mutable absl::flat_hash_map<std::string, std::shared_ptr<const CompiledKernel>> kernels_
      ABSL_GUARDED_BY(mu_);
};

std::unique_ptr<FusedElementwise> MakeFusedElementwise(const KernelBuild& build,
                                                       absl::Span<const std::string> functions) {
  std::vector<std::unique_ptr<Elementwise>> made;
  std::vector<absl::string_view> functors;
  auto* const make = PrimitiveImplementations<Elementwise>::Find(kDeviceType);
  for (const std::string& name : functions) {
    const SweepFunction function = FindSweepFunction(name);
    if (function.functor.empty()) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("no elementwise function '", name, "' of float or bool")));
      return nullptr;
    }
    functors.push_back(function.functor);
    made.push_back(name == "SelectV2" ? nullptr : make(build, {name, function.operands}));
  }
  return std::make_unique<CudaFusedElementwise>(std::move(made), std::move(functors));
}
REGISTER_CUDA_PRIMITIVE(FusedElementwise, MakeFusedElementwise);

}  // namespace
}  // namespace tessera::cuda
