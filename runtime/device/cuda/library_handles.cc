#include "runtime/device/cuda/library_handles.h"

#include <map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_libraries.h"

namespace tessera {
namespace {

// Handles that no stream has, by GPU.
template <typename Handle>
class IdleHandles {
 public:
  // Returns null if there is none.
  Handle Take(int gpu) {
    absl::MutexLock lock(&mu_);
    std::vector<Handle>& idle = by_gpu_[gpu];
    if (idle.empty()) return nullptr;
    const Handle handle = idle.back();
    idle.pop_back();
    return handle;
  }
  void Give(int gpu, Handle handle) {
    absl::MutexLock lock(&mu_);
    by_gpu_[gpu].push_back(handle);
  }

 private:
  absl::Mutex mu_;
  std::map<int, std::vector<Handle>> by_gpu_ ABSL_GUARDED_BY(mu_);
};

IdleHandles<cublasLtHandle_t>& IdleCublasLt() {
  static auto* const idle = new IdleHandles<cublasLtHandle_t>;
  return *idle;
}
IdleHandles<cudnnHandle_t>& IdleCudnn() {
  static auto* const idle = new IdleHandles<cudnnHandle_t>;
  return *idle;
}

absl::Status CudnnError(const Cudnn& library, cudnnStatus_t status, absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", library.cudnnGetErrorString(status)));
}

}  // namespace

LibraryHandles::~LibraryHandles() {
  if (cublaslt_ != nullptr) IdleCublasLt().Give(gpu_, cublaslt_);
  if (cudnn_ == nullptr) return;
  // One that keeps the stream of the last user is lost, rather than used.
  if ((*LoadCudnn())->cudnnSetStream(cudnn_, nullptr) == CUDNN_STATUS_SUCCESS) {
    IdleCudnn().Give(gpu_, cudnn_);
  }
}

absl::StatusOr<cublasLtHandle_t> LibraryHandles::cublaslt() {
  if (cublaslt_ != nullptr) return cublaslt_;
  ASSIGN_OR_RETURN(const CublasLt* library, LoadCublasLt());
  cublaslt_ = IdleCublasLt().Take(gpu_);
  if (cublaslt_ != nullptr) return cublaslt_;
  const cublasStatus_t status = library->cublasLtCreate(&cublaslt_);
  if (status == CUBLAS_STATUS_SUCCESS) return cublaslt_;
  cublaslt_ = nullptr;
  return absl::InternalError(
      absl::StrCat("cublasLtCreate: ", library->cublasLtGetStatusString(status)));
}

absl::StatusOr<cudnnHandle_t> LibraryHandles::cudnn(cudaStream_t stream) {
  if (cudnn_ != nullptr) return cudnn_;
  ASSIGN_OR_RETURN(const Cudnn* library, LoadCudnn());
  cudnnHandle_t handle = IdleCudnn().Take(gpu_);
  if (handle == nullptr) {
    const cudnnStatus_t status = library->cudnnCreate(&handle);
    if (status != CUDNN_STATUS_SUCCESS) return CudnnError(*library, status, "cudnnCreate");
  }
  const cudnnStatus_t status = library->cudnnSetStream(handle, stream);
  if (status != CUDNN_STATUS_SUCCESS) return CudnnError(*library, status, "cudnnSetStream");
  cudnn_ = handle;
  return cudnn_;
}

}  // namespace tessera
