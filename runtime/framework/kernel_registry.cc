#include "runtime/framework/kernel_registry.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/library_load.h"

namespace tessera {
namespace {

bool Allows(const TypeConstraint& constraint, DType type) {
  return std::find(constraint.allowed.begin(), constraint.allowed.end(), RemoveRef(type)) !=
         constraint.allowed.end();
}

// Whether the node's attributes fit. Errors: NOT_FOUND if it lacks the constrained attribute.
absl::StatusOr<bool> Fits(const KernelDef& kernel, const AttrMap& attrs) {
  for (const TypeConstraint& constraint : kernel.constraints) {
    auto it = attrs.find(constraint.attr);
    if (it == attrs.end()) {
      return absl::NotFoundError(absl::StrCat("a kernel of ", kernel.op, " asks for attribute '",
                                              constraint.attr, "', which the node lacks"));
    }
    if (const DType* type = it->second.get<DType>()) {
      if (!Allows(constraint, *type)) return false;
    } else if (const auto* types = it->second.get<std::vector<DType>>()) {
      for (DType t : *types) {
        if (!Allows(constraint, t)) return false;
      }
    }
  }
  return true;
}

bool HasHostOnlyType(const AttrMap& attrs) {
  const auto is_host_only = [](DType type) { return !IsTriviallyCopyable(RemoveRef(type)); };
  return std::any_of(attrs.begin(), attrs.end(), [&](const auto& attr) {
    if (const DType* type = attr.second.template get<DType>()) return is_host_only(*type);
    const auto* types = attr.second.template get<std::vector<DType>>();
    return types != nullptr && std::any_of(types->begin(), types->end(), is_host_only);
  });
}

// Whether the kernel computes in memory that cannot hold what the node's dtypes ask for: those made
// of a device's primitives do, those registered by name know what they do.
bool LacksMemoryFor(const AttrMap& attrs, const KernelDef& kernel, absl::string_view device_type) {
  const bool by_primitives =
      !kernel.devices.Names(device_type) && !kernel.devices.Names(kAnyDevice);
  return by_primitives && device_type != kCpu && HasHostOnlyType(attrs);
}

std::string Describe(const KernelDef& kernel, absl::string_view device_type) {
  std::string text(device_type);
  for (const TypeConstraint& constraint : kernel.constraints) {
    absl::StrAppend(
        &text, " ", constraint.attr, " in {",
        absl::StrJoin(constraint.allowed, ", ",
                      [](std::string* out, DType t) { absl::StrAppend(out, DTypeName(t)); }),
        "}");
  }
  return text;
}

// The values of the attributes that some kernel constrains.
std::string DescribeTypes(const std::vector<const KernelDef*>& kernels, const AttrMap& attrs) {
  std::string text;
  for (const KernelDef* kernel : kernels) {
    for (const TypeConstraint& constraint : kernel->constraints) {
      auto it = attrs.find(constraint.attr);
      const std::string item =
          absl::StrCat(constraint.attr, "=", it == attrs.end() ? "?" : it->second.ToString());
      if (text.find(item) == std::string::npos) {
        absl::StrAppend(&text, text.empty() ? "" : ", ", item);
      }
    }
  }
  return text;
}

}  // namespace

// Room for the ops of a whole program, so that the table does not grow eleven times before main().
constexpr size_t kExpectedOps = 1500;

struct KernelRegistry::State {
  mutable absl::Mutex mu;
  absl::flat_hash_map<std::string, std::vector<std::unique_ptr<KernelDef>>> kernels
      ABSL_GUARDED_BY(mu);  // by op
};

KernelRegistry::KernelRegistry() : state_(std::make_unique<State>()) {
  absl::MutexLock lock(&state_->mu);
  state_->kernels.reserve(kExpectedOps);
}

KernelRegistry& KernelRegistry::Global() {
  static KernelRegistry* const registry = new KernelRegistry;
  return *registry;
}

void KernelRegistry::Register(std::unique_ptr<KernelDef> kernel) {
  absl::MutexLock lock(&state_->mu);
  state_->kernels[kernel->op].push_back(std::move(kernel));
}

absl::StatusOr<const KernelDef*> KernelRegistry::Find(absl::string_view op,
                                                      absl::string_view device_type,
                                                      const AttrMap& attrs) const {
  std::string label;
  if (auto it = attrs.find("_kernel"); it != attrs.end()) {
    if (const std::string* text = it->second.get<std::string>()) label = *text;
  }
  absl::ReaderMutexLock lock(&state_->mu);
  std::vector<const KernelDef*> on_device;
  if (auto it = state_->kernels.find(op); it != state_->kernels.end()) {
    for (const bool of_this_type : {true, false}) {
      const KernelDef* best = nullptr;
      for (const auto& kernel : it->second) {
        if (kernel->label != label || kernel->devices.Names(device_type) != of_this_type ||
            !kernel->devices.Contains(device_type)) {
          continue;
        }
        on_device.push_back(kernel.get());
        absl::StatusOr<bool> fits = Fits(*kernel, attrs);
        if (!fits.ok()) return fits.status();
        if (*fits && LacksMemoryFor(attrs, *kernel, device_type)) fits = false;
        if (*fits && (best == nullptr || kernel->priority > best->priority)) best = kernel.get();
      }
      if (best != nullptr) return best;
    }
  }
  if (on_device.empty()) {
    return absl::NotFoundError(absl::StrCat("op ", op, " has no kernel on ", device_type,
                                            label.empty() ? "" : " labelled '", label,
                                            label.empty() ? "" : "'"));
  }
  return absl::NotFoundError(
      absl::StrCat("op ", op, " has no kernel for ", DescribeTypes(on_device, attrs), " on ",
                   device_type, "; there are: ",
                   absl::StrJoin(on_device, "; ", [&](std::string* out, const KernelDef* kernel) {
                     absl::StrAppend(out, Describe(*kernel, device_type));
                   })));
}

bool KernelRegistry::HasKernel(absl::string_view op) const {
  absl::ReaderMutexLock lock(&state_->mu);
  return state_->kernels.contains(op);
}

bool KernelRegistry::HasKernel(absl::string_view op, absl::string_view device_type) const {
  absl::ReaderMutexLock lock(&state_->mu);
  auto it = state_->kernels.find(op);
  return it != state_->kernels.end() &&
         std::any_of(it->second.begin(), it->second.end(),
                     [&](const auto& kernel) { return kernel->devices.Contains(device_type); });
}

std::vector<const KernelDef*> KernelRegistry::All() const {
  absl::ReaderMutexLock lock(&state_->mu);
  std::vector<const KernelDef*> all;
  for (const auto& [op, kernels] : state_->kernels) {
    for (const auto& kernel : kernels) all.push_back(kernel.get());
  }
  return all;
}

absl::StatusOr<KernelMemory> MemoryOf(const KernelDef& kernel, const OpDef& op,
                                      const AttrMap& attrs, absl::Span<const DType> input_types,
                                      absl::Span<const DType> output_types, const Device& device) {
  const auto kinds = [&device](absl::Span<const DType> types) {
    std::vector<MemoryKind> result;
    for (DType t : types) result.push_back(device.KindOf(RemoveRef(t)));
    return result;
  };
  KernelMemory memory{kinds(input_types), kinds(output_types)};
  for (const std::string& arg : kernel.host_memory_args) {
    const absl::StatusOr<ArgRange> in = InputRange(op, attrs, arg);
    const absl::StatusOr<ArgRange> out = OutputRange(op, attrs, arg);
    if (!in.ok() && !out.ok()) {
      return absl::InternalError(absl::StrCat("a kernel of ", op.name, " declares '", arg,
                                              "' as host memory, which is no argument of the op"));
    }
    if (in.ok()) std::fill_n(memory.inputs.begin() + in->begin, in->size(), MemoryKind::kHost);
    if (out.ok()) std::fill_n(memory.outputs.begin() + out->begin, out->size(), MemoryKind::kHost);
  }
  return memory;
}

absl::StatusOr<std::unique_ptr<OpKernel>> CreateKernel(const KernelBuild& build) {
  const absl::string_view device_type = build.device() == nullptr ? kCpu : build.device()->type();
  ASSIGN_OR_RETURN(const KernelDef* def,
                   KernelRegistry::Global().Find(build.op().name, device_type, build.attrs()));
  std::unique_ptr<OpKernel> kernel = def->create(build);
  RETURN_IF_ERROR(build.status());
  return kernel;
}

KernelBuilder::KernelBuilder(absl::string_view op, KernelDevices devices, Create create)
    : def_(std::make_unique<KernelDef>()) {
  def_->op = std::string(op);
  def_->devices = std::move(devices);
  def_->create = create;
}

KernelBuilder::~KernelBuilder() = default;

KernelBuilder& KernelBuilder::TypeConstraint(absl::string_view attr, std::vector<DType> allowed) {
  def_->constraints.push_back({std::string(attr), std::move(allowed)});
  return *this;
}

KernelBuilder& KernelBuilder::HostMemory(absl::string_view arg) {
  def_->host_memory_args.emplace_back(arg);
  return *this;
}

KernelBuilder& KernelBuilder::Label(absl::string_view label) {
  def_->label = std::string(label);
  return *this;
}

KernelBuilder& KernelBuilder::Priority(int priority) {
  def_->priority = priority;
  return *this;
}

KernelRegistration::KernelRegistration(KernelBuilder& builder) {
  LibraryLoad* const load = LibraryLoad::Current();
  if (load == nullptr) {
    KernelRegistry::Global().Register(std::move(builder.def_));
    return;
  }
  // A shared pointer, because a std::function must be copyable.
  auto kernel = std::make_shared<std::unique_ptr<KernelDef>>(std::move(builder.def_));
  load->AddKernel([kernel] { KernelRegistry::Global().Register(std::move(*kernel)); });
}

}  // namespace tessera
