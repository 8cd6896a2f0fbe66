#include "runtime/device/cuda/cuda_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_status.h"
#include "runtime/host/background.h"

namespace tessera {
namespace {

// Size of the pinned buffers by way of which pageable memory is copied: the copy of one goes on
// while the next is filled.
constexpr size_t kStagingBytes = size_t{16} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<CudaStream>> CudaStream::Make(Options options) {
  std::unique_ptr<CudaStream> stream(new CudaStream(std::move(options)));
  RETURN_IF_ERROR(stream->Init());
  return stream;
}

absl::Status CudaStream::Init() {
  RETURN_IF_ERROR(UseGpu(options_.gpu));
  int highest = 0;
  RETURN_IF_CUDA_ERROR(cudaDeviceGetStreamPriorityRange(&lowest_priority_, &highest));
  // CUDA brings one that is out of range into it.
  priority_ = options_.priority.value_or(highest);
  RETURN_IF_CUDA_ERROR(cudaStreamCreateWithPriority(&compute_, cudaStreamNonBlocking, priority_));
  if (options_.is_capture) return absl::OkStatus();
  for (cudaStream_t* stream : {&to_device_, &to_host_}) {
    RETURN_IF_CUDA_ERROR(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority_));
  }
  RETURN_IF_CUDA_ERROR(
      cudaStreamCreateWithPriority(&upload_, cudaStreamNonBlocking, lowest_priority_));
  absl::MutexLock lock(&order_mu_);
  RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&order_event_, cudaEventDisableTiming));
  return absl::OkStatus();
}

CudaStream::~CudaStream() {
  // Callbacks of the event manager refer to this object.
  if (to_host_ != nullptr) Synchronize().IgnoreError();
  {
    absl::MutexLock lock(&library_mu_);
    handles_.reset();
  }
  absl::MutexLock lock(&order_mu_);
  if (order_event_ != nullptr) cudaEventDestroy(order_event_);
  for (cudaStream_t stream : {compute_, to_device_, to_host_, upload_}) {
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
}

cudaStream_t CudaStream::cuda() {
  // A GPU that cannot be made current fails the launch, which CheckLaunch() sees.
  UseGpu(options_.gpu).IgnoreError();
  AdaptPriority();
  return compute_;
}

void CudaStream::AdaptPriority() {
  // Captured work gets the priority of the stream on which it is launched.
  if (options_.is_capture) return;
  const bool is_low = BackgroundPool() != nullptr;
  if (is_low_.load(std::memory_order_relaxed) == is_low) [[likely]]
    return;
  is_low_.store(is_low, std::memory_order_relaxed);
  cudaStreamAttrValue value = {};
  value.priority = is_low ? lowest_priority_ : priority_;
  // Where the driver cannot, the work has another priority, and is done all the same.
  if (cudaStreamSetAttribute(compute_, cudaStreamAttributePriority, &value) != cudaSuccess) {
    cudaGetLastError();
  }
}

absl::Status CudaStream::Order(cudaStream_t earlier, cudaStream_t later) {
  absl::MutexLock lock(&order_mu_);
  // A wait is for the latest record before it, so that one event serves all.
  RETURN_IF_CUDA_ERROR(cudaEventRecord(order_event_, earlier));
  RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(later, order_event_, 0));
  return absl::OkStatus();
}

absl::Status CudaStream::WaitFor(const CudaStream& other) {
  RETURN_IF_ERROR(UseGpu(options_.gpu));
  RETURN_IF_ERROR(Order(other.compute_, compute_));
  return Order(other.to_host_, compute_);
}

absl::Status CudaStream::AwaitCopiesToHost() {
  RETURN_IF_ERROR(UseGpu(options_.gpu));
  return Order(to_host_, compute_);
}

void CudaStream::AwaitWork() const {
  UseGpu(options_.gpu).IgnoreError();
  for (cudaStream_t stream : {compute_, to_device_, to_host_, upload_}) {
    if (stream != nullptr) cudaStreamSynchronize(stream);
  }
  cudaGetLastError();
}

void CudaStream::AfterWork(std::function<void()> work) {
  Fail(UseGpu(options_.gpu));
  Fail(Order(compute_, to_host_));
  options_.events->Then(to_host_, [work = std::move(work)](absl::Status) { work(); });
}

void CudaStream::Copy(const Tensor& from, Tensor* to) {
  CHECK(IsTriviallyCopyable(from.dtype()) && IsTriviallyCopyable(to->dtype()));
  CHECK(from.size_bytes() == to->size_bytes())
      << from.size_bytes() << " bytes cannot be copied to " << to->size_bytes();
  if (from.size_bytes() > 0) Fail(CopyBytes(from, *to));
}

