// Staging areas, which hold tuples of tensors for a later step.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/data_flow/blocking_resource.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// The limits of a staging area; 0 means any amount.
struct StagingLimits {
  int64_t elements = 0;
  int64_t bytes = 0;
};

// How much a staging area holds.
class StagingBudget {
 public:
  explicit StagingBudget(StagingLimits limits) : limits_(limits) {}
  // Errors: RESOURCE_EXHAUSTED for an element that is too large ever to fit.
  absl::Status CheckSize(int64_t bytes) const;
  bool HasRoom(int64_t bytes) const;
  void Add(int64_t bytes);
  void Remove(int64_t bytes);

 private:
  const StagingLimits limits_;
  int64_t elements_ = 0, bytes_ = 0;
};

// First in, first out. Thread-safe.
class StagingArea : public BlockingResource {
 public:
  static constexpr absl::string_view kTypeName = "staging_area";
  using Element = std::vector<Tensor>;

  explicit StagingArea(StagingLimits limits)
      : BlockingResource({Order::kFirstInFirstOut, Order::kFirstInFirstOut, Order::kAny}),
        budget_(limits) {}

  // Waits for room.
  void Put(Element element, CancellationManager* cancellation, Done done);
  // Waits for an element.
  void Take(CancellationManager* cancellation, Element* element, Done done);
  // Shares element `index`, once there are so many. Requires that it is not negative.
  void Peek(int64_t index, CancellationManager* cancellation, Element* element, Done done);
  int32_t Size() const;
  void Clear();
  std::string DebugString() const override { return "staging area"; }

 private:
  enum Lanes { kPut, kTake, kPeek };

  StagingBudget budget_ ABSL_GUARDED_BY(mu_);
  std::deque<Element> elements_ ABSL_GUARDED_BY(mu_);
};

// Elements by key, whose components may come and go one by one. Thread-safe.
class StagingMap : public BlockingResource {
 public:
  static constexpr absl::string_view kTypeName = "staging_map";
  // The chosen components of an element.
  struct Part {
    int64_t key = 0;
    std::vector<Tensor> components;
  };

  explicit StagingMap(StagingLimits limits)
      : BlockingResource({Order::kAny, Order::kAny}), budget_(limits) {}

  // Sets components `indices` of the element `key`, which has `num_components`; the element can be
  // had once it has all. Waits for room then. An element whose key is there already is dropped, as
  // in TensorFlow. Ends with INVALID_ARGUMENT if a component was set before, or another number of
  // components is said.
  void Put(int64_t num_components, std::vector<int64_t> indices, Part part,
           CancellationManager* cancellation, Done done);
  // Takes components of the element `key`, which ends with its last component, or shares them.
  // Waits for the element. Ends with INVALID_ARGUMENT if one of them was taken before.
  void Get(int64_t key, std::vector<int64_t> indices, bool take, CancellationManager* cancellation,
           Part* part, Done done);
  // Takes components of the element with the lowest key.
  void TakeAny(std::vector<int64_t> indices, CancellationManager* cancellation, Part* part,
               Done done);
  int32_t Size() const;
  int32_t NumIncomplete() const;
  void Clear();
  std::string DebugString() const override { return "staging map"; }

 private:
  enum Lanes { kPut, kGet };
  using Element = std::vector<Tensor>;  // without a value where a component is missing

  absl::Status CheckPart(int64_t num_components, absl::Span<const int64_t> indices,
                         const Part& part) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status GetFrom(std::map<int64_t, Element>::iterator element,
                       absl::Span<const int64_t> indices, bool take, Part* part)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  StagingBudget budget_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, Element> complete_ ABSL_GUARDED_BY(mu_), incomplete_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
