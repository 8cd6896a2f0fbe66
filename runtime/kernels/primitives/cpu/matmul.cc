#include "runtime/kernels/primitives/matmul.h"

#include <algorithm>
#include <memory>

#include "runtime/kernels/primitives/cpu/amx_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/blocked_gemm.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/gemv.h"
#include "runtime/kernels/primitives/cpu/matmul_batch.h"
#include "runtime/kernels/primitives/cpu/matmul_loops.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/onednn_matmul.h"
#include "runtime/kernels/primitives/cpu/ordered_gemm.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"
#include "runtime/kernels/primitives/cpu/product_planner.h"
#include "runtime/kernels/primitives/cpu/stepwise_matmul.h"
#include "runtime/kernels/primitives/cpu/transposed_gemm.h"
#include "runtime/kernels/primitives/plan_cache.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Multiplies each pair of matrices of the batch by OrderedGemm().
absl::Status MultiplyOrdered(KernelContext& ctx, const MatMulShape& given, const PostOps& post_ops,
                             const float* a, const float* b, const float* bias, float* out) {
  const MatMulBatch batch = SplitBatch(given);
  const MatMulShape& s = batch.shape;
  const int64_t products = batch.outer * batch.run.count;
  for (int64_t i = 0; i < products; ++i) {
    const auto [a_at, b_at] = MatrixOffsets(given, i * (given.batch_size() / products));
    RETURN_IF_ERROR(OrderedGemm(ctx, s.m, s.n, s.k, s.transpose_a, s.transpose_b, post_ops,
                                a + a_at * given.m * s.k, b + b_at * s.k * s.n, bias,
                                out + i * s.m * s.n));
  }
  return absl::OkStatus();
}

// A plan to compute the products of one shape.
struct MatMulPlan {
  bool IsFor(const MatMulShape& other, const PostOps& other_post_ops, bool other_has_constant,
             bool other_has_panels, int other_threads) const {
    return threads == other_threads && has_constant_weights == other_has_constant &&
           has_panels == other_has_panels && shape == other && post_ops == other_post_ops;
  }

  MatMulShape shape;
  PostOps post_ops;
  bool has_constant_weights = false, has_panels = false;
  int threads = 0;  // see NumPoolThreads()

  ProductAlgorithm algorithm = ProductAlgorithm::kOneDnn;
  OneDnnBatch onednn;  // for kOneDnn
};

absl::StatusOr<MatMulPlan> MakePlan(const MatMulShape& shape, const PostOps& post_ops,
                                    bool has_constant_weights, bool has_panels, int threads,
                                    Numerics numerics) {
  MatMulPlan plan{.shape = shape,
                  .post_ops = post_ops,
                  .has_constant_weights = has_constant_weights,
                  .has_panels = has_panels,
                  .threads = threads};
  MatMulProblem problem{.m = shape.m, .n = shape.n, .k = shape.k, .batch = shape.batch_size()};
  problem.is_single = SplitBatch(shape).is_single;
  if (problem.is_single) {
    problem.m *= problem.batch;
    problem.batch = 1;
  }
  problem.is_transposed = shape.transpose_a && !shape.transpose_b && shape.batch_size() == 1 &&
                          !post_ops.bias && post_ops.activation == Activation::kNone;
  problem.transpose_b = shape.transpose_b;
  problem.has_constant_weights = has_constant_weights;
  problem.has_panels = has_panels;
  plan.algorithm = PlanMatMul(problem, {SpeedsForCpu(), std::max(threads, 1), numerics});
  if (plan.algorithm == ProductAlgorithm::kOneDnn) {
    ASSIGN_OR_RETURN(plan.onednn, SplitForOneDnn(shape, post_ops, has_constant_weights, threads));
  }
  return plan;
}

