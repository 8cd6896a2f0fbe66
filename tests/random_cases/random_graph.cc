#include "tests/random_cases/random_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/logging.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/graph/attr_value_proto.h"
#include "tests/random_cases/argument_roles.h"
#include "tests/random_cases/outlining.h"
#include "tests/random_cases/random_tensor.h"

namespace tessera {
namespace {

constexpr int kMaxDepth = 3;

bool HasUnfeedable(const std::vector<ArgDef>& args) {
  return std::any_of(args.begin(), args.end(), [](const ArgDef& arg) {
    return arg.is_ref || (arg.type != DType::kInvalid && !CanFeed(arg.type));
  });
}

bool MakesArgument(const OpDef& op, DType dtype) {
  return std::any_of(op.outputs.begin(), op.outputs.end(), [&](const ArgDef& output) {
    return IsRef(dtype) ? output.is_ref : !output.is_ref && output.type == dtype;
  });
}

// The ops of which some output has the dtype, which no feed can give.
const std::vector<const OpDef*>& MakersOf(DType dtype) {
  static auto* const makers = new std::map<DType, std::vector<const OpDef*>>;
  const DType kind = IsRef(dtype) ? MakeRef(DType::kFloat) : dtype;
  auto [it, is_new] = makers->try_emplace(kind);
  if (is_new) {
    for (const OpDef* op : OpsWithKernel()) {
      if (MakesArgument(*op, kind)) it->second.push_back(op);
    }
  }
  return it->second;
}

// The declared or derived dtype that a variable must have for `op`.
DType VariableType(const Call& call) {
  for (const char* attr : {"dtype", "T"}) {
    const absl::StatusOr<DType> type = GetAttr<DType>(call.attrs, attr);
    if (type.ok() && CanFeed(*type)) return *type;
  }
  return DType::kFloat;
}

// Whether output `i` of a call may be anything: what a gradient reads, and vectors that are not
// asked for.
bool IsOpen(const Call& call, size_t i) {
  const std::vector<ArgDef>& outputs = call.op->outputs;
  if (i < outputs.size() && outputs[i].name.starts_with("reserve_space")) return true;
  for (const char* attr : {"compute_v", "compute_uv"}) {
    const absl::StatusOr<bool> asked = GetAttr<bool>(call.attrs, attr);
    if (i > 0 && asked.ok() && !*asked) return true;
  }
  return false;
}

void SetStrings(tensorflow::NodeDef* node, const char* attr,
                const std::vector<std::string>& values) {
  auto* const list = (*node->mutable_attr())[attr].mutable_list();
  for (const std::string& value : values) list->add_s(value);
}

}  // namespace

RandomGraph::RandomGraph(Random& random, const CallMaker& calls, bool of_several)
    : random_(random), calls_(calls), of_several_(of_several) {
  if (!of_several) return;
  share_of_constants_ = random.Pick(std::vector<double>{0.2, 0.2, 0.6, 1});
  share_of_controls_ = random.Pick(std::vector<double>{0, 0, 0.3});
  share_of_fetches_ = random.Pick(std::vector<double>{0, 0.15});
}

// Chains are what passes look for: the newest value is chosen more often than another.
RandomGraph::Value* RandomGraph::EarlierValue() {
  const auto count = static_cast<int64_t>(values_.size());
  return &values_[random_.Chance(0.5) ? count - 1 : random_.Below(count)];
}

bool RandomGraph::Add(const OpDef& op) {
  Value* first = nullptr;
  std::optional<GivenInput> given;
  const bool takes_first = !op.inputs.empty() && op.inputs[0].type_list_attr.empty() &&
                           !op.inputs[0].is_ref && !GivesSizes(op.inputs[0]);
  if (of_several_ && takes_first && !values_.empty() && random_.Chance(0.85)) {
    first = EarlierValue();
    given = GivenInput{first->dtype, first->shape};
  }
  std::optional<Call> call = calls_.Make(random_, op, given);
  if (!call.has_value()) return false;
  if (first != nullptr) first->is_used = true;
  const std::string first_name = first == nullptr ? "" : first->name;
  const Value copy = first == nullptr ? Value() : *first;
  AddCall(*call, first == nullptr ? nullptr : &copy, 0);
  ++num_calls_;
  return true;
}

std::string RandomGraph::AddConstant(const Tensor& value) {
  // Optimizer passes look at constants, and kernels alone at what is fed.
  const bool stays = random_.Chance(share_of_constants_);
  tensorflow::NodeDef* const node = graph_.add_node();
  node->set_name(absl::StrCat(stays ? "const" : "in", num_nodes_++));
  node->set_op("Const");
  AttrMapToProto({{"dtype", value.dtype()}, {"value", value}}, node->mutable_attr());
  return node->name();
}

std::string RandomGraph::AddCall(const Call& call, const Value* first, int depth) {
  std::vector<std::string> inputs, controls;
  for (size_t i = 0; i < call.input_types.size(); ++i) {
    const DType dtype = call.input_types[i];
    if (!CanFeed(dtype)) {
      inputs.push_back(AddMaker(call, dtype, depth, &controls));
      continue;
    }
    if (i == 0 && first != nullptr) {
      inputs.push_back(first->name);
      continue;
    }
    Value* same = nullptr;
    if (first != nullptr && random_.Chance(0.6)) {
      for (Value& value : values_) {
        if (value.dtype == dtype && value.shape == call.inputs[i].shape() &&
            (IsFloating(dtype) || IsComplex(dtype))) {
          same = &value;
        }
      }
    }
    if (same != nullptr) same->is_used = true;
    inputs.push_back(same != nullptr ? same->name : AddConstant(call.inputs[i]));
  }
  if (!targets_.empty() && random_.Chance(share_of_controls_)) {
    controls.push_back(random_.Pick(targets_));
  }
  tensorflow::NodeDef* const node = graph_.add_node();
  node->set_name(absl::StrCat("op", num_nodes_++));
  node->set_op(call.op->name);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& control : controls) node->add_input(absl::StrCat("^", control));
  AttrMapToProto(call.attrs, node->mutable_attr());
  const std::string name = node->name();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!absl::StartsWith(inputs[i], "variable")) continue;
    tensorflow::NodeDef* const read = graph_.add_node();
    read->set_name(absl::StrCat("read", num_nodes_++));
    read->set_op("ReadVariableOp");
    read->add_input(inputs[i]);
    read->add_input(absl::StrCat("^", name));
    AttrMapToProto({{"dtype", VariableType(call)}}, read->mutable_attr());
    fetches_.push_back(absl::StrCat(read->name(), ":0"));
  }
  KeepOutputs(call, name);
  return name;
}

