// CollectiveReduce: every member of a group gives a tensor, and gets the sum of all, or their
// product, least or greatest. The members are nodes of one run, on any of its devices, which reduce
// among each other if they can, and by way of the host otherwise.
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
#include "runtime/kernels/primitives/all_reduce.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

absl::StatusOr<AllReduce::Merge> ParseMerge(const std::string& name) {
  if (name == "Add") return AllReduce::Merge::kAdd;
  if (name == "Mul") return AllReduce::Merge::kMul;
  if (name == "Min") return AllReduce::Merge::kMin;
  if (name == "Max") return AllReduce::Merge::kMax;
  return absl::InvalidArgumentError(absl::StrCat("merge_op is '", name, "'"));
}

absl::string_view DeviceTypeOf(const KernelContext& ctx) {
  return ctx.device() == nullptr ? absl::string_view(kCpu) : ctx.device()->type();
}

// Reduces on the host what lies on any devices.
absl::Status ReduceOnHost(const AllReduce::Options& options,
                          absl::Span<const AllReduce::Member> members,
                          std::vector<Tensor>* results) {
  std::vector<AllReduce::Member> on_host(members.begin(), members.end());
  for (AllReduce::Member& member : on_host) {
    if (IsHostAccessible(member.input.memory_kind())) continue;
    const Tensor on_device = member.input;
    ASSIGN_OR_RETURN(member.input, member.ctx->AllocateTemp(on_device.dtype(), on_device.shape(),
                                                            MemoryKind::kPinned));
    member.ctx->stream()->Copy(on_device, &member.input);
  }
  for (const AllReduce::Member& member : on_host) {
    if (member.ctx->stream() != nullptr) RETURN_IF_ERROR(member.ctx->stream()->Synchronize());
  }
  std::vector<Tensor> reduced;
  RETURN_IF_ERROR(PrimitiveImplementations<AllReduce>::Find(kCpu)(options, on_host, &reduced));
  for (size_t i = 0; i < members.size(); ++i) {
    KernelContext& ctx = *members[i].ctx;
    if (IsHostAccessible(members[i].input.memory_kind())) {
      results->push_back(std::move(reduced[i]));
      continue;
    }
    ASSIGN_OR_RETURN(Tensor result, ctx.AllocateTemp(reduced[i].dtype(), reduced[i].shape()));
    ctx.stream()->Copy(reduced[i], &result);
    results->push_back(std::move(result));
  }
  return absl::OkStatus();
}

// By the devices among each other, if they can.
absl::Status ReduceAll(const AllReduce::Options& options,
                       absl::Span<const AllReduce::Member> members, std::vector<Tensor>* results) {
  const absl::string_view type = DeviceTypeOf(*members[0].ctx);
  const bool is_one_type = std::all_of(
      members.begin(), members.end(),
      [&](const AllReduce::Member& member) { return DeviceTypeOf(*member.ctx) == type; });
  auto* const reduce = PrimitiveImplementations<AllReduce>::Find(type);
  if (is_one_type && reduce != nullptr) {
    const absl::Status status = reduce(options, members, results);
    if (!absl::IsUnimplemented(status) || type == kCpu) return status;
  }
  return ReduceOnHost(options, members, results);
}

// One reduction: the place where its members meet.
class Reduction final : public BlockingResource {
 public:
  static constexpr char kTypeName[] = "collective_reduction";
  struct Options {
    int64_t size = 0;
    AllReduce::Options reduce;
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
    auto attempt = [this, options, name, &ctx,
                    has_joined = false]() mutable -> std::optional<absl::Status> {
      if (!std::exchange(has_joined, true)) Add(options, name, ctx);
      if (!status_.ok()) return status_;
      if (results_.empty()) return std::nullopt;
      for (size_t i = 0; i < members_.size(); ++i) {
        if (members_[i].member.ctx == &ctx) ctx.output(0) = results_[i];
      }
      return absl::OkStatus();
    };
    // The context of a member that is cancelled is gone when the others come.
    auto leave = [this] { status_.Update(absl::CancelledError("a member is cancelled")); };
    Run(/*lane=*/0, ctx.step().cancellation, std::move(attempt), std::move(done), std::move(leave));
  }

 private:
  struct NamedMember {
    std::string name;
    AllReduce::Member member;
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
    } else if (!members_.empty()) {
      const Tensor& first = members_[0].member.input;
      if (input.dtype() != first.dtype() || !(input.shape() == first.shape())) {
        status_.Update(absl::InvalidArgumentError(
            absl::StrCat("members of a collective reduction give ", DTypeName(input.dtype()),
                         input.shape().ToString(), " and ", DTypeName(first.dtype()),
                         first.shape().ToString())));
      }
    }
    members_.push_back({std::move(name), {&ctx, input}});
    if (status_.ok() && static_cast<int64_t>(members_.size()) == options_.size) {
      std::sort(members_.begin(), members_.end(),
                [](const NamedMember& a, const NamedMember& b) { return a.name < b.name; });
      std::vector<AllReduce::Member> members;
      for (const NamedMember& named : members_) members.push_back(named.member);
      status_ = ReduceAll(options_.reduce, members, &results_);
    }
    if (!status_.ok() || !results_.empty()) {
      if (on_complete_ != nullptr) std::exchange(on_complete_, nullptr)();
    }
  }

  const Options options_;
  std::function<void()> on_complete_;
  std::vector<NamedMember> members_;
  std::vector<Tensor> results_;  // by member, once all have come
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
    options_.reduce.divide = build.attr<std::string>("final_op") == "Div";
    const absl::StatusOr<AllReduce::Merge> merge = ParseMerge(build.attr<std::string>("merge_op"));
    if (merge.ok()) {
      options_.reduce.merge = *merge;
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
      ASSIGN_OR_RETURN(options->size, ReadIntegerOfScalar(ctx.input(1), "group_size"));
      RETURN_IF_ERROR(CheckGroupSizeIsPositive(options->size));
      ASSIGN_OR_RETURN(const int64_t group, ReadIntegerOfScalar(ctx.input(2), "group_key"));
      ASSIGN_OR_RETURN(const int64_t instance, ReadIntegerOfScalar(ctx.input(3), "instance_key"));
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
REGISTER_KERNEL("CollectiveReduce", kAnyDevice, CollectiveReduceKernel);
REGISTER_KERNEL("CollectiveReduceV2", kAnyDevice, CollectiveReduceKernel)
    .HostMemory("group_size")
    .HostMemory("group_key")
    .HostMemory("instance_key");

}  // namespace
}  // namespace tessera
