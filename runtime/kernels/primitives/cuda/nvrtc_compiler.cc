#include "runtime/kernels/primitives/cuda/nvrtc_compiler.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/kernels/primitives/cuda/sweep_source.h"

namespace tessera::cuda {
namespace {

std::vector<std::string> Options(int compute_capability) {
  return {absl::StrCat("--gpu-architecture=sm_", compute_capability), "--std=c++20",
          "-default-device"};
}

absl::Status NvrtcStatus(const Nvrtc& nvrtc, nvrtcResult result, absl::string_view detail) {
  if (result == NVRTC_SUCCESS) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("NVRTC: ", nvrtc.nvrtcGetErrorString(result), " ", detail));
}

}  // namespace

absl::StatusOr<std::string> CompileByNvrtc(absl::string_view source, int compute_capability) {
  ASSIGN_OR_RETURN(const Nvrtc* nvrtc, LoadNvrtc());
  std::vector<const char*> names, texts, options;
  for (const SweepKernel::Header& header : SweepKernel::Headers()) {
    names.push_back(header.name.c_str());
    texts.push_back(header.text.c_str());
  }
  const std::vector<std::string> all_options = Options(compute_capability);
  for (const std::string& option : all_options) options.push_back(option.c_str());

  nvrtcProgram program = nullptr;
  RETURN_IF_ERROR(NvrtcStatus(
      *nvrtc,
      nvrtc->nvrtcCreateProgram(&program, std::string(source).c_str(), "sweep.cu",
                                static_cast<int>(names.size()), texts.data(), names.data()),
      "a program"));
  const auto compile = [&]() -> absl::StatusOr<std::string> {
    const nvrtcResult result =
        nvrtc->nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
    size_t size = 0;
    if (result != NVRTC_SUCCESS) {
      std::string log;
      if (nvrtc->nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS) {
        log.resize(size);
        nvrtc->nvrtcGetProgramLog(program, log.data());
      }
      return NvrtcStatus(*nvrtc, result, log.c_str());
    }
    RETURN_IF_ERROR(NvrtcStatus(*nvrtc, nvrtc->nvrtcGetCUBINSize(program, &size), "machine code"));
    std::string code(size, '\0');
    RETURN_IF_ERROR(
        NvrtcStatus(*nvrtc, nvrtc->nvrtcGetCUBIN(program, code.data()), "machine code"));
    return code;
  };
  absl::StatusOr<std::string> code = compile();
  nvrtc->nvrtcDestroyProgram(&program);
  return code;
}

absl::StatusOr<std::string> DescribeNvrtc(int compute_capability) {
  ASSIGN_OR_RETURN(const Nvrtc* nvrtc, LoadNvrtc());
  int major = 0, minor = 0;
  RETURN_IF_ERROR(NvrtcStatus(*nvrtc, nvrtc->nvrtcVersion(&major, &minor), "its version"));
  uint32_t checksum = 0;
  size_t size = 0;
  for (const SweepKernel::Header& header : SweepKernel::Headers()) {
    checksum = ExtendCrc32c(ExtendCrc32c(checksum, header.name), header.text);
    size += header.text.size();
  }
  return absl::StrCat("NVRTC ", major, ".", minor, " ",
                      absl::StrJoin(Options(compute_capability), " "), " headers ", checksum, " ",
                      size);
}

}  // namespace tessera::cuda
