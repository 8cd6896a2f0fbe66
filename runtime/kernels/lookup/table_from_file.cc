// InitializeTableFromTextFile: fills a table from the lines of a vocabulary file.
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/lookup/lookup_table.h"
#include "runtime/kernels/resource_handle_kernel.h"

namespace tessera {
namespace {

// What a key or a value is made of, if not of the column of that number.
constexpr int64_t kWholeLine = -2;
constexpr int64_t kLineNumber = -1;

// Errors: INVALID_ARGUMENT if the text is no such number, or the dtype cannot be read from text.
absl::Status ParseInto(absl::string_view text, int64_t i, Tensor* tensor) {
  bool parsed = false;
  switch (tensor->dtype()) {
    case DType::kString:
      tensor->flat<std::string>()[i] = std::string(text);
      return absl::OkStatus();
    case DType::kInt32:
      parsed = absl::SimpleAtoi(text, &tensor->flat<int32_t>()[i]);
      break;
    case DType::kInt64:
      parsed = absl::SimpleAtoi(text, &tensor->flat<int64_t>()[i]);
      break;
    case DType::kFloat:
      parsed = absl::SimpleAtof(text, &tensor->flat<float>()[i]);
      break;
    case DType::kDouble:
      parsed = absl::SimpleAtod(text, &tensor->flat<double>()[i]);
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(DTypeName(tensor->dtype()), " cannot be read from a text file"));
  }
  if (parsed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' in line ", i + 1, " is not a valid ", DTypeName(tensor->dtype())));
}

// Errors: INVALID_ARGUMENT for lines that do not give a key and a value, or fewer of them than
// `vocab_size`; OUT_OF_RANGE for no line at all; those of reading the file and of
// LookupTable::Import().
class TableFromFileKernel : public OpKernel {
 public:
  explicit TableFromFileKernel(const KernelBuild& build)
      : key_column_(build.attr<int64_t>("key_index")),
        value_column_(build.attr<int64_t>("value_index")),
        vocab_size_(build.attr<int64_t>("vocab_size")),
        offset_(build.attr<int64_t>("offset")),
        delimiter_(build.attr<std::string>("delimiter")) {
    if (delimiter_.size() != 1) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("delimiter must be one character, is '", delimiter_, "'")));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto table, ResourceInput<LookupTable>(ctx, 0));
    const Tensor& name = ctx.input(1);
    if (name.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("filename must be a scalar, has shape ", name.shape().ToString()));
    }
    const std::string& path = name.scalar<std::string>();
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    // The last line may lack its end.
    std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
    if (lines.back().empty()) lines.pop_back();
    if (vocab_size_ >= 0) {
      if (static_cast<int64_t>(lines.size()) < vocab_size_) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, " has ", lines.size(), " lines, vocab_size is ", vocab_size_));
      }
      lines.resize(vocab_size_);
    }
    // An empty vocabulary is a mistake, such as a file that was cut off.
    if (lines.empty()) return absl::OutOfRangeError(absl::StrCat(path, " gives no entries"));
    return Annotate(Fill(ctx, lines, *table), absl::StrCat(path, ": "));
  }

 private:
  absl::Status Fill(KernelContext& ctx, const std::vector<absl::string_view>& lines,
                    LookupTable& table) const {
    const Shape shape{static_cast<int64_t>(lines.size())};
    ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(table.options().key_dtype, shape));
    ASSIGN_OR_RETURN(Tensor values, ctx.AllocateTemp(table.options().value_dtype, shape));
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string line = absl::StrReplaceAll(lines[i], {{"\r", ""}});
      if (line.empty()) {
        return absl::InvalidArgumentError(absl::StrCat("line ", i + 1, " is empty"));
      }
      std::vector<absl::string_view> columns;
      if (key_column_ >= 0 || value_column_ >= 0) columns = absl::StrSplit(line, delimiter_[0]);
      RETURN_IF_ERROR(Pick(key_column_, line, columns, static_cast<int64_t>(i), &keys));
      RETURN_IF_ERROR(Pick(value_column_, line, columns, static_cast<int64_t>(i), &values));
    }
    return table.Import(keys, values);
  }

  absl::Status Pick(int64_t column, absl::string_view line,
                    absl::Span<const absl::string_view> columns, int64_t i, Tensor* to) const {
    if (column == kLineNumber) {
      if (to->dtype() != DType::kInt64) {
        return absl::InvalidArgumentError(
            absl::StrCat("line numbers are int64, the table takes ", DTypeName(to->dtype())));
      }
      to->flat<int64_t>()[i] = i + offset_;
      return absl::OkStatus();
    }
    if (column == kWholeLine) {
      if (to->dtype() != DType::kString && !IsInteger(to->dtype())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "whole lines are strings or integers, the table takes ", DTypeName(to->dtype())));
      }
      return ParseInto(line, i, to);
    }
    if (column >= static_cast<int64_t>(columns.size())) {
      return absl::InvalidArgumentError(absl::StrCat("line ", i + 1, " has ", columns.size(),
                                                     " columns, column ", column, " is needed"));
    }
    return ParseInto(columns[column], i, to);
  }

  const int64_t key_column_, value_column_, vocab_size_, offset_;
  const std::string delimiter_;
};
REGISTER_KERNEL("InitializeTableFromTextFile", kCpu, TableFromFileKernel);
REGISTER_KERNEL("InitializeTableFromTextFileV2", kCpu, TableFromFileKernel);

}  // namespace
}  // namespace tessera