absl::Status CudaStream::CopyBytes(const Tensor& from, const Tensor& to) {
  RETURN_IF_ERROR(UseGpu(options_.gpu));
  if (options_.is_capture && IsHostAccessible(to.memory_kind())) {
    return absl::FailedPreconditionError("a copy to the host cannot be captured");
  }
  if (IsHostAccessible(from.memory_kind()) && !IsHostAccessible(to.memory_kind())) {
    return options_.is_capture ? CaptureCopyToDevice(from, to) : CopyToDevice(from, to);
  }
  if (!IsHostAccessible(from.memory_kind()) && IsHostAccessible(to.memory_kind())) {
    return CopyToHost(from, to);
  }
  if (IsHostAccessible(from.memory_kind())) {
    // What comes from the device is in pageable memory once a callback has put it there.
    AfterWork([from, to] { std::memcpy(to.address(), from.address(), to.size_bytes()); });
    return absl::OkStatus();
  }
  // The order of the stream keeps both alive.
  RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to.address(), from.address(), from.size_bytes(),
                                       cudaMemcpyDefault, compute_));
  return absl::OkStatus();
}

absl::Status CudaStream::CaptureCopyToDevice(const Tensor& from, const Tensor& to) {
  ASSIGN_OR_RETURN(Tensor staging, Tensor::Allocate(from.dtype(), from.shape(), options_.pinned));
  std::memcpy(staging.address(), from.address(), from.size_bytes());
  RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to.address(), staging.address(), from.size_bytes(),
                                       cudaMemcpyHostToDevice, compute_));
  held_.push_back(std::move(staging));
  return absl::OkStatus();
}

absl::Status CudaStream::CopyToDevice(const Tensor& from, const Tensor& to) {
  const cudaStream_t copies = BackgroundPool() == nullptr ? to_device_ : upload_;
  // The destination may be in use by kernels that were enqueued before it was released.
  RETURN_IF_ERROR(Order(compute_, copies));
  if (from.memory_kind() == MemoryKind::kPinned) {
    RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to.address(), from.address(), from.size_bytes(),
                                         cudaMemcpyHostToDevice, copies));
    options_.events->Then(copies, [from](absl::Status) {});
    return Order(copies, compute_);
  }
  for (size_t done = 0; done < from.size_bytes(); done += kStagingBytes) {
    const size_t size = std::min(kStagingBytes, from.size_bytes() - done);
    absl::StatusOr<IntrusivePtr<Buffer>> staging = options_.pinned->Allocate(size);
    // Without pinned memory the driver copies the bytes by way of its own before it returns.
    char* source = from.address() + done;
    if (staging.ok()) {
      std::memcpy((*staging)->data(), source, size);
      source = (*staging)->data();
    }
    RETURN_IF_CUDA_ERROR(
        cudaMemcpyAsync(to.address() + done, source, size, cudaMemcpyHostToDevice, copies));
    if (staging.ok()) options_.events->Then(copies, [held = *staging](absl::Status) {});
  }
  return Order(copies, compute_);
}

absl::Status CudaStream::CopyToHost(const Tensor& from, const Tensor& to) {
  RETURN_IF_ERROR(Order(compute_, to_host_));
  if (to.memory_kind() == MemoryKind::kPinned) {
    RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to.address(), from.address(), from.size_bytes(),
                                         cudaMemcpyDeviceToHost, to_host_));
    options_.events->Then(to_host_, [from, to](absl::Status) {});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(IntrusivePtr<Buffer> staging, options_.pinned->Allocate(from.size_bytes()));
  RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(staging->data(), from.address(), from.size_bytes(),
                                       cudaMemcpyDeviceToHost, to_host_));
  options_.events->Then(to_host_, [from, to, staging](absl::Status) {
    std::memcpy(to.address(), staging->data(), to.size_bytes());
  });
  return absl::OkStatus();
}

void CudaStream::Zero(Tensor* tensor) {
  CHECK(IsTriviallyCopyable(tensor->dtype()));
  if (tensor->size_bytes() == 0) return;
  Fail([&]() -> absl::Status {
    RETURN_IF_ERROR(UseGpu(options_.gpu));
    if (options_.is_capture && IsHostAccessible(tensor->memory_kind())) {
      return absl::FailedPreconditionError("zeros on the host cannot be captured");
    }
    if (tensor->memory_kind() == MemoryKind::kHost) {
      // The device cannot write it. Nobody may read it before a callback that comes after this one.
      AfterWork([tensor = *tensor] { std::memset(tensor.address(), 0, tensor.size_bytes()); });
      return absl::OkStatus();
    }
    RETURN_IF_CUDA_ERROR(cudaMemsetAsync(tensor->address(), 0, tensor->size_bytes(), compute_));
    if (tensor->memory_kind() == MemoryKind::kPinned) Hold(*tensor);
    return absl::OkStatus();
  }());
}

