#include "serving/servables/saved_model/unfit_inputs.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera::serving {

absl::Status NameUnfitInputs(const SignatureRuns& runs, absl::Span<const Tensor> feeds,
                             const absl::Status& error) {
  if (!absl::IsInvalidArgument(error)) return error;
  std::vector<std::string> wrong_dtypes, wrong_shapes;
  for (size_t i = 0; i < feeds.size(); ++i) {
    const SignatureRuns::Input& input = runs.inputs()[i];
    if (input.tensor->run_name.empty()) return error;  // it is no one tensor, as the error says
    const DType dtype = input.tensor->dtype;
    const PartialShape& shape = input.tensor->shape;
    const std::string expects =
        absl::StrCat("signature '", runs.name(), "' expects its input '", input.alias, "' to ");
    if (feeds[i].dtype() != dtype) {
      // Clients know these words of TensorFlow.
      wrong_dtypes.push_back(absl::StrCat(expects, "be ", DTypeName(dtype), " but ",
                                          DTypeName(feeds[i].dtype()), " is provided"));
    } else if (!shape.IsCompatibleWith(feeds[i].shape())) {
      wrong_shapes.push_back(absl::StrCat(expects, "have shape ", shape.ToString(), " but ",
                                          feeds[i].shape().ToString(), " is provided"));
    }
  }
  // A wrong dtype is the whole reason: such a run does not begin.
  if (!wrong_dtypes.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(wrong_dtypes, "; "));
  }
  if (wrong_shapes.empty()) return error;
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(wrong_shapes, "; "), ": ", error.message()));
}

}  // namespace tessera::serving
