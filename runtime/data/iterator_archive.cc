#include "runtime/data/iterator_archive.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/data/dataset_encoding.h"
#include "runtime/tensor/encoded_variant.h"

namespace tessera {

// The metadata has a line "NAME COUNT" for each value, in the order of its tensors.
std::shared_ptr<const EncodedVariant> IteratorState::Encode() const {
  std::string names;
  std::vector<Tensor> tensors;
  for (const auto& [name, element] : values) {
    absl::StrAppend(&names, name, " ", element.size(), "\n");
    tensors.insert(tensors.end(), element.begin(), element.end());
  }
  return std::make_shared<EncodedVariant>(TypeName(), std::move(names), std::move(tensors));
}

absl::StatusOr<std::shared_ptr<const IteratorState>> IteratorState::Decode(
    const EncodedVariant& encoded) {
  auto state = std::make_shared<IteratorState>();
  if (encoded.TypeName() != state->TypeName()) {
    return absl::DataLossError(
        absl::StrCat("a value of type '", encoded.TypeName(), "' is no state of an iterator"));
  }
  const std::vector<Tensor>& tensors = encoded.tensors();
  size_t used = 0;
  for (absl::string_view line : absl::StrSplit(encoded.metadata(), '\n', absl::SkipEmpty())) {
    const size_t space = line.rfind(' ');
    size_t count = 0;
    if (space == absl::string_view::npos || !absl::SimpleAtoi(line.substr(space + 1), &count) ||
        count > tensors.size() - used) {
      return absl::DataLossError("the state of the iterator is damaged");
    }
    state->values[std::string(line.substr(0, space))] =
        Element(tensors.begin() + used, tensors.begin() + used + count);
    used += count;
  }
  return state;
}

absl::Status IteratorArchive::Tensors(absl::string_view name, Element* value) {
  const std::string key = absl::StrCat(prefix_, name);
  if (!restoring()) {
    target_->values[key] = *value;
    return absl::OkStatus();
  }
  const auto found = source_->values.find(key);
  if (found == source_->values.end()) {
    return absl::DataLossError(absl::StrCat("the saved state has no '", key,
                                            "': was it saved by an iterator of another dataset?"));
  }
  *value = found->second;
  return DecodeDatasets(value);
}

namespace {

template <typename T>
absl::Status TransferScalar(IteratorArchive& archive, absl::string_view name, T* value) {
  Element tensors;
  if (!archive.restoring()) tensors = {Tensor::Scalar(*value)};
  RETURN_IF_ERROR(archive.Tensors(name, &tensors));
  if (tensors.size() != 1 || tensors[0].dtype() != DTypeOf<T> || tensors[0].num_elements() != 1) {
    return absl::DataLossError(
        absl::StrCat("'", name, "' in the saved state is no ", DTypeName(DTypeOf<T>)));
  }
  *value = tensors[0].scalar<T>();
  return absl::OkStatus();
}

}  // namespace

absl::Status IteratorArchive::SignedNumber(absl::string_view name, int64_t* value) {
  return TransferScalar(*this, name, value);
}
absl::Status IteratorArchive::Number(absl::string_view name, int64_t* value) {
  RETURN_IF_ERROR(SignedNumber(name, value));
  if (*value >= 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("'", name, "' in the saved state is negative: ", *value));
}
absl::Status IteratorArchive::Flag(absl::string_view name, bool* value) {
  return TransferScalar(*this, name, value);
}
absl::Status IteratorArchive::Text(absl::string_view name, std::string* value) {
  return TransferScalar(*this, name, value);
}

absl::Status IteratorArchive::Outcome(absl::StatusOr<bool>* outcome, Element* element) {
  int64_t code = static_cast<int64_t>(outcome->status().code());
  std::string message(outcome->status().message());
  bool has_element = outcome->ok() && **outcome;
  RETURN_IF_ERROR(Number("code", &code));
  RETURN_IF_ERROR(Text("message", &message));
  RETURN_IF_ERROR(Flag("has_element", &has_element));
  RETURN_IF_ERROR(Tensors("element", element));
  if (!restoring()) return absl::OkStatus();
  if (code == 0) {
    *outcome = has_element;
  } else {
    *outcome = absl::Status(static_cast<absl::StatusCode>(code), message);
  }
  return absl::OkStatus();
}

absl::Status IteratorArchive::Position(absl::string_view name, Iterator* iterator) {
  Scope scope(*this, name);
  return iterator->Transfer(*this);
}

absl::Status IteratorArchive::Position(
    absl::string_view name, std::unique_ptr<Iterator>* iterator,
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<Iterator>>()> make) {
  bool exists = *iterator != nullptr;
  RETURN_IF_ERROR(Flag(absl::StrCat("has_", name), &exists));
  if (!exists) {
    iterator->reset();
    return absl::OkStatus();
  }
  if (restoring()) {
    ASSIGN_OR_RETURN(*iterator, make());
  }
  return Position(name, iterator->get());
}

IteratorArchive::Scope::Scope(IteratorArchive& archive, absl::string_view name)
    : archive_(archive), size_(archive.prefix_.size()) {
  absl::StrAppend(&archive.prefix_, name, "/");
}

}  // namespace tessera
