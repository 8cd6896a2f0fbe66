#include "runtime/kernels/primitives/advance_generator.h"

namespace tessera {
namespace {

absl::Status RunAdvanceGenerator(KernelContext& /*ctx*/, uint64_t blocks, Tensor* state,
                                 Tensor* before) {
  StoreState(AdvanceState(state->data<int64_t>(), blocks),
             reinterpret_cast<int64_t*>(before->mutable_raw()));
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(AdvanceGenerator, kCpu, RunAdvanceGenerator);

}  // namespace
}  // namespace tessera
