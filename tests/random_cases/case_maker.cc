#include "tests/random_cases/case_maker.h"

#include "runtime/graph/attr_value_proto.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

constexpr int kMaxAttempts = 100;

struct FunctionSpec {
  const char* name;
  const char* op;
  std::vector<DType> inputs;
  DType output;
};

const std::vector<FunctionSpec>& Functions() {
  static const std::vector<FunctionSpec> functions = {
      {"negate", "Neg", {DType::kFloat}, DType::kFloat},
      {"add", "AddV2", {DType::kFloat, DType::kFloat}, DType::kFloat},
      {"count", "AddV2", {DType::kInt64, DType::kInt64}, DType::kInt64},
      {"less", "Less", {DType::kFloat, DType::kFloat}, DType::kBool},
  };
  return functions;
}

void AddFunction(const FunctionSpec& spec, tensorflow::FunctionDefLibrary* library) {
  tensorflow::FunctionDef* const function = library->add_function();
  function->mutable_signature()->set_name(spec.name);
  tensorflow::NodeDef* const node = function->add_node_def();
  node->set_name("call");
  node->set_op(spec.op);
  AttrMapToProto({{"T", spec.inputs[0]}}, node->mutable_attr());
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    tensorflow::OpDef::ArgDef* const arg = function->mutable_signature()->add_input_arg();
    arg->set_name(name);
    arg->set_type(static_cast<tensorflow::DataType>(spec.inputs[i]));
    node->add_input(name);
  }
  tensorflow::OpDef::ArgDef* const result = function->mutable_signature()->add_output_arg();
  result->set_name("result");
  result->set_type(static_cast<tensorflow::DataType>(spec.output));
  const bool is_neg = std::string(spec.op) == "Neg";
  (*function->mutable_ret())["result"] = is_neg ? "call:y:0" : "call:z:0";
}

// Chooses an op by rendezvous hashing: an op more or less changes no choice of another op.
const OpDef& OpFor(const std::vector<const OpDef*>& ops, uint64_t choice) {
  const OpDef* best = nullptr;
  uint64_t best_rank = 0;
  for (const OpDef* op : ops) {
    uint64_t hash = choice;
    for (const char c : op->name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    const uint64_t rank = Random(hash).Bits();
    if (best == nullptr || rank > best_rank) {
      best = op;
      best_rank = rank;
    }
  }
  return *best;
}

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  for (const FunctionSpec& spec : Functions()) names.push_back(spec.name);
  return names;
}

}  // namespace

CaseMaker::CaseMaker(Options options)
    : options_(std::move(options)),
      everyday_(EverydayOps(options_.ops)),
      recorded_(options_.recorded),
      calls_(&recorded_, {options_.hostile, FunctionNames()}) {}

tensorflow::GraphDef CaseMaker::Make(uint64_t seed, uint64_t number) const {
  Random random(seed * 1000003 + number);
  if (random.Chance(options_.share_of_sequences)) return MakeSequence(random, options_.hostile);
  const bool is_graph = random.Chance(options_.share_of_graphs);
  RandomGraph graph(random, calls_, is_graph);
  const int wanted = is_graph ? static_cast<int>(random.Between(2, 8)) : 1;
  for (int attempt = 0; attempt < kMaxAttempts && graph.num_calls() < wanted; ++attempt) {
    const bool is_everyday = is_graph && !everyday_.empty() && random.Chance(0.6);
    graph.Add(OpFor(is_everyday ? everyday_ : options_.ops, random.Bits()));
  }
  tensorflow::GraphDef made = graph.Finish();
  for (const FunctionSpec& spec : Functions()) AddFunction(spec, made.mutable_library());
  return made;
}

}  // namespace tessera
