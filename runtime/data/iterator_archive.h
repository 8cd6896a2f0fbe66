// The position of an iterator, as a value that can be put into a checkpoint.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/data/dataset.h"

namespace tessera {

// The saved position of an iterator and of those it pulls from: a list of tensors for each name.
// Immutable once it is in a variant.
class IteratorState : public VariantValue {
 public:
  std::string TypeName() const override { return "tessera::IteratorState"; }
  std::string DebugString() const override { return "state of an iterator"; }
  std::shared_ptr<const EncodedVariant> Encode() const override;
  // Errors: DATA_LOSS for bytes that Encode() did not write.
  static absl::StatusOr<std::shared_ptr<const IteratorState>> Decode(const EncodedVariant& encoded);

  std::map<std::string, Element> values;
};

// Goes through the members that make up the position of an iterator, and either saves or restores
// each. An iterator names its members once for both:
//
//   absl::Status Transfer(IteratorArchive& archive) override {
//     RETURN_IF_ERROR(archive.Number("taken", &taken_));
//     return archive.Input("input", input_.get());
//   }
class IteratorArchive {
 public:
  // Saves into *state. Elements that are being made in the background are waited for as long as
  // the step `waits` lasts.
  explicit IteratorArchive(IteratorState* state, const StepContext& waits = StepContext())
      : target_(state), waits_(waits) {}
  // Restores from `state`. Functions are called in `step`.
  IteratorArchive(const IteratorState& state, StepContext& step) : source_(&state), step_(&step) {}

  bool restoring() const { return source_ != nullptr; }
  // Requires restoring().
  StepContext& step() const { return *step_; }
  // The step that limits waits while a position is saved.
  const StepContext& waits() const { return waits_; }

  // Each has an error if a restored archive lacks the name or holds another kind of value:
  // DATA_LOSS.
  //
  // A count or an index, which is not negative.
  absl::Status Number(absl::string_view name, int64_t* value);
  absl::Status SignedNumber(absl::string_view name, int64_t* value);
  absl::Status Flag(absl::string_view name, bool* value);
  absl::Status Text(absl::string_view name, std::string* value);
  // The tensors of one element, or of any list.
  absl::Status Tensors(absl::string_view name, Element* value);
  // Saves or restores the outcome of Iterator::Next(): its status, its result and the element.
  absl::Status Outcome(absl::StatusOr<bool>* outcome, Element* element);
  absl::Status Position(absl::string_view name, Iterator* iterator);
  // The position of an iterator that is there or not. `make` makes it anew when one is restored.
  absl::Status Position(absl::string_view name, std::unique_ptr<Iterator>* iterator,
                        absl::FunctionRef<absl::StatusOr<std::unique_ptr<Iterator>>()> make);

  // Makes names stand below `name` while it lives.
  class Scope {
   public:
    Scope(IteratorArchive& archive, absl::string_view name);
    ~Scope() { archive_.prefix_.resize(size_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    IteratorArchive& archive_;
    const size_t size_;
  };

 private:
  IteratorState* target_ = nullptr;
  const IteratorState* source_ = nullptr;
  StepContext* step_ = nullptr;
  const StepContext waits_;
  std::string prefix_;
};

}  // namespace tessera
