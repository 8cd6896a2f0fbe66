// The registry of kernels: by op, device, type constraints, label, priority.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The device type of kernels that run on every device, because they touch no bytes of what is not
// declared HostMemory: they hand tensors on (Identity, Switch, ReadVariableOp) or look at shapes. A
// kernel registered for the device's own type goes before.
inline constexpr absl::string_view kAnyDevice = "DEFAULT";

// The devices that a kernel is registered for.
class KernelDevices {
 public:
  using Predicate = bool (*)(absl::string_view device_type);

  // All devices of one type, or kAnyDevice.
  KernelDevices(absl::string_view type) : type_(type) {}  // NOLINT(google-explicit-constructor)
  // The devices whose type `accepts`, which is asked whenever a kernel is looked for. A kernel
  // registered for the device's own type goes before.
  KernelDevices(Predicate accepts) : accepts_(accepts) {}  // NOLINT(google-explicit-constructor)

  // True if the kernel is registered for this very type.
  bool Names(absl::string_view device_type) const {
    return accepts_ == nullptr && type_ == device_type;
  }
  bool Contains(absl::string_view device_type) const {
    return accepts_ != nullptr ? accepts_(device_type)
                               : type_ == device_type || type_ == kAnyDevice;
  }

 private:
  std::string type_;
  Predicate accepts_ = nullptr;
};

struct TypeConstraint {
  std::string attr;            // a type or list(type) attribute
  std::vector<DType> allowed;  // every type of the attribute must be one of these
};

// One registered kernel. Immutable.
struct KernelDef {
  std::string op;
  KernelDevices devices = kAnyDevice;
  std::vector<TypeConstraint> constraints;
  std::vector<std::string> host_memory_args;  // arguments that stay in host memory on a device
  std::string label;                          // matched against the node's `_kernel` attribute
  int priority = 0;                           // among several that fit the highest wins
  std::unique_ptr<OpKernel> (*create)(const KernelBuild&) = nullptr;
};

// The process's kernels. Filled before main by REGISTER_KERNEL and by op libraries; thread-safe;
// entries live for ever.
class KernelRegistry {
 public:
  static KernelRegistry& Global();
  void Register(std::unique_ptr<KernelDef> kernel);

  // The kernel for a node with complete attributes: one registered for the device's type, else one
  // for several types. Errors: NOT_FOUND naming what is missing: the op on this device, or the
  // dtype (with the dtypes there are).
  absl::StatusOr<const KernelDef*> Find(absl::string_view op, absl::string_view device_type,
                                        const AttrMap& attrs) const;
  // True if the op has any kernel on any device.
  bool HasKernel(absl::string_view op) const;
  // True if the op has a kernel for some dtypes on devices of this type.
  bool HasKernel(absl::string_view op, absl::string_view device_type) const;
  std::vector<const KernelDef*> All() const;

 private:
  struct State;
  KernelRegistry();
  std::unique_ptr<State> state_;
};

// In which memory a node's kernel finds its inputs and gives its outputs, by position.
struct KernelMemory {
  std::vector<MemoryKind> inputs;
  std::vector<MemoryKind> outputs;
};
// Returns the memory kinds by the registration on `device`: host memory for declared arguments and
// for dtypes that only the host holds, the device's own memory for the rest. The types are those of
// the node. Errors: INTERNAL for a host memory argument that the op does not declare.
absl::StatusOr<KernelMemory> MemoryOf(const KernelDef& kernel, const OpDef& op,
                                      const AttrMap& attrs, absl::Span<const DType> input_types,
                                      absl::Span<const DType> output_types, const Device& device);

// Builds the kernel of a node.
// Errors: those of Find() and those its constructor recorded.
absl::StatusOr<std::unique_ptr<OpKernel>> CreateKernel(const KernelBuild& build);

// See REGISTER_KERNEL.
class KernelBuilder {
 public:
  using Create = std::unique_ptr<OpKernel> (*)(const KernelBuild&);
  KernelBuilder(absl::string_view op, KernelDevices devices, Create create);
  ~KernelBuilder();  // out of line: there are a thousand registrations
  KernelBuilder& TypeConstraint(absl::string_view attr, std::vector<DType> allowed);
  template <typename T>
  KernelBuilder& TypeConstraint(absl::string_view attr) {
    return TypeConstraint(attr, {DTypeOf<T>});
  }
  KernelBuilder& HostMemory(absl::string_view arg);
  KernelBuilder& Label(absl::string_view label);
  KernelBuilder& Priority(int priority);

 private:
  friend struct KernelRegistration;
  std::unique_ptr<KernelDef> def_;
};

// Registers at static initialisation; `kernel` is a class with a constructor from KernelBuild:
//   REGISTER_KERNEL("GatherV2", kCpu, GatherKernel).TypeConstraint("Tindices", {...});
// For the devices that have the primitives a kernel is made of, see
// runtime/kernels/primitives/primitive.h.
struct KernelRegistration {
  KernelRegistration(KernelBuilder& builder);                                   // NOLINT
  KernelRegistration(KernelBuilder&& builder) : KernelRegistration(builder) {}  // NOLINT
};
#define REGISTER_KERNEL(op, device, ...) \
  TESSERA_REGISTER_KERNEL(__COUNTER__, op, device, __VA_ARGS__)
#define TESSERA_REGISTER_KERNEL(counter, op, device, ...) \
  TESSERA_REGISTER_KERNEL_INNER(counter, op, device, __VA_ARGS__)
#define TESSERA_REGISTER_KERNEL_INNER(counter, op, device, ...)                               \
  static const ::tessera::KernelRegistration kernel_registration_##counter [[maybe_unused]] = \
      ::tessera::KernelBuilder(                                                               \
          op, device,                                                                         \
          [](const ::tessera::KernelBuild& build) -> std::unique_ptr<::tessera::OpKernel> {   \
            return std::make_unique<__VA_ARGS__>(build);                                      \
          })

}  // namespace tessera
