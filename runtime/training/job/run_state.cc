#include "runtime/training/job/run_state.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/kernels/random/random_state.h"
#include "runtime/training/job/failure.h"

namespace tessera {
namespace {

constexpr char kStep[] = "_tessera/step";
constexpr char kEpoch[] = "_tessera/epoch";
constexpr char kMustEvaluate[] = "_tessera/must_evaluate";
constexpr char kRandomNames[] = "_tessera/random/names";
constexpr char kRandomGenerators[] = "_tessera/random/generators";

// Returns the number under the key, or `otherwise` if there is none.
absl::StatusOr<int64_t> ReadNumber(const CheckpointReader& reader, const char* key,
                                   int64_t otherwise) {
  if (!reader.Contains(key)) return otherwise;
  ASSIGN_OR_RETURN(const Tensor value, reader.Read(key));
  if (value.dtype() != DType::kInt64 || value.num_elements() != 1) {
    return absl::DataLossError(absl::StrCat("'", key, "' is no int64 scalar"));
  }
  return value.scalar<int64_t>();
}

}  // namespace

absl::StatusOr<RunState::Snapshot> RunState::TakeSnapshot(const Position& position) {
  ASSIGN_OR_RETURN(auto state, ReadState(*program_));
  Snapshot snapshot{.step = position.step};
  std::vector<SavedTensor>& values = snapshot.values;
  absl::flat_hash_map<std::string, const StateVariable*> parts;
  for (const StateVariable& variable : program_->variables) {
    if (!variable.slice.empty()) parts[variable.key] = &variable;
  }
  for (auto& [key, value] : state) {
    const auto part = parts.find(key);
    if (part == parts.end()) {
      values.push_back({key, std::move(value)});
    } else {
      values.push_back({part->second->whole_key, std::move(value), part->second->slice});
    }
  }
  values.push_back({kStep, Tensor::Scalar(position.step)});
  values.push_back({kEpoch, Tensor::Scalar(position.epoch)});
  if (position.must_evaluate) values.push_back({kMustEvaluate, Tensor::Scalar<int64_t>(1)});
  const auto latest = saver_.Latest();
  std::optional<std::string> prefix;
  if (latest) prefix = latest->prefix;
  if (data_) RETURN_IF_ERROR(data_->Save(position.is_data_interrupted, prefix, &values));
  if (iterators_) snapshot.data_note = iterators_->Save(prefix, &values);
  if (evaluation_ != nullptr) {
    RETURN_IF_ERROR(evaluation_->Save(/*is_interrupted=*/false, prefix, &values));
  }
  ASSIGN_OR_RETURN(RandomStates random,
                   ReadRandomStates(program_->session->resources(), HeapAllocator()));
  values.push_back({kRandomNames, std::move(random.names)});
  values.push_back({kRandomGenerators, std::move(random.generators)});
  for (const auto& hook : *hooks_) hook->Save(&values);
  return snapshot;
}

absl::StatusOr<std::string> RunState::Write(const Snapshot& snapshot) {
  absl::StatusOr<std::string> prefix =
      saver_.Save(snapshot.step, snapshot.values, program_->object_graph);
  if (prefix.ok()) return prefix;
  return WithFailure(Annotate(prefix.status(), absl::StrCat("saving step ", snapshot.step, ": ")),
                     RunFailure::kWrite);
}

absl::StatusOr<std::optional<RunState::Restored>> RunState::Restore() {
  const auto latest = saver_.Latest();
  constexpr char kRemedy[] = " (resume: false begins anew): ";
  if (!latest) {
    // Where all are damaged, a run from the beginning would replace them one by one.
    const absl::Status damage = saver_.CheckLatest();
    if (!absl::IsDataLoss(damage)) return std::nullopt;
    return WithFailure(Annotate(damage, absl::StrCat("no checkpoint is whole", kRemedy)),
                       RunFailure::kCheckpoint);
  }
  absl::StatusOr<Restored> restored = RestoreFrom(*latest);
  if (restored.ok()) return *std::move(restored);
  return WithFailure(
      Annotate(restored.status(), absl::StrCat("cannot resume from ", latest->prefix, kRemedy)),
      RunFailure::kCheckpoint);
}

absl::StatusOr<RunState::Restored> RunState::RestoreFrom(
    const CheckpointSaver::Checkpoint& checkpoint) {
  ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(checkpoint.prefix));
  RETURN_IF_ERROR(RestoreState(*program_, checkpoint.prefix));
  Restored restored{.prefix = checkpoint.prefix};
  ASSIGN_OR_RETURN(restored.position.step, ReadNumber(*reader, kStep, checkpoint.step));
  ASSIGN_OR_RETURN(restored.position.epoch, ReadNumber(*reader, kEpoch, 0));
  ASSIGN_OR_RETURN(const int64_t must_evaluate, ReadNumber(*reader, kMustEvaluate, 0));
  restored.position.must_evaluate = must_evaluate != 0;
  ASSIGN_OR_RETURN(restored.data_note, RestoreData(*reader));
  // Behind the data, since what makes a dataset may draw random numbers.
  if (reader->Contains(kRandomNames)) {
    RandomStates random;
    ASSIGN_OR_RETURN(random.names, reader->Read(kRandomNames));
    ASSIGN_OR_RETURN(random.generators, reader->Read(kRandomGenerators));
    RETURN_IF_ERROR(WriteRandomStates(random, program_->session->resources()));
  }
  for (const auto& hook : *hooks_) RETURN_IF_ERROR(hook->Restore(*reader));
  // Evaluations of other data begin at the start of these.
  if (evaluation_ != nullptr) RETURN_IF_ERROR(evaluation_->Restore(*reader).status());
  return restored;
}

absl::StatusOr<std::string> RunState::RestoreData(const CheckpointReader& reader) {
  if (data_) return data_->Restore(reader);
  if (!iterators_->empty()) return iterators_->Restore(reader);
  return "the graph reads its own data, whose place no checkpoint holds";
}

}  // namespace tessera
