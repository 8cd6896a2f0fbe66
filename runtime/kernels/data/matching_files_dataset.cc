// MatchingFilesDataset: the names of the files that match patterns, pattern after pattern.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/io/matching_files.h"

namespace tessera {
namespace {

class MatchingFilesDataset final : public Dataset {
 public:
  explicit MatchingFilesDataset(std::vector<std::string> patterns)
      : Dataset({.dtypes = {DType::kString}, .shapes = {PartialShape(Shape())}}, kUnknown),
        patterns_(std::move(patterns)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const std::vector<std::string>& patterns() const { return patterns_; }

 private:
  const std::vector<std::string> patterns_;
};

// Looks for the files when the first is asked for.
class MatchingFilesIterator final : public Iterator {
 public:
  explicit MatchingFilesIterator(std::shared_ptr<const MatchingFilesDataset> dataset)
      : dataset_(std::move(dataset)) {}

  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Flag("searched", &searched_));
    Element files = {Tensor::Vector<std::string>(files_)};
    RETURN_IF_ERROR(archive.Tensors("files", &files));
    if (files.size() != 1 || files[0].dtype() != DType::kString) {
      return absl::DataLossError("the saved position holds no names of files");
    }
    const auto names = files[0].flat<std::string>();
    files_.assign(names.begin(), names.end());
    return archive.Number("next", &next_);
  }

 protected:
  // Errors: NOT_FOUND if there is no file.
  absl::StatusOr<bool> Produce(StepContext&, Element* element) override {
    if (!searched_) {
      for (const std::string& pattern : dataset_->patterns()) {
        ASSIGN_OR_RETURN(const auto found, FilesThatMatch({&pattern, 1}));
        files_.insert(files_.end(), found.begin(), found.end());
      }
      if (files_.empty()) return absl::NotFoundError("Don't find any matched files");
      searched_ = true;
    }
    if (next_ >= static_cast<int64_t>(files_.size())) return false;
    element->assign(1, Tensor::Scalar<std::string>(files_[next_++]));
    return true;
  }

 private:
  const std::shared_ptr<const MatchingFilesDataset> dataset_;
  std::vector<std::string> files_;
  bool searched_ = false;
  int64_t next_ = 0;
};

std::unique_ptr<Iterator> MatchingFilesDataset::MakeIterator() const {
  return std::make_unique<MatchingFilesIterator>(Share<MatchingFilesDataset>());
}

absl::StatusOr<DatasetPtr> MakeMatchingFiles(KernelContext& ctx) {
  ASSIGN_OR_RETURN(std::vector<std::string> patterns, VectorInput<std::string>(ctx, 0, "patterns"));
  return std::make_shared<MatchingFilesDataset>(std::move(patterns));
}
REGISTER_DATASET("MatchingFilesDataset", MakeMatchingFiles);
REGISTER_DATASET("ExperimentalMatchingFilesDataset", MakeMatchingFiles);

}  // namespace
}  // namespace tessera
