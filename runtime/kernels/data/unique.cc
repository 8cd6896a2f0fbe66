// UniqueDataset: each element once, where it comes first.
#include "absl/container/flat_hash_set.h"
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

class UniqueDataset final : public UnaryDataset {
 public:
  explicit UniqueDataset(const DatasetPtr& input) : UnaryDataset(input, input->spec(), kUnknown) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
};

// Returns a string that is equal for equal tensors of one dtype.
std::string KeyOf(const Tensor& tensor) {
  std::string key = tensor.shape().ToString();
  if (tensor.dtype() == DType::kString) {
    for (const std::string& element : tensor.flat<std::string>()) {
      absl::StrAppend(&key, ":", element.size(), ":", element);
    }
  } else {
    key.append(tensor.raw(), tensor.size_bytes());
  }
  return key;
}

class UniqueIterator final : public UnaryIterator<UniqueDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    Element keys;
    for (const std::string& key : seen_) keys.push_back(Tensor::Scalar<std::string>(key));
    RETURN_IF_ERROR(archive.Tensors("seen", &keys));
    for (const Tensor& key : keys) {
      if (key.dtype() != DType::kString || key.num_elements() != 1) {
        return absl::DataLossError("the saved state of a unique dataset is damaged");
      }
      seen_.insert(key.scalar<std::string>());
    }
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    while (true) {
      ASSIGN_OR_RETURN(const bool more, input().Next(step, element));
      if (!more || seen_.insert(KeyOf((*element)[0])).second) return more;
    }
  }

 private:
  absl::flat_hash_set<std::string> seen_;
};

std::unique_ptr<Iterator> UniqueDataset::MakeIterator() const {
  return std::make_unique<UniqueIterator>(Share<UniqueDataset>());
}

// Errors: INVALID_ARGUMENT unless the elements have one component of type int32, int64 or string.
absl::StatusOr<DatasetPtr> MakeUnique(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  if (input->num_components() != 1) {
    return absl::InvalidArgumentError(
        "UniqueDataset only supports inputs with a single component.");
  }
  const DType dtype = input->spec().dtypes[0];
  if (dtype != DType::kInt32 && dtype != DType::kInt64 && dtype != DType::kString) {
    return absl::InvalidArgumentError(
        "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` "
        "component.");
  }
  return std::make_shared<UniqueDataset>(input);
}
REGISTER_DATASET("UniqueDataset", MakeUnique);
REGISTER_DATASET("ExperimentalUniqueDataset", MakeUnique);

}  // namespace
}  // namespace tessera
