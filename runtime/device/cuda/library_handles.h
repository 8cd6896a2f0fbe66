// Handles of the CUDA toolkit's libraries, which streams take in turn.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "absl/status/statusor.h"

namespace tessera {

// The handles of one stream. They are made when they are first asked for, or taken over from a
// stream that is gone, and are never destroyed: a library waits for the whole GPU when it destroys
// one, which breaks the captures of other streams, and makes a new one in milliseconds.
//
// Used by one thread at a time. The GPU is the calling thread's current one.
class LibraryHandles {
 public:
  // `gpu` is CUDA's number.
  explicit LibraryHandles(int gpu) : gpu_(gpu) {}
  // Leaves the handles to other streams of the GPU. The stream of cudnn() must still be there.
  ~LibraryHandles();
  LibraryHandles(const LibraryHandles&) = delete;
  LibraryHandles& operator=(const LibraryHandles&) = delete;

  // Errors: those of LoadCublasLt() and LoadCudnn(); INTERNAL.
  absl::StatusOr<cublasLtHandle_t> cublaslt();
  // It enqueues on `stream`, the same at each call.
  absl::StatusOr<cudnnHandle_t> cudnn(cudaStream_t stream);

  bool has_cublaslt() const { return cublaslt_ != nullptr; }
  bool has_cudnn() const { return cudnn_ != nullptr; }

 private:
  const int gpu_;
  cublasLtHandle_t cublaslt_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
};

}  // namespace tessera
