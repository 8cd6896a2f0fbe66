// Batches of examples from files, for training and evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/cancellation.h"
#include "runtime/session/session.h"
#include "runtime/tensor/tensor.h"
#include "runtime/training/pipeline/batch_ahead.h"

namespace tessera {

namespace training {
class PipelineSpec;
}  // namespace training

// A field of all batches. The first dimension of its shape is the number of rows, -1 if the last
// batch may have fewer.
struct BatchField {
  std::string name;
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

struct BatchSourceOptions {
  int64_t batch_size = 1;
  // Determines the order of shuffled examples, in which each epoch differs from the one before.
  int64_t seed = 0;
  // The folder to which relative paths refer.
  std::string base_folder;
  // The pools on which examples are parsed ahead.
  SessionOptions session;
};

// The batches of a pipeline, epoch after epoch without end. A pipeline is a graph of dataset ops,
// and runs on the pools of its session.
//
//   ASSIGN_OR_RETURN(auto source, BatchSource::Make(spec, {.batch_size = 64, .seed = 1}));
//   std::vector<Tensor> batch;
//   while (true) {
//     ASSIGN_OR_RETURN(const bool more, source->Next(nullptr, &batch));
//     if (!more) continue;  // the epoch is over, and the next one begins
//     Train(batch);         // batch[i] is the field source->fields()[i]
//   }
//
// Used by one thread at a time. Its destructor ends what runs ahead.
class BatchSource {
 public:
  // Finds the files, and opens none but the first of CSV with a header. Errors: INVALID_ARGUMENT
  // for what the specification gets wrong, with the field and the remedy; NOT_FOUND for a glob that
  // matches no file, which it names.
  static absl::StatusOr<std::unique_ptr<BatchSource>> Make(const training::PipelineSpec& spec,
                                                           const BatchSourceOptions& options);
  ~BatchSource();
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  const std::vector<BatchField>& fields() const { return fields_; }
  // The files, in the order in which they are read.
  const std::vector<std::string>& files() const;

  // Puts the next batch into *batch, a tensor for each field. Returns false at the end of an epoch;
  // the call after that begins the next one. `cancellation` ends the call from another thread, and
  // may be null.
  // Errors: CANCELLED, after which the source can only be destroyed, and has no position any more;
  // FAILED_PRECONDITION for an epoch without a batch; DATA_LOSS for damaged
  // files, and INVALID_ARGUMENT for examples that do not have the fields, both with the file and
  // the number of the record.
  absl::StatusOr<bool> Next(CancellationManager* cancellation, std::vector<Tensor>* batch);

  // Makes something of a batch ahead of the step that takes it, such as copies on a device. Called
  // on another thread. Its errors are those of the Next() that gives the batch.
  using Prepare = std::function<absl::StatusOr<std::vector<Tensor>>(const std::vector<Tensor>&)>;
  // Starts a thread that gets and prepares each batch while the caller works on the one before. To
  // be called before Next() and RestorePosition(). `cancellation` ends what the thread does at any
  // time, as that of Next() does; it may be null, and must outlive the source.
  void PrepareAhead(Prepare prepare, CancellationManager* cancellation);
  // Returns what was made of the last batch; nothing without PrepareAhead().
  const std::vector<Tensor>& prepared() const { return prepared_; }

  // Returns the position behind the last batch, a string scalar, from which a source of the same
  // specification, batch size and files goes on. It holds the examples that are in the shuffle
  // buffer, in the cache, and prefetched, and what is ahead.
  absl::StatusOr<Tensor> SavePosition() const;
  // Errors: FAILED_PRECONDITION for the position of another pipeline; DATA_LOSS.
  absl::Status RestorePosition(const Tensor& position);

 private:
  struct State;  // what the pipeline is made of
  explicit BatchSource(std::unique_ptr<State> state);

  // The public functions of similar names, without a thread.
  absl::StatusOr<bool> GetNext(CancellationManager* cancellation, std::vector<Tensor>* batch);
  absl::StatusOr<std::string> SavePipeline() const;
  absl::Status RestorePipeline(absl::string_view bytes);

  const std::unique_ptr<State> state_;
  std::vector<BatchField> fields_;
  std::vector<Tensor> prepared_;
  Prepare prepare_;
  std::unique_ptr<BatchAhead> ahead_;  // null without PrepareAhead()
};

}  // namespace tessera
