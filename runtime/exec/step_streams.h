// The compute streams on which a step enqueues its work.
#pragma once

#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/device/streams/stream_pool.h"
#include "runtime/framework/kernel.h"
#include "runtime/graph/graph.h"

namespace tessera {

struct Plan;  // runtime/exec/planner.h

// A resource of a step (StepContext::step_resources): one stream of each device with several. The
// executors of the step, those of functions among them, find it by StreamDevice(). Gives the
// streams back when it dies, which must be after their work is done.
//
// Used by any thread once Take() was called for all devices.
class StepStreams final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "step_streams";

  ~StepStreams() override;

  // Takes any stream of the device, or, with `shares_state`, the one that orders state. A device
  // that is no MultiStreamDevice has one.
  void Take(Device* device, bool shares_state);
  // Returns the stream of `device`, or the device itself if none was taken.
  Device* Find(Device* device) const;
  std::vector<Stream*> streams() const;

  std::string DebugString() const override { return "the streams of a step"; }

 private:
  struct Taken {
    Device* device;
    StreamPool* pool;  // null: it has one stream
    int number;
  };
  static Device* DeviceOf(const Taken& taken) {
    return taken.pool == nullptr ? taken.device : taken.pool->device(taken.number);
  }

  std::vector<Taken> taken_;
};

// Returns where the kernels of a step that belong on `device` run: the stream that the step has
// taken of it, or the device itself if the step has taken none. `device` may be null.
Device* StreamDevice(const StepContext& step, Device* device);

// Returns true if steps of the plan share state on devices with several streams: if nodes there, or
// functions that nodes call, use variables or other resources that outlive the step. True as well
// if the nodes call more functions than can be looked at. False if no device has streams.
bool SharesState(const Plan& plan, absl::Span<Device* const> devices);

}  // namespace tessera
