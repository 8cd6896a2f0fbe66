// RunState: saves a training run to its checkpoints, and brings it back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "runtime/training/job/data_position.h"
#include "runtime/training/job/hook.h"
#include "runtime/training/job/iterator_positions.h"
#include "runtime/training/pipeline/batch_source.h"
#include "runtime/training/program/training_program.h"

namespace tessera {

// Beside the variables of the graph, which TensorFlow finds by their keys, a checkpoint holds
//
//   _tessera/step      int64: the steps that were made
//   _tessera/epoch     int64: the epochs of the data that are over
//   _tessera/must_evaluate
//                      int64: 1 if the evaluation of this step was interrupted; 0 if it is missing
//   _tessera/data      string: BatchSource::SavePosition(); not if the graph reads its own data
//   _tessera/iterators/NAME/position
//                      string: the same of an iterator of such a graph, behind the fingerprint of
//                      its pipeline
//   _tessera/data_taken, _tessera/iterators/NAME/position_taken
//                      int64: the calls of Next() behind that position; 0 if it is missing
//   _tessera/eval_data, _tessera/eval_data_taken
//                      the same of the data of evaluations, if each goes on where the last ended
//   _tessera/random/names, _tessera/random/generators
//                      RandomStates: where random ops such as dropout are in their sequences
//   _tessera/...       what hooks save
//
// Used by one thread at a time, but for Write().
class RunState {
 public:
  // All must outlive the object; `source` may be null, and so may `evaluation`, where the next
  // evaluation begins.
  RunState(const TrainingProgram* program, BatchSource* source, DataPosition* evaluation,
           const std::vector<std::unique_ptr<Hook>>* hooks, CheckpointSaver saver)
      : program_(program), evaluation_(evaluation), hooks_(hooks), saver_(std::move(saver)) {
    if (source == nullptr) {
      iterators_.emplace(program);
    } else {
      data_.emplace(source, "_tessera/data");
    }
  }

  // Requires a source.
  DataPosition& data() { return *data_; }

  // Tells that variables and data are where the run begins.
  void Begin() {
    if (iterators_) iterators_->Begin();
  }
  // Tells that a step, or an evaluation, has ended well.
  void NoteStep() {
    if (iterators_) iterators_->NoteStep();
  }

  struct Position {
    int64_t step = 0;
    int64_t epoch = 0;
    bool is_data_interrupted = false;  // see DataPosition::Save()
    bool must_evaluate = false;        // the evaluation of the step was interrupted
  };
  struct Restored {
    Position position;
    std::string prefix;
    // Why the data begin anew; empty if they go on where they were.
    std::string data_note;
  };

  // The run as it stands. The tensors share the memory of the variables: a step that changes a
  // variable meanwhile leaves the snapshot its value, and makes a copy for itself. The snapshot
  // before must have been written.
  struct Snapshot {
    int64_t step = 0;
    std::vector<SavedTensor> values;
    // Why a run that goes on from here begins its data anew; empty if it does not.
    std::string data_note;
  };
  absl::StatusOr<Snapshot> TakeSnapshot(const Position& position);
  // Writes the snapshot and returns the prefix of the checkpoint. May run on another thread while
  // steps are made, but not beside another Write() or Restore(). Errors (RunFailure::kWrite): those
  // of CheckpointSaver::Save(), after which the earlier checkpoints are still there.
  absl::StatusOr<std::string> Write(const Snapshot& snapshot);
  // Brings the run back to its last checkpoint, of this program or of TensorFlow. Returns nullopt
  // if there is none. Errors (RunFailure::kCheckpoint): a damaged checkpoint, or one that does not
  // fit the graph.
  absl::StatusOr<std::optional<Restored>> Restore();

 private:
  absl::StatusOr<Restored> RestoreFrom(const CheckpointSaver::Checkpoint& checkpoint);
  // Returns why the data begin anew; empty if they go on.
  absl::StatusOr<std::string> RestoreData(const CheckpointReader& reader);

  const TrainingProgram* const program_;
  DataPosition* const evaluation_;
  // One of them: of the job's data, or of those that the graph reads by itself.
  std::optional<DataPosition> data_;
  std::optional<IteratorPositions> iterators_;
  const std::vector<std::unique_ptr<Hook>>* const hooks_;
  CheckpointSaver saver_;
};

}  // namespace tessera
