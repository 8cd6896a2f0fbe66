// Kernels of elementwise ops. What is particular to an op is its declaration
// (runtime/kernels/primitives/elementwise/declaration.h); shapes, broadcasting and reuse of buffers
// are dealt with here, and loops by the elementwise primitive of the kernel's device.
//
//   REGISTER_ELEMENTWISE(DevicesOf<Elementwise>, kArithmeticOps);
//
// registers a kernel for each declaration of the list.
#pragma once

#include <array>
#include <tuple>

#include "absl/types/span.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/elementwise.h"
#include "runtime/kernels/primitives/elementwise/declaration.h"

namespace tessera {

// See REGISTER_ELEMENTWISE.
struct ElementwiseRegistration {
  ElementwiseRegistration(KernelDevices devices, absl::Span<const ElementwiseOp* const> ops);
};

// Returns the declaration whose kernels are registered under `name`; null if there is none.
const ElementwiseOp* FindElementwiseOp(absl::string_view name);

// The declarations of a list. Those of static storage stay valid.
template <typename... Declarations>
constexpr auto ElementwiseOps(const std::tuple<Declarations...>& declarations) {
  return std::apply(
      [](const auto&... op) { return std::array<const ElementwiseOp*, sizeof...(op)>{&op...}; },
      declarations);
}

}  // namespace tessera

// Registers kernels at static initialisation.
#define REGISTER_ELEMENTWISE(devices, declarations) \
  TESSERA_REGISTER_ELEMENTWISE(__COUNTER__, devices, declarations)
#define TESSERA_REGISTER_ELEMENTWISE(counter, devices, declarations) \
  TESSERA_REGISTER_ELEMENTWISE_INNER(counter, devices, declarations)
#define TESSERA_REGISTER_ELEMENTWISE_INNER(counter, devices, declarations)           \
  static const ::tessera::ElementwiseRegistration elementwise_registration_##counter \
      [[maybe_unused]] {                                                             \
    devices, ::tessera::ElementwiseOps(declarations)                                 \
  }
