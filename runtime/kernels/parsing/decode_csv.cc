// DecodeCSV: lines of comma-separated values as one tensor a column (RFC 4180).
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/parsing/csv_record.h"

namespace tessera {
namespace {

class DecodeCsvKernel : public OpKernel {
 public:
  explicit DecodeCsvKernel(const KernelBuild& build)
      : delimiter_(build.attr<std::string>("field_delim")),
        na_value_(build.attr<std::string>("na_value")),
        columns_(build.attr<std::vector<int64_t>>("select_cols")),
        splitter_(delimiter_.empty() ? ',' : delimiter_[0], build.attr<bool>("use_quote_delim")) {
    if (delimiter_.size() != 1) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("field_delim must be one character, is '", delimiter_, "'")));
    }
    bool rising = columns_.empty() || columns_[0] >= 0;
    for (size_t i = 1; i < columns_.size(); ++i) rising = rising && columns_[i] > columns_[i - 1];
    if (!rising ||
        (!columns_.empty() && static_cast<int>(columns_.size()) != build.num_outputs())) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("select_cols must be ", build.num_outputs(), " rising column numbers")));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& records = ctx.input(0);
    const size_t fields_wanted = ctx.num_outputs();
    for (size_t f = 0; f < fields_wanted; ++f) {
      const Tensor& fallback = ctx.input(static_cast<int>(f) + 1);
      if (fallback.num_elements() > 1 || fallback.rank() > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("field ", f, " needs one default or none, has ", fallback.num_elements()));
      }
      RETURN_IF_ERROR(ctx.AllocateOutput(static_cast<int>(f), records.shape()).status());
    }
    CsvFields fields;
    const auto lines = records.flat<std::string>();
    for (size_t r = 0; r < lines.size(); ++r) {
      const absl::Status split = splitter_.Split(lines[r], columns_, &fields);
      if (!split.ok()) return Annotate(split, absl::StrCat("record ", r, ": "));
      if (fields.size() != fields_wanted) {
        return absl::InvalidArgumentError(absl::StrCat(
            "record ", r, " has ", fields.size(), " fields, ", fields_wanted, " are expected"));
      }
      for (size_t f = 0; f < fields_wanted; ++f) {
        RETURN_IF_ERROR(SetField(ctx, static_cast<int>(f), static_cast<int64_t>(r), fields[f]));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status SetField(KernelContext& ctx, int f, int64_t r, absl::string_view text) const {
    switch (ctx.output_type(f)) {
      case DType::kFloat:
        return Set<float>(ctx, f, r, text);
      case DType::kDouble:
        return Set<double>(ctx, f, r, text);
      case DType::kInt32:
        return Set<int32_t>(ctx, f, r, text);
      case DType::kInt64:
        return Set<int64_t>(ctx, f, r, text);
      default:
        return Set<std::string>(ctx, f, r, text);
    }
  }
  template <typename T>
  absl::Status Set(KernelContext& ctx, int f, int64_t r, absl::string_view text) const {
    T& value = ctx.output(f).data<T>()[r];
    if (text.empty() || text == na_value_) {
      const Tensor& fallback = ctx.input(f + 1);
      if (fallback.num_elements() == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("field ", f, " is required but missing in record ", r));
      }
      value = fallback.flat<T>()[0];
    } else if (!ParseCsvField(text, &value)) {
      return absl::InvalidArgumentError(absl::StrCat("field ", f, " in record ", r, ", '", text,
                                                     "', is not a valid ", DTypeName(DTypeOf<T>)));
    }
    return absl::OkStatus();
  }

  const std::string delimiter_, na_value_;
  const std::vector<int64_t> columns_;
  const CsvSplitter splitter_;
};
REGISTER_KERNEL("DecodeCSV", kCpu, DecodeCsvKernel);

}  // namespace
}  // namespace tessera
