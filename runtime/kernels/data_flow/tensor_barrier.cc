#include "runtime/kernels/data_flow/tensor_barrier.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/data_flow/tensor_batch.h"

namespace tessera {

absl::Status TensorBarrier::Insert(int64_t component, const Tensor& keys, const Tensor& values) {
  if (component < 0 || component >= static_cast<int64_t>(options_.dtypes.size())) {
    return absl::InvalidArgumentError(absl::StrCat("the ", DebugString(), " has ",
                                                   options_.dtypes.size(),
                                                   " components, and no component ", component));
  }
  if (values.dtype() != options_.dtypes[component]) {
    return absl::InvalidArgumentError(
        absl::StrCat("component ", component, " of the ", DebugString(), " is ",
                     DTypeName(options_.dtypes[component]), ", not ", DTypeName(values.dtype())));
  }
  Shape row = values.shape();
  if (values.rank() < 1 || keys.num_elements() != values.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "values of shape ", row.ToString(), " do not fit keys of shape ", keys.shape().ToString()));
  }
  row.RemoveDim(0);
  if (!options_.shapes[component].IsCompatibleWith(row)) {
    return absl::InvalidArgumentError(
        absl::StrCat("component ", component, " of the ", DebugString(), " has shape ",
                     options_.shapes[component].ToString(), ", not ", row.ToString()));
  }
  if (row.num_elements() == 0 && keys.num_elements() > 0) {
    return absl::InvalidArgumentError(absl::StrCat("the ", DebugString(),
                                                   " takes no values without elements, of shape ",
                                                   values.shape().ToString()));
  }
  return Change([&]() -> absl::Status {
    mu_.AssertHeld();
    bool any_new = false;
    absl::Status status;
    for (int64_t i = 0; i < keys.num_elements() && status.ok(); ++i) {
      status = InsertOne(component, keys.flat<std::string>()[i], values.SubSlice(i), &any_new);
    }
    if (any_new) ++next_index_;
    return status;
  });
}

absl::Status TensorBarrier::InsertOne(int64_t component, const std::string& key, Tensor value,
                                      bool* is_new) {
  auto it = incomplete_.find(key);
  if (cancelled_ || (closed_ && it == incomplete_.end())) {
    return absl::CancelledError(
        absl::StrCat("the ", DebugString(), " is closed, and takes no key '", key, "'"));
  }
  if (it == incomplete_.end()) {
    const size_t count = options_.dtypes.size();
    it = incomplete_.emplace(key, Element{next_index_, key, std::vector<Tensor>(count), count})
             .first;
    *is_new = true;
  }
  Element& element = it->second;
  if (element.components[component].has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("key '", key, "' of the ", DebugString(),
                                                   " has a value for component ", component));
  }
  element.components[component] = std::move(value);
  if (--element.num_missing > 0) return absl::OkStatus();
  const int64_t index = element.index;
  ready_.emplace(index, std::move(element));
  incomplete_.erase(it);
  return absl::OkStatus();
}

void TensorBarrier::Take(int64_t count, bool allow_small_batch, CancellationManager* cancellation,
                         Batch* batch, Done done) {
  auto attempt = [this, count, allow_small_batch, batch]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    const int64_t ready = static_cast<int64_t>(ready_.size());
    const int64_t incomplete = static_cast<int64_t>(incomplete_.size());
    int64_t wanted = count;
    if (closed_ && allow_small_batch) wanted = std::min(wanted, ready);
    if (closed_ && (ready + incomplete < wanted || (wanted == 0 && count > 0))) {
      return absl::OutOfRangeError(absl::StrCat("the ", DebugString(),
                                                " is closed and has insufficient elements "
                                                "(requested ",
                                                count, ", total size ", ready + incomplete, ")"));
    }
    if (ready < wanted) return std::nullopt;
    return TakeReady(wanted, batch);
  };
  Run(0, cancellation, std::move(attempt), std::move(done));
}

absl::Status TensorBarrier::TakeReady(int64_t count, Batch* batch) {
  std::vector<Element> elements;
  for (; count > 0; --count) {
    elements.push_back(std::move(ready_.begin()->second));
    ready_.erase(ready_.begin());
  }
  const Shape shape = {static_cast<int64_t>(elements.size())};
  ASSIGN_OR_RETURN(batch->indices, Tensor::Allocate(DType::kInt64, shape, options_.allocator));
  ASSIGN_OR_RETURN(batch->keys, Tensor::Allocate(DType::kString, shape, options_.allocator));
  for (size_t i = 0; i < elements.size(); ++i) {
    batch->indices.data<int64_t>()[i] = elements[i].index;
    batch->keys.data<std::string>()[i] = elements[i].key;
  }
  std::vector<const Tensor*> rows(elements.size());
  for (size_t c = 0; c < options_.dtypes.size(); ++c) {
    for (size_t i = 0; i < elements.size(); ++i) rows[i] = &elements[i].components[c];
    ASSIGN_OR_RETURN(Tensor values, JoinTensors(options_.dtypes[c], options_.shapes[c], rows,
                                                /*pads=*/false, options_.allocator));
    batch->values.push_back(std::move(values));
  }
  return absl::OkStatus();
}

absl::Status TensorBarrier::Close(bool cancel_pending) {
  return Change([&]() -> absl::Status {
    mu_.AssertHeld();
    if (closed_ && (cancelled_ || !cancel_pending)) {
      return absl::CancelledError(absl::StrCat("the ", DebugString(), " is already closed"));
    }
    closed_ = true;
    if (cancel_pending) {
      cancelled_ = true;
      incomplete_.clear();
    }
    return absl::OkStatus();
  });
}

int32_t TensorBarrier::NumReady() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int32_t>(ready_.size());
}

int32_t TensorBarrier::NumIncomplete() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int32_t>(incomplete_.size());
}

std::string TensorBarrier::DebugString() const {
  return absl::StrCat("barrier '", options_.name, "'");
}

}  // namespace tessera
