#include "serving/commands/bench/random_inputs.h"

#include <algorithm>
#include <random>
#include <type_traits>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/servables/made_up_requests.h"

namespace tessera::serving {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;

using Random = std::mt19937;

template <typename T>
void Fill(Random& random, Tensor* tensor) {
  std::uniform_real_distribution<float> uniform;
  for (T& element : tensor->flat<T>()) {
    if constexpr (std::is_integral_v<T>) {
      element = static_cast<T>(random() % 2);
    } else {
      element = static_cast<T>(uniform(random));
    }
  }
}

absl::Status FillAny(Random& random, Tensor* tensor) {
  switch (tensor->dtype()) {
#define TESSERA_FILL(DTYPE)                      \
  case DType::DTYPE:                             \
    Fill<CppType<DType::DTYPE>>(random, tensor); \
    return absl::OkStatus();
    TESSERA_FILL(kFloat)
    TESSERA_FILL(kDouble)
    TESSERA_FILL(kHalf)
    TESSERA_FILL(kBfloat16)
    TESSERA_FILL(kBool)
    TESSERA_FILL(kInt8)
    TESSERA_FILL(kInt16)
    TESSERA_FILL(kInt32)
    TESSERA_FILL(kInt64)
    TESSERA_FILL(kUint8)
    TESSERA_FILL(kUint16)
    TESSERA_FILL(kUint32)
    TESSERA_FILL(kUint64)
#undef TESSERA_FILL
    default:
      return absl::InvalidArgumentError(absl::StrCat("there are no random values of type ",
                                                     DTypeName(tensor->dtype()),
                                                     ": give all inputs, "
                                                     "with --input NAME=VALUE"));
  }
}

absl::StatusOr<Tensor> RandomTensor(const TensorInfo& input, int64_t batch_size, Random& random) {
  const PartialShape& partial =
      input.shape.known_rank() ? input.shape : PartialShape::UnknownOfRank(1);
  ASSIGN_OR_RETURN(const Shape shape, MadeUpShape(partial, batch_size));
  const int64_t bytes =
      MultiplyWithoutOverflow(shape.num_elements(), static_cast<int64_t>(DTypeSize(input.dtype)));
  if (bytes < 0 || bytes > kMaxBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a tensor ", shape.ToString(),
                     " takes more than a gibibyte: lower "
                     "--batch_size, or give all inputs, with --input NAME=VALUE"));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Zeros(input.dtype, shape));
  RETURN_IF_ERROR(FillAny(random, &tensor));
  return tensor;
}

}  // namespace

absl::StatusOr<std::map<std::string, Tensor>> RandomInputs(const SignatureInputs& signature,
                                                           int64_t batch_size) {
  Random random;
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, info] : signature.inputs) {
    if (std::count(signature.optional.begin(), signature.optional.end(), name) > 0) continue;
    absl::StatusOr<Tensor> tensor = RandomTensor(info, batch_size, random);
    if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("input '", name, "': "));
    tensors[name] = *std::move(tensor);
  }
  return tensors;
}

}  // namespace tessera::serving