absl::Status MultiplyFloat(KernelContext& ctx, const MatMulPlan& plan, const float* a,
                           const Tensor& b, const float* bias, PackedWeights* packed,
                           Numerics numerics, float* out) {
  const MatMulShape& given = plan.shape;
  const PostOps& post_ops = plan.post_ops;
  switch (plan.algorithm) {
    case ProductAlgorithm::kOneDnn:
      return MultiplyOneDnn(ctx, plan.onednn, a, b, bias, packed, out);
    case ProductAlgorithm::kOrdered:
      return MultiplyOrdered(ctx, given, post_ops, a, b.data<float>(), bias, out);
    case ProductAlgorithm::kTransposed:
      if (!given.transpose_a) {
        return TransposingGemm(ctx, given.m * given.batch_size(), given.n, given.k, post_ops, a,
                               b.data<float>(), bias, out);
      }
      TransposedGemm(ctx, given.m, given.n, given.k, a, b.data<float>(), post_ops.add, out);
      return absl::OkStatus();
    default:
      break;
  }
  const int64_t m = given.m * given.batch_size(), n = given.n, k = given.k;
  if (plan.algorithm == ProductAlgorithm::kGemv) {
    return Gemv(ctx, m, n, k, given.transpose_b, post_ops, a, b.data<float>(), bias, out);
  }
  const auto fallback = [&](KernelContext& ctx, int64_t first, int64_t count) -> absl::Status {
    const MatMulShape rows{.m = count, .n = n, .k = k, .transpose_b = given.transpose_b};
    const float* const from = a + first * k;
    float* const to = out + first * n;
    if (numerics == Numerics::kStrict) {
      return MultiplyOrdered(ctx, rows, post_ops, from, b.data<float>(), bias, to);
    }
    ASSIGN_OR_RETURN(const OneDnnBatch split,
                     SplitForOneDnn(rows, post_ops, packed != nullptr, NumPoolThreads(ctx)));
    return MultiplyOneDnn(ctx, split, from, b, bias, packed, to);
  };
  const GemmArguments arguments{.m = m,
                                .n = n,
                                .k = k,
                                .transpose_b = given.transpose_b,
                                .post_ops = post_ops,
                                .a = a,
                                .b = b,
                                .bias = bias,
                                .packed = packed,
                                .output = out};
  switch (plan.algorithm) {
    case ProductAlgorithm::kAmxGemm:
      return BlockedMatMul(ctx, gemm::AmxMicroKernel(), arguments, fallback);
    case ProductAlgorithm::kStrassen:
      return StrassenMatMul(ctx, arguments, fallback);
    default:
      return BlockedMatMul(ctx, gemm::FmaMicroKernel(), arguments, fallback);
  }
}

// Returns true if MultiplyByLoops() computes the product, and false if MultiplyFloat() does.
bool TakesLoops(const MatMulShape& shape, DType dtype, Numerics numerics) {
  return TakesLoops(dtype, shape.m * shape.n * shape.k * shape.batch_size(), numerics);
}

// Multiplies a matrix by a column, as the transpose of a product of a row and a transposed matrix.
absl::Status MultiplyByColumn(KernelContext& ctx, const MatMulShape& s, const PostOps& post_ops,
                              const Tensor& a, const Tensor& b, const Tensor* bias,
                              Tensor* output) {
  const int64_t rows = s.m * s.batch_size();
  Tensor biases;  // the bias repeated for each row
  if (bias != nullptr) {
    ASSIGN_OR_RETURN(biases, ctx.AllocateTemp(DType::kFloat, {rows}));
    std::fill_n(biases.data<float>(), rows, bias->data<float>()[0]);
  }
  return Gemv(ctx, 1, rows, s.k, /*transpose_b=*/true, post_ops, b.data<float>(), a.data<float>(),
              bias == nullptr ? nullptr : biases.data<float>(), output->data<float>());
}

// Multiplies as a plan says. The plan is kept unless `plans` is null.
absl::Status MultiplyFloat(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                           const Tensor& a, const Tensor& b, const Tensor* bias,
                           PackedWeights* packed, Tensor* output, Numerics numerics,
                           PlanCache<MatMulPlan>* plans) {
  if (shape.n == 1 && numerics == Numerics::kFast && SplitBatch(shape).is_single) {
    return MultiplyByColumn(ctx, shape, post_ops, a, b, bias, output);
  }
  // Only a single matrix is packed. Batches of right-hand sides are seldom constant.
  if (b.num_elements() != shape.n * shape.k) packed = nullptr;
  const bool has_panels = packed != nullptr && packed->HasPanels(b);
  const int threads = NumPoolThreads(ctx);
  const auto run = [&](const MatMulPlan& plan) {
    return MultiplyFloat(ctx, plan, a.data<float>(), b, bias ? bias->data<float>() : nullptr,
                         packed, numerics, output->data<float>());
  };
  if (plans != nullptr) {
    if (const auto* plan = plans->Find(shape, post_ops, packed != nullptr, has_panels, threads)) {
      return run(*plan);
    }
  }
  ASSIGN_OR_RETURN(const MatMulPlan plan,
                   MakePlan(shape, post_ops, packed != nullptr, has_panels, threads, numerics));
  if (plans != nullptr) plans->Insert(plan);
  return run(plan);
}

