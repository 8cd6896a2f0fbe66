// CollectiveReduce: every member of a group gives a tensor, and gets the sum of all, or their
// product, least or greatest. The members are nodes of one run, on any of its devices; they meet on
// the host.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/blocking_resource.h"
#include "runtime/kernels/data_flow/collective_group.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

enum class Merge : uint8_t { kAdd, kMul, kMin, kMax };

absl::StatusOr<Merge> ParseMerge(const std::string& name) {
  if (name == "Add") return Merge::kAdd;
  if (name == "Mul") return Merge::kMul;
  if (name == "Min") return Merge::kMin;
  if (name == "Max") return Merge::kMax;
  return absl::InvalidArgumentError(absl::StrCat("merge_op is '", name, "'"));
}

template <typename T>
void MergeInto(Merge merge, const T* from, T* to, int64_t count) {
  const auto apply = [&](auto function) { std::transform(to, to + count, from, to, function); };
  switch (merge) {
    case Merge::kAdd:
      return apply([](T a, T b) { return static_cast<T>(a + b); });
    case Merge::kMul:
      return apply([](T a, T b) { return static_cast<T>(a * b); });
    case Merge::kMin:
      return apply([](T a, T b) { return b < a ? b : a; });
    case Merge::kMax:
      return apply([](T a, T b) { return a < b ? b : a; });
  }
}

// One reduction: the place where its members meet.
class Reduction final : public BlockingResource {
 public:
  static constexpr char kTypeName[] = "collective_reduction";
  struct Options {
    int64_t size = 0;
    Merge merge = Merge::kAdd;
    bool divide = false;  // by the number of members
    friend bool operator==(const Options&, const Options&) = default;
  };

  // `on_complete` is called once, before the first member is done.
  Reduction(const Options& options, std::function<void()> on_complete)
      : BlockingResource({Order::kAny}), options_(options), on_complete_(std::move(on_complete)) {}
  std::string DebugString() const override { return kTypeName; }

  // Adds a member, whose context must live until it is done. *output gets the result when all have
  // come. `name` decides on the place of the member in the order of merging, so that the bits of a
  // sum do not depend on who comes first.
  // Errors: INVALID_ARGUMENT, for all members, if they do not fit together.
  void Join(const Options& options, std::string name, KernelContext& ctx, Done done) {
    auto attempt = [this, options, name = std::move(name), &ctx, output = &ctx.output(0),
                    has_joined = false]() mutable -> std::optional<absl::Status> {
      if (!std::exchange(has_joined, true)) Add(options, std::move(name), ctx);
      if (!status_.ok()) return status_;
      if (!result_.has_value()) return std::nullopt;
      *output = result_;
      return absl::OkStatus();
    };
    Run(/*lane=*/0, ctx.step().cancellation, std::move(attempt), std::move(done));
  }

 private:
  struct Member {
    std::string name;
    Tensor input;
  };

  void Add(const Options& options, std::string name, KernelContext& ctx) {
    const Tensor& input = ctx.input(0);
    NoteChange();
    if (!(options == options_)) {
      status_.Update(absl::InvalidArgumentError(
          "members of a collective reduction have different group sizes or operations"));
    } else if (static_cast<int64_t>(members_.size()) == options_.size) {
      status_.Update(absl::InvalidArgumentError(
          absl::StrCat("a collective reduction has more than ", options_.size, " members")));
    } else if (!members_.empty() && (input.dtype() != members_[0].input.dtype() ||
                                     !(input.shape() == members_[0].input.shape()))) {
      status_.Update(absl::InvalidArgumentError(
          absl::StrCat("members of a collective reduction give ", DTypeName(input.dtype()),
                       input.shape().ToString(), " and ", DTypeName(members_[0].input.dtype()),
                       members_[0].input.shape().ToString())));
    }
    members_.push_back({std::move(name), input});
    if (status_.ok() && static_cast<int64_t>(members_.size()) == options_.size) {
      status_ = Reduce(ctx);
    }
    if (!status_.ok() || result_.has_value()) {
      if (on_complete_ != nullptr) std::exchange(on_complete_, nullptr)();
    }
  }

