#include "runtime/framework/op.h"

#include <algorithm>

#include "absl/base/call_once.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/framework/library_load.h"

extern "C" const int TESSERA_OP_ABI_SYMBOL = TESSERA_OP_ABI;

namespace tessera {
namespace {

// Whether `value` has the declared type `type` ("int", "list(float)", ...).
bool HasType(const AttrValue& value, absl::string_view type) {
  if (value.get<EmptyList>()) return type.size() > 5 && type.substr(0, 5) == "list(";
  struct Kind {
    absl::string_view type;
    bool (*matches)(const AttrValue&);
  };
  static constexpr Kind kKinds[] = {
      {"int", [](const AttrValue& v) { return v.get<int64_t>() != nullptr; }},
      {"float", [](const AttrValue& v) { return v.get<float>() != nullptr; }},
      {"bool", [](const AttrValue& v) { return v.get<bool>() != nullptr; }},
      {"string", [](const AttrValue& v) { return v.get<std::string>() != nullptr; }},
      {"type", [](const AttrValue& v) { return v.get<DType>() != nullptr; }},
      {"shape", [](const AttrValue& v) { return v.get<PartialShape>() != nullptr; }},
      {"tensor", [](const AttrValue& v) { return v.get<Tensor>() != nullptr; }},
      {"func", [](const AttrValue& v) { return v.get<FunctionRef>() != nullptr; }},
      {"list(int)", [](const AttrValue& v) { return v.get<std::vector<int64_t>>() != nullptr; }},
      {"list(float)", [](const AttrValue& v) { return v.get<std::vector<float>>() != nullptr; }},
      {"list(bool)", [](const AttrValue& v) { return v.get<std::vector<bool>>() != nullptr; }},
      {"list(string)",
       [](const AttrValue& v) { return v.get<std::vector<std::string>>() != nullptr; }},
      {"list(type)", [](const AttrValue& v) { return v.get<std::vector<DType>>() != nullptr; }},
      {"list(shape)",
       [](const AttrValue& v) { return v.get<std::vector<PartialShape>>() != nullptr; }},
      {"list(tensor)", [](const AttrValue& v) { return v.get<std::vector<Tensor>>() != nullptr; }},
      {"list(func)",
       [](const AttrValue& v) { return v.get<std::vector<FunctionRef>>() != nullptr; }},
  };
  for (const Kind& kind : kKinds) {
    if (kind.type == type) return kind.matches(value);
  }
  return false;
}

std::string NamesOf(const std::vector<DType>& types) {
  return absl::StrJoin(types, ", ",
                       [](std::string* out, DType t) { absl::StrAppend(out, DTypeName(t)); });
}

absl::Status CheckAllowed(const AttrDef& def, const AttrValue& value) {
  auto check_type = [&](DType t) -> absl::Status {
    if (def.allowed_types.empty() || std::find(def.allowed_types.begin(), def.allowed_types.end(),
                                               t) != def.allowed_types.end()) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("attribute '", def.name, "' is ", DTypeName(t),
                                                   ", allowed are: ", NamesOf(def.allowed_types)));
  };
  auto check_string = [&](const std::string& s) -> absl::Status {
    if (def.allowed_strings.empty() ||
        std::find(def.allowed_strings.begin(), def.allowed_strings.end(), s) !=
            def.allowed_strings.end()) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("attribute '", def.name, "' is \"", s,
                     "\", allowed are: ", absl::StrJoin(def.allowed_strings, ", ")));
  };
  if (const DType* t = value.get<DType>()) return check_type(*t);
  if (const auto* types = value.get<std::vector<DType>>()) {
    for (DType t : *types) RETURN_IF_ERROR(check_type(t));
  }
  if (const std::string* s = value.get<std::string>()) return check_string(*s);
  if (const auto* strings = value.get<std::vector<std::string>>()) {
    for (const std::string& s : *strings) RETURN_IF_ERROR(check_string(s));
  }
  return absl::OkStatus();
}

