#include "runtime/training/program/schedules.h"

#include <algorithm>
#include <numbers>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

using training::ScheduleSpec;

// The rate of a step after the warm-up.
struct ScheduleInput {
  const ScheduleSpec& spec;
  double base;
  double decay_steps;  // over 0
  Expr step;           // since the end of the warm-up, float
  Expr global_step;    // int64
};

Expr Constant(const ScheduleInput& in) { return in.step.builder()->Scalar(DType::kFloat, in.base); }

// The number of decays so far.
Expr Decays(const ScheduleInput& in) {
  const Expr decays = in.step / in.decay_steps;
  return in.spec.staircase() ? Call("Floor", {decays}) : decays;
}

Expr Exponential(const ScheduleInput& in) {
  const Expr rate = in.step.builder()->Scalar(DType::kFloat, in.spec.decay_rate());
  return in.base * Call("Pow", {rate, Decays(in)});
}

Expr InverseTime(const ScheduleInput& in) {
  return in.base / (1 + in.spec.decay_rate() * Decays(in));
}

// How much of the decay is over, in [0, 1].
Expr Completed(const ScheduleInput& in) {
  const Expr all = in.step.builder()->Scalar(DType::kFloat, in.decay_steps);
  return Call("Minimum", {in.step, all}) / in.decay_steps;
}

Expr Polynomial(const ScheduleInput& in) {
  const double power = in.spec.power() == 0 ? 1 : in.spec.power();
  const Expr left = 1 - Completed(in);
  const double end = in.spec.end_learning_rate();
  return (in.base - end) * Call("Pow", {left, in.step.builder()->Scalar(DType::kFloat, power)}) +
         end;
}

Expr Cosine(const ScheduleInput& in) {
  const Expr cosine = Call("Cos", {std::numbers::pi * Completed(in)});
  const double end = in.spec.end_learning_rate();
  return (in.base - end) * (0.5 * (1 + cosine)) + end;
}

Expr Piecewise(const ScheduleInput& in) {
  GraphBuilder& build = *in.step.builder();
  Expr rate = build.Scalar(DType::kFloat, in.spec.values(0));
  for (int i = 0; i < in.spec.boundaries_size(); ++i) {
    const Expr boundary = build.Constant(Tensor::Scalar<int64_t>(in.spec.boundaries(i)));
    const Expr value = build.Scalar(DType::kFloat, in.spec.values(i + 1));
    rate = Where(Call("Greater", {in.global_step, boundary}), value, rate);
  }
  return rate;
}

struct ScheduleType {
  const char* type;
  Expr (*rate)(const ScheduleInput& in);
  bool needs_decay_rate = false;
  bool needs_decay_steps = false;  // by the spec alone
  bool ends = false;               // after decay_steps, or with the job
};
constexpr ScheduleType kSchedules[] = {
    {"constant", Constant},
    {"exponential", Exponential, true, true},
    {"inverse_time", InverseTime, true, true},
    {"polynomial", Polynomial, false, false, true},
    {"cosine", Cosine, false, false, true},
    {"piecewise", Piecewise},
};

absl::StatusOr<const ScheduleType*> FindSchedule(const ScheduleSpec& spec) {
  const std::string type = spec.type().empty() ? "constant" : spec.type();
  std::vector<std::string> known;
  for (const ScheduleType& each : kSchedules) {
    if (type == each.type) return &each;
    known.push_back(each.type);
  }
  return absl::InvalidArgumentError(absl::StrCat("graph.schedule.type is '", type,
                                                 "', which is no schedule", DidYouMean(type, known),
                                                 " (there are ", absl::StrJoin(known, ", "), ")"));
}

absl::Status Check(const ScheduleSpec& spec, const ScheduleType& schedule, double decay_steps) {
  const auto invalid = [&](const std::string& what) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph.schedule of type '", schedule.type, "' ", what));
  };
  if (spec.warmup_steps() < 0) return invalid("has a negative number of warmup_steps");
  if (schedule.needs_decay_rate && spec.decay_rate() <= 0) {
    return invalid("needs decay_rate, over 0");
  }
  if (schedule.needs_decay_steps && spec.decay_steps() <= 0) {
    return invalid("needs decay_steps, over 0");
  }
  if (schedule.ends && decay_steps <= 0) {
    return invalid("needs decay_steps, since the number of steps after the warm-up is not known");
  }
  const auto& boundaries = spec.boundaries();
  if (schedule.rate == Piecewise) {
    if (spec.values_size() != boundaries.size() + 1) {
      return invalid(absl::StrCat("needs one value more than boundaries, not ", spec.values_size(),
                                  " values and ", boundaries.size(), " boundaries"));
    }
    if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
      return invalid("has boundaries that are not in order");
    }
  } else if (!boundaries.empty() || spec.values_size() > 0) {
    return invalid("takes no boundaries and values; 'piecewise' does");
  }
  return absl::OkStatus();
}

double DecaySteps(const ScheduleSpec& spec, int64_t steps) {
  return static_cast<double>(spec.decay_steps() > 0 ? spec.decay_steps()
                                                    : steps - spec.warmup_steps());
}

}  // namespace

absl::Status CheckSchedule(const ScheduleSpec& spec, int64_t steps) {
  ASSIGN_OR_RETURN(const ScheduleType* const schedule, FindSchedule(spec));
  return Check(spec, *schedule, DecaySteps(spec, steps));
}

absl::StatusOr<Expr> AddLearningRate(const ScheduleSpec& spec, double base, int64_t steps,
                                     GraphBuilder& build, const Expr& global_step) {
  RETURN_IF_ERROR(CheckSchedule(spec, steps));
  ASSIGN_OR_RETURN(const ScheduleType* const schedule, FindSchedule(spec));
  const double warmup = static_cast<double>(spec.warmup_steps());
  const Expr step = CastTo(global_step, DType::kFloat);
  const Expr since_warmup =
      warmup == 0 ? step : Call("Maximum", {step - warmup, build.Scalar(DType::kFloat, 0)});
  Expr rate = schedule->rate({spec, base, DecaySteps(spec, steps), since_warmup, global_step});
  if (warmup > 0) {
    const double target = schedule->rate == Piecewise ? spec.values(0) : base;
    rate = Where(Call("Less", {step, build.Scalar(DType::kFloat, warmup)}),
                 target * (step / warmup), rate);
  }
  RETURN_IF_ERROR(build.status());
  return rate;
}

}  // namespace tessera
