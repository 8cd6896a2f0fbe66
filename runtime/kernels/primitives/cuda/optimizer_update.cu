#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/sorted_pairs.h"
#include "runtime/kernels/primitives/optimizer_rules.h"
#include "runtime/kernels/primitives/optimizer_update.h"

namespace tessera::cuda {
namespace {

// Scalars of a step: those of the host, or where the device has them.
template <typename A>
struct Scalars {
  A values[kMaxOptimizerScalars];
  const void* on_device[kMaxOptimizerScalars];
  DType dtypes[kMaxOptimizerScalars];

  __device__ A Load(int i) const {
    if (on_device[i] == nullptr) return values[i];
    if (dtypes[i] == DType::kInt64 || dtypes[i] == DType::kInt32) {
      return A(static_cast<double>(LoadElement<int64_t>(on_device[i], dtypes[i], 0)));
    }
    return LoadElement<A>(on_device[i], dtypes[i], 0);
  }
};

// The tensors of a step, all of one dtype. `state` is the variable and its slots.
struct UpdateWork {
  DType dtype;
  int64_t count;     // elements of the variable, or of the rows that the indices name
  int64_t row_size;  // with indices
  IndexRuns runs;    // its pairs are null without indices
  const void* gradient;
  void* state[1 + kMaxOptimizerSlots];
};

// The slots that a rule takes beside the gradient and the variable.
template <typename Rule, typename A>
constexpr int NumSlots() {
  if constexpr (std::is_invocable_v<Rule, A, A&>) return 0;
  if constexpr (std::is_invocable_v<Rule, A, A&, A&>) return 1;
  if constexpr (std::is_invocable_v<Rule, A, A&, A&, A&>) return 2;
  return 3;
}

template <typename Rule, typename A>
__device__ void UpdateElement(const Rule& rule, const UpdateWork& work, int64_t from, int64_t to) {
  constexpr int kSlots = NumSlots<Rule, A>();
  const A gradient = LoadElement<A>(work.gradient, work.dtype, from);
  A state[1 + kSlots];
  for (int s = 0; s <= kSlots; ++s) state[s] = LoadElement<A>(work.state[s], work.dtype, to);
  if constexpr (kSlots == 0) rule(gradient, state[0]);
  if constexpr (kSlots == 1) rule(gradient, state[0], state[1]);
  if constexpr (kSlots == 2) rule(gradient, state[0], state[1], state[2]);
  if constexpr (kSlots == 3) rule(gradient, state[0], state[1], state[2], state[3]);
  for (int s = 0; s <= kSlots; ++s) StoreElement<A>(work.state[s], work.dtype, to, state[s]);
}

template <typename Rule, typename A>
__global__ void UpdateElements(Scalars<A> scalars, UpdateWork work) {
  A loaded[kMaxOptimizerScalars];
  for (int i = 0; i < kMaxOptimizerScalars; ++i) loaded[i] = scalars.Load(i);
  const Rule rule(loaded);
  for (int64_t i = FirstItem(); i < work.count; i += ItemStep()) {
    if (work.runs.pairs == nullptr) {
      UpdateElement<Rule, A>(rule, work, i, i);
      continue;
    }
    const int64_t column = i % work.row_size;
    work.runs.ForEach(i / work.row_size, [&](int64_t row, int64_t place) {
      UpdateElement<Rule, A>(rule, work, place * work.row_size + column,
                             row * work.row_size + column);
    });
  }
}

// Makes the rules of one step and launches their kernels.
template <typename A>
class Update {
 public:
  Update(KernelContext& ctx, const OptimizerStep& step, const UpdateWork& work)
      : ctx_(ctx), variant_(step.variant), work_(work) {
    for (int i = 0; i < kMaxOptimizerScalars; ++i) {
      if constexpr (std::is_floating_point_v<A>) {
        scalars_.values[i] = static_cast<A>(step.scalars[i].real());
      } else {
        using Part = typename A::value_type;
        scalars_.values[i] =
            A(static_cast<Part>(step.scalars[i].real()), static_cast<Part>(step.scalars[i].imag()));
      }
      const Tensor* const tensor = step.on_device[i];
      scalars_.on_device[i] = tensor == nullptr ? nullptr : tensor->address();
      scalars_.dtypes[i] = tensor == nullptr ? DType::kInvalid : tensor->dtype();
    }
  }

