#include "runtime/framework/op_traits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "runtime/framework/op.h"

namespace tessera {
namespace {

using ::testing::IsEmpty;

std::vector<std::string> OpsThat(bool (*condition)(const OpDef&)) {
  std::vector<std::string> names;
  for (const OpDef* op : OpRegistry::Global().All()) {
    if (condition(*op)) names.push_back(op->name);
  }
  return names;
}

// Whoever declares an op that is stateful, or takes a resource or a reference, has to say what it does
// with it.
TEST(OpTraitsTest, EveryOpWithStateDeclaresWhatItDoes) {
  ASSERT_GT(OpRegistry::Global().All().size(), 1000u);
  EXPECT_THAT(OpsThat([](const OpDef& op) { return op.Has(OpTrait::kUndeclared); }), IsEmpty());
}

TEST(OpTraitsTest, TheSameOpsAreStatefulAsInTensorFlow) {
  std::set<std::string> stateful;
  std::ifstream file("tests/data/stateful_ops.txt");
  for (std::string name; std::getline(file, name);) stateful.insert(name);
  ASSERT_GT(stateful.size(), 400u);
  // TensorFlow 2.21 for CPUs has these no more, or not at all; they were stateful where they were.
  stateful.insert({"CudnnRNN", "CudnnRNNBackpropV3", "CudnnRNNV3",
                   "IsBoostedTreesEnsembleInitialized"});
  // So it is with these of TensorFlow Text.
  stateful.insert({"SentencepieceDetokenizeOp", "SentencepieceIdToStringOp", "SentencepieceOp",
                   "SentencepieceStringToIdOp", "SentencepieceTokenizeOp",
                   "SentencepieceTokenizeWithOffsetsOp", "SentencepieceVocabSizeOp",
                   "WordpieceTokenizeWithOffsets"});
  // And with these of TensorFlow Decision Forests.
  stateful.insert({"SimpleMLCreateModelResource", "SimpleMLInferenceLeafIndexOpWithHandle",
                   "SimpleMLInferenceOp", "SimpleMLInferenceOpWithHandle",
                   "SimpleMLLoadModelFromPath", "SimpleMLLoadModelFromPathWithHandle"});
  stateful.insert("_CsvRecordDataset");  // ours, which reads files as TensorFlow's datasets do
  for (const OpDef* op : OpRegistry::Global().All()) {
    EXPECT_EQ(op->is_stateful, stateful.contains(op->name)) << op->name;
  }
}

TEST(OpTraitsTest, OpsThatOnlyComputeDoNothingElse) {
  EXPECT_THAT(OpsThat([](const OpDef& op) {
                OpTraits traits(OpTrait::kComputesOnly);
                return op.Has(OpTrait::kComputesOnly) &&
                       (!op.is_stateful || !(op.traits == traits));
              }),
              IsEmpty());
}

// Without this, a pass would have to know which output is which tensor of the argument.
TEST(OpTraitsTest, ForwardedArgumentsHaveTheTypesOfTheOutputs) {
  EXPECT_THAT(OpsThat([](const OpDef& op) {
                for (const ArgDef& arg : op.inputs) {
                  if (arg.use != ArgUse::kForwarded) continue;
                  if (op.inputs.size() != 1 || op.outputs.size() != 1) return true;
                  const ArgDef& output = op.outputs[0];
                  if (arg.type != output.type || arg.type_attr != output.type_attr ||
                      arg.type_list_attr != output.type_list_attr || arg.is_ref != output.is_ref) {
                    return true;
                  }
                }
                return false;
              }),
              IsEmpty());
}

TEST(OpTraitsTest, OpsThatCallFunctionsNameThem) {
  EXPECT_THAT(OpsThat([](const OpDef& op) {
                if (!op.Has(OpTrait::kCallsFunctions)) return op.Has(OpTrait::kLoopsFunctions);
                for (const AttrDef& attr : op.attrs) {
                  if (attr.type == "func" || attr.type == "list(func)") return false;
                }
                return true;
              }),
              IsEmpty());
}

}  // namespace
}  // namespace tessera
