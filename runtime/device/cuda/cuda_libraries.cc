#include "runtime/device/cuda/cuda_libraries.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

absl::StatusOr<void*> Open(const std::string& file) {
  const char* const home = std::getenv("CUDA_HOME");
  std::string error;
  for (const std::string& path : {file, absl::StrCat(home == nullptr ? "" : home, "/lib64/", file),
                                  absl::StrCat("/usr/local/cuda/lib64/", file)}) {
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    if (error.empty()) error = ::dlerror();
  }
  return absl::FailedPreconditionError(error);
}

// Looks up functions of one library, and keeps the first error.
class Library {
 public:
  explicit Library(const std::string& file) : library_(Open(file)), status_(library_.status()) {}

  template <typename Function>
  void Find(const char* name, Function* function) {
    if (!status_.ok()) return;
    *function = reinterpret_cast<Function>(::dlsym(*library_, name));
    if (*function == nullptr) status_ = absl::FailedPreconditionError(::dlerror());
  }
  template <typename Functions>
  absl::StatusOr<const Functions*> Result(Functions functions) const {
    if (!status_.ok()) return status_;
    // Lives as long as the program, as the library does.
    return new Functions(functions);
  }

 private:
  const absl::StatusOr<void*> library_;
  absl::Status status_;
};

std::string Describe(const char* name, const absl::Status& status, const std::string& version) {
  if (!status.ok()) return absl::StrCat(name, " is missing: ", status.message());
  return absl::StrCat(name, " ", version);
}

std::string Version(size_t major, size_t minor, size_t patch) {
  return absl::StrCat(major, ".", minor, ".", patch);
}

}  // namespace

#define TESSERA_FIND(function) library.Find(#function, &functions.function);

absl::StatusOr<const CublasLt*> LoadCublasLt() {
  static const auto* const loaded = new absl::StatusOr<const CublasLt*>([] {
    Library library(absl::StrCat("libcublasLt.so.", CUBLAS_VER_MAJOR));
    CublasLt functions;
    TESSERA_CUBLASLT_FUNCTIONS(TESSERA_FIND)
    return library.Result(functions);
  }());
  return *loaded;
}

absl::StatusOr<const Cudnn*> LoadCudnn() {
  static const auto* const loaded = new absl::StatusOr<const Cudnn*>([] {
    Library library(absl::StrCat("libcudnn.so.", CUDNN_MAJOR));
    Cudnn functions;
    TESSERA_CUDNN_FUNCTIONS(TESSERA_FIND)
    return library.Result(functions);
  }());
  return *loaded;
}

absl::StatusOr<const Nvrtc*> LoadNvrtc() {
  static const auto* const loaded = new absl::StatusOr<const Nvrtc*>([] {
    Library library(absl::StrCat("libnvrtc.so.", CUDART_VERSION / 1000));
    Nvrtc functions;
    TESSERA_NVRTC_FUNCTIONS(TESSERA_FIND)
    return library.Result(functions);
  }());
  return *loaded;
}

absl::StatusOr<const Nccl*> LoadNccl() {
  static const auto* const loaded = new absl::StatusOr<const Nccl*>([] {
    Library library(absl::StrCat("libnccl.so.", NCCL_MAJOR));
    Nccl functions;
    TESSERA_NCCL_FUNCTIONS(TESSERA_FIND)
    return library.Result(functions);
  }());
  return *loaded;
}

#undef TESSERA_FIND

std::vector<std::string> DescribeCudaLibraries() {
  std::vector<std::string> all;
  const auto cublaslt = LoadCublasLt();
  const size_t lt = cublaslt.ok() ? (*cublaslt)->cublasLtGetVersion() : 0;
  all.push_back(
      Describe("cuBLASLt", cublaslt.status(), Version(lt / 10000, lt / 100 % 100, lt % 100)));
  const auto cudnn = LoadCudnn();
  const size_t dnn = cudnn.ok() ? (*cudnn)->cudnnGetVersion() : 0;
  all.push_back(
      Describe("cuDNN", cudnn.status(), Version(dnn / 10000, dnn / 100 % 100, dnn % 100)));
  const auto nvrtc = LoadNvrtc();
  int major = 0, minor = 0;
  if (nvrtc.ok()) (*nvrtc)->nvrtcVersion(&major, &minor);
  all.push_back(Describe("NVRTC", nvrtc.status(), absl::StrCat(major, ".", minor)));
  const auto nccl = LoadNccl();
  int ccl = 0;
  if (nccl.ok()) (*nccl)->ncclGetVersion(&ccl);
  all.push_back(Describe("NCCL", nccl.status(), Version(ccl / 10000, ccl / 100 % 100, ccl % 100)));
  return all;
}

}  // namespace tessera
