// CSVDataset, CSVDatasetV2: the records of files of comma-separated values (RFC 4180), a component
// a column; and _CsvRecordDataset, of the records as they stand there.
#include <algorithm>

#include "runtime/data/csv_record_reader.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/files_dataset.h"
#include "runtime/kernels/host_values.h"
#include "runtime/kernels/parsing/csv_record.h"

namespace tessera {
namespace {

// How records become elements.
struct CsvFormat {
  CsvDialect dialect;
  bool header = false;  // leave out the first record of each file
  std::string na_value;
  std::vector<int64_t> columns;    // those to take, rising; empty: all
  std::vector<int64_t> excluded;   // those to leave out, rising
  std::vector<Tensor> defaults;    // of each component; an empty tensor: the field is required
  Allocator* allocator = nullptr;  // of the components, the host's
};

template <typename T>
absl::StatusOr<Tensor> FieldAs(absl::string_view text, Allocator* allocator) {
  T value;
  if (!ParseCsvField(text, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("is not a valid ", DTypeName(DTypeOf<T>), ": ", text));
  }
  return ScalarIn(allocator, std::move(value));
}

absl::StatusOr<Tensor> ParseField(DType dtype, absl::string_view text, Allocator* allocator) {
  switch (dtype) {
    case DType::kInt32:
      return FieldAs<int32_t>(text, allocator);
    case DType::kInt64:
      return FieldAs<int64_t>(text, allocator);
    case DType::kFloat:
      return FieldAs<float>(text, allocator);
    case DType::kDouble:
      return FieldAs<double>(text, allocator);
    case DType::kString:
      return FieldAs<std::string>(text, allocator);
    default:
      return absl::InvalidArgumentError(absl::StrCat("cannot be ", DTypeName(dtype)));
  }
}

// Errors: INVALID_ARGUMENT unless it is one byte.
absl::StatusOr<char> DelimiterInput(const KernelContext& ctx, int i) {
  ASSIGN_OR_RETURN(const std::string delimiter, ScalarInput<std::string>(ctx, i, "field_delim"));
  if (delimiter.size() == 1) return delimiter[0];
  return absl::InvalidArgumentError("field_delim should be only 1 char");
}

class CsvRecords final : public FileElements {
 public:
  CsvRecords(std::unique_ptr<ByteSource> bytes, const CsvFormat& format)
      : bytes_(std::move(bytes)),
        format_(format),
        splitter_(format.dialect.delimiter, format.dialect.quotes) {}

  absl::StatusOr<bool> Next(Element* element) override {
    has_record_ = false;
    if (format_.header && bytes_->position() == 0) {
      ASSIGN_OR_RETURN(const bool more, ReadRecordText());
      if (!more) return absl::InvalidArgumentError("Can't read header of file: it is empty");
    }
    ASSIGN_OR_RETURN(has_record_, ReadRecordText());
    if (!has_record_) return false;
    RETURN_IF_ERROR(ParseRecord(element));
    return true;
  }
  bool goes_on_after_error() const override { return has_record_; }
  uint64_t position() const override { return bytes_->position(); }

 private:
  absl::StatusOr<bool> ReadRecordText() {
    return ReadCsvRecord(*bytes_, format_.dialect, &record_);
  }

