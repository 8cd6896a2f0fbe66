#include "runtime/stablehlo/read_module.h"

#include <utility>

#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/stablehlo/attribute_reader.h"
#include "runtime/stablehlo/bytecode.h"
#include "runtime/stablehlo/op_properties.h"

namespace tessera::stablehlo {
namespace {

constexpr int kMaxRegionDepth = 64;

// What an operation has, as flags in front of it.
enum OperationParts : uint8_t {
  kHasAttributes = 1,
  kHasResults = 2,
  kHasOperands = 4,
  kHasSuccessors = 8,
  kHasRegions = 16,
  kHasUseListOrders = 32,
  kHasProperties = 64,
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the MLIR bytecode is malformed: ", what));
}

// "add_v1" is "add" in every version.
std::string WithoutVersion(absl::string_view name) {
  const size_t version = name.rfind("_v");
  return std::string(name.substr(0, version));
}

class ModuleReader {
 public:
  explicit ModuleReader(const Bytecode& bytecode) : bytecode_(bytecode), attributes_(bytecode) {}

  absl::StatusOr<Module> Read() {
    // The section is a block of one op, the module.
    ByteCursor in = *bytecode_.ir;
    if (in.Varint() != 2) return Malformed("its IR is not one module");
    ASSIGN_OR_RETURN(Operation top, ReadOperation(&in));
    if (top.name != "module" || top.regions.size() != 1) {
      return Malformed("its IR is not one module");
    }
    for (Operation& function : top.regions[0].operations) {
      const std::string* name = function.FindAttr<std::string>("sym_name");
      if (function.name != "func") continue;
      if (name == nullptr || function.regions.size() != 1) {
        return Malformed("a function has no name or no body");
      }
      module_.functions.push_back({*name, std::move(function.regions[0])});
    }
    return std::move(module_);
  }

 private:
  // The values of a region. The file numbers them from `first` on, in the order of their
  // definitions; regions inside it begin behind all of them.
  struct Scope {
    uint64_t first;
    uint64_t size;
    std::vector<ValueId> values;  // those that are defined so far
  };

  absl::StatusOr<Operation> ReadOperation(ByteCursor* in) {
    Operation operation;
    const uint64_t name = in->Varint();
    if (name >= bytecode_.op_names.size()) return Malformed("an op has no name");
    const Bytecode::OpName& op = bytecode_.op_names[name];
    operation.name = op.dialect == "vhlo" || op.dialect == "builtin"
                         ? WithoutVersion(op.name)
                         : absl::StrCat(op.dialect, ".", op.name);
    const uint8_t parts = in->Byte();
    in->Varint();  // the location
    if (parts & kHasAttributes) RETURN_IF_ERROR(ReadAttributes(in->Varint(), &operation));
    if (parts & kHasProperties) RETURN_IF_ERROR(ReadProperties(op, in->Varint(), &operation));
    if (parts & kHasResults) {
      operation.results.resize(in->Count());
      for (ValueId& result : operation.results) {
        ASSIGN_OR_RETURN(result, Define(in->Varint()));
      }
    }
    if (parts & kHasOperands) {
      operation.operands.resize(in->Count());
      for (ValueId& operand : operation.operands) {
        ASSIGN_OR_RETURN(operand, Find(in->Varint(), operation.name));
      }
    }
    if (parts & kHasSuccessors) {
      return absl::UnimplementedError(absl::StrCat("the op '", operation.name, "' is a branch"));
    }
    if (parts & kHasUseListOrders) SkipUseListOrders(in, operation.results.size());
    if (parts & kHasRegions) RETURN_IF_ERROR(ReadRegions(in, &operation));
    if (in->failed()) {
      return Malformed(absl::StrCat("the op '", operation.name, "' ends early"));
    }
    return operation;
  }

  absl::Status ReadAttributes(uint64_t index, Operation* operation) {
    ASSIGN_OR_RETURN(const AttributePtr dictionary, attributes_.Attribute(index));
    const auto* entries = dictionary->get<Attribute::Dictionary>();
    if (entries == nullptr) return Malformed("the attributes of an op are no dictionary");
    int64_t bytes = 0;
    for (const auto& [name, value] : *entries) bytes += sizeof(name) + sizeof(value) + name.size();
    RETURN_IF_ERROR(attributes_.Charge(bytes));
    operation->attributes.insert(operation->attributes.end(), entries->begin(), entries->end());
    return absl::OkStatus();
  }

  absl::Status ReadProperties(const Bytecode::OpName& op, uint64_t index, Operation* operation) {
    if (index >= bytecode_.properties.size()) return Malformed("an op lacks its properties");
    ByteCursor in = bytecode_.properties[index];
    for (absl::string_view name : absl::StrSplit(PropertyNames(op.name), ' ', absl::SkipEmpty())) {
      ASSIGN_OR_RETURN(AttributePtr value, attributes_.Attribute(in.Varint()));
      operation->attributes.emplace_back(std::string(name), std::move(value));
    }
    return in.failed() ? Malformed(absl::StrCat("the properties of '", op.name, "' end early"))
                       : absl::OkStatus();
  }

