#include "runtime/training/job/iterator_positions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "runtime/framework/resource_manager.h"
#include "runtime/tensor/tensor_proto.h"
#include "runtime/tensor/variant.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace tessera {
namespace {

// The longest that a checkpoint waits for the elements which a pipeline is making ahead. One that
// takes longer is saved by its earlier position.
constexpr absl::Duration kPatience = absl::Seconds(5);

std::string KeyOf(const StateIterator& iterator) {
  return absl::StrCat("_tessera/iterators/", iterator.name, "/position");
}

// A position begins with this line.
std::string HeadOf(const StateIterator& iterator) {
  return absl::StrCat(iterator.fingerprint, "\n");
}

// Returns the position of an iterator as a string scalar.
absl::StatusOr<Tensor> PositionOf(const StateIterator& iterator, IteratorResource& resource) {
  StepContext waits;
  waits.deadline = absl::Now() + kPatience;
  ASSIGN_OR_RETURN(std::shared_ptr<IteratorState> state, resource.Save(waits));
  tensorflow::TensorProto proto;
  RETURN_IF_ERROR(TensorToProto(Tensor::Vector<Variant>({Variant(std::move(state))}),
                                TensorProtoForm::kTensorContent, &proto));
  if (proto.ByteSizeLong() >= static_cast<uint64_t>(kMaxTensorProtoBytes)) {
    return absl::UnimplementedError("what it holds in its buffers takes more than 2 GB");
  }
  return Tensor::Scalar(absl::StrCat(HeadOf(iterator), proto.SerializeAsString()));
}

absl::Status Annotated(const absl::Status& status, const StateIterator& iterator) {
  return Annotate(status, absl::StrCat("the position of the graph's iterator '", iterator.name,
                                       "' cannot be saved: "));
}

}  // namespace

IteratorPositions::IteratorPositions(const TrainingProgram* program) : program_(program) {
  for (const StateIterator& iterator : program->iterators) {
    entries_.push_back({.iterator = &iterator, .saved = SavedPosition(KeyOf(iterator))});
  }
}

absl::Status IteratorPositions::Find(Entry* entry) {
  if (entry->resource) return absl::OkStatus();
  Session& session = *program_->session;
  std::vector<Tensor> handle;
  RETURN_IF_ERROR(session.Run({}, {entry->iterator->handle}, {}, &handle));
  ASSIGN_OR_RETURN(entry->resource, LookupResource<IteratorResource>(
                                        session.resources(), handle[0].scalar<ResourceHandle>()));
  return absl::OkStatus();
}

void IteratorPositions::Begin() {
  for (Entry& entry : entries_) {
    // What keeps a step from taking elements is told by the step.
    if (!Find(&entry).ok()) continue;
    entry.at_saved = entry.at_step = entry.resource->progress().taken;
    if (!entry.saved.needs_beginning()) continue;
    absl::StatusOr<Tensor> beginning = PositionOf(*entry.iterator, *entry.resource);
    if (beginning.ok()) entry.saved.KeepBeginning(*std::move(beginning));
  }
}

void IteratorPositions::NoteStep() {
  for (Entry& entry : entries_) {
    if (entry.resource) entry.at_step = entry.resource->progress().taken;
  }
}

absl::Status IteratorPositions::SaveEntry(const std::optional<std::string>& latest, Entry* entry,
                                          std::vector<SavedTensor>* values) {
  RETURN_IF_ERROR(Find(entry));
  const IteratorResource::Progress progress = entry->resource->progress();
  absl::Status status = absl::CancelledError("a wait for an element was interrupted");
  if (progress.is_whole && progress.taken == entry->at_step) {
    absl::StatusOr<Tensor> position = PositionOf(*entry->iterator, *entry->resource);
    if (position.ok()) {
      entry->saved.Save(*std::move(position), values);
      entry->at_saved = progress.taken;
      return absl::OkStatus();
    }
    status = position.status();
  }
  if (!absl::IsCancelled(status) && !absl::IsDeadlineExceeded(status)) return status;
  if (entry->saved.SaveEarlier(entry->at_step - entry->at_saved, latest, values)) {
    return absl::OkStatus();
  }
  return status;
}

std::string IteratorPositions::Save(const std::optional<std::string>& latest,
                                    std::vector<SavedTensor>* values) {
  std::vector<SavedTensor> saved;
  for (Entry& entry : entries_) {
    const absl::Status status = SaveEntry(latest, &entry, &saved);
    if (status.ok()) continue;
    for (Entry& each : entries_) each.saved.Forget();
    return std::string(Annotated(status, *entry.iterator).message());
  }
  values->insert(values->end(), saved.begin(), saved.end());
  return "";
}

absl::StatusOr<std::string> IteratorPositions::Restore(const CheckpointReader& reader) {
  std::vector<SavedPosition::Saved> all;
  std::vector<NamedTensor> feeds;
  std::vector<std::string> targets;
  for (const Entry& entry : entries_) {
    const StateIterator& iterator = *entry.iterator;
    ASSIGN_OR_RETURN(std::optional<SavedPosition::Saved> saved, entry.saved.Read(reader));
    if (!saved) {
      return absl::StrCat("the checkpoint does not say where the graph's iterator '", iterator.name,
                          "' was");
    }
    if (saved->position.dtype() != DType::kString || saved->position.num_elements() != 1) {
      return absl::DataLossError(absl::StrCat("'", KeyOf(iterator), "' is no string scalar"));
    }
    absl::string_view bytes = saved->position.scalar<std::string>();
    if (!absl::ConsumePrefix(&bytes, HeadOf(iterator))) {
      return absl::StrCat("the position was saved with another pipeline behind the graph's ",
                          "iterator '", iterator.name, "'");
    }
    tensorflow::TensorProto proto;
    if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return absl::DataLossError(absl::StrCat("'", KeyOf(iterator), "' is damaged"));
    }
    ASSIGN_OR_RETURN(Tensor position, TensorFromProto(std::move(proto)));
    feeds.emplace_back(iterator.position, std::move(position));
    targets.push_back(iterator.restore);
    all.push_back(*std::move(saved));
  }
  RETURN_IF_ERROR(program_->session->Run(feeds, {}, targets, nullptr));
  for (size_t i = 0; i < entries_.size(); ++i) {
    RETURN_IF_ERROR(Find(&entries_[i]));
    entries_[i].resource->DropFirst(all[i].to_drop);
    entries_[i].saved.Restore(all[i]);
  }
  return "";
}

}  // namespace tessera
