// IteratorPositions: where a run is in the data that its graph reads by iterators of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "runtime/kernels/data/iterator_resource.h"
#include "runtime/training/job/saved_position.h"
#include "runtime/training/program/training_program.h"

namespace tessera {

// The iterators of a program's step go on together or begin anew together: positions of some of
// them would tear apart what belongs together.
//
//   ASSIGN_OR_RETURN(std::string note, positions.Restore(reader));  // or not, for a new run
//   positions.Begin();
//   while (...) {
//     ... a step ...
//     positions.NoteStep();
//     ASSIGN_OR_RETURN(note, positions.Save(latest, &values));      // now and then
//   }
//
// A step that failed may have taken elements. They do not count: the next run takes them again.
// Used by one thread at a time.
class IteratorPositions {
 public:
  // `program` must outlive the object.
  explicit IteratorPositions(const TrainingProgram* program);

  bool empty() const { return entries_.empty(); }

  // Keeps the positions at which the run begins. Requires that the program's `init` has run.
  void Begin();
  // Tells that the elements which were taken belong to steps that count.
  void NoteStep();

  // Adds the positions behind the last NoteStep() to what a checkpoint holds. `latest` is the
  // prefix of the checkpoint that was saved or restored last. Returns why a run that goes on from
  // there begins its data anew; empty if it does not.
  std::string Save(const std::optional<std::string>& latest, std::vector<SavedTensor>* values);
  // Goes to the positions in a checkpoint. Returns why the data begin anew; empty if they go on.
  // Errors: those of Iterator::Transfer() and of the functions that make datasets; DATA_LOSS.
  absl::StatusOr<std::string> Restore(const CheckpointReader& reader);

 private:
  struct Entry {
    const StateIterator* iterator;
    SavedPosition saved;
    IntrusivePtr<IteratorResource> resource;  // null: not found yet
    int64_t at_saved = 0;                     // IteratorResource::Progress::taken at `saved`
    int64_t at_step = 0;                      // the same behind the last step
  };

  absl::Status Find(Entry* entry);
  absl::Status SaveEntry(const std::optional<std::string>& latest, Entry* entry,
                         std::vector<SavedTensor>* values);

  const TrainingProgram* const program_;
  std::vector<Entry> entries_;
};

}  // namespace tessera
