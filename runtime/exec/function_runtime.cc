#include "runtime/exec/function_runtime.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/exec/kept_plans.h"
#include "runtime/exec/missing_kernels.h"
#include "runtime/exec/partitioned_executor.h"

namespace tessera {

// A function of the runtime. Handed out while it still compiles to functions that call it in turn;
// called only after that.
class LocalFunctionRuntime::Function final : public CallableFunction {
 public:
  explicit Function(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const absl::Status& status() const { return status_; }
  void SetSignature(std::vector<DType> arg_types, int num_results) {
    arg_types_ = std::move(arg_types);
    num_results_ = num_results;
  }
  void Finish(absl::StatusOr<std::unique_ptr<Executor>> executor) {
    status_ = executor.status();
    if (executor.ok()) executor_ = *std::move(executor);
  }

  int num_args() const override { return static_cast<int>(arg_types_.size()); }
  int num_results() const override { return num_results_; }
  bool may_wait() const override { return executor_ != nullptr && executor_->may_wait(); }

  absl::Status Call(StepContext& step, absl::Span<const Tensor> args,
                    std::vector<Tensor>* results) const override {
    RunArgs run;
    run.args = args;
    return Run(step, args, run, results);
  }

  absl::Status CallConsuming(StepContext& step, absl::Span<Tensor> args,
                             std::vector<Tensor>* results) const override {
    RunArgs run;
    run.consumed_args = args;
    return Run(step, args, run, results);
  }

  void CallAsync(StepContext& step, absl::Span<Tensor> args, std::vector<Tensor>* results,
                 std::function<void(absl::Status)> done) const override {
    absl::Status status = CheckCall(step, args);
    if (!status.ok()) {
      done(std::move(status));
      return;
    }
    results->clear();
    results->resize(num_results_);
    auto inner = std::make_shared<StepContext>(step);
    ++inner->call_depth;
    RunArgs run;
    run.consumed_args = args;
    run.results = results;
    executor_->RunAsync(*inner, run, [inner, done = std::move(done)](absl::Status status) {
      done(std::move(status));
    });
  }

 private:
  absl::Status Run(StepContext& step, absl::Span<const Tensor> args, RunArgs& run,
                   std::vector<Tensor>* results) const {
    if (absl::Status status = CheckCall(step, args); !status.ok()) [[unlikely]]
      return status;
    results->clear();
    results->resize(num_results_);
    run.results = results;
    StepContext inner = step;
    ++inner.call_depth;
    return executor_->Run(inner, run);
  }

  absl::Status CheckCall(const StepContext& step, absl::Span<const Tensor> args) const {
    if (executor_ == nullptr) {
      return status_.ok() ? absl::InternalError(
                                absl::StrCat("function '", name_, "' is called while it compiles"))
                          : status_;
    }
    if (args.size() != arg_types_.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "function '", name_, "' takes ", arg_types_.size(), " arguments, got ", args.size()));
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].dtype() == arg_types_[i]) [[likely]]
        continue;
      return absl::InvalidArgumentError(absl::StrCat("argument ", i, " of function '", name_,
                                                     "' must be ", DTypeName(arg_types_[i]),
                                                     ", is ", DTypeName(args[i].dtype())));
    }
    if (step.call_depth >= kMaxCallDepth) {
      return absl::ResourceExhaustedError(
          absl::StrCat("function '", name_, "' is called at depth ", step.call_depth,
                       ", the most that is allowed: does its recursion end?"));
    }
    return absl::OkStatus();
  }

  const std::string name_;
  std::vector<DType> arg_types_;
  int num_results_ = 0;
  absl::Status status_;
  std::unique_ptr<Executor> executor_;
};

LocalFunctionRuntime::LocalFunctionRuntime(Options options) : options_(std::move(options)) {}
LocalFunctionRuntime::~LocalFunctionRuntime() = default;

