#include "runtime/kernels/primitives/activate.h"

#include "runtime/kernels/primitives/cpu/post_ops.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

absl::Status ActivateInPlace(KernelContext& /*ctx*/, Activation activation, float alpha,
                             Tensor* values) {
  if (activation == Activation::kNone) return absl::OkStatus();
  return VisitRealType(values->dtype(), [&]<typename T>() {
    for (T& x : values->flat<T>()) {
      x = static_cast<T>(Apply(activation, alpha, static_cast<double>(x)));
    }
    return absl::OkStatus();
  });
}

REGISTER_PRIMITIVE(Activate, kCpu, ActivateInPlace);

}  // namespace
}  // namespace tessera
