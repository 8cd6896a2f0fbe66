#include "runtime/graph/function.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/base/call_once.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"
#include "runtime/base/status.h"
#include "runtime/graph/attr_value_proto.h"
#include "runtime/graph/function_body.h"
#include "runtime/graph/side_effects.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tessera {
namespace {

absl::StatusOr<AttrDef> AttrDefFromProto(const tensorflow::OpDef::AttrDef& proto) {
  AttrDef attr;
  attr.name = proto.name();
  attr.type = proto.type();
  if (proto.has_default_value()) {
    ASSIGN_OR_RETURN(attr.default_value, AttrValueFromProto(proto.default_value()));
  }
  if (proto.has_minimum()) attr.minimum = proto.minimum();
  if (proto.has_allowed_values()) {
    ASSIGN_OR_RETURN(AttrValue allowed, AttrValueFromProto(proto.allowed_values()));
    if (const auto* types = allowed.get<std::vector<DType>>()) attr.allowed_types = *types;
    if (const auto* strings = allowed.get<std::vector<std::string>>()) {
      attr.allowed_strings = *strings;
    }
  }
  return attr;
}

absl::Status CheckAttrIs(const OpDef& op, const std::string& name, absl::string_view type) {
  const AttrDef* attr = op.FindAttr(name);
  if (name.empty() || (attr != nullptr && attr->type == type)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it needs '", name, "' to be an attribute of type ", type));
}

absl::StatusOr<ArgDef> ArgDefFromProto(const OpDef& op, const tensorflow::OpDef::ArgDef& proto) {
  ArgDef arg;
  arg.name = proto.name();
  arg.type_attr = proto.type_attr();
  arg.type_list_attr = proto.type_list_attr();
  arg.number_attr = proto.number_attr();
  arg.type = RemoveRef(static_cast<DType>(proto.type()));
  arg.is_ref = proto.is_ref() || IsRef(static_cast<DType>(proto.type()));
  RETURN_IF_ERROR(CheckAttrIs(op, arg.type_attr, "type"));
  RETURN_IF_ERROR(CheckAttrIs(op, arg.type_list_attr, "list(type)"));
  RETURN_IF_ERROR(CheckAttrIs(op, arg.number_attr, "int"));
  const bool has_attr = !arg.type_attr.empty() || !arg.type_list_attr.empty();
  if (arg.name.empty() || (!has_attr && !IsKnown(arg.type))) {
    return absl::InvalidArgumentError("it has no name or no dtype");
  }
  return arg;
}

absl::Status ArgsFromProto(
    const OpDef& op, const google::protobuf::RepeatedPtrField<tensorflow::OpDef::ArgDef>& protos,
    std::vector<ArgDef>* args) {
  absl::flat_hash_set<absl::string_view> names;
  for (const tensorflow::OpDef::ArgDef& proto : protos) {
    auto arg = ArgDefFromProto(op, proto);
    absl::Status status = arg.status();
    if (status.ok() && !names.insert(proto.name()).second) {
      status = absl::InvalidArgumentError("there is another one of this name");
    }
    if (!status.ok()) {
      return Annotate(status, absl::StrCat("function '", op.name, "': argument or result '",
                                           proto.name(), "': "));
    }
    args->push_back(*std::move(arg));
  }
  return absl::OkStatus();
}

absl::StatusOr<OpDef> SignatureFromProto(const tensorflow::OpDef& proto) {
  OpDef op;
  op.name = proto.name();
  if (op.name.empty()) return absl::InvalidArgumentError("a function has no name");
  for (const tensorflow::OpDef::AttrDef& attr : proto.attr()) {
    auto converted = AttrDefFromProto(attr);
    if (!converted.ok()) {
      return Annotate(converted.status(),
                      absl::StrCat("function '", op.name, "': attribute '", attr.name(), "': "));
    }
    op.attrs.push_back(*std::move(converted));
  }
  RETURN_IF_ERROR(ArgsFromProto(op, proto.input_arg(), &op.inputs));
  RETURN_IF_ERROR(ArgsFromProto(op, proto.output_arg(), &op.outputs));
  op.control_outputs.assign(proto.control_output().begin(), proto.control_output().end());
  op.is_stateful = proto.is_stateful();
  op.traits.Add(OpTrait::kCallsFunctions);
  return op;
}

// All functions in an attribute, those given to functions as attributes included.
void AddNamedFunctions(const tensorflow::AttrValue& value, std::vector<std::string>* names) {
  auto add = [&](const tensorflow::NameAttrList& function) {
    names->push_back(function.name());
    for (const auto& [name, nested] : function.attr()) AddNamedFunctions(nested, names);
  };
  if (value.has_func()) add(value.func());
  for (const tensorflow::NameAttrList& function : value.list().func()) add(function);
}

// A function that hands itself on in two attributes would have twice as many with each call.
constexpr int kMaxNestedFunctions = 1000;

// True if functions are nested over `depth` deep in attributes, or there are over *count of them,
// which is lowered by as many as there are.
bool IsNestedOver(int depth, int* count, const AttrMap& attrs) {
  auto is_over = [&](const FunctionRef& function) {
    return depth == 0 || --*count < 0 || IsNestedOver(depth - 1, count, function.attrs);
  };
  for (const auto& [name, value] : attrs) {
    const auto* function = value.get<FunctionRef>();
    if (function != nullptr && is_over(*function)) return true;
    const auto* functions = value.get<std::vector<FunctionRef>>();
    if (functions != nullptr && std::any_of(functions->begin(), functions->end(), is_over)) {
      return true;
    }
  }
  return false;
}

// True if the node calls a function that only the caller of its own function knows.
bool CallsGivenFunction(const tensorflow::NodeDef& node, const OpDef& op) {
  for (const auto& [name, value] : node.attr()) {
    const AttrDef* attr = op.FindAttr(name);
    if (value.has_placeholder() && attr != nullptr && attr->type == "func") return true;
  }
  return false;
}

}  // namespace

struct FunctionLibrary::Entry {
  tensorflow::FunctionDef definition;
  OpDef signature;
  AttrMap attrs;
  // Whether some node has a side effect of its own, and the functions that nodes name: what
  // HasSideEffect() needs to know of this function. Filled on the first question.
  mutable absl::once_flag scanned;
  mutable bool has_own_side_effect = false;
  mutable std::vector<std::string> named_functions;
  // The answer of HasSideEffect(), once it is known. Libraries that extend each other share
  // entries: an answer that an unknown function gave is not kept, because a later library may know
  // it.
  enum class SideEffect : uint8_t { kUnknown, kNone, kSome };
  mutable std::atomic<SideEffect> side_effect{SideEffect::kUnknown};
};

FunctionLibrary::FunctionLibrary() = default;
FunctionLibrary::~FunctionLibrary() = default;

absl::StatusOr<std::shared_ptr<const FunctionLibrary>> FunctionLibrary::Create(
    const tensorflow::FunctionDefLibrary& proto) {
  std::shared_ptr<FunctionLibrary> library(new FunctionLibrary);
  RETURN_IF_ERROR(library->Add(proto));
  return std::shared_ptr<const FunctionLibrary>(std::move(library));
}

absl::StatusOr<std::shared_ptr<const FunctionLibrary>> FunctionLibrary::Extended(
    const tensorflow::FunctionDefLibrary& proto) const {
  std::shared_ptr<FunctionLibrary> library(new FunctionLibrary);
  library->functions_ = functions_;
  library->gradients_ = gradients_;
  library->op_gradients_ = op_gradients_;
  RETURN_IF_ERROR(library->Add(proto));
  return std::shared_ptr<const FunctionLibrary>(std::move(library));
}

absl::Status FunctionLibrary::Add(const tensorflow::FunctionDefLibrary& proto) {
  functions_.reserve(functions_.size() + proto.function_size());
  for (const tensorflow::FunctionDef& function : proto.function()) {
    const std::string& name = function.signature().name();
    if (const tensorflow::FunctionDef* other = FindDefinition(name)) {
      if (google::protobuf::util::MessageDifferencer::Equals(*other, function)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("there are two different functions '", name, "'"));
    }
    // Whoever sees a node of a known op relies on the op's own signature.
    if (OpRegistry::Global().Find(name) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is a function '", name, "', but that is the name of an op"));
    }
    auto entry = std::make_shared<Entry>();
    entry->definition = function;
    ASSIGN_OR_RETURN(entry->signature, SignatureFromProto(function.signature()));
    auto attrs = AttrMapFromProto(function.attr());
    if (!attrs.ok()) return Annotate(attrs.status(), absl::StrCat("function '", name, "': "));
    entry->attrs = *std::move(attrs);
    functions_.emplace(name, std::move(entry));
  }
  for (const tensorflow::GradientDef& gradient : proto.gradient()) {
    auto [it, added] = gradients_.emplace(gradient.function_name(), gradient.gradient_func());
    if (!added && it->second != gradient.gradient_func()) {
      return absl::InvalidArgumentError(absl::StrCat("function '", it->first,
                                                     "' has two gradients, '", it->second,
                                                     "' and '", gradient.gradient_func(), "'"));
    }
  }
  for (const tensorflow::RegisteredGradient& gradient : proto.registered_gradients()) {
    op_gradients_.emplace(gradient.registered_op_type(), gradient.gradient_func());
  }
  return absl::OkStatus();
}

bool FunctionLibrary::Contains(absl::string_view name) const { return functions_.contains(name); }

const OpDef* FunctionLibrary::FindSignature(absl::string_view name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : &it->second->signature;
}

const tensorflow::FunctionDef* FunctionLibrary::FindDefinition(absl::string_view name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : &it->second->definition;
}

const AttrValue* FunctionLibrary::FindFunctionAttr(absl::string_view name,
                                                   absl::string_view attr) const {
  auto it = functions_.find(name);
  if (it == functions_.end()) return nullptr;
  auto value = it->second->attrs.find(attr);
  return value == it->second->attrs.end() ? nullptr : &value->second;
}

absl::StatusOr<FunctionBody> FunctionLibrary::Instantiate(const FunctionRef& function) const {
  auto it = functions_.find(function.name);
  if (it == functions_.end()) {
    return absl::NotFoundError(
        absl::StrCat("there is no function '", function.name, "' in the graph's library"));
  }
  int count = kMaxNestedFunctions;
  if (IsNestedOver(kMaxFunctionNesting, &count, function.attrs)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "function '", function.name, "' has over ", kMaxNestedFunctions,
        " functions in its attributes, or they are nested over ", kMaxFunctionNesting, " deep"));
  }
  const Entry& entry = *it->second;
  return BuildFunctionBody(entry.definition, entry.signature, function.attrs, shared_from_this());
}

