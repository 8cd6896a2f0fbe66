// Moving what was learned with one vocabulary to another: GenerateVocabRemapping, which finds where
// the entries were, and LoadAndRemapMatrix, which loads their rows from a checkpoint.
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/data/byte_source.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/io/open_checkpoint.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Returns up to `most` lines of a file. Errors: OUT_OF_RANGE for a file without lines; those of
// opening and reading it.
absl::StatusOr<std::vector<std::string>> ReadLines(const std::string& path, int64_t most) {
  ASSIGN_OR_RETURN(const auto bytes, ByteSource::Open(path, Compression::kNone));
  std::vector<std::string> lines;
  std::string line;
  while (static_cast<int64_t>(lines.size()) < most) {
    ASSIGN_OR_RETURN(const bool more, bytes->ReadLine(&line));
    if (!more) break;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  if (!lines.empty()) return lines;
  return absl::OutOfRangeError(absl::StrCat("no vocabulary entry was read from file '", path, "'"));
}

absl::StatusOr<std::string> NameInput(const KernelContext& ctx, int i, absl::string_view name) {
  if (ctx.input(i).num_elements() == 1) return ctx.input(i).scalar<std::string>();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be a single string, has shape ", ctx.input(i).shape().ToString()));
}

// The line of the old vocabulary, or -1, for each of some lines of the new one.
class GenerateVocabRemappingKernel final : public OpKernel {
 public:
  explicit GenerateVocabRemappingKernel(const KernelBuild& build)
      : offset_(build.attr<int64_t>("new_vocab_offset")),
        count_(build.attr<int64_t>("num_new_vocab")),
        old_size_(build.attr<int64_t>("old_vocab_size")) {}

  // Errors: INVALID_ARGUMENT for a file of fewer lines; FAILED_PRECONDITION for an old entry that
  // stands twice; those of ReadLines().
  absl::Status Compute(KernelContext& ctx) override {
    constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
    ASSIGN_OR_RETURN(const std::string new_file, NameInput(ctx, 0, "new_vocab_file"));
    ASSIGN_OR_RETURN(const std::string old_file, NameInput(ctx, 1, "old_vocab_file"));
    ASSIGN_OR_RETURN(const auto new_entries, ReadLines(new_file, kAll));
    const int64_t new_size = static_cast<int64_t>(new_entries.size());
    if (offset_ > new_size || count_ > new_size - offset_) {
      return absl::InvalidArgumentError(absl::StrCat("file '", new_file, "' has ", new_size,
                                                     " lines, wanted are ", count_,
                                                     " behind the first ", offset_));
    }
    ASSIGN_OR_RETURN(const auto old_entries, ReadLines(old_file, old_size_ < 0 ? kAll : old_size_));
    if (old_size_ > static_cast<int64_t>(old_entries.size())) {
      return absl::InvalidArgumentError(absl::StrCat("file '", old_file, "' has ",
                                                     old_entries.size(),
                                                     " lines, old_vocab_size is ", old_size_));
    }
    absl::flat_hash_map<absl::string_view, int64_t> lines;
    for (size_t i = 0; i < old_entries.size(); ++i) {
      if (lines.emplace(old_entries[i], i).second) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("file '", old_file, "' has '", old_entries[i], "' in line ",
                       lines[old_entries[i]], " and in line ", i, ", counted from 0"));
    }
    ASSIGN_OR_RETURN(Tensor * remapping, ctx.AllocateOutput(0, Shape{count_}));
    const auto to = remapping->flat<int64_t>();
    int32_t present = 0;
    for (int64_t i = 0; i < count_; ++i) {
      const auto found = lines.find(new_entries[offset_ + i]);
      to[i] = found == lines.end() ? -1 : found->second;
      present += found == lines.end() ? 0 : 1;
    }
    return SetScalarOutput(ctx, 1, present);
  }

 private:
  const int64_t offset_, count_;
  const int64_t old_size_;  // lines of the old file that count; -1: all
};
REGISTER_KERNEL("GenerateVocabRemapping", kCpu, GenerateVocabRemappingKernel);

