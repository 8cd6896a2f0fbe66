#include "tests/random_cases/recorded_calls.h"

#include "runtime/base/file_system.h"
#include "runtime/graph/attr_value_proto.h"
#include "tests/conformance/golden_corpus.h"

namespace tessera {
namespace {

// Attributes that the corpus adds to a node, such as `_rtol`, begin with an underscore.
AttrMap DeclaredAttrs(AttrMap attrs) {
  for (auto it = attrs.begin(); it != attrs.end();) {
    it = it->first.starts_with('_') ? attrs.erase(it) : std::next(it);
  }
  return attrs;
}

std::vector<RecordedCall> Read(const std::string& path) {
  std::vector<RecordedCall> calls;
  absl::StatusOr<std::vector<GoldenCase>> cases = ReadOpCases(path);
  if (!cases.ok()) return calls;
  for (GoldenCase& golden : *cases) {
    if (!golden.error.empty()) continue;
    for (const tensorflow::NodeDef& node : golden.graph.node()) {
      if (node.name() != golden.targets[0]) continue;
      absl::StatusOr<AttrMap> attrs = AttrMapFromProto(node.attr());
      if (!attrs.ok()) continue;
      RecordedCall call;
      call.attrs = DeclaredAttrs(*std::move(attrs));
      for (const std::string& input : node.input()) {
        for (const auto& [name, value] : golden.feeds) {
          if (name == input || name == input + ":0") call.inputs.push_back(value);
        }
      }
      calls.push_back(std::move(call));
    }
  }
  return calls;
}

}  // namespace

const std::vector<RecordedCall>& RecordedCalls::Of(const std::string& op) const {
  auto [it, is_new] = calls_.try_emplace(op);
  if (is_new && !directory_.empty()) it->second = Read(JoinPath(directory_, op + ".pb"));
  return it->second;
}

}  // namespace tessera
