// Values of the host that captured work reads, and that are other ones in each run.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Implemented by the device of a capture, which kernels see as the device of their context.
//
//   if (auto* values = dynamic_cast<RunValues*>(ctx.device())) {
//     ASSIGN_OR_RETURN(Tensor seed, values->AddRunValue(DType::kInt64, Shape(), [](Tensor* value) {
//       value->scalar<int64_t>() = NextSeed();
//     }));
//     ...                                          // kernels that read `seed` on the device
//   }
//
// A kernel that does not ask for it puts what the host has at the time of the capture into the
// work.
class RunValues {
 public:
  // Sets the elements of a tensor in host memory.
  using Make = std::function<void(Tensor* value)>;

  virtual ~RunValues() = default;
  // Returns a tensor in the memory of the device. It gets what `make` sets, which is called once
  // for each run, before the work of the run is enqueued, and not for the capture. Requires a
  // trivially copyable dtype. Errors: RESOURCE_EXHAUSTED.
  virtual absl::StatusOr<Tensor> AddRunValue(DType dtype, const Shape& shape, Make make) = 0;
};

}  // namespace tessera
