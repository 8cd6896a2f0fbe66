#include "runtime/kernels/data/files_dataset.h"

#include "absl/strings/str_cat.h"
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

class FilesIterator final : public Iterator {
 public:
  explicit FilesIterator(std::shared_ptr<const FilesDataset> dataset)
      : dataset_(std::move(dataset)) {}

  absl::Status Transfer(IteratorArchive& archive) override {
    int64_t position = file_ == nullptr ? 0 : static_cast<int64_t>(file_->position());
    bool is_open = file_ != nullptr;
    RETURN_IF_ERROR(archive.Number("file", &index_));
    RETURN_IF_ERROR(archive.Flag("is_open", &is_open));
    RETURN_IF_ERROR(archive.Number("position", &position));
    if (!archive.restoring() || !is_open) return absl::OkStatus();
    if (index_ >= num_files()) return absl::DataLossError("the saved state names no file");
    ASSIGN_OR_RETURN(file_, dataset_->Open(index_, position));
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext&, Element* element) override {
    while (index_ < num_files()) {
      absl::StatusOr<bool> more = NextOfFile(element);
      if (more.ok() && *more) return true;
      if (!more.ok() && file_ != nullptr && file_->goes_on_after_error()) return more;
      // A file that cannot be read is left as well, or its error would come again and again.
      file_ = nullptr;
      ++index_;
      if (!more.ok()) return more;
    }
    return false;
  }

 private:
  int64_t num_files() const { return static_cast<int64_t>(dataset_->filenames().size()); }

  absl::StatusOr<bool> NextOfFile(Element* element) {
    if (file_ == nullptr) {
      ASSIGN_OR_RETURN(file_, dataset_->Open(index_, 0));
    }
    absl::StatusOr<bool> more = file_->Next(element);
    if (more.ok()) return more;
    return Annotate(more.status(), absl::StrCat("in file '", dataset_->filenames()[index_], "': "));
  }

  const std::shared_ptr<const FilesDataset> dataset_;
  int64_t index_ = 0;
  std::unique_ptr<FileElements> file_;  // null: not open
};

}  // namespace

std::unique_ptr<Iterator> FilesDataset::MakeIterator() const {
  return std::make_unique<FilesIterator>(Share<FilesDataset>());
}

absl::StatusOr<std::unique_ptr<ByteSource>> FilesDataset::OpenBytes(size_t i,
                                                                    uint64_t position) const {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> bytes,
                   ByteSource::Open(filenames_[i], compression_, buffer_size_));
  ASSIGN_OR_RETURN(const uint64_t skipped, bytes->Skip(position));
  if (skipped == position) return bytes;
  return absl::DataLossError(absl::StrCat("file '", filenames_[i], "' has ", skipped,
                                          " bytes, and was to be read on at ", position));
}

absl::StatusOr<FilesDataset::Files> FilesDataset::FilesInput(const KernelContext& ctx,
                                                             int compression_type,
                                                             int buffer_size) {
  Files files;
  ASSIGN_OR_RETURN(files.names, VectorInput<std::string>(ctx, 0, "filenames"));
  if (compression_type >= 0) {
    ASSIGN_OR_RETURN(const std::string name,
                     ScalarInput<std::string>(ctx, compression_type, "compression_type"));
    ASSIGN_OR_RETURN(files.compression, CompressionFromName(name));
  }
  if (buffer_size >= 0) {
    ASSIGN_OR_RETURN(files.buffer_size, ScalarInput<int64_t>(ctx, buffer_size, "buffer_size"));
    if (files.buffer_size < -1) {
      return absl::InvalidArgumentError("`buffer_size` must be >= 0, or -1 for the default");
    }
  }
  return files;
}

}  // namespace tessera
