// Registering the GPU's implementation of a primitive:
//
//   REGISTER_CUDA_PRIMITIVE(Softmax, RunSoftmax);
//
// It is REGISTER_PRIMITIVE for the type of device that the file is compiled for. nvcc does not get
// to see the table of a primitive, whose definition it rejects: registration.cc fills that, and
// names all primitives.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera::cuda {

// The type of device for which this folder is compiled: see testing/emulation.h.
#ifdef TESSERA_EMULATED_CUDA
inline constexpr absl::string_view kDeviceType = "EMULATED_GPU";
#else
inline constexpr absl::string_view kDeviceType = "GPU";
#endif

template <typename P>
struct CudaPrimitiveRegistration {
  explicit CudaPrimitiveRegistration(typename P::Function* function);
};

}  // namespace tessera::cuda

#define REGISTER_CUDA_PRIMITIVE(primitive, ...)                                                    \
  static const ::tessera::cuda::CudaPrimitiveRegistration<primitive> cuda_registration_##primitive \
      [[maybe_unused]] {                                                                           \
    __VA_ARGS__                                                                                    \
  }
