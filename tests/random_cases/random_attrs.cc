#include "tests/random_cases/random_attrs.h"

#include <algorithm>
#include <limits>
#include <map>

#include "runtime/framework/kernel_registry.h"
#include "tests/random_cases/random_tensor.h"

namespace tessera {
namespace {

constexpr absl::string_view kCpuType = "CPU";

const std::vector<DType>& AnyType() {
  static const std::vector<DType> types = {
      DType::kFloat,     DType::kDouble, DType::kInt32,  DType::kInt64,
      DType::kString,    DType::kBool,   DType::kHalf,   DType::kBfloat16,
      DType::kComplex64, DType::kUint8,  DType::kInt8,   DType::kInt16,
      DType::kUint16,    DType::kUint32, DType::kUint64, DType::kComplex128};
  return types;
}

bool IsLengthOfInputs(const OpDef& op, const std::string& attr) {
  for (const ArgDef& input : op.inputs) {
    if (input.number_attr == attr || input.type_list_attr == attr) return true;
  }
  return false;
}

int64_t RandomInt(Random& random, const OpDef& op, const AttrDef& attr, bool hostile) {
  static const std::vector<int64_t> extremes = {-1,
                                                0,
                                                -7,
                                                int64_t{1} << 31,
                                                int64_t{1} << 40,
                                                std::numeric_limits<int64_t>::min(),
                                                std::numeric_limits<int64_t>::max(),
                                                std::numeric_limits<int32_t>::max()};
  if (IsLengthOfInputs(op, attr.name)) {
    const int64_t low = attr.minimum.value_or(0);
    return random.Between(low, std::max<int64_t>(low, 1) + random.Below(3));
  }
  if (hostile && random.Chance(0.3)) return random.Pick(extremes);
  // Seeds of zero ask for a seed from outside.
  if (attr.name == "seed" || attr.name == "seed2") return random.Between(1, 1000);
  const int64_t low = attr.minimum.value_or(random.Chance(0.1) ? -2 : 0);
  return low + random.Below(5);
}

float RandomFloat(Random& random, bool hostile) {
  static const std::vector<float> extremes = {std::numeric_limits<float>::quiet_NaN(),
                                              std::numeric_limits<float>::infinity(),
                                              -std::numeric_limits<float>::infinity(),
                                              0.f,
                                              -1.f,
                                              3e38f,
                                              1e-40f};
  if (hostile && random.Chance(0.3)) return random.Pick(extremes);
  return static_cast<float>(random.Chance(0.5) ? random.Uniform() : random.Normal());
}

std::string RandomText(Random& random, const AttrDef& attr, bool hostile) {
  if (!attr.allowed_strings.empty() && !(hostile && random.Chance(0.1))) {
    return random.Pick(attr.allowed_strings);
  }
  return RandomString(random, hostile);
}

PartialShape RandomPartialShape(Random& random, bool hostile) {
  if (random.Chance(0.2)) return PartialShape();
  const bool is_extreme = hostile && random.Chance(0.1);
  PartialShape shape(is_extreme ? ExtremeShape(random, 3) : RandomShape(random, 3));
  for (int i = 0; i < shape.rank(); ++i) {
    if (random.Chance(0.2)) shape.set_dim(i, -1);
  }
  return shape;
}

FunctionRef RandomFunction(Random& random, const AttrChoice& choice) {
  return {random.Pick(choice.functions), {}};
}

template <typename Draw>
auto ListOf(int64_t length, Draw draw) {
  std::vector<decltype(draw())> list;
  for (int64_t i = 0; i < length; ++i) list.push_back(draw());
  return list;
}

// The length of a random list: that of the default, if there is one, as a rule.
int64_t ListLength(Random& random, const AttrDef& attr) {
  const int64_t low = attr.minimum.value_or(0);
  return random.Chance(0.5) ? std::max<int64_t>(low, 4) : random.Between(low, low + 3);
}

std::optional<AttrValue> RandomList(Random& random, const OpDef& op, const AttrDef& attr,
                                    const AttrChoice& choice, const std::string& kind) {
  const int64_t length = ListLength(random, attr);
  AttrDef element = attr;
  element.minimum = std::nullopt;
  if (kind == "int") {
    const bool small = random.Chance(0.7);
    return ListOf(length, [&] {
      return small ? random.Between(1, 2) : RandomInt(random, op, element, choice.hostile);
    });
  }
  if (kind == "float") return ListOf(length, [&] { return RandomFloat(random, choice.hostile); });
  if (kind == "bool") return ListOf(length, [&] { return random.Chance(0.5); });
  if (kind == "string") {
    return ListOf(length, [&] { return RandomText(random, attr, choice.hostile); });
  }
  if (kind == "shape") {
    return ListOf(length, [&] { return RandomPartialShape(random, choice.hostile); });
  }
  if (kind == "func" && !choice.functions.empty()) {
    return ListOf(length, [&] { return RandomFunction(random, choice); });
  }
  return std::nullopt;
}

// The kernels of each op on the CPU.
const std::vector<const KernelDef*>& KernelsOf(const std::string& op) {
  static const auto* const kernels = [] {
    auto* by_op = new std::map<std::string, std::vector<const KernelDef*>>;
    for (const KernelDef* kernel : KernelRegistry::Global().All()) {
      if (kernel->devices.Contains(kCpuType)) (*by_op)[kernel->op].push_back(kernel);
    }
    return by_op;
  }();
  static const std::vector<const KernelDef*> none;
  const auto it = kernels->find(op);
  return it == kernels->end() ? none : it->second;
}

// The types that the declaration and the kernel both allow.
std::vector<DType> AllowedTypes(const AttrDef& attr, const KernelDef& kernel) {
  std::vector<DType> types = attr.allowed_types.empty() ? AnyType() : attr.allowed_types;
  for (const TypeConstraint& constraint : kernel.constraints) {
    if (constraint.attr != attr.name) continue;
    if (attr.allowed_types.empty()) {
      types = constraint.allowed;
    } else {
      std::erase_if(types, [&](DType type) {
        return std::find(constraint.allowed.begin(), constraint.allowed.end(), type) ==
               constraint.allowed.end();
      });
    }
  }
  return types;
}

}  // namespace

std::optional<AttrValue> RandomAttr(Random& random, const OpDef& op, const AttrDef& attr,
                                    const AttrChoice& choice) {
  if (attr.type == "int") return RandomInt(random, op, attr, choice.hostile);
  if (attr.type == "float") return RandomFloat(random, choice.hostile);
  if (attr.type == "bool") return random.Chance(0.5);
  if (attr.type == "string") return RandomText(random, attr, choice.hostile);
  if (attr.type == "shape") return RandomPartialShape(random, choice.hostile);
  if (attr.type == "tensor") {
    return RandomTensor(random, random.Pick(AnyType()), RandomShape(random, 2), {});
  }
  if (attr.type == "func" && !choice.functions.empty()) return RandomFunction(random, choice);
  if (attr.type.starts_with("list(")) {
    return RandomList(random, op, attr, choice, attr.type.substr(5, attr.type.size() - 6));
  }
  return std::nullopt;
}

bool DrawTypes(Random& random, const OpDef& op, AttrMap* attrs) {
  const std::vector<const KernelDef*>& kernels = KernelsOf(op.name);
  for (int attempt = 0; attempt < 20 && !kernels.empty(); ++attempt) {
    const KernelDef& kernel = *random.Pick(kernels);
    AttrMap drawn = *attrs;
    bool possible = true;
    for (const AttrDef& attr : op.attrs) {
      const bool is_list = attr.type == "list(type)";
      if ((attr.type != "type" && !is_list) || drawn.count(attr.name) > 0) continue;
      const std::vector<DType> types = AllowedTypes(attr, kernel);
      if (types.empty()) {
        possible = false;
      } else if (is_list) {
        const int64_t low = attr.minimum.value_or(0);
        drawn[attr.name] = ListOf(random.Between(low, std::max<int64_t>(low, 1) + 2),
                                  [&] { return random.Pick(types); });
      } else {
        drawn[attr.name] = random.Pick(types);
      }
    }
    if (possible && HasKernel(op, drawn)) {
      *attrs = std::move(drawn);
      return true;
    }
  }
  return false;
}

bool HasKernel(const OpDef& op, const AttrMap& attrs) {
  return KernelRegistry::Global().Find(op.name, kCpuType, attrs).ok();
}

}  // namespace tessera