std::string RandomGraph::AddVariable(DType dtype, std::vector<std::string>* controls) {
  tensorflow::NodeDef* const variable = graph_.add_node();
  const std::string name = absl::StrCat("variable", num_nodes_++);
  variable->set_name(name);
  variable->set_op("VarHandleOp");
  AttrMapToProto({{"dtype", dtype}, {"shape", PartialShape()}, {"shared_name", name}},
                 variable->mutable_attr());
  if (random_.Chance(0.99)) {
    // Few different shapes, so that those of several variables agree.
    const Shape shape = random_.Chance(0.7) ? Shape{3, 2} : RandomShape(random_, 3);
    const std::string value = AddConstant(RandomTensor(random_, dtype, shape, {}));
    tensorflow::NodeDef* const assign = graph_.add_node();
    assign->set_name(absl::StrCat("assign", num_nodes_++));
    assign->set_op("AssignVariableOp");
    assign->add_input(name);
    assign->add_input(value);
    AttrMapToProto({{"dtype", dtype}, {"validate_shape", false}}, assign->mutable_attr());
    controls->push_back(assign->name());
  }
  return name;
}

std::string RandomGraph::AddMaker(const Call& call, DType dtype, int depth,
                                  std::vector<std::string>* controls) {
  const bool takes_variable = !calls_.is_hostile() || depth >= kMaxDepth || random_.Chance(0.6);
  if (dtype == DType::kResource && takes_variable) {
    return AddVariable(VariableType(call), controls);
  }
  const std::vector<const OpDef*>& makers = MakersOf(dtype);
  for (int attempt = 0; attempt < 50 && !makers.empty(); ++attempt) {
    const OpDef& op = *random_.Pick(makers);
    if (depth >= kMaxDepth && HasUnfeedable(op.inputs)) continue;
    std::optional<Call> made = calls_.Make(random_, op);
    if (!made.has_value()) continue;
    const absl::StatusOr<std::vector<DType>> types = OutputTypes(op, made->attrs);
    if (!types.ok()) continue;
    const auto it = std::find(types->begin(), types->end(), dtype);
    if (it == types->end()) continue;
    const std::string node = AddCall(*made, nullptr, depth + 1);
    return absl::StrCat(node, ":", it - types->begin());
  }
  return "missing";
}

void RandomGraph::KeepOutputs(const Call& call, const std::string& node) {
  const absl::StatusOr<std::vector<DType>> types = OutputTypes(*call.op, call.attrs);
  if (!types.ok()) return;
  std::vector<PartialShape> shapes;
  std::vector<const Tensor*> input_values;
  for (const Tensor& input : call.inputs) {
    shapes.push_back(input.has_value() ? PartialShape(input.shape()) : PartialShape());
    input_values.push_back(input.has_value() ? &input : nullptr);
  }
  ShapeContext context(*call.op, call.attrs, std::move(shapes), std::move(input_values),
                       static_cast<int>(types->size()));
  const bool inferred = call.op->shape_fn != nullptr && call.op->shape_fn(context).ok();
  targets_.push_back(node);
  for (size_t i = 0; i < types->size(); ++i) {
    if (!CanFeed((*types)[i])) continue;
    if (IsOpen(call, i)) continue;
    const std::string name = absl::StrCat(node, ":", i);
    const PartialShape& shape = context.outputs()[i];
    const absl::StatusOr<Shape> known =
        inferred && shape.IsFullyDefined() ? shape.AsShape() : absl::NotFoundError("");
    if (known.ok() && known->num_elements() <= 2000) {
      values_.push_back({name, (*types)[i], *known});
    } else {
      fetches_.push_back(name);
    }
  }
}

