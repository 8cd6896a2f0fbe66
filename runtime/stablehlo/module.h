// A StableHLO module in memory: the functions of a portable artifact, whose ops and attributes are
// those of the VHLO dialect (the versioned form of StableHLO that is guaranteed to stay readable).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera::stablehlo {

// The extent of a dimension that is known only when the module runs.
inline constexpr int64_t kDynamic = -1;

// The type of a value. Only tensors can be translated; other types are kept so that an error can
// name them.
struct Type {
  std::string name;                 // "tensor", "token", "tuple", ...
  DType dtype = DType::kInvalid;    // of the elements; kInvalid if no tensor here can hold them
  std::string element;              // the element type as the format calls it, such as "f32"
  std::vector<int64_t> dimensions;  // kDynamic where unknown
  bool is_ranked_tensor = false;

  int rank() const { return static_cast<int>(dimensions.size()); }
  // Whether every extent is known.
  bool IsStatic() const;
};

struct Attribute;
// Shared by all that refer to the attribute. Never null.
using AttributePtr = std::shared_ptr<const Attribute>;

// An attribute of an op. Enumerators are integers, with the numbers of the VHLO dialect. Attributes
// that no translation needs, such as locations, are left without a value.
struct Attribute {
  using Array = std::vector<AttributePtr>;
  using Dictionary = std::vector<std::pair<std::string, AttributePtr>>;
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Dictionary, Tensor> value;

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
};

// Numbers a value within a module; Module::types has its type.
using ValueId = int;

struct Region;

struct Operation {
  std::string name;  // without dialect and version: "add", "dot_general"
  std::vector<std::pair<std::string, AttributePtr>> attributes;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<Region> regions;

  // Returns null if there is no such attribute, or one of another kind.
  template <typename T>
  const T* FindAttr(absl::string_view attribute) const {
    for (const std::pair<std::string, AttributePtr>& entry : attributes) {
      if (entry.first == attribute) return entry.second->get<T>();
    }
    return nullptr;
  }
};

// A region of one block, which is all that StableHLO has. The last operation is "return".
struct Region {
  std::vector<ValueId> arguments;
  std::vector<Operation> operations;
};

struct Function {
  std::string name;
  Region body;
};

struct Module {
  std::vector<Function> functions;
  std::vector<std::shared_ptr<const Type>> types;  // by ValueId

  const Type& type(ValueId value) const { return *types[value]; }
  // Returns null if there is no such function.
  const Function* FindFunction(absl::string_view name) const;
};

}  // namespace tessera::stablehlo
