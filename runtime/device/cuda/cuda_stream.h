// The queues of a GPU's work.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/device/cuda/library_handles.h"
#include "runtime/device/events/event_manager.h"
#include "runtime/device/memory/bfc_allocator.h"
#include "runtime/framework/kernel.h"
#include "runtime/framework/stream.h"

namespace tessera {

// Streams of CUDA that act as one: kernels run on the first, copies from and to the host on others,
// so that the copy of one run's results goes on while the next run computes. What a new version
// enqueues in the background (runtime/host/background.h), such as copies of weights to the device,
// kernels that pack them and those of its warm-up, has low priority. Each waits for what its work
// needs of the others.
//
//   absl::Status RunFill(KernelContext& ctx, const Tensor& value, Tensor* output) {
//     CudaStream& stream = CudaStream::Of(ctx);
//     FillKernel<<<grid, block, 0, stream.cuda()>>>(value.address(), output->address());
//     return stream.CheckLaunch("Fill");
//   }
//
// Memory of the device may be released as soon as the work that uses it is enqueued: whoever gets
// it next is made to come later. Host memory that enqueued work reads or writes by itself needs
// Hold(). Inputs and outputs of a kernel, and what it allocates by its context, need nothing.
//
// An error, of a launch or of work that runs, becomes the status of the next callback of Then().
// An error after which the GPU is lost becomes that of all later ones, and is UNAVAILABLE.
//
// Thread-safe.
class CudaStream final : public Stream {
 public:
  struct Options {
    int gpu = 0;                  // CUDA's number of the GPU
    std::optional<int> priority;  // unset: the highest there is
    std::string device;           // full name of the device, for messages
    // Calls back for this GPU. Outlives the stream.
    EventManager* events = nullptr;
    // For staging buffers of copies and the workspace. They outlive the stream.
    Allocator* pinned = nullptr;
    Allocator* memory = nullptr;
    // Learns what the stream, its number `number`, has passed (BfcAllocator::Passed()).
    BfcAllocator* shared_memory = nullptr;
    int number = 0;
    // Called once, with the error, if the GPU is lost. It must not use the stream.
    std::function<void(const absl::Status& status)> on_lost;
    // Only captures: see BeginCapture(). Needs no `events`.
    bool is_capture = false;
  };
  // Errors: those of CUDA.
  static absl::StatusOr<std::unique_ptr<CudaStream>> Make(Options options);
  // Waits for everything that is enqueued.
  ~CudaStream() override;

  // The stream of the device on which a kernel runs, which must be a GPU.
  static CudaStream& Of(const KernelContext& ctx) {
    return static_cast<CudaStream&>(*ctx.stream());
  }

  // Pageable host memory is copied by way of pinned memory, by the calling thread if it is the
  // source.
  void Copy(const Tensor& from, Tensor* to) override;
  void Zero(Tensor* tensor) override;
  void Then(Callback done) override;

  // CUDA's stream for kernels. Makes the GPU the calling thread's current one, for launches with
  // <<<>>> and calls of libraries, and gives the stream the priority of the thread's work.
  cudaStream_t cuda();
  int gpu() const { return options_.gpu; }
  const Options& options() const { return options_; }

  // Returns the error of the launches that the calling thread has made since the last call, with
  // the name of the primitive, and keeps it for Then().
  absl::Status CheckLaunch(absl::string_view what);
  // Keeps an error of enqueued work for Then(). The first one is kept.
  void Fail(const absl::Status& status);
  // Keeps a share in the tensor's buffer until everything that is enqueued now is done.
  void Hold(Tensor tensor);

  // Held while a library enqueues work: handles serve one thread at a time, and the workspace one
  // call after the other.
  //
  //   absl::MutexLock lock(&stream.library_mu());
  //   ASSIGN_OR_RETURN(const cublasLtHandle_t handle, stream.cublaslt_handle());
  //   ASSIGN_OR_RETURN(const CudaStream::Workspace workspace, stream.workspace());
  absl::Mutex& library_mu() ABSL_LOCK_RETURNED(library_mu_) { return library_mu_; }
  // Errors: those of LibraryHandles.
  absl::StatusOr<cublasLtHandle_t> cublaslt_handle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(library_mu_);
  // It enqueues on cuda().
  absl::StatusOr<cudnnHandle_t> cudnn_handle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(library_mu_);
  // Device memory for the calls of libraries, the same at each call; kWorkspaceBytes of it.
  struct Workspace {
    void* data = nullptr;
    size_t size = 0;
  };
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;
  absl::StatusOr<Workspace> workspace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(library_mu_);

  // Makes the handles that `other` has, which a library may refuse to do during a capture.
  absl::Status MakeHandlesOf(CudaStream& other);

  // A captured graph, and the host memory that it reads.
  struct Captured {
    cudaGraph_t graph = nullptr;  // the caller's to destroy
    std::vector<Tensor> held;
  };
  // Begins a capture: until EndCapture() the stream records the work that is enqueued instead of
  // running it (see WorkCapture). Both are called in turn, by one thread that has the stream for
  // itself. Errors: FAILED_PRECONDITION for work that cannot be captured; those of CUDA.
  absl::Status BeginCapture();
  absl::StatusOr<Captured> EndCapture();

  // Makes everything that is enqueued later wait for what is enqueued on `other` now.
  absl::Status WaitFor(const CudaStream& other);
  // Makes everything that is enqueued later wait for the copies to the host that are enqueued now,
  // as only captured work needs: other memory that is copied from is not released before.
  absl::Status AwaitCopiesToHost();
  // Waits, on the calling thread, for everything that is enqueued now. Errors are left to Then().
  void AwaitWork() const;

 private:
  explicit CudaStream(Options options)
      : options_(std::move(options)), handles_(std::make_unique<LibraryHandles>(options_.gpu)) {}
  absl::Status Init();
  // Gives what is enqueued on compute_ from now on the priority of the calling thread's work.
  void AdaptPriority();
  // Makes `later` wait for what `earlier` holds now.
  absl::Status Order(cudaStream_t earlier, cudaStream_t later);
  // Calls `work`, on the thread of events, once everything that is enqueued now is done.
  void AfterWork(std::function<void()> work);
  absl::Status CopyBytes(const Tensor& from, const Tensor& to);
  absl::Status CopyToDevice(const Tensor& from, const Tensor& to);
  absl::Status CopyToHost(const Tensor& from, const Tensor& to);
  absl::Status CaptureCopyToDevice(const Tensor& from, const Tensor& to);

  const Options options_;
  int priority_ = 0, lowest_priority_ = 0;
  std::atomic<bool> is_low_ = false;  // compute_ has the lowest priority now
  cudaStream_t compute_ = nullptr;
  cudaStream_t to_device_ = nullptr;
  cudaStream_t to_host_ = nullptr;
  cudaStream_t upload_ = nullptr;  // copies to the device in the background, of low priority
  std::vector<Tensor> held_;       // by the capture that goes on

  absl::Mutex order_mu_;
  cudaEvent_t order_event_ ABSL_GUARDED_BY(order_mu_) = nullptr;  // see Order()

  absl::Mutex error_mu_;
  absl::Status error_ ABSL_GUARDED_BY(error_mu_);
  absl::Status lost_ ABSL_GUARDED_BY(error_mu_);

  absl::Mutex library_mu_;
  std::unique_ptr<LibraryHandles> handles_ ABSL_GUARDED_BY(library_mu_);
  IntrusivePtr<Buffer> workspace_ ABSL_GUARDED_BY(library_mu_);
};

}  // namespace tessera
