// Datasets of the records of files: TFRecordDataset, TextLineDataset, FixedLengthRecordDataset.
#include <sys/stat.h>

#include "runtime/data/record_file.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/files_dataset.h"

namespace tessera {
namespace {

class TfRecords final : public FileElements {
 public:
  explicit TfRecords(std::unique_ptr<ByteSource> bytes) : bytes_(std::move(bytes)) {}
  absl::StatusOr<bool> Next(Element* element) override {
    std::string record;
    ASSIGN_OR_RETURN(const bool more, ReadRecord(*bytes_, &record));
    if (more) element->assign(1, Tensor::Scalar<std::string>(std::move(record)));
    return more;
  }
  uint64_t position() const override { return bytes_->position(); }

 private:
  const std::unique_ptr<ByteSource> bytes_;
};

class TfRecordDataset final : public FilesDataset {
 public:
  static absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) {
    ASSIGN_OR_RETURN(Files files, FilesInput(ctx, 1, 2));
    std::vector<int64_t> offsets;
    if (ctx.num_inputs() > 3) {
      ASSIGN_OR_RETURN(offsets, VectorInput<int64_t>(ctx, 3, "byte_offsets"));
      if (!offsets.empty() && offsets.size() != files.names.size()) {
        return absl::InvalidArgumentError(
            "`byte_offsets` must be empty or have the same size as `filenames`");
      }
    }
    return std::shared_ptr<const Dataset>(
        new TfRecordDataset(std::move(files), std::move(offsets)));
  }
  absl::StatusOr<std::unique_ptr<FileElements>> Open(size_t i, uint64_t position) const override {
    if (position == 0 && !offsets_.empty()) position = static_cast<uint64_t>(offsets_[i]);
    ASSIGN_OR_RETURN(auto bytes, OpenBytes(i, position));
    return std::make_unique<TfRecords>(std::move(bytes));
  }

 private:
  TfRecordDataset(Files files, std::vector<int64_t> offsets)
      : FilesDataset(OneString(), std::move(files)), offsets_(std::move(offsets)) {}

  const std::vector<int64_t> offsets_;  // where each file begins; empty: at its beginning
};
REGISTER_DATASET("TFRecordDataset", TfRecordDataset::Make);
REGISTER_DATASET("TFRecordDatasetV2", TfRecordDataset::Make);

// Lines end with '\n'. As in TensorFlow no '\r' is part of an element, wherever it stands.
class TextLines final : public FileElements {
 public:
  explicit TextLines(std::unique_ptr<ByteSource> bytes) : bytes_(std::move(bytes)) {}
  absl::StatusOr<bool> Next(Element* element) override {
    std::string line;
    ASSIGN_OR_RETURN(const bool more, bytes_->ReadLine(&line));
    if (!more) return false;
    std::erase(line, '\r');
    element->assign(1, Tensor::Scalar<std::string>(std::move(line)));
    return true;
  }
  uint64_t position() const override { return bytes_->position(); }

 private:
  const std::unique_ptr<ByteSource> bytes_;
};

class TextLineDataset final : public FilesDataset {
 public:
  static absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) {
    ASSIGN_OR_RETURN(Files files, FilesInput(ctx, 1, 2));
    return std::shared_ptr<const Dataset>(new TextLineDataset(std::move(files)));
  }
  absl::StatusOr<std::unique_ptr<FileElements>> Open(size_t i, uint64_t position) const override {
    ASSIGN_OR_RETURN(auto bytes, OpenBytes(i, position));
    return std::make_unique<TextLines>(std::move(bytes));
  }

 private:
  explicit TextLineDataset(Files files) : FilesDataset(OneString(), std::move(files)) {}
};
REGISTER_DATASET("TextLineDataset", TextLineDataset::Make);

// What surrounds the records of a file, and how long they are, in bytes.
struct RecordLayout {
  int64_t header = 0;
  int64_t record = 1;
  int64_t footer = 0;
};

class FixedLengthRecords final : public FileElements {
 public:
  FixedLengthRecords(std::unique_ptr<ByteSource> bytes, RecordLayout layout)
      : bytes_(std::move(bytes)), layout_(layout) {}

