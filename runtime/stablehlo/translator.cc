#include "runtime/stablehlo/translator.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/function_export.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tessera::stablehlo {
namespace {

// Functions that call each other can unfold to any size.
constexpr int64_t kMaxOperations = 500'000;
constexpr int kMaxCallDepth = 200;

// Whether a value of one type may stand for one of the other: dimensions may be known of one alone.
bool AreAlike(const Type& a, const Type& b) {
  return a.dtype == b.dtype && a.dimensions.size() == b.dimensions.size();
}

const absl::flat_hash_map<absl::string_view, Handler>& Handlers() {
  static const auto* const handlers = [] {
    auto* all = new absl::flat_hash_map<absl::string_view, Handler>;
    for (absl::Span<const NamedHandler> family :
         {ElementwiseHandlers(), IntegerHandlers(), ShapeHandlers(), IndexingHandlers(),
          ProductHandlers(), ConvolutionHandlers(), ReductionHandlers(), SortHandlers(),
          FourierHandlers(), RandomHandlers(), LinearAlgebraHandlers(), ControlFlowHandlers(),
          CustomCallHandlers()}) {
      for (const NamedHandler& entry : family) all->emplace(entry.op, entry.handler);
    }
    return all;
  }();
  return *handlers;
}

void FindUses(const Region& region, absl::flat_hash_set<ValueId>* defined,
              std::vector<ValueId>* used) {
  defined->insert(region.arguments.begin(), region.arguments.end());
  for (const Operation& op : region.operations) {
    used->insert(used->end(), op.operands.begin(), op.operands.end());
    defined->insert(op.results.begin(), op.results.end());
    for (const Region& inner : op.regions) FindUses(inner, defined, used);
  }
}

// Whether an op has the operands and results that its translation looks at unasked.
bool HasItsValues(const Operation& op) {
  static const auto* const any_number = new absl::flat_hash_set<absl::string_view>{
      "call", "case", "composite", "custom_call", "if", "optimization_barrier", "while"};
  if (any_number->contains(op.name)) return true;
  size_t operands = 1;
  if (op.name == "dynamic_broadcast_in_dim" || op.name == "dynamic_reshape") operands = 2;
  if (op.name == "constant" || op.name == "iota" || op.name == "partition_id" ||
      op.name == "replica_id") {
    operands = 0;
  }
  return op.operands.size() >= operands && !op.results.empty();
}

bool IsConstant(const Expr& expr) { return expr.empty() || expr.endpoint().node->IsOp("Const"); }

}  // namespace

Translator::Translator(const Module& module, FunctionOutput* output, Graph* graph,
                       Translator* outer)
    : module_(module), output_(output), outer_(outer), build_(graph, "stablehlo") {
  if (outer != nullptr) calls_ = outer->calls_;
}

void Translator::Fail(absl::string_view why) {
  build_.Fail(absl::UnimplementedError(
      current_ == nullptr ? std::string(why)
                          : absl::StrCat("StableHLO op '", current_->name, "': ", why)));
}

bool Translator::CheckType(ValueId value) {
  const Type& type = module_.type(value);
  if (type.is_ranked_tensor && type.dtype != DType::kInvalid) return true;
  Fail(absl::StrCat("values of type ", type.name,
                    type.is_ranked_tensor ? absl::StrCat(" of ", type.element) : "",
                    " are not supported"));
  return false;
}

std::vector<ValueId> Translator::Translate(const Region& region) {
  for (const Operation& op : region.operations) {
    if (!status().ok()) return {};
    if (op.name == "return") return op.operands;
    if (++output_->operations > kMaxOperations) {
      Fail("the functions of the module unfold to too many ops");
      return {};
    }
    const Operation* const caller = std::exchange(current_, &op);
    TranslateOperation(op);
    current_ = caller;
  }
  Fail("a region of the module returns nothing");
  return {};
}

void Translator::TranslateOperation(const Operation& op) {
  auto handler = Handlers().find(op.name);
  if (handler == Handlers().end()) return Fail("there is no translation of this op");
  for (const auto* values : {&op.operands, &op.results}) {
    for (ValueId value : *values) {
      if (!CheckType(value)) return;
    }
  }
  if (!HasItsValues(op)) return Fail("it lacks operands or results");
  handler->second(*this, op);
  for (ValueId result : op.results) {
    if (status().ok() && !values_.contains(result)) return Fail("it has another number of results");
  }
}

