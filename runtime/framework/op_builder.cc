// Parses the short specifications of REGISTER_OP.

#include <algorithm>
#include <cstdlib>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/logging.h"
#include "runtime/framework/op.h"

namespace tessera {
namespace {

// Ends each specification that a builder has gathered.
constexpr char kEnd = '\0';
// What each begins with. A use is kFirstUse plus the ArgUse.
constexpr char kAttr = 'A', kInput = 'I', kOutput = 'O', kFirstUse = 'a';

// As absl::StripAsciiWhitespace(), which calls a function for each character.
absl::string_view Trim(absl::string_view s) {
  while (!s.empty() && absl::ascii_isspace(s.front())) s.remove_prefix(1);
  while (!s.empty() && absl::ascii_isspace(s.back())) s.remove_suffix(1);
  return s;
}

// "x: T" -> {"x", "T"}. Aborts on anything else, with `spec`.
std::pair<absl::string_view, absl::string_view> SplitAtColon(absl::string_view spec) {
  size_t colon = spec.find(':');
  CHECK(colon != absl::string_view::npos) << "no ':' in op specification \"" << spec << "\"";
  return {Trim(spec.substr(0, colon)), Trim(spec.substr(colon + 1))};
}

void ParseArg(const OpDef& op, absl::string_view spec, ArgDef& arg) {
  auto [name, type] = SplitAtColon(spec);
  arg.name = std::string(name);
  if (absl::ConsumePrefix(&type, "Ref(")) {
    CHECK(absl::ConsumeSuffix(&type, ")")) << "unclosed Ref( in \"" << spec << "\"";
    arg.is_ref = true;
  }
  if (size_t star = type.find('*'); star != absl::string_view::npos) {
    arg.number_attr = std::string(Trim(type.substr(0, star)));
    type = Trim(type.substr(star + 1));
  }
  if (const AttrDef* attr = op.FindAttr(type)) {
    (attr->type == "list(type)" ? arg.type_list_attr : arg.type_attr) = attr->name;
  } else {
    arg.type = DTypeFromName(type);
    CHECK(arg.type != DType::kInvalid)
        << "op " << op.name << ": \"" << spec << "\" names neither a dtype nor an attribute";
  }
}

std::string Unquote(absl::string_view s) {
  s = Trim(s);
  CHECK(s.size() >= 2 && (s.front() == '\'' || s.front() == '"') && s.back() == s.front())
      << "not a quoted string: " << s;
  return std::string(s.substr(1, s.size() - 2));
}

template <typename T>
T ParseNumber(absl::string_view text);
template <>
int64_t ParseNumber<int64_t>(absl::string_view text) {
  int64_t v = 0;
  CHECK(absl::SimpleAtoi(text, &v)) << "not an integer: " << text;
  return v;
}
template <>
float ParseNumber<float>(absl::string_view text) {
  float v = 0;
  CHECK(absl::SimpleAtof(text, &v)) << "not a number: " << text;
  return v;
}

// "[1, 2]" for shapes, "<unknown>" or "{ unknown_rank: true }" for unknown rank.
PartialShape ParseShape(absl::string_view text) {
  text = Trim(text);
  if (!absl::ConsumePrefix(&text, "[")) return PartialShape();
  absl::ConsumeSuffix(&text, "]");
  PartialShape shape(absl::Span<const int64_t>{});
  for (absl::string_view dim : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    shape.AddDim(ParseNumber<int64_t>(dim));
  }
  return shape;
}

AttrValue ParseDefault(absl::string_view type, absl::string_view text) {
  text = Trim(text);
  if (type == "int") return ParseNumber<int64_t>(text);
  if (type == "float") return ParseNumber<float>(text);
  if (type == "bool") return text == "true";
  if (type == "string") return Unquote(text);
  if (type == "type") return DTypeFromName(text);
  if (type == "shape") return ParseShape(text);
  if (type == "func") return FunctionRef{Unquote(text), {}};
  const bool is_tensor = type == "tensor";
  CHECK(!is_tensor || absl::ConsumePrefix(&text, "uint8")) << "default of another dtype: " << text;
  CHECK(absl::ConsumePrefix(&text, "[") && absl::ConsumeSuffix(&text, "]"))
      << "default of a " << type << " must stand in brackets";
  std::vector<absl::string_view> items = absl::StrSplit(text, ',', absl::SkipWhitespace());
  auto all = [&](auto parse) {
    std::vector<decltype(parse(text))> values;
    for (absl::string_view item : items) values.push_back(parse(Trim(item)));
    return AttrValue(std::move(values));
  };
  if (is_tensor) {
    std::vector<uint8_t> values;
    for (absl::string_view item : items) {
      values.push_back(static_cast<uint8_t>(ParseNumber<int64_t>(Trim(item))));
    }
    return Tensor::Vector<uint8_t>(values);
  }
  if (type == "list(int)") return all(ParseNumber<int64_t>);
  if (type == "list(float)") return all(ParseNumber<float>);
  if (type == "list(bool)") return all([](absl::string_view s) { return s == "true"; });
  if (type == "list(string)") return all(Unquote);
  if (type == "list(type)") return all(DTypeFromName);
  CHECK(items.empty()) << "defaults of " << type << " must be empty";
  return EmptyList{};
}

// Takes "{a, b}" off "{a, b} rest": what stands between the braces; empty if there are none.
absl::string_view TakeBraces(absl::string_view* text) {
  if (!absl::ConsumePrefix(text, "{")) return "";
  const size_t close = text->find('}');
  CHECK(close != absl::string_view::npos) << "unclosed { in attribute specification";
  const absl::string_view inside = text->substr(0, close);
  *text = Trim(text->substr(close + 1));
  return inside;
}

// Adds what the items of "float, double" or "'SAME', 'VALID'" allow; false if there are none.
bool AddAllowed(absl::string_view items, absl::string_view spec, AttrDef* attr) {
  attr->allowed_types.reserve(1 + std::count(items.begin(), items.end(), ','));
  while (!items.empty()) {
    const size_t comma = std::min(items.find(','), items.size());
    const absl::string_view item = Trim(items.substr(0, comma));
    items.remove_prefix(std::min(comma + 1, items.size()));
    if (item.empty()) continue;
    if (item.front() == '\'' || item.front() == '"') {
      attr->allowed_strings.push_back(Unquote(item));
    } else {
      attr->allowed_types.push_back(DTypeFromName(item));
      CHECK(attr->allowed_types.back() != DType::kInvalid) << "unknown dtype in " << spec;
    }
  }
  return !attr->allowed_strings.empty() || !attr->allowed_types.empty();
}

void ParseAttr(absl::string_view spec, AttrDef& attr) {
  auto [name, rest] = SplitAtColon(spec);
  attr.name = std::string(name);
  const bool is_list = absl::ConsumePrefix(&rest, "list(");
  std::string element;
  if (AddAllowed(TakeBraces(&rest), spec, &attr)) {
    element = attr.allowed_strings.empty() ? "type" : "string";
  } else {
    size_t end = rest.find_first_of(" )>=");
    element = std::string(rest.substr(0, end));
    rest = end == absl::string_view::npos ? "" : Trim(rest.substr(end));
  }
  if (is_list) {
    CHECK(absl::ConsumePrefix(&rest, ")")) << "unclosed list( in " << spec;
    rest = Trim(rest);
  }
  attr.type = is_list ? absl::StrCat("list(", element, ")") : element;
  if (absl::ConsumePrefix(&rest, ">=")) {
    rest = Trim(rest);
    size_t end = rest.find_first_of(" =");
    attr.minimum = ParseNumber<int64_t>(rest.substr(0, end));
    rest = end == absl::string_view::npos ? "" : Trim(rest.substr(end));
  }
  if (absl::ConsumePrefix(&rest, "=")) attr.default_value = ParseDefault(attr.type, rest);
}

void SetUse(absl::string_view name, ArgUse use, OpDef& op) {
  for (ArgDef& arg : op.inputs) {
    if (arg.name != name) continue;
    CHECK(arg.use == ArgUse::kUndeclared) << op.name << " declares two uses of '" << name << "'";
    arg.use = use;
    return;
  }
  CHECK(false) << op.name << " declares the use of '" << name << "', which is no input";
}

void DeriveTraits(OpDef& op) {
  const bool says_nothing = op.is_stateful && op.traits.empty();
  const bool has_uses = std::any_of(op.inputs.begin(), op.inputs.end(), [](const ArgDef& arg) {
    return arg.use == ArgUse::kRead || arg.use == ArgUse::kWritten;
  });
  if (says_nothing && !has_uses) op.traits.Add(OpTrait::kUndeclared);
  for (const ArgDef& arg : op.inputs) {
    const bool is_handle = arg.is_ref || arg.type == DType::kResource;
    if (is_handle && arg.use == ArgUse::kUndeclared) op.traits.Add(OpTrait::kUndeclared);
    if (arg.use == ArgUse::kWritten) op.traits.Add(OpTrait::kWritesResource);
    if (arg.use == ArgUse::kRead || arg.is_ref) op.traits.Add(OpTrait::kReadsResource);
  }
  for (const ArgDef& arg : op.outputs) {
    if (arg.is_ref) op.traits.Add(OpTrait::kReadsResource);
  }
}

}  // namespace

OpBuilder::OpBuilder(absl::string_view name) : op_(std::make_unique<OpDef>()) {
  op_->name = std::string(name);
  specs_.reserve(120);  // most declarations fit
}
OpBuilder::OpBuilder(OpBuilder&&) noexcept = default;
OpBuilder::~OpBuilder() = default;
// Called ten thousand times before main, so that it makes no text in between.
OpBuilder& OpBuilder::Add(char kind, absl::string_view spec) {
  specs_.push_back(kind);
  specs_.append(spec.data(), spec.size());
  specs_.push_back(kEnd);
  return *this;
}
OpBuilder& OpBuilder::Add(ArgUse use, absl::string_view arg) {
  return Add(static_cast<char>(kFirstUse + static_cast<char>(use)), arg);
}
OpBuilder& OpBuilder::Add(OpTrait trait) {
  op_->traits.Add(trait);
  return *this;
}
OpBuilder& OpBuilder::Input(absl::string_view spec) { return Add(kInput, spec); }
OpBuilder& OpBuilder::Output(absl::string_view spec) { return Add(kOutput, spec); }
OpBuilder& OpBuilder::Attr(absl::string_view spec) { return Add(kAttr, spec); }
OpBuilder& OpBuilder::Reads(absl::string_view arg) { return Add(ArgUse::kRead, arg); }
OpBuilder& OpBuilder::Writes(absl::string_view arg) { return Add(ArgUse::kWritten, arg); }
OpBuilder& OpBuilder::Forwards(absl::string_view arg) { return Add(ArgUse::kForwarded, arg); }
OpBuilder& OpBuilder::Routes(absl::string_view arg) { return Add(ArgUse::kRouted, arg); }
OpBuilder& OpBuilder::CallsFunctions(absl::string_view arg) {
  return Add(OpTrait::kCallsFunctions).Add(ArgUse::kPassed, arg);
}
OpBuilder& OpBuilder::LoopsFunctions(absl::string_view arg) {
  return Add(OpTrait::kLoopsFunctions).CallsFunctions(arg);
}
OpBuilder& OpBuilder::ComputesOnly() { return Add(OpTrait::kComputesOnly); }
OpBuilder& OpBuilder::MakesHandle() { return Add(OpTrait::kMakesHandle); }
OpBuilder& OpBuilder::MakesResource() { return Add(OpTrait::kMakesResource); }
OpBuilder& OpBuilder::OwnedByStep() { return Add(OpTrait::kOwnedByStep); }
OpBuilder& OpBuilder::ReadsOutside() { return Add(OpTrait::kReadsOutside); }
OpBuilder& OpBuilder::WritesOutside() { return Add(OpTrait::kWritesOutside); }
OpBuilder& OpBuilder::Random() { return Add(OpTrait::kRandom); }
OpBuilder& OpBuilder::MayWait() { return Add(OpTrait::kMayWait); }
OpBuilder& OpBuilder::Asserts() { return Add(OpTrait::kAsserts); }
OpBuilder& OpBuilder::ControlFlow() { return Add(OpTrait::kControlFlow); }
OpBuilder& OpBuilder::FromCaller() { return Add(OpTrait::kFromCaller); }
OpBuilder& OpBuilder::Stateful() {
  op_->is_stateful = true;
  return *this;
}
OpBuilder& OpBuilder::Commutative() {
  op_->is_commutative = true;
  return *this;
}
OpBuilder& OpBuilder::Aggregate() {
  op_->is_aggregate = true;
  return *this;
}
OpBuilder& OpBuilder::AllowsUninitializedInput() {
  op_->allows_uninitialized_input = true;
  return *this;
}
OpBuilder& OpBuilder::Deprecated(int producer) {
  op_->deprecated_at = producer;
  return *this;
}
OpBuilder& OpBuilder::ShapeFn(tessera::ShapeFn fn) {
  op_->shape_fn = fn;
  return *this;
}

std::unique_ptr<OpDef> OpBuilder::Build() && {
  const auto for_each = [&](absl::FunctionRef<void(char, absl::string_view)> parse) {
    for (absl::string_view rest = specs_; !rest.empty();) {
      const absl::string_view spec = rest.substr(0, rest.find(kEnd));
      parse(spec[0], spec.substr(1));
      rest.remove_prefix(spec.size() + 1);
    }
  };
  // Arguments name attributes, and uses name arguments, so each comes after all of the other.
  for_each([&](char kind, absl::string_view spec) {
    if (kind == kAttr) ParseAttr(spec, op_->attrs.emplace_back());
  });
  for_each([&](char kind, absl::string_view spec) {
    if (kind == kInput) ParseArg(*op_, spec, op_->inputs.emplace_back());
    if (kind == kOutput) ParseArg(*op_, spec, op_->outputs.emplace_back());
  });
  for_each([&](char kind, absl::string_view spec) {
    if (kind >= kFirstUse) SetUse(spec, static_cast<ArgUse>(kind - kFirstUse), *op_);
  });
  DeriveTraits(*op_);
  return std::move(op_);
}

}  // namespace tessera