  // Makes an element of the record that was read last.
  absl::Status ParseRecord(Element* element) const {
    CsvFields fields;
    RETURN_IF_ERROR(
        splitter_.Split(record_, format_.columns, &fields, CsvSplitter::Rest::kChecked));
    // A blank line is a record with one empty field.
    if (record_.empty() && format_.columns.empty()) fields.Append("");
    for (auto column = format_.excluded.rbegin(); column != format_.excluded.rend(); ++column) {
      if (*column < static_cast<int64_t>(fields.size())) fields.Erase(*column);
    }
    if (fields.size() != format_.defaults.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expect ", format_.defaults.size(), " fields but have ", fields.size(), " in record"));
    }
    element->clear();
    for (size_t i = 0; i < fields.size(); ++i) {
      ASSIGN_OR_RETURN(Tensor field, Field(i, fields[i]));
      element->push_back(std::move(field));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Field(size_t i, absl::string_view text) const {
    const Tensor& fallback = format_.defaults[i];
    if (!text.empty() && text != format_.na_value) {
      absl::StatusOr<Tensor> field = ParseField(fallback.dtype(), text, format_.allocator);
      if (!field.ok()) return Annotate(field.status(), absl::StrCat("Field ", i, " in record "));
      return field;
    }
    if (fallback.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Field ", i, " is required but missing in record!"));
    }
    return fallback.Reshaped(Shape());
  }

  const std::unique_ptr<ByteSource> bytes_;
  const CsvFormat& format_;
  const CsvSplitter splitter_;
  std::string record_;
  bool has_record_ = false;  // the last call of Next() got as far as a record
};

class CsvDataset final : public FilesDataset {
 public:
  static absl::StatusOr<DatasetPtr> Make(KernelContext& ctx, ElementSpec spec, ArgRange defaults) {
    ASSIGN_OR_RETURN(Files files, FilesInput(ctx, 1, 2));
    if (files.buffer_size <= 0) {
      return absl::InvalidArgumentError("buffer_size should be positive");
    }
    CsvFormat format;
    ASSIGN_OR_RETURN(format.header, ScalarInput<bool>(ctx, 3, "header"));
    ASSIGN_OR_RETURN(format.dialect.delimiter, DelimiterInput(ctx, 4));
    ASSIGN_OR_RETURN(format.dialect.quotes, ScalarInput<bool>(ctx, 5, "use_quote_delim"));
    ASSIGN_OR_RETURN(format.na_value, ScalarInput<std::string>(ctx, 6, "na_value"));
    ASSIGN_OR_RETURN(format.columns, ColumnsInput(ctx, 7, "select_cols"));
    if (defaults.end < ctx.num_inputs()) {
      ASSIGN_OR_RETURN(format.excluded, ColumnsInput(ctx, defaults.end, "exclude_cols"));
    }
    if (!format.columns.empty() && !format.excluded.empty()) {
      return absl::InvalidArgumentError(
          "Either select_cols or exclude_cols can be specified, not both");
    }
    format.defaults = InputsIn(ctx, defaults);
    format.allocator = ctx.host_allocator();
    if (!format.columns.empty() && format.columns.size() != format.defaults.size()) {
      return absl::InvalidArgumentError("select_cols should match output size");
    }
    for (const Tensor& fallback : format.defaults) {
      if (fallback.rank() > 1 || fallback.num_elements() > 1) {
        return absl::InvalidArgumentError(
            "Each record default should be at most rank 1 and have "
            "at most one element");
      }
    }
    return std::shared_ptr<const Dataset>(
        new CsvDataset(std::move(spec), std::move(files), std::move(format)));
  }
  absl::StatusOr<std::unique_ptr<FileElements>> Open(size_t i, uint64_t position) const override {
    ASSIGN_OR_RETURN(auto bytes, OpenBytes(i, position));
    return std::make_unique<CsvRecords>(std::move(bytes), format_);
  }

 private:
  CsvDataset(ElementSpec spec, Files files, CsvFormat format)
      : FilesDataset(std::move(spec), std::move(files)), format_(std::move(format)) {}

  // Errors: INVALID_ARGUMENT unless the numbers rise and are not negative.
  static absl::StatusOr<std::vector<int64_t>> ColumnsInput(const KernelContext& ctx, int i,
                                                           absl::string_view name) {
    ASSIGN_OR_RETURN(std::vector<int64_t> columns, VectorInput<int64_t>(ctx, i, name));
    for (size_t c = 0; c < columns.size(); ++c) {
      if (columns[c] < 0 || (c > 0 && columns[c] <= columns[c - 1])) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " should be strictly increasing indices"));
      }
    }
    return columns;
  }

  const CsvFormat format_;
};

class CsvKernel final : public DatasetKernel {
 public:
  explicit CsvKernel(const KernelBuild& build)
      : spec_(SpecOf(build)), defaults_(build.inputs("record_defaults")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    return CsvDataset::Make(ctx, spec_, defaults_);
  }

 private:
  const ElementSpec spec_;
  const ArgRange defaults_;
};
REGISTER_KERNEL("CSVDataset", kCpu, CsvKernel);
REGISTER_KERNEL("CSVDatasetV2", kCpu, CsvKernel);
REGISTER_KERNEL("ExperimentalCSVDataset", kCpu, CsvKernel);

class CsvRecordTexts final : public FileElements {
 public:
  CsvRecordTexts(std::unique_ptr<ByteSource> bytes, CsvDialect dialect)
      : bytes_(std::move(bytes)), dialect_(dialect) {}
  absl::StatusOr<bool> Next(Element* element) override {
    std::string record;
    ASSIGN_OR_RETURN(const bool more, ReadCsvRecord(*bytes_, dialect_, &record));
    if (more) element->assign(1, Tensor::Scalar<std::string>(std::move(record)));
    return more;
  }
  uint64_t position() const override { return bytes_->position(); }

 private:
  const std::unique_ptr<ByteSource> bytes_;
  const CsvDialect dialect_;
};

class CsvRecordDataset final : public FilesDataset {
 public:
  static absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) {
    ASSIGN_OR_RETURN(Files files, FilesInput(ctx, 1, 2));
    CsvDialect dialect;
    ASSIGN_OR_RETURN(dialect.delimiter, DelimiterInput(ctx, 3));
    return std::shared_ptr<const Dataset>(new CsvRecordDataset(std::move(files), dialect));
  }
  absl::StatusOr<std::unique_ptr<FileElements>> Open(size_t i, uint64_t position) const override {
    ASSIGN_OR_RETURN(auto bytes, OpenBytes(i, position));
    return std::make_unique<CsvRecordTexts>(std::move(bytes), dialect_);
  }

 private:
  CsvRecordDataset(Files files, CsvDialect dialect)
      : FilesDataset(OneString(), std::move(files)), dialect_(dialect) {}

  const CsvDialect dialect_;
};
REGISTER_DATASET("_CsvRecordDataset", CsvRecordDataset::Make);

}  // namespace
}  // namespace tessera
