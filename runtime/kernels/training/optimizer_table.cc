#include "runtime/kernels/training/optimizer_table.h"

#include "absl/strings/strip.h"

namespace tessera {
namespace {

constexpr OptimizerScalar kGradientDescent[] = {{"alpha"}};
constexpr OptimizerScalar kMomentum[] = {{"lr"}, {"momentum"}};
constexpr OptimizerScalar kAdagrad[] = {{"lr"}};
constexpr OptimizerScalar kAdagradV2[] = {{"lr"}, {"epsilon"}};
constexpr OptimizerScalar kAdagradDa[] = {{"lr"}, {"l1"}, {"l2"}, {"global_step"}};
constexpr OptimizerScalar kAdadelta[] = {{"lr"}, {"rho"}, {"epsilon"}};
constexpr OptimizerScalar kAdam[] = {{"lr"},      {"beta1"},       {"beta2"},
                                     {"epsilon"}, {"beta1_power"}, {"beta2_power"}};
constexpr OptimizerScalar kAdaMax[] = {{"lr"}, {"beta1"}, {"beta2"}, {"epsilon"}, {"beta1_power"}};
constexpr OptimizerScalar kRmsProp[] = {{"lr"}, {"rho"}, {"momentum"}, {"epsilon"}};
constexpr OptimizerScalar kFtrl[] = {{"lr", ScalarLimit::kPositive},
                                     {"l1", ScalarLimit::kNotNegative},
                                     {"l2", ScalarLimit::kNotNegative},
                                     {"lr_power", ScalarLimit::kNotPositive}};
constexpr OptimizerScalar kFtrlV2[] = {{"lr", ScalarLimit::kPositive},
                                       {"l1", ScalarLimit::kNotNegative},
                                       {"l2", ScalarLimit::kNotNegative},
                                       {"lr_power", ScalarLimit::kNotPositive},
                                       {"l2_shrinkage", ScalarLimit::kNotNegative}};
constexpr OptimizerScalar kProximalAdagrad[] = {{"lr", ScalarLimit::kPositive},
                                                {"l1", ScalarLimit::kNotNegative},
                                                {"l2", ScalarLimit::kNotNegative}};
constexpr OptimizerScalar kProximalGradientDescent[] = {{"alpha"}, {"l1"}, {"l2"}};
constexpr OptimizerScalar kAddSign[] = {{"lr"}, {"alpha"}, {"sign_decay"}, {"beta"}};
constexpr OptimizerScalar kPowerSign[] = {{"lr"}, {"logbase"}, {"sign_decay"}, {"beta"}};

constexpr OptimizerOp kOptimizers[] = {
    {"AdaMax", OptimizerRule::kAdaMax, kAdaMax},
    {"Adadelta", OptimizerRule::kAdadelta, kAdadelta},
    {"Adagrad", OptimizerRule::kAdagrad, kAdagrad, "update_slots"},
    {"AdagradDA", OptimizerRule::kAdagradDa, kAdagradDa},
    {"AdagradV2", OptimizerRule::kAdagrad, kAdagradV2, "update_slots"},
    {"Adam", OptimizerRule::kAdam, kAdam, "use_nesterov"},
    {"AdamWithAmsgrad", OptimizerRule::kAdamWithAmsgrad, kAdam},
    {"AddSign", OptimizerRule::kAddSign, kAddSign},
    {"CenteredRMSProp", OptimizerRule::kCenteredRmsProp, kRmsProp},
    {"Ftrl", OptimizerRule::kFtrl, kFtrl, "multiply_linear_by_lr", true},
    {"FtrlV2", OptimizerRule::kFtrl, kFtrlV2, "multiply_linear_by_lr", true},
    {"GradientDescent", OptimizerRule::kGradientDescent, kGradientDescent},
    {"KerasMomentum", OptimizerRule::kKerasMomentum, kMomentum, "use_nesterov"},
    {"Momentum", OptimizerRule::kMomentum, kMomentum, "use_nesterov"},
    {"PowerSign", OptimizerRule::kPowerSign, kPowerSign},
    {"ProximalAdagrad", OptimizerRule::kProximalAdagrad, kProximalAdagrad},
    {"ProximalGradientDescent", OptimizerRule::kProximalGradientDescent, kProximalGradientDescent},
    {"RMSProp", OptimizerRule::kRmsProp, kRmsProp},
};

}  // namespace

const OptimizerOp* FindOptimizer(absl::string_view op) {
  absl::ConsumePrefix(&op, "Resource");
  absl::ConsumePrefix(&op, "Sparse");
  if (!absl::ConsumePrefix(&op, "Apply")) return nullptr;
  for (const OptimizerOp& optimizer : kOptimizers) {
    if (optimizer.name == op) return &optimizer;
  }
  return nullptr;
}

}  // namespace tessera