void Translator::TranslateCall(absl::string_view callee, const Operation& call) {
  const Function* const function = module_.FindFunction(callee);
  if (function == nullptr) return Fail(absl::StrCat("there is no function '", callee, "'"));
  if (CallsItself(callee)) return;
  if (function->body.arguments.size() != call.operands.size()) {
    return Fail(absl::StrCat("function '", callee, "' takes another number of arguments"));
  }
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (!AreAlike(type(function->body.arguments[i]), type(call.operands[i]))) {
      return Fail(absl::StrCat("function '", callee, "' takes arguments of other types"));
    }
    values_[function->body.arguments[i]] = Get(call.operands[i]);
  }
  calls_.emplace_back(callee);
  const std::vector<ValueId> results = Translate(function->body);
  calls_.pop_back();
  if (!status().ok()) return;
  if (results.size() != call.results.size()) {
    return Fail(absl::StrCat("function '", callee, "' has another number of results"));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!AreAlike(type(results[i]), type(call.results[i]))) {
      return Fail(absl::StrCat("function '", callee, "' has results of other types"));
    }
    values_[call.results[i]] = Get(results[i]);
  }
}

bool Translator::CallsItself(absl::string_view callee) {
  const bool calls_itself = std::find(calls_.begin(), calls_.end(), callee) != calls_.end() ||
                            calls_.size() >= kMaxCallDepth;
  if (calls_itself) Fail(absl::StrCat("function '", callee, "' calls itself"));
  return calls_itself;
}

Value Translator::Get(ValueId id) {
  auto known = values_.find(id);
  if (known != values_.end()) return known->second;
  if (outer_ == nullptr) {
    Fail("an operand is not defined");
    return {};
  }
  // What is not captured is a constant: this graph gets its own.
  Value value = outer_->Get(id);
  for (Expr* expr : {&value.expr, &value.shape}) {
    if (expr->empty()) continue;
    auto constant = expr->endpoint().node->attr<Tensor>("value");
    if (!constant.ok()) {
      Fail("an operand is not defined");
      return {};
    }
    *expr = build_.Constant(*std::move(constant));
  }
  return values_[id] = value;
}

Expr Translator::Full(ValueId id) {
  Value value = Get(id);
  if (!value.is_broadcast()) return value.expr;
  Set(id, Call("BroadcastTo", {value.expr, value.shape}));
  return values_[id].expr;
}

Expr Translator::ShapeOfValue(ValueId id) {
  const Type& known = type(id);
  if (known.IsStatic()) return Ints(known.dimensions);
  const Value value = Get(id);
  return value.is_broadcast() ? value.shape : ShapeOf(value.expr);
}

void Translator::Set(ValueId id, Expr expr) {
  values_[id] = Value{.expr = expr, .shape = {}, .dims = type(id).dimensions};
}

void Translator::SetBroadcast(ValueId id, Expr compact, Dims dims, Expr shape) {
  const Type& full = type(id);
  if (full.IsStatic() && full.dimensions == dims) return Set(id, compact);
  values_[id] = Value{.expr = compact, .shape = shape, .dims = std::move(dims)};
}

Dims Translator::IntsAttr(const Operation& op, absl::string_view name) {
  const auto* tensor = op.FindAttr<Tensor>(name);
  if (tensor == nullptr || tensor->dtype() != DType::kInt64) {
    Fail(absl::StrCat("it lacks the attribute '", name, "'"));
    return {};
  }
  const absl::Span<const int64_t> values = tensor->flat<int64_t>();
  return Dims(values.begin(), values.end());
}

std::vector<bool> Translator::BoolsAttr(const Operation& op, absl::string_view name) {
  const auto* tensor = op.FindAttr<Tensor>(name);
  if (tensor == nullptr || tensor->dtype() != DType::kBool) {
    Fail(absl::StrCat("it lacks the attribute '", name, "'"));
    return {};
  }
  const absl::Span<const bool> values = tensor->flat<bool>();
  return std::vector<bool>(values.begin(), values.end());
}

int64_t Translator::IntAttr(const Operation& op, absl::string_view name) {
  const auto* value = op.FindAttr<int64_t>(name);
  if (value == nullptr) Fail(absl::StrCat("it lacks the attribute '", name, "'"));
  return value == nullptr ? 0 : *value;
}

bool Translator::BoolAttr(const Operation& op, absl::string_view name) {
  const auto* value = op.FindAttr<bool>(name);
  if (value == nullptr) Fail(absl::StrCat("it lacks the attribute '", name, "'"));
  return value != nullptr && *value;
}

std::string Translator::StringAttr(const Operation& op, absl::string_view name) {
  const auto* value = op.FindAttr<std::string>(name);
  if (value == nullptr) Fail(absl::StrCat("it lacks the attribute '", name, "'"));
  return value == nullptr ? "" : *value;
}

Expr Translator::Ints(absl::Span<const int64_t> values) {
  const bool is_wide = std::any_of(values.begin(), values.end(), [](int64_t value) {
    return value != static_cast<int32_t>(value);
  });
  if (is_wide) return build_.Constant(Tensor::Vector<int64_t>(values));
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return build_.Ints(narrow);
}

