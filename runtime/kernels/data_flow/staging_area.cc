#include "runtime/kernels/data_flow/staging_area.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

int64_t BytesOf(absl::Span<const Tensor> tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.total_bytes());
  return bytes;
}

}  // namespace

absl::Status StagingBudget::CheckSize(int64_t bytes) const {
  if (limits_.bytes == 0 || bytes <= limits_.bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("an element of ", bytes,
                                                   " bytes does not fit into the memory limit of ",
                                                   limits_.bytes, " bytes"));
}

bool StagingBudget::HasRoom(int64_t bytes) const {
  return (limits_.elements == 0 || elements_ < limits_.elements) &&
         (limits_.bytes == 0 || bytes_ + bytes <= limits_.bytes);
}

void StagingBudget::Add(int64_t bytes) {
  ++elements_;
  bytes_ += bytes;
}

void StagingBudget::Remove(int64_t bytes) {
  --elements_;
  bytes_ -= bytes;
}

void StagingArea::Put(Element element, CancellationManager* cancellation, Done done) {
  const int64_t bytes = BytesOf(element);
  auto shared = std::make_shared<Element>(std::move(element));
  auto attempt = [this, shared, bytes]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    RETURN_IF_ERROR(budget_.CheckSize(bytes));
    if (!budget_.HasRoom(bytes)) return std::nullopt;
    budget_.Add(bytes);
    elements_.push_back(std::move(*shared));
    return absl::OkStatus();
  };
  Run(kPut, cancellation, std::move(attempt), std::move(done));
}

void StagingArea::Take(CancellationManager* cancellation, Element* element, Done done) {
  auto attempt = [this, element]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    if (elements_.empty()) return std::nullopt;
    *element = std::move(elements_.front());
    elements_.pop_front();
    budget_.Remove(BytesOf(*element));
    return absl::OkStatus();
  };
  Run(kTake, cancellation, std::move(attempt), std::move(done));
}

void StagingArea::Peek(int64_t index, CancellationManager* cancellation, Element* element,
                       Done done) {
  auto attempt = [this, index, element]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    if (index >= static_cast<int64_t>(elements_.size())) return std::nullopt;
    *element = elements_[index];
    return absl::OkStatus();
  };
  Run(kPeek, cancellation, std::move(attempt), std::move(done));
}

int32_t StagingArea::Size() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int32_t>(elements_.size());
}

void StagingArea::Clear() {
  std::deque<Element> doomed;  // dies after the lock is dropped
  Change([&] {
    mu_.AssertHeld();
    for (const Element& element : elements_) budget_.Remove(BytesOf(element));
    doomed.swap(elements_);
    return absl::OkStatus();
  }).IgnoreError();
}

void StagingMap::Put(int64_t num_components, std::vector<int64_t> indices, Part part,
                     CancellationManager* cancellation, Done done) {
  auto shared = std::make_shared<Part>(std::move(part));
  auto attempt = [this, num_components, indices = std::move(indices),
                  shared]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    RETURN_IF_ERROR(CheckPart(num_components, indices, *shared));
    const int64_t key = shared->key;
    const auto found = incomplete_.find(key);
    int64_t missing = num_components - static_cast<int64_t>(indices.size());
    int64_t bytes = BytesOf(shared->components);
    if (found != incomplete_.end()) {
      bytes += BytesOf(found->second);
      missing -= std::count_if(found->second.begin(), found->second.end(),
                               [](const Tensor& tensor) { return tensor.has_value(); });
    }
    if (missing == 0) {
      RETURN_IF_ERROR(budget_.CheckSize(bytes));
      if (!budget_.HasRoom(bytes)) return std::nullopt;
      if (complete_.contains(key)) {
        incomplete_.erase(key);
        return absl::OkStatus();
      }
    }
    Element& element = incomplete_.try_emplace(key, num_components).first->second;
    for (size_t i = 0; i < indices.size(); ++i) {
      element[indices[i]] = std::move(shared->components[i]);
    }
    if (missing == 0) {
      budget_.Add(bytes);
      complete_.insert(incomplete_.extract(key));
    }
    return absl::OkStatus();
  };
  Run(kPut, cancellation, std::move(attempt), std::move(done));
}

absl::Status StagingMap::CheckPart(int64_t num_components, absl::Span<const int64_t> indices,
                                   const Part& part) const {
  const auto found = incomplete_.find(part.key);
  if (found == incomplete_.end()) return absl::OkStatus();
  const Element& element = found->second;
  if (static_cast<int64_t>(element.size()) != num_components) {
    return absl::InvalidArgumentError(absl::StrCat("the element of key ", part.key, " has ",
                                                   element.size(), " components, not ",
                                                   num_components));
  }
  for (const int64_t index : indices) {
    if (!element[index].has_value()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("component ", index, " of key ", part.key, " was set before"));
  }
  return absl::OkStatus();
}

void StagingMap::Get(int64_t key, std::vector<int64_t> indices, bool take,
                     CancellationManager* cancellation, Part* part, Done done) {
  auto attempt = [this, key, indices = std::move(indices), take,
                  part]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    const auto element = complete_.find(key);
    if (element == complete_.end()) return std::nullopt;
    return GetFrom(element, indices, take, part);
  };
  Run(kGet, cancellation, std::move(attempt), std::move(done));
}

void StagingMap::TakeAny(std::vector<int64_t> indices, CancellationManager* cancellation,
                         Part* part, Done done) {
  auto attempt = [this, indices = std::move(indices), part]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    if (complete_.empty()) return std::nullopt;
    return GetFrom(complete_.begin(), indices, /*take=*/true, part);
  };
  Run(kGet, cancellation, std::move(attempt), std::move(done));
}

absl::Status StagingMap::GetFrom(std::map<int64_t, Element>::iterator element,
                                 absl::Span<const int64_t> indices, bool take, Part* part) {
  part->key = element->first;
  Element& components = element->second;
  for (const int64_t index : indices) {
    if (index >= static_cast<int64_t>(components.size())) {
      return absl::InvalidArgumentError(absl::StrCat("the element of key ", part->key, " has ",
                                                     components.size(), " components, and no ",
                                                     index));
    }
    if (!components[index].has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("component ", index, " of key ", part->key, " was taken before"));
    }
  }
  const int64_t bytes = BytesOf(components);
  for (const int64_t index : indices) {
    part->components.push_back(components[index]);
    if (take) components[index] = Tensor();
  }
  if (!take) return absl::OkStatus();
  budget_.Remove(bytes);
  const bool is_empty = std::none_of(components.begin(), components.end(),
                                     [](const Tensor& tensor) { return tensor.has_value(); });
  if (is_empty) {
    complete_.erase(element);
  } else {
    budget_.Add(BytesOf(components));
  }
  return absl::OkStatus();
}

int32_t StagingMap::Size() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int32_t>(complete_.size());
}

int32_t StagingMap::NumIncomplete() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int32_t>(incomplete_.size());
}

void StagingMap::Clear() {
  std::map<int64_t, Element> doomed, also_doomed;  // die after the lock is dropped
  Change([&] {
    mu_.AssertHeld();
    for (const auto& [key, element] : complete_) budget_.Remove(BytesOf(element));
    doomed.swap(complete_);
    also_doomed.swap(incomplete_);
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace tessera
