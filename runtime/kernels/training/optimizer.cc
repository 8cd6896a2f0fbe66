// Optimizers: [Resource][Sparse]Apply*, which update a variable and its slots.
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/complex_value.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/optimizer_update.h"
#include "runtime/kernels/training/optimizer_table.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

absl::Status CheckScalar(const Tensor& tensor, absl::string_view name) {
  if (tensor.rank() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is not a scalar: it has shape ", tensor.shape().ToString()));
}

absl::StatusOr<std::complex<double>> ReadScalar(const Tensor& tensor, absl::string_view name) {
  RETURN_IF_ERROR(CheckScalar(tensor, name));
  return ComplexValueOf(tensor);
}

absl::Status CheckLimit(ScalarLimit limit, double value, absl::string_view name) {
  switch (limit) {
    case ScalarLimit::kAny:
      return absl::OkStatus();
    case ScalarLimit::kPositive:
      if (value > 0) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat(name, " must be positive, is ", value));
    case ScalarLimit::kNotNegative:
      if (value >= 0) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat(name, " must not be negative, is ", value));
    case ScalarLimit::kNotPositive:
      if (value <= 0) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat(name, " must not be positive, is ", value));
  }
  return absl::OkStatus();
}

// The variable is updated in place unless others share its buffer; see UpdateVariables().
// `use_locking` changes nothing: the variable and its slots are always locked during the update.
// Errors: FAILED_PRECONDITION for a variable without a value; INVALID_ARGUMENT for shapes that do
// not fit, scalars that are none or out of their limits, and indices out of range.
class OptimizerKernel : public OpKernel {
 public:
  explicit OptimizerKernel(const KernelBuild& build)
      : update_(build), optimizer_(*FindOptimizer(build.op().name)) {
    const std::vector<ArgDef>& inputs = build.op().inputs;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (inputs[i].is_ref || inputs[i].type == DType::kResource) {
        variables_.push_back(inputs[i].name);
      } else if (inputs[i].name == "indices") {
        indices_ = i;
      } else if (inputs[i].name == "grad" || inputs[i].name == "delta") {
        gradient_ = i;
      }
    }
    for (const OptimizerScalar& scalar : optimizer_.scalars) {
      scalars_.push_back(build.inputs(scalar.name).begin);
    }
    if (!optimizer_.variant_attr.empty()) variant_ = build.attr<bool>(optimizer_.variant_attr);
  }

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(OptimizerStep step, ReadStep(ctx));
    std::vector<IntrusivePtr<Variable>> variables;
    for (int i = 0; i < static_cast<int>(variables_.size()); ++i) {
      ASSIGN_OR_RETURN(IntrusivePtr<Variable> variable, VariableInput(ctx, i));
      variables.push_back(std::move(variable));
    }
    RETURN_IF_ERROR(UpdateVariables(
        ctx, variables, [&](absl::Span<Tensor* const> state) { return Update(ctx, step, state); }));
    if (ctx.num_outputs() > 0) ctx.set_ref_output(0, variables[0]);
    return absl::OkStatus();
  }

 private:
  bool is_sparse() const { return indices_ >= 0; }

  absl::StatusOr<OptimizerStep> ReadStep(const KernelContext& ctx) const {
    OptimizerStep step;
    step.rule = optimizer_.rule;
    step.variant = variant_;
    if (optimizer_.rule == OptimizerRule::kFtrl) step.scalars.back() = is_sparse() ? 1 : 0;
    for (size_t i = 0; i < scalars_.size(); ++i) {
      const OptimizerScalar& scalar = optimizer_.scalars[i];
      const Tensor& input = ctx.input(scalars_[i]);
      if (input.num_elements() > 0 && !IsHostAccessible(input.memory_kind())) {
        RETURN_IF_ERROR(CheckScalar(input, scalar.name));
        step.on_device[i] = &input;  // whose value nobody on the host sees
        continue;
      }
      ASSIGN_OR_RETURN(step.scalars[i], ReadScalar(input, scalar.name));
      if (optimizer_.limits_sparse_only && !is_sparse()) continue;
      // A linear term that is scaled by the learning rate is not divided by it.
      const bool may_be_zero = optimizer_.rule == OptimizerRule::kFtrl && variant_;
      const ScalarLimit limit = scalar.limit == ScalarLimit::kPositive && may_be_zero
                                    ? ScalarLimit::kNotNegative
                                    : scalar.limit;
      RETURN_IF_ERROR(CheckLimit(limit, step.scalars[i].real(), scalar.name));
    }
    return step;
  }

  absl::Status Update(KernelContext& ctx, OptimizerStep& step,
                      absl::Span<Tensor* const> state) const {
    const Tensor& gradient = ctx.input(gradient_);
    const Tensor& variable = *state[0];
    for (size_t i = 0; i < state.size(); ++i) {
      if (state[i]->dtype() != gradient.dtype()) {
        return absl::InvalidArgumentError(absl::StrCat(variables_[i], " holds ",
                                                       DTypeName(state[i]->dtype()), ", not ",
                                                       DTypeName(gradient.dtype())));
      }
      if (!(state[i]->shape() == variable.shape())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "var and ", variables_[i], " do not have the same shape: ", variable.shape().ToString(),
            " and ", state[i]->shape().ToString()));
      }
    }
    RETURN_IF_ERROR(is_sparse() ? CheckRows(gradient, ctx.input(indices_), variable)
                                : CheckDense(gradient, variable));
    if (step.rule == OptimizerRule::kAdagradDa) {
      const bool has_rows = is_sparse() && gradient.num_elements() > gradient.dim(0);
      step.scalars[scalars_.size()] = has_rows ? 1 : 0;
    }
    auto slot = [&](size_t i) { return i < state.size() ? state[i] : nullptr; };
    return update_(ctx, step, gradient, is_sparse() ? &ctx.input(indices_) : nullptr, state[0],
                   slot(1), slot(2), slot(3));
  }

  static absl::Status CheckDense(const Tensor& gradient, const Tensor& variable) {
    if (gradient.shape() == variable.shape()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "var and the gradient do not have the same shape: ", variable.shape().ToString(), " and ",
        gradient.shape().ToString()));
  }

  static absl::Status CheckRows(const Tensor& gradient, const Tensor& indices,
                                const Tensor& variable) {
    if (variable.rank() == 0) {
      return absl::InvalidArgumentError("var must be at least 1 dimensional, is a scalar");
    }
    if (indices.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices must be a vector, have shape ", indices.shape().ToString()));
    }
    bool fits = gradient.rank() == variable.rank() && gradient.dim(0) == indices.dim(0);
    for (int d = 1; fits && d < variable.rank(); ++d) fits = gradient.dim(d) == variable.dim(d);
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("a gradient of shape ", gradient.shape().ToString(), " does not fit ",
                     indices.dim(0), " rows of a variable of shape ", variable.shape().ToString()));
  }

  const Primitive<OptimizerUpdate> update_;
  const OptimizerOp& optimizer_;
  std::vector<std::string> variables_;  // the names of the inputs 0, 1, ... that are variables
  int gradient_ = 0;
  int indices_ = -1;                                        // -1: the gradient is dense
  absl::InlinedVector<int, kMaxOptimizerScalars> scalars_;  // positions of the inputs
  bool variant_ = false;
};