void CudaStream::Then(Callback done) {
  if (options_.is_capture) {
    const absl::Status status =
        absl::FailedPreconditionError("a wait for work on the GPU cannot be captured");
    Fail(status);
    return done(status);
  }
  const int64_t mark = options_.shared_memory->Mark(options_.number);
  Fail([&]() -> absl::Status {
    RETURN_IF_ERROR(UseGpu(options_.gpu));
    // Kernels wait for the copies to the device, and the copies to the host for kernels.
    return Order(compute_, to_host_);
  }());
  options_.events->Then(to_host_, [this, mark, done = std::move(done)](const absl::Status& status) {
    options_.shared_memory->Passed(options_.number, mark);
    Fail(status);
    absl::Status error;
    {
      absl::MutexLock lock(&error_mu_);
      error = std::exchange(error_, lost_);
    }
    done(std::move(error));
  });
}

void CudaStream::Hold(Tensor tensor) {
  if (options_.is_capture) {
    held_.push_back(std::move(tensor));
    return;
  }
  AfterWork([tensor = std::move(tensor)] {});
}

absl::Status CudaStream::BeginCapture() {
  RETURN_IF_ERROR(UseGpu(options_.gpu));
  // Relaxed: memory is allocated meanwhile, and libraries make their handles.
  RETURN_IF_CUDA_ERROR(cudaStreamBeginCapture(compute_, cudaStreamCaptureModeRelaxed));
  return absl::OkStatus();
}

absl::StatusOr<CudaStream::Captured> CudaStream::EndCapture() {
  RETURN_IF_ERROR(UseGpu(options_.gpu));
  Captured captured;
  const absl::Status ended =
      CudaStatus(cudaStreamEndCapture(compute_, &captured.graph), "cudaStreamEndCapture");
  captured.held = std::exchange(held_, {});
  absl::Status failed;
  {
    absl::MutexLock lock(&error_mu_);
    failed = std::exchange(error_, lost_);
  }
  if (failed.ok()) failed = ended;
  if (failed.ok()) return captured;
  if (captured.graph != nullptr) cudaGraphDestroy(captured.graph);
  return failed;
}

absl::Status CudaStream::CheckLaunch(absl::string_view what) {
  const absl::Status status = CudaStatus(cudaGetLastError(), what);
  Fail(status);
  return status;
}

void CudaStream::Fail(const absl::Status& status) {
  if (status.ok()) [[likely]]
    return;
  const absl::Status named = Annotate(status, absl::StrCat(options_.device, ": "));
  absl::MutexLock lock(&error_mu_);
  if (absl::IsUnavailable(named) && lost_.ok()) {
    lost_ = Annotate(named, "the GPU is lost, and the program must be started anew: ");
    LOG(ERROR) << lost_.message();
    if (options_.on_lost != nullptr) options_.on_lost(lost_);
    error_ = lost_;
  } else if (error_.ok()) {
    error_ = named;
  }
}

absl::StatusOr<cublasLtHandle_t> CudaStream::cublaslt_handle() {
  RETURN_IF_ERROR(UseGpu(options_.gpu));
  return handles_->cublaslt();
}

absl::StatusOr<cudnnHandle_t> CudaStream::cudnn_handle() {
  RETURN_IF_ERROR(UseGpu(options_.gpu));
  return handles_->cudnn(cuda());
}

absl::Status CudaStream::MakeHandlesOf(CudaStream& other) {
  bool has_cublaslt = false, has_cudnn = false;
  {
    absl::MutexLock lock(&other.library_mu_);
    has_cublaslt = other.handles_->has_cublaslt();
    has_cudnn = other.handles_->has_cudnn();
  }
  absl::MutexLock lock(&library_mu_);
  if (has_cublaslt) RETURN_IF_ERROR(cublaslt_handle().status());
  if (has_cudnn) RETURN_IF_ERROR(cudnn_handle().status());
  return absl::OkStatus();
}

absl::StatusOr<CudaStream::Workspace> CudaStream::workspace() {
  if (workspace_ == nullptr) {
    ASSIGN_OR_RETURN(workspace_, options_.memory->Allocate(kWorkspaceBytes));
  }
  return Workspace{workspace_->address(), workspace_->size()};
}

}  // namespace tessera