  absl::Status ReadRegions(ByteCursor* in, Operation* operation) {
    const uint64_t count_and_isolated = in->Varint();
    const bool is_isolated = count_and_isolated & 1;
    if (count_and_isolated >> 1 > in->remaining()) return Malformed("an op has no regions");
    if (depth_ >= kMaxRegionDepth) {
      return absl::UnimplementedError("the regions of the module nest too deeply");
    }
    ++depth_;
    operation->regions.resize(count_and_isolated >> 1);
    // Regions that see nothing from outside number their values from zero.
    std::vector<Scope> outer;
    if (is_isolated) outer.swap(scopes_);
    if (is_isolated && bytecode_.version >= Bytecode::kWithLazyRegions) {
      int id = 0;
      ByteCursor section = ReadSection(in, &id);
      if (in->failed() || id != kIrSection) return Malformed("a region has no section");
      for (Region& region : operation->regions) RETURN_IF_ERROR(ReadRegion(&section, &region));
    } else {
      for (Region& region : operation->regions) RETURN_IF_ERROR(ReadRegion(in, &region));
    }
    if (is_isolated) scopes_.swap(outer);
    --depth_;
    return absl::OkStatus();
  }

  absl::Status ReadRegion(ByteCursor* in, Region* region) {
    const size_t num_blocks = in->Count();
    if (num_blocks == 0) return absl::OkStatus();
    if (num_blocks > 1) return absl::UnimplementedError("a region of the module has branches");
    scopes_.push_back({.first = scopes_.empty() ? 0 : scopes_.back().first + scopes_.back().size,
                       .size = in->Count(),
                       .values = {}});
    const uint64_t count_and_arguments = in->Varint();
    if (count_and_arguments & 1) RETURN_IF_ERROR(ReadArguments(in, region));
    const uint64_t num_operations = count_and_arguments >> 1;
    if (num_operations > in->remaining()) return Malformed("a block ends early");
    for (uint64_t i = 0; i < num_operations; ++i) {
      ASSIGN_OR_RETURN(Operation operation, ReadOperation(in));
      region->operations.push_back(std::move(operation));
    }
    scopes_.pop_back();
    return in->failed() ? Malformed("a region ends early") : absl::OkStatus();
  }

  absl::Status ReadArguments(ByteCursor* in, Region* region) {
    region->arguments.resize(in->Count());
    for (ValueId& argument : region->arguments) {
      uint64_t type = in->Varint();
      bool has_location = true;
      if (bytecode_.version >= Bytecode::kWithElidedLocations) {
        has_location = type & 1;
        type >>= 1;
      }
      if (has_location) in->Varint();
      ASSIGN_OR_RETURN(argument, Define(type));
    }
    if (bytecode_.version >= Bytecode::kWithUseListOrders && in->Byte() != 0) {
      SkipUseListOrders(in, region->arguments.size());
    }
    return absl::OkStatus();
  }

  // The order in which users were added to a value says nothing about what it computes.
  static void SkipUseListOrders(ByteCursor* in, size_t num_values) {
    const size_t count = num_values > 1 ? in->Count() : 1;
    for (size_t i = 0; i < count && !in->failed(); ++i) {
      if (num_values > 1) in->Varint();
      const uint64_t count_and_flag = in->Varint();
      for (uint64_t n = count_and_flag >> 1; n > 0 && !in->failed(); --n) in->Varint();
    }
  }

  absl::StatusOr<ValueId> Define(uint64_t type) {
    if (scopes_.empty() || scopes_.back().values.size() == scopes_.back().size) {
      return Malformed("a region has more values than it says");
    }
    ASSIGN_OR_RETURN(std::shared_ptr<const Type> decoded, attributes_.TypeOf(type));
    const ValueId value = static_cast<ValueId>(module_.types.size());
    module_.types.push_back(std::move(decoded));
    scopes_.back().values.push_back(value);
    return value;
  }

  absl::StatusOr<ValueId> Find(uint64_t number, absl::string_view user) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (number < scope->first) continue;
      if (number - scope->first >= scope->values.size()) break;
      return scope->values[number - scope->first];
    }
    return Malformed(absl::StrCat("an operand of '", user, "' is not defined"));
  }

  const Bytecode& bytecode_;
  AttributeReader attributes_;
  Module module_;
  std::vector<Scope> scopes_;  // of the regions around this point, the innermost last
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<Module> ReadModule(absl::string_view artifact) {
  ASSIGN_OR_RETURN(const Bytecode bytecode, ReadBytecode(artifact));
  return ModuleReader(bytecode).Read();
}

}  // namespace tessera::stablehlo
