// Random graphs of calls, as test cases.
//
// A case is a GraphDef. Its nodes "in<k>" are constants whose values a run feeds; "const<k>" are
// constants that stay in the graph; "op<k>" are the calls, and other nodes make or read the
// variables and other resources that these use. A NoOp "plan" has the string lists `_fetch`, the
// tensors "node:index" that a run fetches, and `_target`, the nodes that it runs besides.
#pragma once

#include <string>
#include <vector>

#include "runtime/framework/op.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tests/random_cases/random.h"
#include "tests/random_cases/random_call.h"

namespace tessera {

// The newest version of graphs that TensorFlow 2.21 writes.
inline constexpr int kNewestProducer = 2474;

// Builds one case. Used by one thread.
class RandomGraph {
 public:
  // A graph `of_several` calls connects them, by tensors and by control dependencies, and may have
  // functions. The arguments must outlive this object.
  RandomGraph(Random& random, const CallMaker& calls, bool of_several);

  // Adds a call of the op. Returns false if no call of the op could be made.
  bool Add(const OpDef& op);

  int num_calls() const { return num_calls_; }
  // Adds the plan, and returns the graph. The object has no use afterwards.
  tensorflow::GraphDef Finish();

 private:
  // An output of an earlier call whose shape is known.
  struct Value {
    std::string name;
    DType dtype;
    Shape shape;
    bool is_used = false;
  };

  std::string AddCall(const Call& call, const Value* first, int depth);
  std::string AddConstant(const Tensor& value);
  Value* EarlierValue();
  // Adds an op that makes what no feed can give, and returns the name of its output.
  std::string AddMaker(const Call& call, DType dtype, int depth,
                       std::vector<std::string>* controls);
  std::string AddVariable(DType dtype, std::vector<std::string>* controls);
  void KeepOutputs(const Call& call, const std::string& node);

  Random& random_;
  const CallMaker& calls_;
  const bool of_several_;
  double share_of_constants_ = 0.2;  // among the inputs that are not outputs of calls
  double share_of_controls_ = 0;     // of calls that wait for another
  double share_of_fetches_ = 0;      // of outputs that are fetched although a call uses them
  tensorflow::GraphDef graph_;
  std::vector<Value> values_;
  std::vector<std::string> fetches_;
  std::vector<std::string> targets_;
  int num_calls_ = 0;
  int num_nodes_ = 0;
};

// Ops that have a kernel on the CPU.
std::vector<const OpDef*> OpsWithKernel();
// Of these, the ops whose outputs another implementation must give alike: they depend on nothing
// but inputs, attributes and variables.
std::vector<const OpDef*> ReproducibleOps();
// The ops among these that most models are made of, and that passes look for.
std::vector<const OpDef*> EverydayOps(const std::vector<const OpDef*>& ops);

}  // namespace tessera
