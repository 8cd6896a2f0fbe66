#include "runtime/device/cuda/cuda_capture.h"

#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_status.h"

namespace tessera {
namespace {

class CudaWork final : public CapturedWork {
 public:
  CudaWork(cudaGraphExec_t graph, std::vector<Tensor> held, CudaStream* stream)
      : graph_(graph), held_(std::move(held)), stream_(stream) {}
  ~CudaWork() override {
    UseGpu(stream_->gpu()).IgnoreError();
    // CUDA destroys it once it has run. Until then it reads the host memory.
    cudaGraphExecDestroy(graph_);
    for (Tensor& tensor : held_) stream_->Hold(std::move(tensor));
  }

  absl::Status AwaitCopiesToHost() override { return stream_->AwaitCopiesToHost(); }
  absl::Status Enqueue() override {
    absl::MutexLock lock(&mu_);
    const absl::Status status =
        CudaStatus(cudaGraphLaunch(graph_, stream_->cuda()), "cudaGraphLaunch");
    stream_->Fail(status);
    return status;
  }

 private:
  absl::Mutex mu_;  // a graph is launched by one thread at a time
  const cudaGraphExec_t graph_;
  std::vector<Tensor> held_;
  CudaStream* const stream_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CudaCapture>> CudaCapture::Begin(std::unique_ptr<CudaStream> stream,
                                                                CudaStream* target,
                                                                GiveBack give_back) {
  RETURN_IF_ERROR(stream->BeginCapture());
  return std::unique_ptr<CudaCapture>(
      new CudaCapture(std::move(stream), target, std::move(give_back)));
}

CudaCapture::~CudaCapture() { give_back_(std::move(stream_)); }

absl::StatusOr<std::unique_ptr<CapturedWork>> CudaCapture::End() {
  ASSIGN_OR_RETURN(CudaStream::Captured captured, stream_->EndCapture());
  cudaGraphExec_t graph = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&graph, captured.graph, 0);
  cudaGraphDestroy(captured.graph);
  RETURN_IF_ERROR(CudaStatus(error, "cudaGraphInstantiate"));
  return std::make_unique<CudaWork>(graph, std::move(captured.held), target_);
}

}  // namespace tessera
