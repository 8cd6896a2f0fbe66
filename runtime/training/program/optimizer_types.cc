#include "runtime/training/program/optimizer_types.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

// Defaults are those of the class in tf.compat.v1.train, or, for those that only Keras has, of
// tf.keras.optimizers; AddSign and PowerSign are those of their paper,
// https://arxiv.org/abs/1709.07417.
constexpr OptimizerParameter kZero = {"", "", 0};
constexpr OptimizerParameter kOne = {"", "", 1};
constexpr OptimizerParameter kAccumulator = {"", "initial_accumulator", 0.1};

constexpr OptimizerSlot kMomentumSlots[] = {{"accum", kZero}};
constexpr OptimizerSlot kAdagradSlots[] = {{"accum", kAccumulator}};
constexpr OptimizerSlot kAdadeltaSlots[] = {{"accum", kZero}, {"accum_update", kZero}};
constexpr OptimizerSlot kAdamSlots[] = {{"m", kZero}, {"v", kZero}};
constexpr OptimizerSlot kAmsgradSlots[] = {{"m", kZero}, {"v", kZero}, {"vhat", kZero}};
constexpr OptimizerSlot kRmsPropSlots[] = {{"ms", kOne}, {"mom", kZero}};
constexpr OptimizerSlot kCenteredSlots[] = {{"ms", kOne}, {"mg", kZero}, {"mom", kZero}};
constexpr OptimizerSlot kFtrlSlots[] = {{"accum", kAccumulator}, {"linear", kZero}};
constexpr OptimizerSlot kSignSlots[] = {{"m", kZero}};

constexpr OptimizerParameter kMomentum[] = {{"momentum", "momentum", 0.9}};
constexpr OptimizerParameter kAdadelta[] = {{"rho", "rho", 0.95}, {"epsilon", "epsilon", 1e-8}};
constexpr OptimizerParameter kAdam[] = {
    {"beta1", "beta1", 0.9}, {"beta2", "beta2", 0.999}, {"epsilon", "epsilon", 1e-8}};
constexpr OptimizerParameter kKerasAdam[] = {
    {"beta1", "beta1", 0.9}, {"beta2", "beta2", 0.999}, {"epsilon", "epsilon", 1e-7}};
constexpr OptimizerParameter kAdamW[] = {{"beta1", "beta1", 0.9},
                                         {"beta2", "beta2", 0.999},
                                         {"epsilon", "epsilon", 1e-7},
                                         {"", "weight_decay", 0.004}};
constexpr OptimizerParameter kLamb[] = {{"beta1", "beta1", 0.9},
                                        {"beta2", "beta2", 0.999},
                                        {"epsilon", "epsilon", 1e-7},
                                        {"", "weight_decay", 0}};
constexpr OptimizerParameter kRmsProp[] = {
    {"rho", "decay", 0.9}, {"momentum", "momentum", 0}, {"epsilon", "epsilon", 1e-10}};
constexpr OptimizerParameter kFtrl[] = {
    {"l1", "l1", 0}, {"l2", "l2", 0}, {"lr_power", "learning_rate_power", -0.5}};
constexpr OptimizerParameter kProximal[] = {{"l1", "l1", 0}, {"l2", "l2", 0}};
constexpr OptimizerParameter kAddSign[] = {
    {"alpha", "", 1}, {"sign_decay", "", 1}, {"beta", "beta1", 0.9}};
constexpr OptimizerParameter kPowerSign[] = {
    {"logbase", "", 1}, {"sign_decay", "", 1}, {"beta", "beta1", 0.9}};

