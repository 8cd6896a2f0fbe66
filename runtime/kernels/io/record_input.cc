// RecordInput: shuffled batches of the records of files, for ever.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/data/record_file.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/io/matching_files.h"
#include "runtime/kernels/vector_output.h"

namespace tessera {
namespace {

// Walks over the records of the files, once each epoch, in an order that the seed decides: the
// files are shuffled and then rotated by `shift_ratio` of their number more each epoch, and the
// records come out of a buffer at random. Runs of TensorFlow differ from each other in the order,
// as its threads race.
class RecordInputKernel final : public OpKernel {
 public:
  explicit RecordInputKernel(const KernelBuild& build)
      : pattern_(build.attr<std::string>("file_pattern")),
        seed_(static_cast<uint64_t>(build.attr<int64_t>("file_random_seed"))),
        shift_ratio_(build.attr<float>("file_shuffle_shift_ratio")),
        buffer_size_(build.attr<int64_t>("file_buffer_size")),
        batch_size_(build.attr<int64_t>("batch_size")),
        random_(seed_) {
    const absl::StatusOr<Compression> compression =
        CompressionFromName(build.attr<std::string>("compression_type"));
    if (compression.ok()) compression_ = *compression;
    build.Fail(compression.status());
    if (buffer_size_ < 1 || batch_size_ < 1 || !(shift_ratio_ >= 0 && shift_ratio_ <= 1)) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(
          "file_buffer_size and batch_size must be positive and file_shuffle_shift_ratio in "
          "[0, 1], are ",
          buffer_size_, ", ", batch_size_, " and ", shift_ratio_)));
    }
  }

  // Errors: NOT_FOUND if no file matches; INVALID_ARGUMENT if the files have no records; those of
  // reading.
  absl::Status Compute(KernelContext& ctx) override {
    absl::MutexLock lock(&mu_);
    if (files_.empty()) {
      const std::vector<std::string> patterns = absl::StrSplit(pattern_, ',');
      ASSIGN_OR_RETURN(files_, FilesThatMatch(patterns));
      if (files_.empty()) {
        return absl::NotFoundError(absl::StrCat("no files match file_pattern '", pattern_, "'"));
      }
      StartEpoch();
    }
    std::vector<std::string> batch;
    while (static_cast<int64_t>(batch.size()) < batch_size_) {
      RETURN_IF_ERROR(ctx.CheckGoingOn());
      RETURN_IF_ERROR(Fill());
      if (!buffer_.empty()) {
        std::swap(buffer_[random_() % buffer_.size()], buffer_.back());
        batch.push_back(std::move(buffer_.back()));
        buffer_.pop_back();
        continue;
      }
      if (records_in_epoch_ == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("the files that match '", pattern_, "' have no records"));
      }
      ++epoch_;
      StartEpoch();
    }
    return SetVectorOutput(ctx, 0, absl::MakeConstSpan(batch));
  }

 private:
  void StartEpoch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    order_ = files_;
    std::mt19937_64 random(seed_ + epoch_);
    std::shuffle(order_.begin(), order_.end(), random);
    const auto shift = static_cast<size_t>(static_cast<double>(shift_ratio_) *
                                           static_cast<double>(epoch_ * order_.size())) %
                       order_.size();
    std::rotate(order_.begin(), order_.begin() + static_cast<int64_t>(shift), order_.end());
    next_file_ = 0;
    records_in_epoch_ = 0;
  }
  // Reads until the buffer is full or the epoch has no more records.
  absl::Status Fill() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (static_cast<int64_t>(buffer_.size()) < buffer_size_) {
      if (file_ == nullptr) {
        if (next_file_ == order_.size()) break;
        ASSIGN_OR_RETURN(file_, ByteSource::Open(order_[next_file_++], compression_));
      }
      std::string record;
      absl::StatusOr<bool> more = ReadRecord(*file_, &record);
      if (!more.ok() || !*more) file_.reset();
      RETURN_IF_ERROR(more.status());
      if (!*more) continue;
      buffer_.push_back(std::move(record));
      ++records_in_epoch_;
    }
    return absl::OkStatus();
  }

  const std::string pattern_;
  const uint64_t seed_;
  const float shift_ratio_;
  const int64_t buffer_size_, batch_size_;
  Compression compression_ = Compression::kNone;

  absl::Mutex mu_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> files_ ABSL_GUARDED_BY(mu_);  // sorted
  std::vector<std::string> order_ ABSL_GUARDED_BY(mu_);  // of this epoch
  std::vector<std::string> buffer_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<ByteSource> file_ ABSL_GUARDED_BY(mu_);
  size_t next_file_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t epoch_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t records_in_epoch_ ABSL_GUARDED_BY(mu_) = 0;
};
REGISTER_KERNEL("RecordInput", kCpu, RecordInputKernel);

}  // namespace
}  // namespace tessera
