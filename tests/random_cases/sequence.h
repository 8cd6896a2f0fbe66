// Cases of steps that run in one order, for ops on resources and on structures that no feed gives.
#pragma once

#include <string>
#include <vector>

#include "runtime/framework/op.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tests/random_cases/random.h"

namespace tessera {

// An output of a node.
struct StepOutput {
  std::string name;  // "node:index"
  DType dtype = DType::kInvalid;
};

// Builds a case (random_graph.h) whose calls wait for one another in the order in which they are
// added. Its plan has the attribute `_in_order`. Used by one thread.
//
//   Sequence sequence(random, /*hostile=*/false);
//   const StepOutput queue = sequence.Step("FIFOQueueV2", {}, {{"component_types", types}})[0];
//   while (sequence.Continues()) {
//     sequence.Step("QueueEnqueueV2", {queue, sequence.Given(sequence.Draw(dtype, shape))});
//   }
//   sequence.Step("QueueSizeV2", {queue});
//
// One of the values given in a sequence is wrong now and then. A loop of steps ends there, since
// the state is no longer what the maker of the sequence expects.
class Sequence {
 public:
  // The random choices must outlive this object. `hostile` draws extreme values for what is wrong.
  Sequence(Random& random, bool hostile);

  Random& random() { return random_; }
  // Returns whether another step is wanted: no value was wrong, and there are not many yet.
  bool Continues();
  // Returns whether the next step shall be one that fails, as seldom as a given value is wrong.
  bool Fails();

  // Returns a constant of these elements, which a run feeds as a rule, or one that is wrong.
  StepOutput Given(const Tensor& value);
  // Returns a constant of these elements in every case: what decides whether a step ends at all.
  StepOutput Exactly(const Tensor& value);
  Tensor Draw(DType dtype, const Shape& shape);
  StepOutput Drawn(DType dtype, const Shape& shape) { return Given(Draw(dtype, shape)); }
  StepOutput Int(int32_t value) { return Given(Tensor::Scalar<int32_t>(value)); }
  StepOutput Long(int64_t value) { return Given(Tensor::Scalar<int64_t>(value)); }
  StepOutput Ints(const std::vector<int32_t>& values);
  StepOutput Longs(const std::vector<int64_t>& values);

  // Adds a call of the op, and returns its outputs. Attributes that give types, and the length of
  // one list of inputs, follow from the inputs. A fetch reads each output that it can.
  std::vector<StepOutput> Step(const std::string& op, const std::vector<StepOutput>& inputs,
                               AttrMap attrs = {});
  // The same without the fetches, for outputs whose values may differ.
  std::vector<StepOutput> Unseen(const std::string& op, const std::vector<StepOutput>& inputs,
                                 AttrMap attrs = {});

  // Adds a call that waits for its inputs alone, one of a branch or of a loop, and that no fetch
  // reads. The steps after it do not wait for it.
  std::vector<StepOutput> Free(const std::string& op, const std::vector<StepOutput>& inputs,
                               AttrMap attrs = {});
  // Makes `value` input `i` of the call whose output is given: what closes a loop.
  void SetInput(const StepOutput& output_of, int i, const StepOutput& value);
  // Makes the call whose output is given wait for another one.
  void AddControl(const StepOutput& output_of, const StepOutput& after);
  // Adds a fetch.
  void Fetch(const StepOutput& output);

  // Adds a function to the library.
  tensorflow::FunctionDef* AddFunction() { return graph_.mutable_library()->add_function(); }

  // Adds the plan, and returns the graph. The object has no use afterwards.
  tensorflow::GraphDef Finish();

 private:
  std::vector<StepOutput> Add(const std::string& op, const std::vector<StepOutput>& inputs,
                              AttrMap attrs);
  tensorflow::NodeDef* NodeOf(const StepOutput& output);

  Random& random_;
  const bool hostile_;
  const double share_of_constants_;
  int steps_left_;
  bool is_wrong_ = false;
  tensorflow::GraphDef graph_;
  std::vector<std::string> fetches_;
  std::string last_;  // the node of the newest step; empty before the first
  int num_nodes_ = 0;
};

// Draws one of the types that most ops on structures take.
DType DrawType(Random& random);
// Whether tensors of a type that DrawType() gives can be added.
inline bool IsNumber(DType dtype) { return dtype != DType::kString && dtype != DType::kBool; }

// Makes the steps of a sequence.
using SequenceMaker = void (*)(Sequence& sequence);

// The makers of each family, in makers/.
std::vector<SequenceMaker> AccumulatorMakers();
std::vector<SequenceMaker> CollectiveMakers();
std::vector<SequenceMaker> ControlFlowMakers();
std::vector<SequenceMaker> DatasetMakers();
std::vector<SequenceMaker> FileMakers();
std::vector<SequenceMaker> ListMakers();
std::vector<SequenceMaker> QueueMakers();
std::vector<SequenceMaker> RandomStateMakers();
std::vector<SequenceMaker> ReaderMakers();
std::vector<SequenceMaker> ReferenceMakers();
std::vector<SequenceMaker> SparseMakers();
std::vector<SequenceMaker> StageMakers();
std::vector<SequenceMaker> SummaryMakers();
std::vector<SequenceMaker> TableMakers();
std::vector<SequenceMaker> TensorArrayMakers();
std::vector<SequenceMaker> VariableMakers();

// Returns a sequence by one of all makers.
tensorflow::GraphDef MakeSequence(Random& random, bool hostile);

}  // namespace tessera
