#include "runtime/session/canonical_signature.h"

#include <map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "runtime/framework/op.h"
#include "runtime/kernels/fingerprint.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// Returns the same bytes for equal messages.
std::string Serialize(const google::protobuf::MessageLite& message) {
  std::string bytes(message.ByteSizeLong(), '\0');
  {
    google::protobuf::io::ArrayOutputStream stream(bytes.data(), static_cast<int>(bytes.size()));
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

// Text that cannot be taken for something else, whatever follows it.
void AppendTo(std::string* key, absl::string_view text) {
  absl::StrAppend(key, text.size(), ":", text, ";");
}

// Size in bytes up to which a key has messages themselves. It has a hash of larger ones: a constant
// may be most of a model, and each signature that uses it has a key.
constexpr size_t kMaxExactBytes = 64;

// The counterpart of AppendTo() for messages.
void AppendMessageTo(std::string* key, const google::protobuf::MessageLite& message) {
  const std::string bytes = Serialize(message);
  if (bytes.size() <= kMaxExactBytes) {
    AppendTo(key, bytes);
  } else {
    const Fingerprint128Value hash = Fingerprint128(bytes);
    absl::StrAppend(key, "#", bytes.size(), ":", absl::Hex(hash.low), ":", absl::Hex(hash.high),
                    ";");
  }
}

struct Input {
  absl::string_view node;
  int index = 0;
  bool is_control = false;
};

// "a", "a:1", "^a".
Input ParseInput(absl::string_view name) {
  Input input;
  input.is_control = absl::ConsumePrefix(&name, "^");
  const size_t colon = name.find(':');
  input.node = name.substr(0, colon);
  if (colon != name.npos && !absl::SimpleAtoi(name.substr(colon + 1), &input.index)) {
    input.index = -1;
  }
  return input;
}

// True if two nodes of one definition may behave differently because of their names.
bool NameMatters(const tensorflow::NodeDef& node) {
  const OpDef* op = OpRegistry::Global().Find(node.op());
  return op != nullptr && op->is_stateful && !op->Has(OpTrait::kCallsFunctions);
}

}  // namespace

// Numbers nodes in the order in which the run's fetches and targets lead to them.
class CanonicalSignatures::Walk {
 public:
  explicit Walk(CanonicalSignatures& signatures) : signatures_(signatures) {}

  bool Feed(const std::string& tensor) {
    const Input input = ParseInput(tensor);
    const auto node = signatures_.nodes_.find(input.node);
    if (node == signatures_.nodes_.end()) return false;
    const size_t position = feeds_.size();
    if (!feeds_.emplace(std::make_pair(node->second, input.index), position).second) return false;
    // What can be fed is told by the node that is not run.
    AppendTo(&form_, node->second->op());
    if (node->second->attr().contains("dtype")) {
      AppendMessageTo(&form_, node->second->attr().at("dtype"));
    } else {
      AppendTo(&form_, signatures_.NodeKey(*node->second));
    }
    absl::StrAppend(&form_, input.index, "\n");
    return true;
  }

  bool Visit(const std::string& name) {
    const Input input = ParseInput(name);
    const auto found = signatures_.nodes_.find(input.node);
    if (found == signatures_.nodes_.end()) return false;
    const tensorflow::NodeDef* const node = found->second;
    if (!input.is_control) {
      if (const auto feed = feeds_.find({node, input.index}); feed != feeds_.end()) {
        absl::StrAppend(&form_, "f", feed->second, ";");
        return true;
      }
    }
    const auto [number, is_new] = numbers_.emplace(node, open_.size());
    if (is_new) open_.push_back(node);
    absl::StrAppend(&form_, input.is_control ? "^" : "n", number->second, ":", input.index, ";");
    return true;
  }

  // The key, once all that was visited is followed to where it comes from; empty if it leads to
  // nodes that are not there.
  std::string Finish() {
    for (size_t i = 0; i < open_.size(); ++i) {
      const tensorflow::NodeDef& node = *open_[i];
      absl::StrAppend(&form_, "\n", signatures_.NodeKey(node));
      for (const std::string& input : node.input()) {
        if (!Visit(input)) return "";
      }
    }
    return std::move(form_);
  }

 private:
  CanonicalSignatures& signatures_;
  std::string form_;
  absl::flat_hash_map<std::pair<const tensorflow::NodeDef*, int>, size_t> feeds_;
  absl::flat_hash_map<const tensorflow::NodeDef*, size_t> numbers_;
  std::vector<const tensorflow::NodeDef*> open_;
};

CanonicalSignatures::CanonicalSignatures(const tensorflow::GraphDef& graph) {
  for (const auto& node : graph.node()) nodes_.emplace(node.name(), &node);
  for (const auto& function : graph.library().function()) {
    functions_.emplace(function.signature().name(), &function);
  }
}

std::string CanonicalSignatures::CanonicalKey(const RunSignature& run) {
  Walk walk(*this);
  for (const std::string& feed : run.feeds) {
    if (!walk.Feed(feed)) return "";
  }
  for (const std::string& fetch : run.fetches) {
    if (!walk.Visit(fetch)) return "";
  }
  for (const std::string& target : run.targets) {
    if (!walk.Visit(absl::StrCat("^", target))) return "";
  }
  return walk.Finish();
}

std::string CanonicalSignatures::FunctionKey(const std::string& name) {
  if (const auto known = function_keys_.find(name); known != function_keys_.end()) {
    return known->second;
  }
  std::string key = absl::StrCat("name ", name);
  if (const auto found = functions_.find(name); found != functions_.end()) {
    tensorflow::FunctionDef definition = *found->second;
    definition.mutable_signature()->clear_name();
    // What a variable or an argument was called in the program that made the function.
    for (auto& [index, arg] : *definition.mutable_arg_attr()) {
      arg.mutable_attr()->erase("_user_specified_name");
    }
    for (auto& node : *definition.mutable_node_def()) node.clear_experimental_debug_info();
    std::string definition_key;
    AppendMessageTo(&definition_key, definition);
    const auto id = function_ids_.emplace(definition_key, function_ids_.size()).first;
    key = absl::StrCat("id ", id->second);
  }
  function_keys_.emplace(name, key);
  return key;
}

const std::string& CanonicalSignatures::NodeKey(const tensorflow::NodeDef& node) {
  const auto [known, is_new] = node_keys_.try_emplace(&node);
  std::string& key = known->second;
  if (!is_new) return key;
  AppendTo(&key, functions_.contains(node.op()) ? FunctionKey(node.op()) : node.op());
  AppendTo(&key, node.device());
  AppendTo(&key, NameMatters(node) ? node.name() : "");
  std::map<absl::string_view, const tensorflow::AttrValue*> attrs;
  for (const auto& [name, value] : node.attr()) attrs.emplace(name, &value);
  for (const auto& [name, value] : attrs) {
    AppendTo(&key, name);
    if (!value->has_func() && value->list().func().empty()) {
      AppendMessageTo(&key, *value);
      continue;
    }
    tensorflow::AttrValue renamed = *value;
    if (renamed.has_func()) {
      renamed.mutable_func()->set_name(FunctionKey(renamed.func().name()));
    } else {
      for (auto& function : *renamed.mutable_list()->mutable_func()) {
        function.set_name(FunctionKey(function.name()));
      }
    }
    AppendMessageTo(&key, renamed);
  }
  return key;
}

}  // namespace tessera