// The matrix whose row i and column j were at the rows and columns that the remappings say; initial
// values, in their order, where one says a negative number.
class LoadAndRemapMatrixKernel final : public OpKernel {
 public:
  explicit LoadAndRemapMatrixKernel(const KernelBuild& build)
      : rows_(build.attr<int64_t>("num_rows")), cols_(build.attr<int64_t>("num_cols")) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string path, NameInput(ctx, 0, "ckpt_path"));
    ASSIGN_OR_RETURN(const std::string name, NameInput(ctx, 1, "old_tensor_name"));
    ASSIGN_OR_RETURN(const auto checkpoint,
                     OpenForStep<CheckpointReader>(ctx, kOpenCheckpoint, path));
    ASSIGN_OR_RETURN(const CheckpointEntry entry, checkpoint->reader().Find(name));
    if (entry.dtype != DType::kFloat || entry.shape.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("tensor '", name, "' is ",
                                                     DTypeName(entry.dtype), entry.shape.ToString(),
                                                     ", must be a float matrix"));
    }
    const int64_t old_rows = entry.shape.dim(0), old_cols = entry.shape.dim(1);
    RETURN_IF_ERROR(CheckRemapping(ctx.input(2), "row_remapping", rows_, old_rows));
    const bool remaps_cols = ctx.input(3).num_elements() > 0;
    if (remaps_cols) {
      RETURN_IF_ERROR(CheckRemapping(ctx.input(3), "col_remapping", cols_, old_cols));
    } else if (old_cols != cols_) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", name, "' has ", old_cols, " columns, num_cols is ", cols_));
    }
    ASSIGN_OR_RETURN(const Tensor old, checkpoint->reader().Read(name));
    const auto from = old.flat<float>();
    const auto row_map = ctx.input(2).flat<int64_t>();
    const auto col_map = ctx.input(3).flat<int64_t>();
    const auto initial = ctx.input(4).flat<float>();
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({rows_, cols_}));
    ASSIGN_OR_RETURN(Tensor * matrix, ctx.AllocateOutput(0, shape));
    const auto to = matrix->flat<float>();
    size_t used = 0;
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t j = 0; j < cols_; ++j) {
        const int64_t col = remaps_cols ? col_map[j] : j;
        if (row_map[i] >= 0 && col >= 0) {
          to[i * cols_ + j] = from[row_map[i] * old_cols + col];
        } else if (used < initial.size()) {
          to[i * cols_ + j] = initial[used++];
        } else {
          return absl::InvalidArgumentError(absl::StrCat(
              "initializing_values contained ", used, " elements, but more missing values remain"));
        }
      }
    }
    if (used == initial.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("initializing_values contained ", initial.size(),
                                                   " elements, but only ", used,
                                                   " were used to fill in missing values"));
  }

 private:
  // Errors: INVALID_ARGUMENT for another shape and for an old index that is not there;
  // UNIMPLEMENTED for one that is used twice.
  static absl::Status CheckRemapping(const Tensor& remapping, absl::string_view name, int64_t size,
                                     int64_t old_size) {
    if (remapping.rank() != 1 || remapping.num_elements() != size) {
      return absl::InvalidArgumentError(absl::StrCat(name, " must be a vector of ", size,
                                                     " elements, has shape ",
                                                     remapping.shape().ToString()));
    }
    absl::flat_hash_set<int64_t> seen;
    for (const int64_t old : remapping.flat<int64_t>()) {
      if (old >= old_size) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " says ", old, ", the old tensor has ", old_size));
      }
      if (old >= 0 && !seen.insert(old).second) {
        return absl::UnimplementedError(absl::StrCat(name, " says ", old, " twice"));
      }
    }
    return absl::OkStatus();
  }

  const int64_t rows_, cols_;
};
REGISTER_KERNEL("LoadAndRemapMatrix", kCpu, LoadAndRemapMatrixKernel);

}  // namespace
}  // namespace tessera
