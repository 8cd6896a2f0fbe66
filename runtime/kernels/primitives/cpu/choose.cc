#include "runtime/kernels/primitives/choose.h"

#include <type_traits>
#include <utility>

#include "runtime/kernels/primitives/cpu/choose_loop.h"
#include "runtime/kernels/primitives/cpu/strided_loop.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

LoopFn FindLoop(DType dtype) {
  return VisitStorageType(dtype, []<typename T>() {
    // Unsigned integers use the loops of signed ones, which are vectorised.
    if constexpr (std::is_same_v<T, uint32_t>) return ChooseLoop<int32_t>();
    if constexpr (std::is_same_v<T, uint64_t>) return ChooseLoop<int64_t>();
    return ChooseLoop<T>();
  });
}

absl::Status RunChoose(KernelContext& ctx, DType dtype, StridedOperands& operands) {
  RunStridedLoop(std::move(operands), ctx.pool(), IsTriviallyCopyable(dtype) ? 0.5 : 10,
                 *FindLoop(dtype));
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(Choose, kCpu, RunChoose);

}  // namespace
}  // namespace tessera
