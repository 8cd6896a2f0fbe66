#include "runtime/training/job/batch_feeds.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/training/job/floating_elements.h"

namespace tessera {
namespace {

// Returns how the job can turn a field of dtype `from` into one of dtype `to`.
std::string HowToConvert(DType from, DType to) {
  if ((from == DType::kString) == (to == DType::kString)) {
    return absl::StrCat("`cast: ", DTypeName(to), "` in the field converts it");
  }
  return absl::StrCat("Strings and numbers cannot be cast to each other; `dtype: ", DTypeName(to),
                      "` in the field reads it so, if the records hold such values");
}

}  // namespace

absl::StatusOr<std::vector<int>> MatchFields(const std::vector<BatchInput>& inputs,
                                             const std::vector<BatchField>& fields) {
  std::vector<int> indices;
  for (const BatchInput& input : inputs) {
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const BatchField& each) {
      return each.name == input.field;
    });
    if (field == fields.end()) {
      const std::string names = absl::StrJoin(
          fields, ", ",
          [](std::string* out, const BatchField& each) { absl::StrAppend(out, each.name); });
      return absl::InvalidArgumentError(
          absl::StrCat("the graph's input '", input.tensor, "' is fed by the field '", input.field,
                       "', which the data do not have; they have ", names,
                       ". graph.inputs says which field feeds an input"));
    }
    if (field->dtype != input.dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat("the field '", field->name, "' is ", DTypeName(field->dtype),
                       ", the graph's input '", input.tensor, "' is ", DTypeName(input.dtype), ". ",
                       HowToConvert(field->dtype, input.dtype)));
    }
    if (!input.shape.IsCompatibleWith(field->shape)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the field '", field->name, "' has the shape ", field->shape.ToString(),
                       ", the graph's input '", input.tensor, "' ", input.shape.ToString()));
    }
    indices.push_back(static_cast<int>(field - fields.begin()));
  }
  return indices;
}

std::vector<std::string> FeedNames(const std::vector<BatchInput>& inputs,
                                   const std::vector<NamedTensor>& constants) {
  std::vector<std::string> names;
  for (const BatchInput& input : inputs) names.push_back(input.tensor);
  for (const NamedTensor& constant : constants) names.push_back(constant.first);
  return names;
}

void SelectFeeds(const std::vector<int>& fields, const std::vector<Tensor>& batch,
                 const std::vector<NamedTensor>& constants, std::vector<Tensor>* feeds) {
  feeds->clear();
  for (const int field : fields) feeds->push_back(batch[field]);
  for (const NamedTensor& constant : constants) feeds->push_back(constant.second);
}

int64_t RowsOf(const std::vector<Tensor>& batch) {
  return batch.empty() || batch[0].rank() == 0 ? 0 : batch[0].dim(0);
}

absl::StatusOr<double> LossValue(const Tensor& loss) {
  if (loss.num_elements() == 0) return absl::InvalidArgumentError("the loss has no elements");
  double sum = 0;
  const bool is_floating = VisitFloatingElements(loss, [&](auto elements) {
    for (const auto& element : elements) sum += static_cast<double>(element);
  });
  if (is_floating) return sum / static_cast<double>(loss.num_elements());
  return absl::InvalidArgumentError(absl::StrCat("the loss is of dtype ", DTypeName(loss.dtype())));
}

}  // namespace tessera
