// TrainingProgram: a graph that a training loop can step, made from what a job says of it.
//
//   ASSIGN_OR_RETURN(TrainingProgram program, MakeTrainingProgram(spec, {.steps = 1000}));
//   RETURN_IF_ERROR(program.session->Run({}, {}, program.init, nullptr));    // a new run, or ...
//   RETURN_IF_ERROR(RestoreState(program, "run/model.ckpt-500"));            // ... one that goes
//   on for (...) {
//     // A batch feeds each of program.inputs; the step and its loss are one run.
//     RETURN_IF_ERROR(program.session->Run(feeds, {program.loss}, program.train, &loss));
//   }
//   ASSIGN_OR_RETURN(auto tensors, ReadState(program));                      // for a checkpoint
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/session/queue_runners.h"
#include "runtime/session/session.h"
#include "runtime/tensor/tensor.h"
#include "tessera/training/graph.pb.h"

namespace tessera {

// A variable, as checkpoints keep it and as a run reads and writes it.
struct StateVariable {
  // The variable's name in checkpoints: "dense/kernel", or the key of an object-based checkpoint,
  // such as "model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE".
  std::string key;
  // More keys under which checkpoints have the same value, so that TensorFlow finds it: Keras 3
  // tracks a variable at several places.
  std::vector<std::string> copies;
  std::string name;    // its node in the graph
  std::string read;    // the tensor to fetch
  std::string value;   // the placeholder to feed with a new value, in a run of the target
  std::string assign;  // ... which assigns it
  DType dtype = DType::kInvalid;
  PartialShape shape;
  bool trainable = false;
  // A part of a partitioned variable of TF1: which variable checkpoints have, and which part of it
  // this is, see ShapeAndSlice. Empty for a whole one. `key` is then the part's own name.
  std::string whole_key, slice;
};

// An iterator from which a step takes the graph's own data.
struct StateIterator {
  std::string name;      // its node in the graph
  std::string handle;    // the tensor to fetch
  std::string position;  // the placeholder to feed with a position, in a run of the target
  std::string restore;   // ... which sets the iterator to it
  // Differs between pipelines in which a position is another place.
  std::string fingerprint;
};

// An input of the graph that a field of a batch feeds.
struct BatchInput {
  std::string field;
  std::string tensor;  // the tensor to feed
  DType dtype = DType::kInvalid;
  PartialShape shape;  // with the batch dimension
};

// Names of tensors and nodes are those of the session's graph. As thread-safe as the session.
struct TrainingProgram {
  std::unique_ptr<Session> session;
  // Targets of the run that gives the variables their first values; none if they have them.
  std::vector<std::string> init;
  // The queues that must be filled while steps read the graph's own data; see QueueThreads.
  std::vector<QueueRunner> queue_runners;

  // A step: a run with these feeds and targets. Empty inputs: the graph reads its own data.
  std::vector<BatchInput> inputs;
  std::vector<std::string> train;
  // The values that a step feeds besides the batch, such as a placeholder `is_training`.
  std::vector<NamedTensor> constants;
  // Set where variables do not change in each step: gradients are added up, or may turn out to be
  // no finite numbers.
  struct Update {
    int64_t every = 1;      // after so many steps
    std::string num_added;  // a tensor with how many steps were made since the last update
    // A bool tensor to be fetched first: whether to apply the update or to skip it. Empty: apply.
    std::string is_finite;
    // Targets of a run without feeds. Both set num_added to 0.
    std::vector<std::string> apply, skip;
    // A tensor with the factor of the loss. Empty: there is none.
    std::string loss_scale;
  };
  std::optional<Update> update;
  // The loss of the step's batch before the step, to be fetched in the step's run. Empty if a
  // SavedModel's train signature has no output.
  std::string loss;

  // An evaluation of a batch: a run with these feeds, which fetches the loss and any of `outputs`
  // and changes nothing. A field may feed several tensors. Empty loss: there is none.
  std::vector<BatchInput> eval_inputs;
  std::vector<NamedTensor> eval_constants;
  std::string eval_loss;
  // Tensors by the names that metrics and exported signatures give them.
  std::map<std::string, std::string> outputs;
  // Field of the labels and of the weights that the loss names; empty if it names none.
  std::string label_field, weight_field;

  // Tensors with the learning rate of the step, if fetched in its run, and the number of steps that
  // were made. Empty if there is none.
  std::string learning_rate, global_step;

  // All that a checkpoint keeps, in order of the keys.
  std::vector<StateVariable> variables;
  // The iterators of a step that takes all of its own data from iterators.
  std::vector<StateIterator> iterators;
  // The serialised TrackableObjectGraph of object-based checkpoints; empty: keys are names.
  std::string object_graph;
  // Keys by which checkpoints of other programs may have the variables, as the signature `restore`
  // of a SavedModel does, by the keys in `variables`. Empty if there are none.
  std::map<std::string, std::string> other_keys;

  // For the export: the folder of the SavedModel, whose variables alone change, ...
  std::string saved_model;
  // ... or the graph that was trained, without what was added for the training, ...
  std::shared_ptr<const Graph> graph;
  // ... with targets that fill its tables, and string constants with paths of files that these
  // read.
  std::vector<std::string> table_initializers, asset_paths;
};

struct ProgramOptions {
  int64_t steps = 0;       // of the whole job, for schedules that end with it; 0: unknown
  std::string precision;   // of products: float32 (or empty), bfloat16 or float16
  int64_t accumulate = 1;  // steps whose gradients make an update
  // Scales the loss, see LossScaleSpec of the job.
  bool scales_loss = false;
  double first_loss_scale = 32768;
  int64_t loss_scale_growth_steps = 2000;  // 0: the scale stays as it is
  std::optional<int64_t> seed;  // of initial values, and of what else draws random numbers
  std::string base_folder;      // relative paths of the spec start here
  SessionOptions session;
};

// Errors: INVALID_ARGUMENT for a spec that is wrong in itself or does not fit the graph, with the
// nearest name that there is; UNIMPLEMENTED naming ops without kernel or gradient; those of reading
// the files.
absl::StatusOr<TrainingProgram> MakeTrainingProgram(const training::GraphSpec& spec,
                                                    const ProgramOptions& options);

// Returns everything that is wrong with the loss, the optimizer, the schedule and the clipping of a
// spec by themselves, without a look at the graph to which they are added: INVALID_ARGUMENT with
// the key and the remedy. Only for specs of graphs, which are no SavedModels.
std::vector<absl::Status> CheckAddedTraining(const training::GraphSpec& spec,
                                             const ProgramOptions& options);

// Returns the values of all variables, each under all of its keys. Values share the variables'
// memory until the next step copies it.
// Errors: FAILED_PRECONDITION for a variable without a value.
absl::StatusOr<std::vector<std::pair<std::string, Tensor>>> ReadState(
    const TrainingProgram& program);

// Gives all variables the values of the checkpoint of this prefix: ours, or what TensorFlow wrote
// of the same variables, name-based or object-based; see MatchCheckpoint(). The values alias the
// mapped file until they change.
// Errors: those of CheckpointReader::Open() and MatchCheckpoint().
absl::Status RestoreState(const TrainingProgram& program, const std::string& prefix);

}  // namespace tessera
