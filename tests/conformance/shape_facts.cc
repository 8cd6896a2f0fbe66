#include "tests/conformance/shape_facts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/graph/attr_value_proto.h"

namespace tessera {
namespace {

enum class Knowledge { kValues, kShapes, kRanks, kNothing };

const char* Describe(Knowledge knowledge) {
  switch (knowledge) {
    case Knowledge::kValues:
      return "inputs with their values";
    case Knowledge::kShapes:
      return "shapes of inputs";
    case Knowledge::kRanks:
      return "ranks of inputs";
    case Knowledge::kNothing:
      return "nothing";
  }
  return "";
}

// The recorded node, and what was fed to it in order.
struct Call {
  const OpDef* op = nullptr;
  AttrMap attrs;
  std::vector<const Tensor*> inputs;
};

absl::StatusOr<Call> CallOf(const GoldenCase& golden) {
  Call call;
  for (const tensorflow::NodeDef& node : golden.graph.node()) {
    if (node.name() != golden.targets[0]) continue;
    call.op = OpRegistry::Global().Find(node.op());
    if (call.op == nullptr) return call;
    ASSIGN_OR_RETURN(call.attrs, AttrMapFromProto(node.attr()));
    RETURN_IF_ERROR(CompleteAttrs(*call.op, &call.attrs));
    for (const std::string& name : node.input()) {
      const auto feed = std::find_if(golden.feeds.begin(), golden.feeds.end(), [&](const auto& f) {
        return f.first == name || f.first == absl::StrCat(name, ":0");
      });
      if (feed == golden.feeds.end()) {
        return absl::InvalidArgumentError(absl::StrCat("input '", name, "' was not recorded"));
      }
      call.inputs.push_back(&feed->second);
    }
  }
  return call;
}

std::string Check(const GoldenCase& golden, const Call& call, Knowledge knowledge) {
  std::vector<PartialShape> shapes;
  for (const Tensor* input : call.inputs) {
    if (knowledge == Knowledge::kNothing) {
      shapes.emplace_back();
    } else if (knowledge == Knowledge::kRanks) {
      shapes.push_back(PartialShape::UnknownOfRank(input->rank()));
    } else {
      shapes.emplace_back(input->shape());
    }
  }
  std::vector<const Tensor*> values(call.inputs.size(), nullptr);
  if (knowledge == Knowledge::kValues) values = call.inputs;
  ShapeContext context(*call.op, call.attrs, std::move(shapes), std::move(values),
                       static_cast<int>(golden.expectations.size()));
  const absl::Status status = call.op->shape_fn(context);
  const std::string given = absl::StrCat("the shape function, given ", Describe(knowledge), ", ");
  if (!status.ok()) return absl::StrCat(given, "fails: ", status.ToString());
  for (size_t i = 0; i < golden.expectations.size(); ++i) {
    const absl::optional<Tensor>& want = golden.expectations[i].want;
    if (!want.has_value() || context.outputs()[i].IsCompatibleWith(want->shape())) continue;
    return absl::StrCat(given, "says that output ", i, " has shape ",
                        context.outputs()[i].ToString(), ", it is ", want->shape().ToString());
  }
  return "";
}

}  // namespace

std::string ShapeContradiction(const GoldenCase& golden) {
  if (!golden.error.empty() || golden.targets.empty()) return "";
  const absl::StatusOr<Call> call = CallOf(golden);
  if (!call.ok()) return call.status().ToString();
  if (call->op == nullptr || call->op->shape_fn == nullptr) return "";
  for (Knowledge knowledge :
       {Knowledge::kValues, Knowledge::kShapes, Knowledge::kRanks, Knowledge::kNothing}) {
    std::string contradiction = Check(golden, *call, knowledge);
    if (!contradiction.empty()) return contradiction;
  }
  return "";
}

}  // namespace tessera