constexpr OptimizerType kTypes[] = {
    {.type = "sgd", .rule = "GradientDescent", .learning_rate = "alpha"},
    {.type = "momentum",
     .rule = "Momentum",
     .slot_name = "Momentum",
     .slots = kMomentumSlots,
     .parameters = kMomentum},
    {.type = "nesterov",
     .rule = "Momentum",
     .slot_name = "Momentum",
     .slots = kMomentumSlots,
     .parameters = kMomentum,
     .nesterov = true},
    {.type = "adagrad", .rule = "Adagrad", .slot_name = "Adagrad", .slots = kAdagradSlots},
    {.type = "adadelta",
     .rule = "Adadelta",
     .slot_name = "Adadelta",
     .slots = kAdadeltaSlots,
     .parameters = kAdadelta},
    {.type = "adam",
     .rule = "Adam",
     .slot_name = "Adam",
     .slots = kAdamSlots,
     .parameters = kAdam,
     .sparse = false,
     .powers = 2},
    {.type = "adamw",
     .rule = "Adam",
     .slot_name = "AdamW",
     .slots = kAdamSlots,
     .parameters = kAdamW,
     .sparse = false,
     .powers = 2,
     .decays_weights = true},
    {.type = "adamax",
     .rule = "AdaMax",
     .slot_name = "AdaMax",
     .slots = kAdamSlots,
     .parameters = kKerasAdam,
     .sparse = false,
     .powers = 1},
    {.type = "amsgrad",
     .rule = "AdamWithAmsgrad",
     .slot_name = "AMSGrad",
     .slots = kAmsgradSlots,
     .parameters = kKerasAdam,
     .sparse = false,
     .powers = 2},
    {.type = "lamb",
     .rule = "Lamb",
     .slot_name = "LAMB",
     .slots = kAdamSlots,
     .parameters = kLamb,
     .sparse = false,
     .powers = 2,
     .decays_weights = true},
    {.type = "rmsprop",
     .rule = "RMSProp",
     .slot_name = "RMSProp",
     .slots = kRmsPropSlots,
     .parameters = kRmsProp},
    {.type = "rmsprop_centered",
     .rule = "CenteredRMSProp",
     .slot_name = "RMSProp",
     .slots = kCenteredSlots,
     .parameters = kRmsProp},
    {.type = "ftrl", .rule = "Ftrl", .slot_name = "Ftrl", .slots = kFtrlSlots, .parameters = kFtrl},
    {.type = "proximal_sgd",
     .rule = "ProximalGradientDescent",
     .parameters = kProximal,
     .learning_rate = "alpha"},
    {.type = "proximal_adagrad",
     .rule = "ProximalAdagrad",
     .slot_name = "ProximalAdagrad",
     .slots = kAdagradSlots,
     .parameters = kProximal},
    {.type = "add_sign",
     .rule = "AddSign",
     .slot_name = "AddSignOptimizer",
     .slots = kSignSlots,
     .parameters = kAddSign,
     .sparse = false},
    {.type = "power_sign",
     .rule = "PowerSign",
     .slot_name = "PowerSignOptimizer",
     .slots = kSignSlots,
     .parameters = kPowerSign,
     .sparse = false},
};

// The fields of the spec that a type reads.
std::vector<std::string> FieldsOf(const OptimizerType& type) {
  std::vector<std::string> fields;
  for (const OptimizerParameter& parameter : type.parameters) {
    if (!parameter.field.empty()) fields.emplace_back(parameter.field);
  }
  for (const OptimizerSlot& slot : type.slots) {
    if (!slot.first_value.field.empty()) fields.emplace_back(slot.first_value.field);
  }
  return fields;
}

// The values that a field of training::OptimizerSpec may have, whichever type has it.
struct FieldRange {
  absl::string_view field;
  double least, most;
  bool has_most;  // whether `most` itself may be had
  absl::string_view text;
};
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr FieldRange kRanges[] = {
    {"beta1", 0, 1, false, "at least 0 and below 1"},
    {"beta2", 0, 1, false, "at least 0 and below 1"},
    {"rho", 0, 1, true, "in [0, 1]"},
    {"decay", 0, 1, true, "in [0, 1]"},
    {"momentum", 0, 1, true, "in [0, 1]"},
    {"epsilon", 0, kLargest, true, "at least 0"},
    {"weight_decay", 0, kLargest, true, "at least 0"},
    {"initial_accumulator", 0, kLargest, true, "at least 0"},
    {"l1", 0, kLargest, true, "at least 0"},
    {"l2", 0, kLargest, true, "at least 0"},
    {"learning_rate_power", -kLargest, 0, true, "at most 0"},
};

absl::Status CheckRange(absl::string_view field, double value) {
  for (const FieldRange& range : kRanges) {
    if (range.field != field) continue;
    if (value >= range.least && (range.has_most ? value <= range.most : value < range.most)) break;
    return absl::InvalidArgumentError(
        absl::StrCat("graph.optimizer.", field, " is ", value, ", but must be ", range.text));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const OptimizerType*> FindOptimizerType(absl::string_view type) {
  std::vector<std::string> known;
  for (const OptimizerType& each : kTypes) {
    if (each.type == type) return &each;
    known.emplace_back(each.type);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("graph.optimizer.type is '", type, "', which is no optimizer",
                   DidYouMean(type, known), " (there are ", absl::StrJoin(known, ", "), ")"));
}

double ValueOf(const OptimizerParameter& parameter, const training::OptimizerSpec& spec) {
  if (parameter.field.empty()) return parameter.default_value;
  const auto* field = spec.GetDescriptor()->FindFieldByName(std::string(parameter.field));
  const auto* reflection = spec.GetReflection();
  return reflection->HasField(spec, field) ? reflection->GetDouble(spec, field)
                                           : parameter.default_value;
}

absl::Status CheckParameters(const OptimizerType& type, const training::OptimizerSpec& spec) {
  const std::vector<std::string> known = FieldsOf(type);
  std::vector<const google::protobuf::FieldDescriptor*> set;
  spec.GetReflection()->ListFields(spec, &set);
  for (const auto* field : set) {
    if (field->name() == "type" || field->name() == "learning_rate") continue;
    if (std::find(known.begin(), known.end(), field->name()) != known.end()) {
      RETURN_IF_ERROR(CheckRange(field->name(), spec.GetReflection()->GetDouble(spec, field)));
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("graph.optimizer of type '", type.type, "' has no ", field->name(),
                     known.empty() ? "; it has a learning_rate alone"
                                   : absl::StrCat("; it has ", absl::StrJoin(known, ", "))));
  }
  return absl::OkStatus();
}

}  // namespace tessera
