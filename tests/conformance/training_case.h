// Recorded trainings, and TensorFlow's losses, gradients and final variables. A folder holds one
// graph in one of two styles.
//
// A TF1 graph is a MetaGraph for each optimizer (train_OPT.meta) and one without gradients
// (forward.meta):
//   init.*          the initial values of the variables, a checkpoint
//   feed_K.pb       a PredictRequest whose inputs are named by the placeholders; step s is fed with
//                   feed_(s mod info.feeds)
//   losses_OPT.json the loss before each step, from a run of its own
//   final_OPT.pb    a PredictResponse with all variables after the last step
//   grads_K.pb      a PredictResponse: loss, pred, and the gradient of each variable at the initial
//                   values; a sparse gradient as VAR/indices and VAR/values, too
//
// A TF2 graph is a SavedModel (1/) with the signatures init, train_step, loss, gradients, predict,
// save and restore:
//   feed_K.pb       as above, by the signatures' names
//   losses.json     what train_step returns
//   step25.*        the checkpoint that `save` writes after 25 steps
//   grads_0.pb, predict_after_50.pb  what `gradients` answers before and `predict` after the
//                   training, for feed_0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// One thing to check of a folder.
struct TrainingCase {
  enum class Kind {
    kCurve,              // TF1: losses and final variables with one optimizer
    kForward,            // TF1: loss and predictions of the graph without gradients
    kGradients,          // TF1: gradients that AddGradients() makes for that graph
    kSavedModel,         // TF2: all signatures
    kMetaGraphProgram,   // TF1: the curve by MakeTrainingProgram()
    kForwardProgram,     // TF1: the curve by MakeTrainingProgram() from the graph without gradients
    kSavedModelProgram,  // TF2: the curve by MakeTrainingProgram()
  };
  Kind kind;
  std::string name;       // "linear_regression_ref/adam"
  std::string directory;  // of the folder
  std::string optimizer;  // for curves of TF1
};

// Returns the cases of the folders in `directory` whose names match one of `patterns`, which may
// have wildcards; of all folders if there are no patterns. Errors: DATA_LOSS for a damaged
// info.json.
absl::StatusOr<std::vector<TrainingCase>> FindTrainingCases(
    const std::string& directory, const std::vector<std::string>& patterns);

// The message of the UNIMPLEMENTED errors of cases that are not failures of what is there.
inline constexpr absl::string_view kNeedsCluster = "the graph needs several tasks of a cluster";

// Trains and compares. Losses may be off by 1e-3 of their value in the first 20 steps, and by 1e-2
// later, since adaptive optimizers amplify rounding; final variables by 1e-2 of the largest element
// of the tensor, but for those that nothing but rounding moves (see rounding_variables.h). Errors:
// DATA_LOSS with the first difference; UNIMPLEMENTED naming what the runtime
// lacks; whatever loading and running give.
absl::Status ReplayTraining(const TrainingCase& training);

}  // namespace tessera
