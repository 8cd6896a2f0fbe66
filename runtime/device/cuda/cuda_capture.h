// CUDA graphs: work of a GPU that is captured once and launched many times.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/device/capture/work_capture.h"
#include "runtime/device/cuda/cuda_stream.h"

namespace tessera {

// Used by one thread.
class CudaCapture final : public WorkCapture {
 public:
  using GiveBack = std::function<void(std::unique_ptr<CudaStream> stream)>;
  // Captures on `stream`, which was made for that, work that will be launched on `target`. At the
  // end of the capture's life the stream is given back. Errors: those of CUDA.
  static absl::StatusOr<std::unique_ptr<CudaCapture>> Begin(std::unique_ptr<CudaStream> stream,
                                                            CudaStream* target, GiveBack give_back);
  ~CudaCapture() override;

  Stream* stream() override { return stream_.get(); }
  absl::StatusOr<std::unique_ptr<CapturedWork>> End() override;

 private:
  CudaCapture(std::unique_ptr<CudaStream> stream, CudaStream* target, GiveBack give_back)
      : stream_(std::move(stream)), target_(target), give_back_(std::move(give_back)) {}

  std::unique_ptr<CudaStream> stream_;
  CudaStream* const target_;
  const GiveBack give_back_;
};

}  // namespace tessera
