// PipelineControl: how a program ends the waits of its steps for elements of pipelines.
#pragma once

#include <atomic>
#include <string>

#include "runtime/base/cancellation.h"
#include "runtime/framework/kernel.h"
#include "runtime/framework/resource_manager.h"

namespace tessera {

// A resource of a session, which counts for all kernels that take elements out of pipelines.
//
//   IntrusivePtr<PipelineControl> control = PipelineControl::MakeIn(session.resources());
//   ... steps run on other threads ...
//   control->Stop();  // a step that waits for an element ends, one that computes goes on
//
// Thread-safe.
class PipelineControl : public Resource {
 public:
  // Returns the control of the session that has these resources, and makes it if there is none.
  static IntrusivePtr<PipelineControl> MakeIn(ResourceManager& resources);
  // Returns null if there is none.
  static IntrusivePtr<PipelineControl> FindIn(const ResourceManager& resources);

  // Makes every kernel that takes an element fail with CANCELLED, now and later.
  void Stop() { stop_.Cancel(); }
  CancellationManager& stop() { return stop_; }

  // Tells that a step wanted an element behind the last one of an iterator.
  void NoteEnd() { has_ended_.store(true, std::memory_order_release); }
  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }

  std::string DebugString() const override { return "control of pipelines"; }

 private:
  CancellationManager stop_;
  std::atomic<bool> has_ended_{false};
};

// The context in which a kernel of a step takes elements. It is cancelled with the step, and by the
// control of the session. Lives on the stack of the kernel.
class ElementStep {
 public:
  explicit ElementStep(const StepContext& step);
  ~ElementStep();
  ElementStep(const ElementStep&) = delete;

  StepContext& context() { return context_; }
  // Null if the session has none.
  PipelineControl* control() const { return control_.get(); }

 private:
  // Cancels both_ with `cause`, which sets *token. Cancels it now if `cause` is cancelled already.
  bool Follow(CancellationManager* cause, CancellationManager::Token* token);

  const IntrusivePtr<PipelineControl> control_;
  CancellationManager* const step_cancellation_;
  CancellationManager both_;  // used if there is a control
  CancellationManager::Token step_token_ = 0, control_token_ = 0;
  bool follows_step_ = false, follows_control_ = false;
  StepContext context_;
};

}  // namespace tessera