// The dtypes of TensorFlow's kernels, which differ between optimizers without a system.
constexpr DTypeSet kOrdered = kFloating;
constexpr DTypeSet kUnordered = kFloating | kComplex;
constexpr DTypeSet kWide = DTypes(DType::kFloat, DType::kDouble);
constexpr DTypeSet kNoBfloat16 = kWide | DTypes(DType::kHalf);

// The scalars are read on the host.
struct OptimizerRegistration {
  OptimizerRegistration(const char* op, DTypeSet types) {
    KernelBuilder builder(op, DevicesOf<OptimizerUpdate>, [](const KernelBuild& build) {
      return std::unique_ptr<OpKernel>(std::make_unique<OptimizerKernel>(build));
    });
    builder.TypeConstraint("T", DTypeList(types));
    KernelRegistration registration(builder);
  }
};
#define REGISTER_APPLY(optimizer, types)                                    \
  const OptimizerRegistration apply_##optimizer("Apply" #optimizer, types); \
  const OptimizerRegistration resource_apply_##optimizer("ResourceApply" #optimizer, types)
#define REGISTER_SPARSE_APPLY(optimizer, types)                                                   \
  const OptimizerRegistration sparse_apply_##optimizer("SparseApply" #optimizer, types);          \
  const OptimizerRegistration resource_sparse_apply_##optimizer("ResourceSparseApply" #optimizer, \
                                                                types)

REGISTER_APPLY(AdaMax, kNoBfloat16);
REGISTER_APPLY(Adadelta, kUnordered);
REGISTER_APPLY(Adagrad, kUnordered);
REGISTER_APPLY(AdagradDA, kWide);
REGISTER_APPLY(AdagradV2, kUnordered);
REGISTER_APPLY(Adam, kUnordered);
REGISTER_APPLY(AddSign, kOrdered);
REGISTER_APPLY(CenteredRMSProp, kUnordered);
REGISTER_APPLY(Ftrl, kOrdered);
REGISTER_APPLY(FtrlV2, kOrdered);
REGISTER_APPLY(GradientDescent, kUnordered);
REGISTER_APPLY(Momentum, kUnordered);
REGISTER_APPLY(PowerSign, kOrdered);
REGISTER_APPLY(ProximalAdagrad, kWide);
REGISTER_APPLY(ProximalGradientDescent, kWide);
REGISTER_APPLY(RMSProp, kUnordered);
const OptimizerRegistration resource_apply_amsgrad("ResourceApplyAdamWithAmsgrad", kOrdered);
const OptimizerRegistration resource_apply_keras("ResourceApplyKerasMomentum", kUnordered);

REGISTER_SPARSE_APPLY(Adadelta, kUnordered);
REGISTER_SPARSE_APPLY(Adagrad, kUnordered);
REGISTER_SPARSE_APPLY(AdagradDA, kWide);
REGISTER_SPARSE_APPLY(AdagradV2, kUnordered);
REGISTER_SPARSE_APPLY(CenteredRMSProp, kNoBfloat16 | kComplex);
REGISTER_SPARSE_APPLY(Ftrl, kOrdered);
REGISTER_SPARSE_APPLY(FtrlV2, kOrdered);
REGISTER_SPARSE_APPLY(Momentum, kUnordered);
REGISTER_SPARSE_APPLY(ProximalAdagrad, kWide);
REGISTER_SPARSE_APPLY(ProximalGradientDescent, kWide);
REGISTER_SPARSE_APPLY(RMSProp, kNoBfloat16 | kComplex);
const OptimizerRegistration resource_sparse_apply_keras("ResourceSparseApplyKerasMomentum",
                                                        kUnordered);

}  // namespace
}  // namespace tessera
