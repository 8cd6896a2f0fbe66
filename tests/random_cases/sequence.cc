#include "tests/random_cases/sequence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/graph/attr_value_proto.h"
#include "tests/random_cases/argument_roles.h"
#include "tests/random_cases/random_graph.h"
#include "tests/random_cases/random_tensor.h"

namespace tessera {
namespace {

// The share of values that are wrong.
constexpr double kWrong = 0.012;
constexpr double kWrongIfHostile = 0.05;
constexpr int kMostSteps = 14;

// Sets the types, and the length of one list, that the inputs tell.
void InferAttrs(const OpDef& op, const std::vector<StepOutput>& inputs, AttrMap* attrs) {
  const size_t num_args = op.inputs.size();
  size_t next = 0;
  for (const ArgDef& arg : op.inputs) {
    size_t count = 1;
    const std::string& length = arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr;
    if (!length.empty()) {
      const auto known = attrs->find(length);
      if (known == attrs->end()) {
        count = inputs.size() + 1 - num_args;
      } else if (const auto* n = known->second.get<int64_t>(); n != nullptr) {
        count = static_cast<size_t>(*n);
      } else {
        count = GetAttr<std::vector<DType>>(*attrs, length).value().size();
      }
    }
    CHECK(next + count <= inputs.size()) << op.name << " lacks inputs";
    std::vector<DType> types;
    for (size_t i = 0; i < count; ++i) types.push_back(RemoveRef(inputs[next + i].dtype));
    next += count;
    if (!arg.number_attr.empty()) attrs->try_emplace(arg.number_attr, static_cast<int64_t>(count));
    if (!arg.type_attr.empty() && !types.empty()) attrs->try_emplace(arg.type_attr, types[0]);
    if (!arg.type_list_attr.empty()) attrs->try_emplace(arg.type_list_attr, types);
  }
  CHECK(next == inputs.size()) << op.name << " has too many inputs";
}

Tensor Wrong(Random& random, const Tensor& value, bool hostile) {
  ElementChoice choice;
  choice.hostile = hostile;
  const bool same_shape = random.Chance(0.5);
  const Shape shape = same_shape ? value.shape() : RelatedShape(random, value.shape());
  return RandomTensor(random, value.dtype(), shape, choice);
}

void SetStrings(tensorflow::NodeDef* node, const char* attr,
                const std::vector<std::string>& values) {
  auto* const list = (*node->mutable_attr())[attr].mutable_list();
  for (const std::string& value : values) list->add_s(value);
}

}  // namespace

Sequence::Sequence(Random& random, bool hostile)
    : random_(random),
      hostile_(hostile),
      share_of_constants_(random.Pick(std::vector<double>{0.1, 0.1, 0.5, 1})),
      steps_left_(static_cast<int>(random.Between(2, kMostSteps))) {}

bool Sequence::Continues() { return !is_wrong_ && steps_left_-- > 0; }

bool Sequence::Fails() {
  if (is_wrong_ || !random_.Chance(hostile_ ? kWrongIfHostile : kWrong)) return false;
  return is_wrong_ = true;
}

StepOutput Sequence::Given(const Tensor& value) {
  return Exactly(Fails() ? Wrong(random_, value, hostile_) : value);
}

StepOutput Sequence::Exactly(const Tensor& value) {
  const bool stays = random_.Chance(share_of_constants_);
  tensorflow::NodeDef* const node = graph_.add_node();
  node->set_name(absl::StrCat(stays ? "const" : "in", num_nodes_++));
  node->set_op("Const");
  AttrMapToProto({{"dtype", value.dtype()}, {"value", value}}, node->mutable_attr());
  return {absl::StrCat(node->name(), ":0"), value.dtype()};
}

Tensor Sequence::Draw(DType dtype, const Shape& shape) {
  return RandomTensor(random_, dtype, shape, {});
}

StepOutput Sequence::Ints(const std::vector<int32_t>& values) {
  return Given(Tensor::Vector(absl::Span<const int32_t>(values)));
}

StepOutput Sequence::Longs(const std::vector<int64_t>& values) {
  return Given(Tensor::Vector(absl::Span<const int64_t>(values)));
}

std::vector<StepOutput> Sequence::Step(const std::string& op, const std::vector<StepOutput>& inputs,
                                       AttrMap attrs) {
  std::vector<StepOutput> outputs = Unseen(op, inputs, std::move(attrs));
  for (const StepOutput& output : outputs) Fetch(output);
  return outputs;
}

std::vector<StepOutput> Sequence::Unseen(const std::string& op,
                                         const std::vector<StepOutput>& inputs, AttrMap attrs) {
  std::vector<StepOutput> outputs = Add(op, inputs, std::move(attrs));
  tensorflow::NodeDef* const node = graph_.mutable_node(graph_.node_size() - 1);
  if (!last_.empty()) node->add_input(absl::StrCat("^", last_));
  last_ = node->name();
  return outputs;
}

std::vector<StepOutput> Sequence::Free(const std::string& op, const std::vector<StepOutput>& inputs,
                                       AttrMap attrs) {
  return Add(op, inputs, std::move(attrs));
}

tensorflow::NodeDef* Sequence::NodeOf(const StepOutput& output) {
  const std::string name = output.name.substr(0, output.name.find(':'));
  for (tensorflow::NodeDef& node : *graph_.mutable_node()) {
    if (node.name() == name) return &node;
  }
  LOG(FATAL) << "there is no node " << name;
}

void Sequence::SetInput(const StepOutput& output_of, int i, const StepOutput& value) {
  NodeOf(output_of)->set_input(i, value.name);
}

void Sequence::AddControl(const StepOutput& output_of, const StepOutput& after) {
  NodeOf(output_of)->add_input(absl::StrCat("^", NodeOf(after)->name()));
}

void Sequence::Fetch(const StepOutput& output) {
  if (CanFeed(output.dtype)) fetches_.push_back(output.name);
}

std::vector<StepOutput> Sequence::Add(const std::string& name,
                                      const std::vector<StepOutput>& inputs, AttrMap attrs) {
  const OpDef* const op = OpRegistry::Global().Find(name);
  CHECK(op != nullptr) << name;
  InferAttrs(*op, inputs, &attrs);
  const absl::Status complete = CompleteAttrs(*op, &attrs);
  CHECK(complete.ok()) << name << ": " << complete.ToString();
  tensorflow::NodeDef* const node = graph_.add_node();
  node->set_name(absl::StrCat("op", num_nodes_++));
  node->set_op(name);
  for (const StepOutput& input : inputs) node->add_input(input.name);
  AttrMapToProto(attrs, node->mutable_attr());
  std::vector<StepOutput> outputs;
  const std::vector<DType> types = OutputTypes(*op, attrs).value();
  for (size_t i = 0; i < types.size(); ++i) {
    outputs.push_back({absl::StrCat(node->name(), ":", i), types[i]});
  }
  return outputs;
}

tensorflow::GraphDef Sequence::Finish() {
  graph_.mutable_versions()->set_producer(kNewestProducer);
  tensorflow::NodeDef* const plan = graph_.add_node();
  plan->set_name("plan");
  plan->set_op("NoOp");
  (*plan->mutable_attr())["_in_order"].set_b(true);
  SetStrings(plan, "_fetch", fetches_);
  SetStrings(plan, "_target", {last_});
  return std::move(graph_);
}

DType DrawType(Random& random) {
  static const std::vector<DType> types = {DType::kFloat, DType::kFloat,  DType::kInt32,
                                           DType::kInt64, DType::kString, DType::kBool,
                                           DType::kHalf,  DType::kUint8,  DType::kComplex64,
                                           DType::kInt8,  DType::kDouble, DType::kBfloat16};
  return random.Pick(types);
}

tensorflow::GraphDef MakeSequence(Random& random, bool hostile) {
  static const auto* const families = new std::vector<std::vector<SequenceMaker>>{
      AccumulatorMakers(), CollectiveMakers(), ControlFlowMakers(), DatasetMakers(),
      FileMakers(),        ListMakers(),       QueueMakers(),       RandomStateMakers(),
      ReaderMakers(),      ReferenceMakers(),  SparseMakers(),      StageMakers(),
      SummaryMakers(),     TableMakers(),      TensorArrayMakers(), VariableMakers()};
  Sequence sequence(random, hostile);
  random.Pick(random.Pick(*families))(sequence);
  return sequence.Finish();
}

}  // namespace tessera