absl::Status CheckMinimum(const AttrDef& def, const AttrValue& value) {
  if (!def.minimum) return absl::OkStatus();
  int64_t size = std::visit(
      [](const auto& v) -> int64_t {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, int64_t>) {
          return v;
        } else if constexpr (requires { v.size(); } && !std::is_same_v<T, std::string>) {
          return static_cast<int64_t>(v.size());
        } else {
          return 0;
        }
      },
      value.storage());
  if (size >= *def.minimum) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("attribute '", def.name, "' is ", value.ToString(),
                                                 ", its minimum is ", *def.minimum));
}

// Calls `visit(arg, count, types...)` for each declared argument in order.
absl::Status ForEachArg(const OpDef& op, const std::vector<ArgDef>& args, const AttrMap& attrs,
                        absl::FunctionRef<void(const ArgDef&, absl::Span<const DType>)> visit) {
  std::vector<DType> types;
  for (const ArgDef& arg : args) {
    types.clear();
    if (!arg.type_list_attr.empty()) {
      auto list = GetAttr<std::vector<DType>>(attrs, arg.type_list_attr);
      if (!list.ok()) return Annotate(list.status(), absl::StrCat("op ", op.name, ": "));
      types = *std::move(list);
    } else {
      DType type = arg.type;
      if (!arg.type_attr.empty()) {
        auto attr = GetAttr<DType>(attrs, arg.type_attr);
        if (!attr.ok()) return Annotate(attr.status(), absl::StrCat("op ", op.name, ": "));
        type = *attr;
      }
      int64_t count = 1;
      if (!arg.number_attr.empty()) {
        auto attr = GetAttr<int64_t>(attrs, arg.number_attr);
        if (!attr.ok()) return Annotate(attr.status(), absl::StrCat("op ", op.name, ": "));
        count = *attr;
        // A hostile graph may claim any count: its node lists fewer inputs than this bound.
        if (count < 0 || count > (1 << 20)) {
          return absl::InvalidArgumentError(
              absl::StrCat("op ", op.name, ": attribute '", arg.number_attr, "' is ", count));
        }
      }
      types.assign(count, type);
    }
    if (arg.is_ref) {
      for (DType& t : types) t = MakeRef(t);
    }
    visit(arg, types);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DType>> TypesOf(const OpDef& op, const std::vector<ArgDef>& args,
                                           const AttrMap& attrs) {
  std::vector<DType> all;
  RETURN_IF_ERROR(ForEachArg(op, args, attrs, [&](const ArgDef&, absl::Span<const DType> types) {
    all.insert(all.end(), types.begin(), types.end());
  }));
  return all;
}

absl::StatusOr<ArgRange> RangeOf(const OpDef& op, const std::vector<ArgDef>& args,
                                 const AttrMap& attrs, absl::string_view name) {
  int position = 0;
  std::optional<ArgRange> found;
  RETURN_IF_ERROR(
      ForEachArg(op, args, attrs, [&](const ArgDef& arg, absl::Span<const DType> types) {
        int end = position + static_cast<int>(types.size());
        if (arg.name == name) found = ArgRange{position, end};
        position = end;
      }));
  if (found) return *found;
  return absl::NotFoundError(absl::StrCat("op ", op.name, " declares no argument '", name, "'"));
}

}  // namespace

const AttrDef* OpDef::FindAttr(absl::string_view attr) const {
  for (const AttrDef& def : attrs) {
    if (def.name == attr) return &def;
  }
  return nullptr;
}

absl::Status CompleteAttrs(const OpDef& op, AttrMap* attrs) {
  for (const AttrDef& def : op.attrs) {
    auto it = attrs->find(def.name);
    if (it == attrs->end()) {
      if (!def.default_value) {
        return absl::InvalidArgumentError(
            absl::StrCat("op ", op.name, " needs attribute '", def.name, "' (", def.type, ")"));
      }
      attrs->emplace(def.name, *def.default_value);
      continue;
    }
    if (it->second.is_placeholder()) continue;
    if (!HasType(it->second, def.type)) {
      return absl::InvalidArgumentError(absl::StrCat("op ", op.name, ": attribute '", def.name,
                                                     "' must be of type ", def.type, ", is ",
                                                     it->second.ToString()));
    }
    absl::Status status = CheckAllowed(def, it->second);
    if (status.ok()) status = CheckMinimum(def, it->second);
    if (!status.ok()) return Annotate(status, absl::StrCat("op ", op.name, ": "));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DType>> InputTypes(const OpDef& op, const AttrMap& attrs) {
  return TypesOf(op, op.inputs, attrs);
}
absl::StatusOr<std::vector<DType>> OutputTypes(const OpDef& op, const AttrMap& attrs) {
  return TypesOf(op, op.outputs, attrs);
}
absl::StatusOr<ArgRange> InputRange(const OpDef& op, const AttrMap& attrs, absl::string_view arg) {
  return RangeOf(op, op.inputs, attrs, arg);
}
absl::StatusOr<ArgRange> OutputRange(const OpDef& op, const AttrMap& attrs, absl::string_view arg) {
  return RangeOf(op, op.outputs, attrs, arg);
}

ArgUse InputUse(const OpDef& op, const AttrMap& attrs, int index) {
  int begin = 0;
  ArgUse use = ArgUse::kUndeclared;
  // Types that cannot be told end the walk, with what was found before.
  ForEachArg(op, op.inputs, attrs, [&](const ArgDef& arg, absl::Span<const DType> types) {
    const int end = begin + static_cast<int>(types.size());
    if (begin <= index && index < end) use = arg.use;
    begin = end;
  }).IgnoreError();
  return use;
}

namespace {

// A declaration, parsed at the first look.
class Declaration {
 public:
  explicit Declaration(OpBuilder builder) : builder_(std::move(builder)) {}

  const OpDef* Get() {
    absl::call_once(once_, [this] { op_ = std::move(builder_).Build(); });
    return op_.get();
  }

 private:
  OpBuilder builder_;
  absl::once_flag once_;
  std::unique_ptr<OpDef> op_;
};

}  // namespace

// Room for the ops of a whole program, so that the table does not grow eleven times before main().
constexpr size_t kExpectedOps = 1500;

struct OpRegistry::State {
  mutable absl::Mutex mu;
  absl::flat_hash_map<std::string, std::unique_ptr<Declaration>> ops ABSL_GUARDED_BY(mu);
};

OpRegistry::OpRegistry() : state_(std::make_unique<State>()) {
  absl::MutexLock lock(&state_->mu);
  state_->ops.reserve(kExpectedOps);
}

OpRegistry& OpRegistry::Global() {
  static OpRegistry* const registry = new OpRegistry;
  return *registry;
}

const OpDef* OpRegistry::Find(absl::string_view name) const {
  absl::ReaderMutexLock lock(&state_->mu);
  auto it = state_->ops.find(name);
  return it == state_->ops.end() ? nullptr : it->second->Get();
}

absl::Status OpRegistry::Register(OpBuilder builder) {
  absl::MutexLock lock(&state_->mu);
  const auto [it, is_new] = state_->ops.try_emplace(builder.name());
  if (!is_new) {
    return absl::AlreadyExistsError(absl::StrCat("op '", builder.name(), "' is declared twice"));
  }
  it->second = std::make_unique<Declaration>(std::move(builder));
  return absl::OkStatus();
}

std::vector<const OpDef*> OpRegistry::All() const {
  absl::ReaderMutexLock lock(&state_->mu);
  std::vector<const OpDef*> all;
  for (const auto& [name, op] : state_->ops) all.push_back(op->Get());
  std::sort(all.begin(), all.end(),
            [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return all;
}

OpRegistration::OpRegistration(OpBuilder& builder) {
  if (LibraryLoad* const load = LibraryLoad::Current(); load != nullptr) {
    load->AddOp(std::move(builder));
    return;
  }
  absl::Status status = OpRegistry::Global().Register(std::move(builder));
  CHECK(status.ok()) << status.ToString();
}

}  // namespace tessera
