#include "runtime/kernels/primitives/cuda/testing/host_compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/kernels/primitives/cuda/compiled_kernel.h"
#include "runtime/kernels/primitives/cuda/sweep_source.h"
#include "runtime/kernels/primitives/cuda/testing/emulation.h"

namespace tessera {
namespace {

constexpr unsigned kThreads = 256;

// What CUDA's language has beyond C++, for one thread.
constexpr absl::string_view kBefore = R"(
#define __global__
struct ThreadPlace {
  unsigned x;
};
static thread_local ThreadPlace threadIdx, blockIdx, blockDim, gridDim;
)";
constexpr absl::string_view kAfter = R"(
extern "C" void RunThread(unsigned thread, unsigned block, unsigned threads, unsigned blocks,
                          const void* parameters) {
  threadIdx.x = thread, blockIdx.x = block, blockDim.x = threads, gridDim.x = blocks;
  RunSweep(*static_cast<const Sweep*>(parameters));
}
)";
using RunThread = void (*)(unsigned thread, unsigned block, unsigned threads, unsigned blocks,
                           const void* parameters);

class HostKernel final : public cuda::CompiledKernel {
 public:
  explicit HostKernel(RunThread run) : run_(run) {}
  absl::Status Launch(KernelContext& /*ctx*/, int64_t count,
                      absl::Span<const int64_t> parameters) const override {
    // Few blocks, so that threads loop.
    const auto blocks =
        static_cast<unsigned>(std::min<int64_t>(3, (count + kThreads - 1) / kThreads));
    emulation::LaunchIndependent(blocks, kThreads, [&] {
      run_(threadIdx.x, blockIdx.x, blockDim.x, gridDim.x, parameters.data());
    });
    return absl::OkStatus();
  }

 private:
  const RunThread run_;
};

absl::Mutex mu(absl::kConstInit);
std::string* command ABSL_GUARDED_BY(mu) = new std::string;
std::string* folder ABSL_GUARDED_BY(mu) = new std::string;
int num_compiled ABSL_GUARDED_BY(mu) = 0;

void Write(const std::string& path, absl::string_view text) {
  CHECK(CreateDirectories(path.substr(0, path.rfind('/'))).ok()) << path;
  CHECK(WriteFileAtomically(path, text).ok()) << path;
}

}  // namespace

namespace emulation {

void CompileSweepsBy(std::string new_command, std::string new_folder) {
  absl::MutexLock lock(&mu);
  *command = std::move(new_command);
  *folder = std::move(new_folder);
  if (command->empty()) return;
  for (const auto& header : cuda::SweepKernel::Headers()) {
    // The host's compiler has its own standard library.
    if (absl::StrContains(header.name, '/')) Write(JoinPath(*folder, header.name), header.text);
  }
}

int NumCompiledSweeps() {
  absl::MutexLock lock(&mu);
  return num_compiled;
}

}  // namespace emulation

namespace cuda {

std::shared_ptr<const CompiledKernel> CompileSweep(KernelContext& /*ctx*/,
                                                   const std::string& source) {
  absl::MutexLock lock(&mu);
  if (command->empty()) return nullptr;
  const std::string path = absl::StrCat(*folder, "/sweep", num_compiled++);
  Write(absl::StrCat(path, ".cc"), absl::StrCat(kBefore, source, kAfter));
  const std::string line =
      absl::StrCat(*command, " -std=c++20 -O1 -fno-strict-aliasing -w -shared -fPIC -I", *folder,
                   " ", path, ".cc -o ", path, ".so");
  CHECK(std::system(line.c_str()) == 0) << line;
  void* const library = ::dlopen(absl::StrCat(path, ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(library != nullptr) << ::dlerror();
  const auto run = reinterpret_cast<RunThread>(::dlsym(library, "RunThread"));
  CHECK(run != nullptr) << ::dlerror();
  return std::make_shared<HostKernel>(run);
}

}  // namespace cuda
}  // namespace tessera