Expr Translator::ReshapeTo(const Expr& x, const Dims& dims, const std::function<Expr()>& shape) {
  // The unknown dimension cannot be told if another is zero.
  const bool is_empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  const auto unknown = std::count(dims.begin(), dims.end(), kDynamic);
  return Reshape(x, unknown > 1 || (unknown == 1 && is_empty) ? shape() : Ints(dims));
}

Expr Translator::InsertOnes(const Expr& x, const Dims& dims, const Dims& positions) {
  if (positions.empty()) return x;
  Dims result = dims;
  for (int64_t position : positions) result.insert(result.begin() + position, 1);
  return ReshapeTo(x, result, [&] {
    std::vector<Expr> parts;
    const Expr shape = ShapeOf(x);
    size_t next = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(result.size()); ++i) {
      const bool is_new = std::find(positions.begin(), positions.end(), i) != positions.end();
      parts.push_back(is_new ? build_.Ints({1}) : SliceVector(shape, next, next + 1));
      if (!is_new) ++next;
    }
    return Concat(parts, 0);
  });
}

Expr Translator::Transposed(const Expr& x, const Dims& permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  return Call("Transpose", {x, Ints(permutation)});
}

std::vector<ValueId> Translator::CapturedBy(absl::Span<const Region* const> regions) {
  absl::flat_hash_set<ValueId> seen;
  std::vector<ValueId> used, captured;
  for (const Region* region : regions) FindUses(*region, &seen, &used);
  for (ValueId id : used) {
    if (!seen.insert(id).second) continue;
    const Value value = Get(id);
    if (!IsConstant(value.expr) || !IsConstant(value.shape)) captured.push_back(id);
  }
  return captured;
}

std::vector<Expr> Translator::CapturedArguments(const std::vector<ValueId>& captured) {
  std::vector<Expr> arguments;
  for (ValueId id : captured) {
    const Value value = Get(id);
    arguments.push_back(value.expr);
    if (value.is_broadcast()) arguments.push_back(value.shape);
  }
  return arguments;
}

std::string Translator::AddFunction(const Region& region, const std::vector<ValueId>& captured,
                                    bool is_loop_body) {
  if (!status().ok()) return "";
  if (output_->depth >= kMaxCallDepth) {
    Fail("its regions and those of the functions it calls nest too deeply");
    return "";
  }
  ++output_->depth;
  const absl::Cleanup leave = [this] { --output_->depth; };
  Graph graph;
  Translator inner(module_, output_, &graph, this);
  FunctionExport function;
  auto add_argument = [&](DType dtype) {
    const int index = static_cast<int>(function.args.size());
    Node* node = inner.build_.AddOpenNode("_Arg", {{"T", dtype}, {"index", index}});
    function.args.push_back(node);
    return inner.build_.Output(node);
  };
  for (ValueId id : region.arguments) {
    if (!CheckType(id)) return "";
    inner.Set(id, add_argument(type(id).dtype));
  }
  for (ValueId id : captured) {
    Value value = Get(id);
    value.expr = add_argument(value.expr.dtype());
    if (value.is_broadcast()) value.shape = add_argument(value.shape.dtype());
    inner.values_[id] = std::move(value);
  }
  std::vector<Expr> results;
  for (ValueId id : inner.Translate(region)) results.push_back(inner.Full(id));
  if (is_loop_body) {
    for (size_t i = region.arguments.size(); i < function.args.size(); ++i) {
      results.push_back(inner.build_.Output(function.args[i]));
    }
  }
  for (const Expr& result : results) {
    const int index = static_cast<int>(function.results.size());
    function.results.push_back(
        inner.build_.AddNode("_Retval", {result}, {{"T", result.dtype()}, {"index", index}}));
  }
  function.name = absl::StrCat(output_->prefix, "_", output_->count++);
  function.graph = &graph;
  function.control_results = inner.effects_;
  build_.Fail(inner.status());
  if (status().ok()) {
    build_.Fail(ExportFunction(function, output_->library->add_function()));
  }
  return function.name;
}

const Function* Translator::CalledFunction(const Operation& custom_call) {
  const auto* names = custom_call.FindAttr<Attribute::Array>("called_computations");
  const std::string* const name =
      names == nullptr || names->size() != 1 ? nullptr : names->front()->get<std::string>();
  const Function* const function = name == nullptr ? nullptr : module_.FindFunction(*name);
  if (function == nullptr) Fail("it calls no function of the module");
  return function;
}

std::string Translator::AddCalledFunction(const Operation& custom_call) {
  const Function* const function = CalledFunction(custom_call);
  return function == nullptr ? "" : AddFunctionMadeOf(function->name, function->body);
}

std::string Translator::AddFunctionMadeOf(absl::string_view callee, const Region& region) {
  if (CallsItself(callee)) return "";
  calls_.emplace_back(callee);
  std::string added = AddFunction(region, {});
  calls_.pop_back();
  return added;
}

}  // namespace tessera::stablehlo