  absl::Status Reduce(KernelContext& ctx) {
    std::sort(members_.begin(), members_.end(),
              [](const Member& a, const Member& b) { return a.name < b.name; });
    const Tensor& first = members_[0].input;
    ASSIGN_OR_RETURN(Tensor result, ctx.AllocateTemp(first.dtype(), first.shape()));
    RETURN_IF_ERROR(VisitRealType(result.dtype(), [&]<typename T>() -> absl::Status {
      const int64_t count = result.num_elements();
      T* const to = result.data<T>();
      std::copy_n(first.data<T>(), count, to);
      for (size_t i = 1; i < members_.size(); ++i) {
        MergeInto(options_.merge, members_[i].input.data<T>(), to, count);
      }
      if (options_.divide) {
        const T size = static_cast<T>(options_.size);
        std::transform(to, to + count, to, [size](T sum) { return static_cast<T>(sum / size); });
      }
      return absl::OkStatus();
    }));
    result_ = std::move(result);
    return absl::OkStatus();
  }

  const Options options_;
  std::function<void()> on_complete_;
  std::vector<Member> members_;
  Tensor result_;
  absl::Status status_;
};

// Errors: those of Reduction; INVALID_ARGUMENT unless the size of the group is positive.
class CollectiveReduceKernel final : public AsyncOpKernel {
 public:
  explicit CollectiveReduceKernel(const KernelBuild& build)
      : name_(build.node_name()), has_inputs_(!build.has_attr("group_size")) {
    if (!has_inputs_) {
      options_.size = build.attr<int64_t>("group_size");
      build.Fail(CheckGroupSizeIsPositive(options_.size));
      key_ = Key(build.attr<int64_t>("group_key"), build.attr<int64_t>("instance_key"));
    }
    options_.divide = build.attr<std::string>("final_op") == "Div";
    absl::StatusOr<Merge> merge = ParseMerge(build.attr<std::string>("merge_op"));
    if (merge.ok()) {
      options_.merge = *merge;
    } else {
      build.Fail(merge.status());
    }
  }

  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    Reduction::Options options = options_;
    std::string key = key_;
    absl::StatusOr<IntrusivePtr<Resource>> meeting = Meet(ctx, &options, &key);
    if (!meeting.ok()) return done(meeting.status());
    std::string member =
        absl::StrCat(ctx.device() == nullptr ? "" : ctx.device()->full_name(), " ", name_);
    auto& reduction = static_cast<Reduction&>(**meeting);
    // The meeting lives until all of its members are done.
    reduction.Join(options, std::move(member), ctx,
                   [meeting = *meeting, done = std::move(done)](absl::Status status) {
                     done(std::move(status));
                   });
  }

 private:
  static std::string Key(int64_t group, int64_t instance) {
    return absl::StrCat(group, ";", instance);
  }

  absl::StatusOr<IntrusivePtr<Resource>> Meet(KernelContext& ctx, Reduction::Options* options,
                                              std::string* key) const {
    if (has_inputs_) {
      ASSIGN_OR_RETURN(options->size, ReadIndexScalar(ctx.input(1), "group_size"));
      RETURN_IF_ERROR(CheckGroupSizeIsPositive(options->size));
      ASSIGN_OR_RETURN(const int64_t group, ReadIndexScalar(ctx.input(2), "group_key"));
      ASSIGN_OR_RETURN(const int64_t instance, ReadIndexScalar(ctx.input(3), "instance_key"));
      *key = Key(group, instance);
    }
    ResourceManager* const resources = ctx.step().step_resources;
    // The next reduction of the same key, in a loop, gets a meeting of its own.
    auto forget = [resources, key = *key] {
      resources->Delete("", Reduction::kTypeName, key).IgnoreError();
    };
    return resources->LookupOrCreate(
        "", Reduction::kTypeName, *key, [&]() -> absl::StatusOr<IntrusivePtr<Resource>> {
          return IntrusivePtr<Resource>(MakeRefCounted<Reduction>(*options, std::move(forget)));
        });
  }

  const std::string name_;
  const bool has_inputs_;
  Reduction::Options options_;
  std::string key_;
};
REGISTER_KERNEL("CollectiveReduce", kCpu, CollectiveReduceKernel);
REGISTER_KERNEL("CollectiveReduceV2", kCpu, CollectiveReduceKernel);

}  // namespace
}  // namespace tessera
