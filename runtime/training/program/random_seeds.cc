#include "runtime/training/program/random_seeds.h"

#include <string>

#include "runtime/framework/op.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

bool HasAttr(const OpDef& op, absl::string_view name) {
  for (const AttrDef& attr : op.attrs) {
    if (attr.name == name) return true;
  }
  return false;
}

// FNV-1a, which is the same on all machines. Never 0, which stands for no seed.
int64_t HashOfName(const std::string& name) {
  uint32_t hash = 2166136261u;
  for (const unsigned char c : name) hash = (hash ^ c) * 16777619u;
  return hash == 0 ? 1 : hash;
}

void Seed(int64_t seed, tensorflow::NodeDef* node) {
  const OpDef* const op = OpRegistry::Global().Find(node->op());
  if (op == nullptr || !HasAttr(*op, "seed") || !HasAttr(*op, "seed2")) return;
  auto& attrs = *node->mutable_attr();
  if (attrs["seed"].i() != 0 || attrs["seed2"].i() != 0) return;
  attrs["seed"].set_i(seed);
  attrs["seed2"].set_i(HashOfName(node->name()));
}

}  // namespace

void SeedRandomOps(int64_t seed, tensorflow::GraphDef* graph) {
  for (auto& node : *graph->mutable_node()) Seed(seed, &node);
  for (auto& function : *graph->mutable_library()->mutable_function()) {
    for (auto& node : *function.mutable_node_def()) Seed(seed, &node);
  }
}

}  // namespace tessera
