// Primitives are the operations that op classes compute with. A primitive has one header, which is
// its contract, and one implementation for each type of device.
//
//   // runtime/kernels/primitives/softmax.h
//   struct Softmax {
//     // Softmax over each of `rows` rows of `columns` elements. ...
//     using Function = absl::Status(KernelContext& ctx, int64_t rows, int64_t columns,
//                                   const Tensor& logits, Tensor* output);
//   };
//
//   // runtime/kernels/primitives/cpu/softmax.cc
//   REGISTER_PRIMITIVE(Softmax, kCpu, RunSoftmax);
//
//   // The op class, which checks attributes and shapes and allocates the outputs.
//   class SoftmaxKernel : public OpKernel {
//    public:
//     explicit SoftmaxKernel(const KernelBuild& build) : softmax_(build) {}
//     absl::Status Compute(KernelContext& ctx) override {
//       ...
//       return softmax_(ctx, rows, columns, ctx.input(0), output);
//     }
//    private:
//     const Primitive<Softmax> softmax_;
//   };
//   REGISTER_KERNEL("Softmax", DevicesOf<Softmax>, SoftmaxKernel);
//
// A primitive with state, such as packed weights, is an abstract class whose Function makes one:
//
//   class MatMul {
//    public:
//     using Function = std::unique_ptr<MatMul>(const KernelBuild& build, ...);
//     virtual ~MatMul() = default;
//     virtual absl::Status Run(KernelContext& ctx, ...) = 0;
//   };
//
//   std::unique_ptr<MatMul> matmul = Primitive<MatMul>(build)(build, ...);
//
// The tensors that a primitive is given lie in the memory of the kernel's device. On a device with
// a stream a primitive enqueues its work on ctx.stream() and returns.
#pragma once

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/logging.h"
#include "runtime/framework/kernel.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {

// The implementations of P, by type of device. REGISTER_PRIMITIVE fills this table before main().
template <typename P>
class PrimitiveImplementations {
 public:
  using Function = typename P::Function;

  // Returns the implementation for devices of this type, or null if there is none.
  static Function* Find(absl::string_view device_type) {
    for (const Entry& entry : entries_) {
      if (entry.function != nullptr && entry.device_type == device_type) return entry.function;
    }
    return nullptr;
  }
  // Adds an implementation. Each type of device may have one, and there may be at most
  // kMaxDeviceTypes.
  static void Add(absl::string_view device_type, Function* function) {
    CHECK(Find(device_type) == nullptr) << "two implementations of a primitive on " << device_type;
    for (Entry& entry : entries_) {
      if (entry.function != nullptr) continue;
      entry = {device_type, function};
      return;
    }
    LOG(FATAL) << "implementations of a primitive on more than " << kMaxDeviceTypes << " devices";
  }

 private:
  static constexpr int kMaxDeviceTypes = 4;
  struct Entry {
    absl::string_view device_type;  // has static storage duration
    Function* function = nullptr;
  };
  // The table is initialised at compile time, because registrations in other files may run before
  // dynamic initialisers of this one.
  static inline constinit std::array<Entry, kMaxDeviceTypes> entries_{};
};

// The implementation of P for the device of one kernel.
template <typename P>
class Primitive {
 public:
  // Fails the build if the kernel's device has no implementation; the primitive must not be called
  // then. A kernel without a device runs on the CPU.
  explicit Primitive(const KernelBuild& build) {
    const absl::string_view type = build.device() == nullptr ? kCpu : build.device()->type();
    function_ = PrimitiveImplementations<P>::Find(type);
    if (function_ == nullptr) {
      build.Fail(absl::InternalError(
          absl::StrCat("a kernel of ", build.op().name, " needs what ", type, " does not have")));
    }
  }

  // Converts to the function, so that a primitive is called like it, also with braced lists as
  // arguments.
  operator typename P::Function *() const {
    return function_;
  }  // NOLINT(google-explicit-constructor)

 private:
  typename P::Function* function_;
};

// The devices that implement all of these primitives, for REGISTER_KERNEL. Elements of string,
// resource and variant lie in host memory whatever the device, so that only the CPU's
// implementations work on them: KernelRegistry::Find() finds such a kernel for nodes with these
// dtypes on the CPU alone.
template <typename... P>
inline constexpr KernelDevices::Predicate DevicesOf = [](absl::string_view device_type) {
  return ((PrimitiveImplementations<P>::Find(device_type) != nullptr) && ...);
};

// See REGISTER_PRIMITIVE.
template <typename P>
struct PrimitiveRegistration {
  PrimitiveRegistration(absl::string_view device_type, typename P::Function* function) {
    PrimitiveImplementations<P>::Add(device_type, function);
  }
};

}  // namespace tessera

// Registers an implementation at static initialisation. The library of the file is alwayslink.
#define REGISTER_PRIMITIVE(primitive, device_type, function) \
  TESSERA_REGISTER_PRIMITIVE(__COUNTER__, primitive, device_type, function)
#define TESSERA_REGISTER_PRIMITIVE(counter, primitive, device_type, function) \
  TESSERA_REGISTER_PRIMITIVE_INNER(counter, primitive, device_type, function)
#define TESSERA_REGISTER_PRIMITIVE_INNER(counter, primitive, device_type, function)         \
  static const ::tessera::PrimitiveRegistration<primitive> primitive_registration_##counter \
      [[maybe_unused]] {                                                                    \
    device_type, function                                                                   \
  }
