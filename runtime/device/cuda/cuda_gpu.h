// The state of one GPU that all sessions of the process share.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/device/events/event_manager.h"
#include "runtime/device/gpu_options/gpu_options.h"
#include "runtime/device/memory/bfc_allocator.h"

namespace tessera {

class CudaStream;

// A GPU, or a part of its memory where it is cut into virtual devices. Each session has a device on
// it with streams of its own; memory, pinned memory and the thread that watches events are shared.
//
// Thread-safe.
class CudaGpu final : private EventDriver, private RegionSource, private StreamOrder {
 public:
  // Returns the GPU that other sessions use already, or makes it, once the one before has given
  // back its memory. While some session uses it, the limits and options are those of the first.
  // Errors: those of CUDA.
  static absl::StatusOr<std::shared_ptr<CudaGpu>> Get(const GpuPart& part,
                                                      const GpuOptions& options);
  ~CudaGpu();

  // "NVIDIA H100, compute capability 9.0, 79.2 GiB, 132 multiprocessors".
  const std::string& description() const { return description_; }
  int gpu() const { return part_.gpu; }
  std::optional<int> priority() const { return part_.priority; }
  BfcAllocator& memory() { return *memory_; }
  Allocator* pinned() { return pinned_->allocator(pinned_stream_); }
  EventManager& events() { return *events_; }

  // UNAVAILABLE, with the cause, from the first report on, of any part of the GPU; OK before.
  absl::Status Health() const;
  void ReportLost(const absl::Status& status);

  // The stream of `number`, which memory().AddStream() gave, for orders between streams. Null
  // removes it.
  void SetStream(int number, CudaStream* stream);

 private:
  // Page-locked memory of the host.
  class PinnedRegions;
  struct SharedHealth;

  explicit CudaGpu(const GpuPart& part);
  absl::Status Init(const GpuOptions& options);

  // EventDriver.
  absl::StatusOr<void*> Create() override;
  void Destroy(void* event) override;
  absl::Status Record(void* event, void* queue) override;
  absl::StatusOr<bool> IsDone(void* event) override;
  // RegionSource.
  absl::StatusOr<char*> Allocate(size_t size) override;
  void Free(char* region, size_t size) override;
  void AwaitWork() override;
  // StreamOrder.
  void Order(int earlier, int later) override;

  const GpuPart part_;
  std::string description_;
  absl::Mutex mu_;
  std::map<int, CudaStream*> streams_ ABSL_GUARDED_BY(mu_);
  SharedHealth* const health_;

  std::unique_ptr<BfcAllocator> memory_;
  std::unique_ptr<PinnedRegions> pinned_regions_;
  std::unique_ptr<BfcAllocator> pinned_;
  int pinned_stream_ = 0;
  // The callbacks of the events hold the last references to buffers.
  std::unique_ptr<EventManager> events_;
};

}  // namespace tessera