// Returns true for half and bfloat16 if converting them to float costs little next to the product.
bool TakesFloat(const MatMulShape& shape, DType dtype, Numerics numerics) {
  return IsNarrowFloat(dtype) && !TakesLoops(shape, DType::kFloat, numerics) &&
         numerics == Numerics::kFast;
}

// Returns true for a type whose products are computed in float. oneDNN has products of bfloat16.
bool IsWidened(DType dtype) {
  return IsNarrowFloat(dtype) && !(dtype == DType::kBfloat16 && HasAvx512());
}

// Operands of half or bfloat16, converted to float.
struct WideOperands {
  Tensor a, bias, output;  // `bias` has no value if there is none
};

// Converts the operands. `output` is converted only if the product is added to it.
absl::StatusOr<WideOperands> Widen(KernelContext& ctx, const Tensor& a, const Tensor* bias,
                                   const Tensor& output) {
  Allocator* const allocator = ctx.host_allocator();
  WideOperands wide;
  ASSIGN_OR_RETURN(wide.a, WidenToFloat(a, allocator));
  ASSIGN_OR_RETURN(wide.output, WidenToFloat(output, allocator));
  if (bias != nullptr) {
    ASSIGN_OR_RETURN(wide.bias, WidenToFloat(*bias, allocator));
  }
  return wide;
}

// Multiplies in float by `wide_b`, which PackedWeights may hold. The plans are kept unless `plans`
// is null.
absl::Status MultiplyWidened(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                             const Tensor& a, const Tensor& wide_b, const Tensor* bias,
                             PackedWeights* packed, Tensor* output, PlanCache<MatMulPlan>* plans) {
  ASSIGN_OR_RETURN(WideOperands wide, Widen(ctx, a, bias, *output));
  RETURN_IF_ERROR(MultiplyFloat(ctx, shape, post_ops, wide.a, wide_b,
                                bias == nullptr ? nullptr : &wide.bias, packed, &wide.output,
                                Numerics::kFast, plans));
  NarrowFromFloat(wide.output, output);
  return absl::OkStatus();
}

// Multiplies up to kMaxGemvRows rows of bfloat16, which are converted to float, by a matrix that is
// read in place.
absl::Status MultiplyBfloat16Rows(KernelContext& ctx, const MatMulShape& s, const PostOps& post_ops,
                                  const Tensor& a, const Tensor& b, const Tensor* bias,
                                  Tensor* output) {
  ASSIGN_OR_RETURN(WideOperands wide, Widen(ctx, a, bias, *output));
  RETURN_IF_ERROR(Gemv(
      ctx, s.m, s.n, s.k, s.transpose_b, post_ops, wide.a.data<float>(), b.data<Eigen::bfloat16>(),
      bias == nullptr ? nullptr : wide.bias.data<float>(), wide.output.data<float>()));
  NarrowFromFloat(wide.output, output);
  return absl::OkStatus();
}

absl::Status MultiplyNarrow(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                            const Tensor& a, const Tensor& b, const Tensor* bias,
                            PackedWeights* packed, Tensor* output) {
  if (!IsWidened(a.dtype())) {
    if (shape.batch_size() == 1 && shape.m <= kMaxGemvRows && !shape.transpose_a) {
      return MultiplyBfloat16Rows(ctx, shape, post_ops, a, b, bias, output);
    }
    if (shape.batch_size() > 1) packed = nullptr;
    return MultiplyBfloat16(ctx, shape, post_ops, a, b, bias, packed, output);
  }
  ASSIGN_OR_RETURN(const Tensor wide_b, WidenToFloat(b, ctx.host_allocator()));
  return MultiplyWidened(ctx, shape, post_ops, a, wide_b, bias, nullptr, output, nullptr);
}

