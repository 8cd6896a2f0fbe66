#include "runtime/device/cuda/cuda_status.h"

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

absl::StatusCode CodeOf(cudaError_t error) {
  if (IsGpuLost(error)) return absl::StatusCode::kUnavailable;
  switch (error) {
    case cudaErrorMemoryAllocation:
    case cudaErrorLaunchOutOfResources:
      return absl::StatusCode::kResourceExhausted;
    case cudaErrorInvalidConfiguration:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

bool IsGpuLost(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoDevice:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

absl::Status CudaStatus(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();
  return absl::Status(CodeOf(error), absl::StrCat(what, ": ", cudaGetErrorName(error), ": ",
                                                  cudaGetErrorString(error)));
}

absl::Status UseGpu(int gpu) {
  thread_local int current = -1;
  if (current == gpu) [[likely]]
    return absl::OkStatus();
  RETURN_IF_CUDA_ERROR(cudaSetDevice(gpu));
  current = gpu;
  return absl::OkStatus();
}

}  // namespace tessera
