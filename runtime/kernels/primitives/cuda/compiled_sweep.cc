// Sweeps compiled by NVRTC and launched on the GPU of a context.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_status.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/kernels/primitives/cuda/compiled_kernel.h"
#include "runtime/kernels/primitives/cuda/kernel_file_cache.h"
#include "runtime/kernels/primitives/cuda/nvrtc_compiler.h"
#include "runtime/kernels/primitives/cuda/sweep_source.h"

namespace tessera::cuda {
namespace {

constexpr int64_t kBlockThreads = 256;
constexpr int64_t kMaxBlocks = 8192;

// Machine code that is loaded. It stays loaded as long as the program runs: a kernel may run after
// the node that launched it is gone.
class LoadedKernel final : public CompiledKernel {
 public:
  static absl::StatusOr<std::shared_ptr<const CompiledKernel>> Make(const std::string& code) {
    cudaLibrary_t library = nullptr;
    RETURN_IF_CUDA_ERROR(cudaLibraryLoadData(&library, code.data(), /*jitOptions=*/nullptr,
                                             /*jitOptionsValues=*/nullptr, /*numJitOptions=*/0,
                                             /*libraryOptions=*/nullptr,
                                             /*libraryOptionValues=*/nullptr,
                                             /*numLibraryOptions=*/0));
    auto loaded = std::make_shared<LoadedKernel>();
    RETURN_IF_CUDA_ERROR(cudaLibraryGetKernel(&loaded->kernel_, library,
                                              std::string(SweepKernel::kFunctionName).c_str()));
    return loaded;
  }

  absl::Status Launch(KernelContext& ctx, int64_t count,
                      absl::Span<const int64_t> parameters) const override {
    CudaStream& stream = CudaStream::Of(ctx);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(
        static_cast<unsigned>(std::min(kMaxBlocks, (count + kBlockThreads - 1) / kBlockThreads)));
    config.blockDim = dim3(kBlockThreads);
    config.stream = stream.cuda();
    void* arguments[] = {const_cast<int64_t*>(parameters.data())};
    cudaLaunchKernelExC(&config, kernel_, arguments);
    return stream.CheckLaunch("a fused elementwise kernel");
  }

 private:
  cudaKernel_t kernel_ = nullptr;
};

absl::StatusOr<int> ComputeCapability(int gpu) {
  int major = 0, minor = 0;
  RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu));
  RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu));
  return 10 * major + minor;
}

absl::StatusOr<std::shared_ptr<const CompiledKernel>> Compile(const std::string& source,
                                                              int compute_capability) {
  static const auto* const files = new KernelFileCache(KernelFileCache::FromEnvironment());
  ASSIGN_OR_RETURN(const std::string compiler, DescribeNvrtc(compute_capability));
  const std::string key = absl::StrCat(compiler, "\n", source);
  if (const std::optional<std::string> code = files->Find(key)) {
    absl::StatusOr<std::shared_ptr<const CompiledKernel>> loaded = LoadedKernel::Make(*code);
    if (loaded.ok()) return loaded;
  }
  ASSIGN_OR_RETURN(const std::string code, CompileByNvrtc(source, compute_capability));
  files->Store(key, code);
  return LoadedKernel::Make(code);
}

}  // namespace

std::shared_ptr<const CompiledKernel> CompileSweep(KernelContext& ctx, const std::string& source) {
  struct Kernels {
    absl::Mutex mu;
    absl::flat_hash_map<std::string, std::shared_ptr<const CompiledKernel>> by_source
        ABSL_GUARDED_BY(mu);
  };
  static auto* const kernels = new Kernels;
  CudaStream& stream = CudaStream::Of(ctx);
  stream.cuda();  // makes the GPU the current one
  const absl::StatusOr<int> compute_capability = ComputeCapability(stream.gpu());
  if (!compute_capability.ok()) return nullptr;
  absl::MutexLock lock(&kernels->mu);
  auto [it, is_new] =
      kernels->by_source.try_emplace(absl::StrCat(*compute_capability, source), nullptr);
  if (is_new) {
    auto compiled = Compile(source, *compute_capability);
    if (compiled.ok()) {
      it->second = *std::move(compiled);
    } else {
      LOG(WARNING) << "elementwise ops run one by one: " << compiled.status();
    }
  }
  return it->second;
}

}  // namespace tessera::cuda