// Attributes that the signature does not declare (of the system, or left over from a call) do not
// make another function.
std::string LocalFunctionRuntime::KeyOf(const FunctionRef& ref, const FunctionUse& use,
                                        const OpDef& signature) const {
  std::string key =
      absl::StrCat(ref.name, "\n", use.device->full_name(), use.results_on_host ? " to host" : "");
  for (const AttrDef& attr : signature.attrs) {
    auto it = ref.attrs.find(attr.name);
    if (it != ref.attrs.end()) absl::StrAppend(&key, "\n", attr.name, "=", it->second.ToString());
  }
  return key;
}

absl::StatusOr<const CallableFunction*> LocalFunctionRuntime::Instantiate(const FunctionRef& ref,
                                                                          const FunctionUse& use) {
  const OpDef* const signature =
      options_.library == nullptr ? nullptr : options_.library->FindSignature(ref.name);
  if (signature == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("function '", ref.name, "' is not in the graph's library"));
  }
  if (use.device == nullptr) {
    return Instantiate(ref, {.device = host(), .results_on_host = use.results_on_host});
  }
  const std::string key = KeyOf(ref, use, *signature);
  std::lock_guard<std::recursive_mutex> lock(mu_);
  auto it = functions_.find(key);
  if (it != functions_.end()) {
    RETURN_IF_ERROR(it->second->status());
    return it->second.get();
  }
  if (compile_depth_ >= kMaxCompileDepth) {
    return absl::ResourceExhaustedError(
        absl::StrCat("function '", ref.name, "' is too deep among functions that call functions: ",
                     kMaxCompileDepth, " levels can be compiled"));
  }
  Function* const function =
      functions_.emplace(key, std::make_unique<Function>(ref.name)).first->second.get();
  ++compile_depth_;
  const absl::Status status = Build(key, ref, use, function);
  --compile_depth_;
  RETURN_IF_ERROR(status);
  return function;
}

namespace {

absl::Status InFunction(const std::string& name, const absl::Status& status) {
  MissingKernels missing;
  if (missing.Merge(status, absl::StrCat(name, "/"))) return missing.ToStatus();
  return Annotate(status, absl::StrCat("in function '", name, "': "));
}

}  // namespace

Device* LocalFunctionRuntime::host() const {
  for (Device* device : options_.planning.devices) {
    if (device->type() == kCpu) return device;
  }
  return nullptr;
}

absl::Status LocalFunctionRuntime::Build(const std::string& key, const FunctionRef& ref,
                                         const FunctionUse& use, Function* function) {
  auto build = [&]() -> absl::StatusOr<std::unique_ptr<Executor>> {
    const auto body = [&]() -> absl::StatusOr<PlanInput> {
      ASSIGN_OR_RETURN(FunctionBody instantiated, options_.library->Instantiate(ref));
      return PlanInput{.graph = std::move(instantiated.graph),
                       .args = std::move(instantiated.args),
                       .results = std::move(instantiated.results),
                       .targets = std::move(instantiated.control_results)};
    };
    PlanOptions planning = options_.planning;
    planning.caller = use.device;
    planning.results_on_host = use.results_on_host;
    const std::string plan_key = PlanKey("function\n" + key, planning);
    ASSIGN_OR_RETURN(Plan plan, FindOrMakePlan(plan_key, planning, body));
    function->SetSignature(plan.arg_types, plan.num_results);
    CompileOptions options;
    options.kind = options_.executor == ExecutorKind::kDataflow ? ExecutorKind::kDataflow
                                                                : ExecutorKind::kAuto;
    options.functions = this;
    options.numerics = options_.numerics;
    options.pool = planning.pool;
    ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor,
                     CompilePlan(plan, planning.devices, PartsMeet::kInCall, options));
    KeepPlan(plan_key, planning, std::move(plan));
    return executor;
  };
  absl::StatusOr<std::unique_ptr<Executor>> executor = build();
  if (!executor.ok()) executor = InFunction(ref.name, executor.status());
  function->Finish(std::move(executor));
  return function->status();
}

}  // namespace tessera
