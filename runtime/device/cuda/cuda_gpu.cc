#include "runtime/device/cuda/cuda_gpu.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_status.h"
#include "runtime/device/cuda/cuda_stream.h"

namespace tessera {
namespace {

constexpr double kGiB = 1 << 30;

// The GPUs that some session uses.
struct Gpus {
  absl::Mutex mu;
  // By CUDA's number, and that of the virtual device.
  std::map<std::pair<int, int>, std::weak_ptr<CudaGpu>> all ABSL_GUARDED_BY(mu);
};
Gpus& AllGpus() {
  static auto* const gpus = new Gpus;
  return *gpus;
}

}  // namespace

class CudaGpu::PinnedRegions final : public RegionSource {
 public:
  absl::StatusOr<char*> Allocate(size_t size) override {
    void* region = nullptr;
    // Portable: for the GPUs of all sessions.
    RETURN_IF_CUDA_ERROR(cudaHostAlloc(&region, size, cudaHostAllocPortable));
    return static_cast<char*>(region);
  }
  void Free(char* region, size_t /*size*/) override { cudaFreeHost(region); }
  // What is released is not in use (see CudaGpu::Init()).
  void AwaitWork() override {}
};

absl::StatusOr<std::shared_ptr<CudaGpu>> CudaGpu::Get(const GpuPart& part,
                                                      const GpuOptions& options) {
  Gpus& gpus = AllGpus();
  absl::MutexLock lock(&gpus.mu);
  std::weak_ptr<CudaGpu>& place = gpus.all[{part.gpu, part.virtual_part}];
  if (std::shared_ptr<CudaGpu> gpu = place.lock()) return gpu;
  std::shared_ptr<CudaGpu> gpu(new CudaGpu(part));
  RETURN_IF_ERROR(gpu->Init(options));
  place = gpu;
  return gpu;
}

CudaGpu::CudaGpu(const GpuPart& part) : part_(part) {}

absl::Status CudaGpu::Init(const GpuOptions& options) {
  RETURN_IF_ERROR(UseGpu(part_.gpu));
  cudaDeviceProp properties;
  RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, part_.gpu));
  description_ = absl::StrFormat("%s, compute capability %d.%d, %.1f GiB, %d multiprocessors",
                                 properties.name, properties.major, properties.minor,
                                 static_cast<double>(properties.totalGlobalMem) / kGiB,
                                 properties.multiProcessorCount);
  size_t limit = part_.memory_limit;
  if (limit == 0) {
    size_t free = 0, total = 0;
    RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free, &total));
    ASSIGN_OR_RETURN(limit, GpuMemoryLimit(options, free, total));
    limit /= part_.num_shares;
  }
  std::string name = absl::StrCat(kGpu, " ", part_.gpu);
  if (part_.virtual_part > 0) absl::StrAppend(&name, " part ", part_.virtual_part);
  BfcAllocator::Options memory{.name = name, .limit = limit, .allow_growth = options.allow_growth};
  if (options.fragmentation_fraction > 0) {
    memory.max_unused =
        static_cast<size_t>(static_cast<double>(limit) * options.fragmentation_fraction);
  }
  memory_ = std::make_unique<BfcAllocator>(memory, static_cast<RegionSource*>(this),
                                           static_cast<StreamOrder*>(this));
  pinned_regions_ = std::make_unique<PinnedRegions>();
  pinned_ = std::make_unique<BfcAllocator>(
      BfcAllocator::Options{.name = "page-locked host memory",
                            .kind = MemoryKind::kPinned,
                            .limit = static_cast<size_t>(options.pinned_limit),
                            .allow_growth = options.pinned_allow_growth},
      pinned_regions_.get(), /*order=*/nullptr);
  // Copies hold shares in pinned buffers until they are done: none is in use when it is released.
  pinned_stream_ = pinned_->AddStream();
  events_ =
      std::make_unique<EventManager>(static_cast<EventDriver*>(this),
                                     EventManager::Options{.poll_interval = options.poll_interval});
  LOG(INFO) << name << ": " << description_ << "; models take up to "
            << absl::StrFormat("%.1f GiB", limit / kGiB) << " of its memory";
  return absl::OkStatus();
}

CudaGpu::~CudaGpu() {
  UseGpu(part_.gpu).IgnoreError();
  events_.reset();
}

absl::Status CudaGpu::Health() const {
  absl::MutexLock lock(&health_mu_);
  return health_;
}

void CudaGpu::ReportLost(const absl::Status& status) {
  absl::MutexLock lock(&health_mu_);
  health_.Update(status);
}

void CudaGpu::SetStream(int number, CudaStream* stream) {
  absl::MutexLock lock(&mu_);
  streams_[number] = stream;
}

void CudaGpu::Order(int earlier, int later) {
  absl::MutexLock lock(&mu_);
  CudaStream* const from = streams_[earlier];
  CudaStream* const to = streams_[later];
  // A stream that is gone has done its work.
  if (from != nullptr && to != nullptr) to->Fail(to->WaitFor(*from));
}

absl::StatusOr<void*> CudaGpu::Create() {
  RETURN_IF_ERROR(UseGpu(part_.gpu));
  cudaEvent_t event = nullptr;
  RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

void CudaGpu::Destroy(void* event) { cudaEventDestroy(static_cast<cudaEvent_t>(event)); }

absl::Status CudaGpu::Record(void* event, void* queue) {
  RETURN_IF_ERROR(UseGpu(part_.gpu));
  RETURN_IF_CUDA_ERROR(
      cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(queue)));
  return absl::OkStatus();
}

absl::StatusOr<bool> CudaGpu::IsDone(void* event) {
  const cudaError_t error = cudaEventQuery(static_cast<cudaEvent_t>(event));
  if (error == cudaErrorNotReady) {
    // Otherwise it would be the error of the next launch of this thread.
    cudaGetLastError();
    return false;
  }
  RETURN_IF_ERROR(CudaStatus(error, "work on the GPU"));
  return true;
}

absl::StatusOr<char*> CudaGpu::Allocate(size_t size) {
  RETURN_IF_ERROR(UseGpu(part_.gpu));
  void* region = nullptr;
  RETURN_IF_CUDA_ERROR(cudaMalloc(&region, size));
  return static_cast<char*>(region);
}

void CudaGpu::Free(char* region, size_t /*size*/) {
  UseGpu(part_.gpu).IgnoreError();
  cudaFree(region);
}

void CudaGpu::AwaitWork() {
  // Stream by stream: a wait for the whole GPU is refused while any stream captures, and spoils the
  // capture.
  absl::MutexLock lock(&mu_);
  for (const auto& [number, stream] : streams_) {
    if (stream != nullptr) stream->AwaitWork();
  }
}

}  // namespace tessera