tensorflow::GraphDef RandomGraph::Finish() {
  graph_.mutable_versions()->set_producer(kNewestProducer);
  std::map<std::string, Shape> shapes;
  for (const Value& value : values_) {
    shapes[value.name] = value.shape;
    if (!value.is_used || random_.Chance(share_of_fetches_)) fetches_.push_back(value.name);
  }
  tensorflow::NodeDef* const plan = graph_.add_node();
  plan->set_name("plan");
  plan->set_op("NoOp");
  SetStrings(plan, "_fetch", fetches_);
  SetStrings(plan, "_target", targets_);
  // A second function often has a call of the first in it.
  for (int number = 0; of_several_ && number < 3 && random_.Chance(0.4); ++number) {
    OutlineSomeCalls(random_, number, shapes, &graph_);
  }
  return std::move(graph_);
}

std::vector<const OpDef*> OpsWithKernel() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : OpRegistry::Global().All()) {
    // Abort ends the process on purpose.
    if (op->name == "Abort") continue;
    if (KernelRegistry::Global().HasKernel(op->name, "CPU") ||
        KernelRegistry::Global().HasKernel(op->name, kAnyDevice)) {
      ops.push_back(op);
    }
  }
  return ops;
}

std::vector<const OpDef*> ReproducibleOps() {
  constexpr OpTraits kDependent(
      OpTrait::kReadsOutside, OpTrait::kWritesOutside, OpTrait::kControlFlow, OpTrait::kMayWait,
      OpTrait::kFromCaller, OpTrait::kCallsFunctions, OpTrait::kLoopsFunctions,
      OpTrait::kMakesHandle, OpTrait::kMakesResource, OpTrait::kUndeclared);
  std::vector<const OpDef*> ops;
  for (const OpDef* op : OpsWithKernel()) {
    if (op->name.starts_with('_') || op->traits.HasAnyOf(kDependent)) continue;
    if (op->Has(OpTrait::kRandom) && op->FindAttr("seed") == nullptr) continue;
    if (op->deprecated_at > 0 && op->deprecated_at <= kNewestProducer) continue;
    if (HasUnfeedable(op->outputs)) continue;
    const bool of_variable = op->FindAttr("dtype") != nullptr || op->FindAttr("T") != nullptr;
    const bool uses_variables =
        op->Has(OpTrait::kReadsResource) || op->Has(OpTrait::kWritesResource);
    const bool is_update =
        uses_variables && of_variable &&
        (absl::StrContains(op->name, "Resource") || absl::StrContains(op->name, "Variable")) &&
        !absl::StrContains(op->name, "Accumulator");
    const bool takes_reference = std::any_of(op->inputs.begin(), op->inputs.end(),
                                             [](const ArgDef& input) { return input.is_ref; });
    if (takes_reference || (HasUnfeedable(op->inputs) && !is_update)) continue;
    ops.push_back(op);
  }
  return ops;
}

std::vector<const OpDef*> EverydayOps(const std::vector<const OpDef*>& ops) {
  static const auto* const names = new std::set<std::string>(absl::StrSplit(
      "Abs Add AddN AddV2 All Any ArgMax AvgPool BatchMatMulV2 BiasAdd BroadcastTo Cast "
      "ClipByValue ConcatV2 Conv2D Cumsum DepthwiseConv2dNative DivNoNan Einsum Elu EnsureShape "
      "Equal Erf Exp ExpandDims Fill Floor FloorMod FusedBatchNormV3 GatherNd GatherV2 Greater "
      "Identity IdentityN L2Loss LeakyRelu Less Log1p LogSoftmax LogicalAnd LogicalNot MatMul Max "
      "MaxPool Maximum Mean Min Minimum Mul Neg NotEqual OneHot OnesLike Pack Pad PadV2 Pow Prod "
      "Range Rank RealDiv Reciprocal Relu Relu6 Reshape ReverseV2 Round Rsqrt Select SelectV2 Selu "
      "Shape Sigmoid Sign Size Slice Softmax Softplus Split SplitV Sqrt Square SquaredDifference "
      "Squeeze StopGradient StridedSlice Sub Sum Tanh Tile TopKV2 Transpose Unpack ZerosLike",
      ' '));
  std::vector<const OpDef*> everyday;
  for (const OpDef* op : ops) {
    if (names->contains(op->name)) everyday.push_back(op);
  }
  return everyday;
}

}  // namespace tessera
