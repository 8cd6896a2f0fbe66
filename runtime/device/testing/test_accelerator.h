// An accelerator that needs no hardware, for tests of everything that devices have in common.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/capture/work_capture.h"
#include "runtime/device/health/device_health.h"
#include "runtime/device/streams/stream_pool.h"
#include "runtime/device/testing/accelerator_memory.h"
#include "runtime/device/testing/late_stream.h"
#include "runtime/framework/device.h"

namespace tessera {

inline constexpr absl::string_view kTestAccelerator = "ACCEL";

// A device whose memory the host cannot touch (accelerator_memory.h) and whose stream runs late on
// purpose (late_stream.h). Its kernels (deferred_kernel.h) run the CPU's code on the stream's
// thread. A missing copy shows as a crash, a missing synchronisation as a wrong number.
//
// The factory makes accelerators only if DeviceOptions::count asks for them:
//
//   SessionOptions options;
//   options.devices.count["ACCEL"] = 2;
//
// The even ones run without pauses, so that a run is repeatable; the odd ones pause at random. Each
// has three streams, of which runs that do not overlap use the first.
class TestAccelerator final : public Device,
                              public LosableDevice,
                              public CapturingDevice,
                              public MultiStreamDevice {
 public:
  static constexpr int kPriority = 200;
  static constexpr int kNumStreams = 3;
  static constexpr size_t kCapacity = size_t{1} << 30;

  // Errors: RESOURCE_EXHAUSTED if the memory cannot be mapped.
  static absl::StatusOr<std::unique_ptr<TestAccelerator>> Make(DeviceName name, size_t capacity,
                                                               const LateStream::Options& options,
                                                               int priority = kPriority);

  ~TestAccelerator() override;

  LateStream* late_stream() { return &stream_; }
  const AcceleratorMemory& memory() const { return *memory_; }
  StreamPool& streams() override { return *pool_; }
  DeviceStats stats() const override { return memory_->stats(); }
  // See LateStream::Lose().
  absl::Status Health() const override { return stream_.Health(); }
  absl::StatusOr<std::unique_ptr<WorkCapture>> BeginCapture() override;
  // How often captured work was enqueued, here and on all accelerators of the process.
  int64_t num_captured_enqueued() const { return num_captured_enqueued_; }
  static int64_t num_captured_enqueued_anywhere();
  std::string description() const override { return "a test accelerator on a thread of the host"; }

 private:
  // A stream but the first.
  class FurtherStream;

  TestAccelerator(DeviceName name, int priority, const LateStream::Options& options);

  // The stream may hold the last shares in buffers, whose release enqueues more work.
  std::unique_ptr<AcceleratorMemory> memory_;
  PoisonedHostMemory host_;
  PinnedMemory pinned_;
  LateStream stream_;
  std::vector<std::unique_ptr<FurtherStream>> further_streams_;
  std::unique_ptr<StreamPool> pool_;
  std::atomic<int64_t> num_captured_enqueued_{0};
};

}  // namespace tessera
