#include "runtime/kernels/primitives/choose.h"

#include <type_traits>
#include <utility>

#include "runtime/kernels/primitives/cpu/strided_loop.h"
#include "runtime/kernels/primitives/cpu/typed_loop.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/elementwise/choose.h"

namespace tessera {
namespace {

// Chooses between numbers by value, and conditions are bytes of 0 or 1: loops over addresses or
// booleans do not vectorise.
struct ChooseNumber {
  template <typename T>
  T operator()(uint8_t condition, T x, T y) const {
    return functors::Choose()(condition != 0, x, y);
  }
};

template <typename T>
constexpr LoopFn ChooseLoop() {
  if constexpr (std::is_trivially_copyable_v<T>) {
    return &TernaryLoop<ChooseNumber, T, uint8_t, T, T>;
  } else {
    return &TernaryLoop<functors::Choose, T, bool, T, T>;
  }
}

LoopFn FindLoop(DType dtype) {
  return VisitStorageType(dtype, []<typename T>() {
    // Signed integers have vectorised loops.
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