  // Keeps as many bytes in hand as a footer takes: what is behind them is a record.
  // Errors: DATA_LOSS for a part of a record.
  absl::StatusOr<bool> Next(Element* element) override {
    std::string more;
    RETURN_IF_ERROR(bytes_->Read(layout_.record + layout_.footer - ahead_.size(), &more));
    ahead_ += more;
    const int64_t size = static_cast<int64_t>(ahead_.size());
    if (size <= layout_.footer) return false;
    if (size < layout_.record + layout_.footer) {
      return absl::DataLossError(absl::StrCat(
          "Excluding the header (", layout_.header, " bytes) and footer (", layout_.footer,
          " bytes), the input has a body length that is not an exact "
          "multiple of the record length (",
          layout_.record, " bytes)."));
    }
    element->assign(1, Tensor::Scalar<std::string>(ahead_.substr(0, layout_.record)));
    ahead_.erase(0, layout_.record);
    return true;
  }
  uint64_t position() const override { return bytes_->position() - ahead_.size(); }

 private:
  const std::unique_ptr<ByteSource> bytes_;
  const RecordLayout layout_;
  std::string ahead_;
};

class FixedLengthRecordDataset final : public FilesDataset {
 public:
  static absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) {
    const bool has_compression = ctx.num_inputs() > 5;
    ASSIGN_OR_RETURN(Files files, FilesInput(ctx, has_compression ? 5 : -1, 4));
    if (files.buffer_size < 0) return absl::InvalidArgumentError("`buffer_size` must be >= 0");
    RecordLayout layout;
    ASSIGN_OR_RETURN(layout.header, ScalarInput<int64_t>(ctx, 1, "header_bytes"));
    ASSIGN_OR_RETURN(layout.record, ScalarInput<int64_t>(ctx, 2, "record_bytes"));
    ASSIGN_OR_RETURN(layout.footer, ScalarInput<int64_t>(ctx, 3, "footer_bytes"));
    if (layout.header < 0) return absl::InvalidArgumentError("`header_bytes` must be >= 0");
    if (layout.record <= 0) return absl::InvalidArgumentError("`record_bytes` must be > 0");
    if (layout.footer < 0) return absl::InvalidArgumentError("`footer_bytes` must be >= 0");
    constexpr int64_t kMost = int64_t{1} << 60;  // so that sums do not overflow
    if (std::max({layout.header, layout.record, layout.footer}) > kMost) {
      return absl::InvalidArgumentError(
          "`header_bytes`, `record_bytes` and `footer_bytes` must be <= 2^60");
    }
    return std::shared_ptr<const Dataset>(new FixedLengthRecordDataset(std::move(files), layout));
  }
  // A plain file is checked before its first record, as its size is known.
  absl::StatusOr<std::unique_ptr<FileElements>> Open(size_t i, uint64_t position) const override {
    struct stat status;
    if (compression() == Compression::kNone && ::stat(filenames()[i].c_str(), &status) == 0) {
      const int64_t body = status.st_size - layout_.header - layout_.footer;
      if (body % layout_.record != 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Excluding the header (", layout_.header, " bytes) and footer (", layout_.footer,
            " bytes), input file \"", filenames()[i], "\" has body length ", body,
            " bytes, which is not an exact multiple of the record length (", layout_.record,
            " bytes)."));
      }
    }
    ASSIGN_OR_RETURN(auto bytes, OpenBytes(i, std::max<uint64_t>(position, layout_.header)));
    return std::make_unique<FixedLengthRecords>(std::move(bytes), layout_);
  }

 private:
  FixedLengthRecordDataset(Files files, RecordLayout layout)
      : FilesDataset(OneString(), std::move(files)), layout_(layout) {}

  const RecordLayout layout_;
};
REGISTER_DATASET("FixedLengthRecordDataset", FixedLengthRecordDataset::Make);
REGISTER_DATASET("FixedLengthRecordDatasetV2", FixedLengthRecordDataset::Make);

}  // namespace
}  // namespace tessera