void FunctionLibrary::Scan(const Entry& entry) const {
  for (const tensorflow::NodeDef& node : entry.definition.node_def()) {
    for (const auto& [name, value] : node.attr()) AddNamedFunctions(value, &entry.named_functions);
    if (Contains(node.op())) {
      entry.named_functions.push_back(node.op());
      continue;
    }
    const OpDef* op = OpRegistry::Global().Find(node.op());
    entry.has_own_side_effect |=
        op == nullptr || CallsGivenFunction(node, *op) || OpHasSideEffect(*op);
  }
}

bool FunctionLibrary::HasSideEffect(absl::string_view name) const {
  using SideEffect = Entry::SideEffect;
  struct Visit {
    const Entry* entry;
    int caller;  // index of the visit that named it first; -1 for the first visit
  };
  std::vector<Visit> visits;
  absl::flat_hash_set<const Entry*> seen;
  // Returns false for an unknown function.
  const auto visit = [&](absl::string_view function, int caller) {
    auto it = functions_.find(function);
    if (it == functions_.end()) return false;
    const Entry* entry = it->second.get();
    if (entry->side_effect.load(std::memory_order_relaxed) != SideEffect::kNone &&
        seen.insert(entry).second) {
      visits.push_back({entry, caller});
    }
    return true;
  };
  if (!visit(name, -1)) return true;
  for (int i = 0; i < static_cast<int>(visits.size()); ++i) {
    const Entry& entry = *visits[i].entry;
    absl::call_once(entry.scanned, [&] { Scan(entry); });
    if (entry.has_own_side_effect ||
        entry.side_effect.load(std::memory_order_relaxed) == SideEffect::kSome) {
      // Whoever leads here has the side effect, too.
      for (int j = i; j >= 0; j = visits[j].caller) {
        visits[j].entry->side_effect.store(SideEffect::kSome, std::memory_order_relaxed);
      }
      return true;
    }
    for (const std::string& named : entry.named_functions) {
      if (!visit(named, i)) return true;
    }
  }
  for (const Visit& each : visits) {
    each.entry->side_effect.store(SideEffect::kNone, std::memory_order_relaxed);
  }
  return false;
}

std::vector<std::string> FunctionLibrary::Names() const {
  std::vector<std::string> names;
  names.reserve(functions_.size());
  for (const auto& [name, entry] : functions_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void FunctionLibrary::Export(tensorflow::FunctionDefLibrary* proto) const {
  proto->Clear();
  for (const std::string& name : Names()) *proto->add_function() = *FindDefinition(name);
  for (const auto& [function, gradient] : gradients_) {
    tensorflow::GradientDef* def = proto->add_gradient();
    def->set_function_name(function);
    def->set_gradient_func(gradient);
  }
  for (const auto& [op, gradient] : op_gradients_) {
    tensorflow::RegisteredGradient* def = proto->add_registered_gradients();
    def->set_registered_op_type(op);
    def->set_gradient_func(gradient);
  }
}

}  // namespace tessera
