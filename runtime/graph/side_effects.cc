#include "runtime/graph/side_effects.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "runtime/graph/function.h"
#include "runtime/graph/unknown_ops.h"

namespace tessera {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

// Stateful by declaration, since they read state or draw random numbers, but nobody notices if they
// do not run.
bool OnlyReads(const OpDef& op) {
  static const Names* const kOps = new Names{
      "_Arg", "_DeviceArg",
      // variables
      "VarHandleOp", "_VarHandlesOp", "Variable", "VariableV2", "TemporaryVariable",
      "ReadVariableOp", "_ReadVariablesOp", "VarIsInitializedOp", "VariableShape", "ResourceGather",
      "ResourceGatherNd", "DisableCopyOnRead",
      // tables and other handles
      "HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2",
      "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable",
      "MutableDenseHashTableV2", "AnonymousHashTable", "AnonymousMutableHashTable",
      "AnonymousMutableHashTableOfTensors", "AnonymousMutableDenseHashTable", "LookupTableFindV2",
      "LookupTableSizeV2", "LookupTableExportV2", "TensorArraySizeV3", "StackV2", "Stack",
      "FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2",
      // files
      "Restore", "RestoreSlice", "RestoreV2", "LoadAndRemapMatrix",
      // random numbers whose generator belongs to the node
      "AllCandidateSampler", "FixedUnigramCandidateSampler", "LearnedUnigramCandidateSampler",
      "LogUniformCandidateSampler", "Multinomial", "NonDeterministicInts",
      "ParameterizedTruncatedNormal", "RandomCrop", "RandomGamma", "RandomPoisson",
      "RandomPoissonV2", "RandomShuffle", "RandomStandardNormal", "RandomUniform",
      "RandomUniformInt", "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "Skipgram",
      "ThreadUnsafeUnigramCandidateSampler", "TruncatedNormal", "UniformCandidateSampler",
      // the rest
      "DeepCopy", "DeviceIndex", "Empty", "GraphDefVersion", "GuaranteeConst", "RangeDataset",
      "SparseTensorSliceDataset", "StatelessRandomGetAlg", "TensorDataset", "TensorSliceDataset",
      "Timestamp"};
  return kOps->contains(op.name);
}

// They pass a reference on, or only look at what it refers to.
bool OnlyForwardsRefs(const OpDef& op) {
  static const Names* const kOps =
      new Names{"RefIdentity", "RefSwitch",        "RefMerge",  "RefEnter",
                "RefExit",     "RefNextIteration", "RefSelect", "IsVariableInitialized"};
  return kOps->contains(op.name);
}

// Not stateful by declaration, but what they give depends on the frame or on what arrives first.
bool IsControlFlow(const Node& node) {
  static const Names* const kOps =
      new Names{"Switch", "_SwitchN",      "Merge",    "Enter",
                "Exit",   "NextIteration", "LoopCond", "ControlTrigger"};
  return kOps->contains(node.op_name());
}

// Placeholders, and files, whose contents may change.
bool IsGivenFromOutside(const Node& node) {
  static const Names* const kOps = new Names{"Placeholder", "PlaceholderV2",
                                             "PlaceholderWithDefault", "ReadFile", "MatchingFiles"};
  return kOps->contains(node.op_name());
}

bool HasFunctionAttr(const Node& node) {
  return std::any_of(node.attrs().begin(), node.attrs().end(), [](const auto& attr) {
    return attr.second.template get<FunctionRef>() != nullptr ||
           attr.second.template get<std::vector<FunctionRef>>() != nullptr;
  });
}

}  // namespace

bool OpHasSideEffect(const OpDef& op) {
  if (op.is_stateful) return !OnlyReads(op);
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [](const ArgDef& a) { return a.is_ref; }) &&
         !OnlyForwardsRefs(op);
}

bool OnlyCallsFunctions(absl::string_view op_name) {
  static const Names* const kOps = new Names{"PartitionedCall",
                                             "StatefulPartitionedCall",
                                             "If",
                                             "StatelessIf",
                                             "While",
                                             "StatelessWhile",
                                             "Case",
                                             "StatelessCase",
                                             "_If",
                                             "_While",
                                             "For"};
  return kOps->contains(op_name);
}

bool HasSideEffect(const Node& node, const FunctionLibrary* library) {
  if (library == nullptr) return OpHasSideEffect(node.op());
  if (library->Contains(node.op_name())) return library->HasSideEffect(node.op_name());
  if (!OnlyCallsFunctions(node.op_name())) return OpHasSideEffect(node.op());
  for (const auto& [name, value] : node.attrs()) {
    if (const auto* function = value.get<FunctionRef>()) {
      if (library->HasSideEffect(function->name)) return true;
    } else if (const auto* functions = value.get<std::vector<FunctionRef>>()) {
      for (const FunctionRef& f : *functions) {
        if (library->HasSideEffect(f.name)) return true;
      }
    }
  }
  return false;
}

bool IsPure(const Node& node) {
  if (node.is_stateful() || IsControlFlow(node)) return false;
  if (IsGivenFromOutside(node)) return false;
  if (node.IsOp(kUnsupportedOp)) return false;  // what the real op does is not known
  const auto& inputs = node.input_types();
  const auto& outputs = node.output_types();
  if (std::any_of(inputs.begin(), inputs.end(), IsRef) ||
      std::any_of(outputs.begin(), outputs.end(), IsRef)) {
    return false;
  }
  return !HasFunctionAttr(node) && OpRegistry::Global().Find(node.op_name()) == &node.op();
}

}  // namespace tessera