  template <typename Rule>
  absl::Status Run() const {
    return LaunchItems(ctx_, work_.count, UpdateElements<Rule, A>, scalars_, work_);
  }
  template <template <typename, bool> typename Rule>
  absl::Status RunVariant() const {
    return variant_ ? Run<Rule<A, true>>() : Run<Rule<A, false>>();
  }

  absl::Status RunRule(OptimizerRule rule) const {
    using namespace optimizers;  // NOLINT(google-build-using-namespace)
    switch (rule) {
      case OptimizerRule::kGradientDescent:
        return Run<GradientDescent<A>>();
      case OptimizerRule::kMomentum:
        return RunVariant<Momentum>();
      case OptimizerRule::kKerasMomentum:
        return RunVariant<KerasMomentum>();
      case OptimizerRule::kAdagrad:
        return RunVariant<Adagrad>();
      case OptimizerRule::kAdadelta:
        return Run<Adadelta<A>>();
      case OptimizerRule::kAdam:
        return RunVariant<Adam>();
      case OptimizerRule::kRmsProp:
        return Run<RmsProp<A>>();
      case OptimizerRule::kCenteredRmsProp:
        return Run<CenteredRmsProp<A>>();
      default:
        break;
    }
    if constexpr (std::is_floating_point_v<A>) return RunOrderedRule(rule);
    return absl::UnimplementedError("the optimizer is not defined for complex numbers");
  }

 private:
  // The rules that need an order of the numbers.
  absl::Status RunOrderedRule(OptimizerRule rule) const {
    using namespace optimizers;  // NOLINT(google-build-using-namespace)
    switch (rule) {
      case OptimizerRule::kAdagradDa:
        return Run<AdagradDa<A>>();
      case OptimizerRule::kAdamWithAmsgrad:
        return Run<AdamWithAmsgrad<A>>();
      case OptimizerRule::kAdaMax:
        return Run<AdaMax<A>>();
      case OptimizerRule::kFtrl:
        // A power of -1/2, which nearly everybody uses, is a root.
        return variant_ ? RunFtrl<true>() : RunFtrl<false>();
      case OptimizerRule::kProximalAdagrad:
        return Run<ProximalAdagrad<A>>();
      case OptimizerRule::kProximalGradientDescent:
        return Run<ProximalGradientDescent<A>>();
      case OptimizerRule::kAddSign:
        return Run<AddSign<A>>();
      default:
        return Run<PowerSign<A>>();
    }
  }
  template <bool kScaleByLr>
  absl::Status RunFtrl() const {
    using optimizers::Ftrl;
    // A power that the host does not see is taken as it comes.
    return scalars_.on_device[3] == nullptr && scalars_.values[3] == A(-0.5)
               ? Run<Ftrl<A, kScaleByLr, true>>()
               : Run<Ftrl<A, kScaleByLr, false>>();
  }

  KernelContext& ctx_;
  const bool variant_;
  const UpdateWork work_;
  Scalars<A> scalars_;
};

absl::Status RunOptimizerUpdate(KernelContext& ctx, const OptimizerStep& step,
                                const Tensor& gradient, const Tensor* indices, Tensor* variable,
                                Tensor* slot0, Tensor* slot1, Tensor* slot2) {
  UpdateWork work{variable->dtype(), variable->num_elements(), 0, {}, gradient.address(), {}};
  Tensor* const state[] = {variable, slot0, slot1, slot2};
  for (int s = 0; s <= kMaxOptimizerSlots; ++s) {
    if (state[s] != nullptr) work.state[s] = state[s]->address();
  }
  Tensor memory;
  if (indices != nullptr) {
    if (variable->num_elements() == 0) return absl::OkStatus();
    work.row_size = variable->num_elements() / variable->dim(0);
    work.count = indices->num_elements() * work.row_size;
    ASSIGN_OR_RETURN(work.runs,
                     SortIndices(ctx, *indices, variable->dim(0), BadIndices::kSkip, memory));
  }
  return VisitComputeType<kFloating | kComplex>(variable->dtype(), [&]<typename A>() {
    return Update<A>(ctx, step, work).RunRule(step.rule);
  });
}
REGISTER_CUDA_PRIMITIVE(OptimizerUpdate, RunOptimizerUpdate);

}  // namespace
}  // namespace tessera::cuda
