#include "runtime/data/pipeline_control.h"

#include <utility>

namespace tessera {
namespace {

constexpr absl::string_view kContainer = "";
constexpr absl::string_view kTypeName = "pipeline_control";
constexpr absl::string_view kName = "pipelines";

// Requires a resource that MakeIn() made: nothing else makes one of this type name.
IntrusivePtr<PipelineControl> Typed(const IntrusivePtr<Resource>& resource) {
  return IntrusivePtr<PipelineControl>(static_cast<PipelineControl*>(resource.get()));
}

}  // namespace

IntrusivePtr<PipelineControl> PipelineControl::MakeIn(ResourceManager& resources) {
  const auto made = resources.LookupOrCreate(kContainer, kTypeName, kName, [] {
    return absl::StatusOr<IntrusivePtr<Resource>>(IntrusivePtr<Resource>(new PipelineControl()));
  });
  return Typed(made.value());  // the function has no error
}

IntrusivePtr<PipelineControl> PipelineControl::FindIn(const ResourceManager& resources) {
  const auto found = resources.Lookup(kContainer, kTypeName, kName);
  return found.ok() ? Typed(*found) : IntrusivePtr<PipelineControl>();
}

ElementStep::ElementStep(const StepContext& step)
    : control_(step.resources == nullptr ? IntrusivePtr<PipelineControl>()
                                         : PipelineControl::FindIn(*step.resources)),
      step_cancellation_(step.cancellation),
      context_(step) {
  if (!control_) return;
  context_.cancellation = &both_;
  follows_control_ = Follow(&control_->stop(), &control_token_);
  if (step_cancellation_ != nullptr) follows_step_ = Follow(step_cancellation_, &step_token_);
}

ElementStep::~ElementStep() {
  if (follows_control_) control_->stop().Deregister(control_token_);
  if (follows_step_) step_cancellation_->Deregister(step_token_);
}

bool ElementStep::Follow(CancellationManager* cause, CancellationManager::Token* token) {
  const bool is_registered = cause->Register([this] { both_.Cancel(); }, token);
  if (!is_registered) both_.Cancel();
  return is_registered;
}

}  // namespace tessera
