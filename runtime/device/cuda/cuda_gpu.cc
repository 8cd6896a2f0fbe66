#include "runtime/device/cuda/cuda_gpu.h"

#include <algorithm>
#include <list>
#include <set>
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
  using Key = std::pair<int, int>;  // CUDA's number, and that of the virtual device

  absl::Mutex mu;
  std::map<Key, std::weak_ptr<CudaGpu>> all ABSL_GUARDED_BY(mu);
  std::set<Key> alive ABSL_GUARDED_BY(mu);  // those that have not given back all memory
};
Gpus& AllGpus() {
  static auto* const gpus = new Gpus;
  return *gpus;
}

}  // namespace

// What became of one GPU, for all of its virtual devices: a process that has lost it does not get
// it again.
struct CudaGpu::SharedHealth {
  // Streams report while they hold a lock of their own.
  absl::Mutex mu;
  absl::Status status ABSL_GUARDED_BY(mu);

  static SharedHealth* Of(int gpu) {
    static absl::Mutex all_mu(absl::kConstInit);
    static auto* const all = new std::map<int, SharedHealth>;
    absl::MutexLock lock(&all_mu);
    return &(*all)[gpu];
  }
};

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
  const Gpus::Key key = {part.gpu, part.virtual_part};
  // One that no session uses any more may still hold most of the memory.
  const auto is_settled = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(gpus.mu) {
    return !gpus.alive.contains(key) || !gpus.all[key].expired();
  };
  std::shared_ptr<CudaGpu> used;
  do {
    gpus.mu.Await(absl::Condition(&is_settled));
    used = gpus.all[key].lock();
  } while (used == nullptr && gpus.alive.contains(key));
  if (used != nullptr) return used;

  std::unique_ptr<CudaGpu> gpu(new CudaGpu(part));
  RETURN_IF_ERROR(gpu->Init(options));
  const std::shared_ptr<CudaGpu> shared(gpu.release(), [&gpus, key](CudaGpu* unused) {
    delete unused;
    absl::MutexLock lock(&gpus.mu);
    gpus.alive.erase(key);
  });
  gpus.alive.insert(key);
  gpus.all[key] = shared;
  return shared;
}

CudaGpu::CudaGpu(const GpuPart& part) : part_(part), health_(SharedHealth::Of(part.gpu)) {}

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
  // Answers that clients have not read yet share this memory with the outputs of runs.
  struct Retired {
    std::unique_ptr<PinnedRegions> regions;
    std::unique_ptr<BfcAllocator> memory;  // goes first
  };
  static absl::Mutex retired_mu(absl::kConstInit);
  static auto* const retired = new std::list<Retired>;
  absl::MutexLock lock(&retired_mu);
  if (pinned_ != nullptr) retired->push_back({std::move(pinned_regions_), std::move(pinned_)});
  retired->remove_if([](const Retired& one) { return one.memory->stats().bytes_in_use == 0; });
}

absl::Status CudaGpu::Health() const {
  absl::MutexLock lock(&health_->mu);
  return health_->status;
}

void CudaGpu::ReportLost(const absl::Status& status) {
  absl::MutexLock lock(&health_->mu);
  health_->status.Update(status);
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