class CpuMatMul final : public MatMul {
 public:
  CpuMatMul(const KernelBuild& build, int b_input)
      : numerics_(build.numerics()),
        is_stepwise_(build.op().name == "Einsum" && build.output_types()[0] == DType::kHalf),
        weights_(build, b_input) {}

  absl::Status Prepare(const PrepareContext& context, bool transpose_b, WeightUse use) override {
    const Tensor* const b = weights_.constant();
    if (b == nullptr || b->rank() != 2) return absl::OkStatus();
    if (IsWidened(b->dtype()) && numerics_ == Numerics::kFast) {
      ASSIGN_OR_RETURN(wide_weights_, WidenToFloat(*b, WeightsAllocator()));
      return Pack(context, wide_weights_, transpose_b, use, &wide_packed_);
    }
    return Pack(context, *b, transpose_b, use, &weights_);
  }

  absl::Status PrepareRows(const PrepareContext& context, int64_t first, int64_t end,
                           WeightUse use) override {
    const Tensor* const b = weights_.constant();
    if (b == nullptr || b->rank() != 2 || first < 0 || first > end || end > b->dim(0)) {
      return absl::OkStatus();
    }
    return Pack(context, b->Slice(first, end), /*transpose_b=*/false, use, &weights_);
  }

  absl::Status Run(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                   const Tensor& a, const Tensor& b, const PostOpInputs& inputs,
                   Tensor* output) override {
    CopyAddend(inputs, output);
    if (output->num_elements() == 0) return absl::OkStatus();
    if (is_stepwise_ && post_ops == PostOps()) return StepwiseMatMul(ctx, shape, a, b, output);
    if (TakesFloat(shape, a.dtype(), numerics_)) {
      // Any other weights were computed from the input in this run.
      if (wide_weights_.has_value() && b.raw() == weights_.constant()->raw()) {
        return MultiplyWidened(ctx, shape, post_ops, a, wide_weights_, inputs.bias, &wide_packed_,
                               output, &plans_);
      }
      return MultiplyNarrow(ctx, shape, post_ops, a, b, inputs.bias, weights_.UseFor(ctx, b),
                            output);
    }
    if (TakesLoops(shape, a.dtype(), numerics_)) {
      return MultiplyByLoops(ctx, shape, post_ops, a, b, inputs.bias, output);
    }
    return MultiplyFloat(ctx, shape, post_ops, a, b, inputs.bias, weights_.UseFor(ctx, b), output,
                         numerics_, &plans_);
  }

 private:
  // Packs a constant matrix of float if all its products take this form; `packed` keeps it.
  absl::Status Pack(const PrepareContext& context, const Tensor& b, bool transpose_b, WeightUse use,
                    PackedWeights* packed) const {
    if (b.dtype() != DType::kFloat || b.num_elements() == 0) return absl::OkStatus();
    StepContext step;
    step.intra_op_pool = context.pool;
    KernelContext ctx(step, context.device);
    const int64_t n = b.dim(transpose_b ? 0 : 1), k = b.dim(transpose_b ? 1 : 0);
    const PlannerContext planner{SpeedsForCpu(), NumThreads(ctx), numerics_};
    if (PlanMatMulWeights(n, k, use, planner) != ProductAlgorithm::kFmaGemm) {
      return absl::OkStatus();
    }
    const PostOps none;
    return PackMatrix(ctx, gemm::FmaMicroKernel(),
                      {.n = n,
                       .k = k,
                       .transpose_b = transpose_b,
                       .post_ops = none,
                       .b = b,
                       .packed = packed})
        .status();
  }

  const Numerics numerics_;
  const bool is_stepwise_;  // see StepwiseMatMul()
  PackedWeights weights_;
  Tensor wide_weights_;  // constant half weights as float; Prepare() sets it
  PackedWeights wide_packed_;
  PlanCache<MatMulPlan> plans_;
};

std::unique_ptr<MatMul> MakeMatMul(const KernelBuild& build, int b_input) {
  return std::make_unique<CpuMatMul>(build, b_input);
}

REGISTER_PRIMITIVE(MatMul, kCpu, MakeMatMul);

}  // namespace
}  // namespace tessera
