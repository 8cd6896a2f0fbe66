// Ops that make v1 readers: of lines, of records of fixed length, of TFRecords, of whole files, and
// of the names themselves.
#include <algorithm>
#include <utility>

#include "runtime/base/file_system.h"
#include "runtime/data/record_file.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/io/record_reader.h"
#include "runtime/kernels/resource_handle_kernel.h"

namespace tessera {
namespace {

using Record = RecordReader::Record;
using Work = RecordReader::Work;

// A reader whose units of work are W(name, bytes of the file, options).
template <typename W>
class FileReader final : public RecordReader {
 public:
  using Options = typename W::Options;
  explicit FileReader(const Options& options) : options_(options) {}

 protected:
  absl::StatusOr<std::unique_ptr<Work>> Open(const std::string& name) const override {
    ASSIGN_OR_RETURN(auto bytes, ByteSource::Open(name, options_.compression));
    auto work = std::make_unique<W>(name, std::move(bytes), options_);
    RETURN_IF_ERROR(work->Start());
    return work;
  }

 private:
  const Options options_;
};

// Lines end with '\n' or "\r\n", neither of which is part of the record.
class Lines final : public Work {
 public:
  struct Options {
    explicit Options(const KernelBuild& build)
        : skip_header_lines(build.attr<int64_t>("skip_header_lines")) {
      if (skip_header_lines < 0) {
        build.Fail(absl::InvalidArgumentError(
            absl::StrCat("skip_header_lines must be >= 0 not ", skip_header_lines)));
      }
    }
    const int64_t skip_header_lines;
    const Compression compression = Compression::kNone;
  };
  Lines(const std::string& name, std::unique_ptr<ByteSource> bytes, const Options& options)
      : name_(name), bytes_(std::move(bytes)), options_(options) {}

  absl::Status Start() {
    std::string line;
    while (line_number_ < options_.skip_header_lines) {
      ASSIGN_OR_RETURN(const bool more, bytes_->ReadLine(&line));
      if (!more) break;
      ++line_number_;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<Record>> Next() override {
    Record record;
    ASSIGN_OR_RETURN(const bool more, bytes_->ReadLine(&record.value));
    if (!more) return std::nullopt;
    std::erase(record.value, '\r');
    record.key = absl::StrCat(name_, ":", ++line_number_);
    return record;
  }

 private:
  const std::string name_;
  const std::unique_ptr<ByteSource> bytes_;
  const Options options_;
  int64_t line_number_ = 0;
};

// Records of the same length, which may overlap or lie apart.
class FixedLengthRecords final : public Work {
 public:
  struct Options {
    explicit Options(const KernelBuild& build)
        : header(Bytes(build, "header_bytes", 0)),
          record(Bytes(build, "record_bytes", 1)),
          footer(Bytes(build, "footer_bytes", 0)),
          hop(Bytes(build, "hop_bytes", 0)) {
      if (!build.has_attr("encoding")) return;
      const absl::StatusOr<Compression> found =
          CompressionFromName(build.attr<std::string>("encoding"));
      if (found.ok()) compression = *found;
      build.Fail(found.status());
    }
    static int64_t Bytes(const KernelBuild& build, absl::string_view name, int64_t least) {
      const int64_t bytes = build.attr<int64_t>(name);
      constexpr int64_t kMost = int64_t{1} << 60;  // so that sums do not overflow
      if (bytes < least || bytes > kMost) {
        build.Fail(
            absl::InvalidArgumentError(absl::StrCat(name, " must be >= ", least, " not ", bytes)));
      }
      return bytes;
    }
    const int64_t header, record, footer;
    const int64_t hop;  // from the start of a record to that of the next; 0: its length
    Compression compression = Compression::kNone;
  };
  FixedLengthRecords(const std::string& name, std::unique_ptr<ByteSource> bytes,
                     const Options& options)
      : name_(name), bytes_(std::move(bytes)), options_(options) {}

  // Errors: OUT_OF_RANGE for a file that ends within its header.
  absl::Status Start() {
    ASSIGN_OR_RETURN(const uint64_t skipped, bytes_->Skip(options_.header));
    if (static_cast<int64_t>(skipped) == options_.header) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat("file '", name_, "' has ", skipped,
                                              " bytes and a header of ", options_.header));
  }
  // Keeps as many bytes in hand as a footer takes: what is behind them is a record. A part of one
  // at the end is left out.
  absl::StatusOr<std::optional<Record>> Next() override {
    if (record_number_ != 0) {
      const int64_t hop = options_.hop == 0 ? options_.record : options_.hop;
      const int64_t in_hand = std::min<int64_t>(hop, ahead_.size());
      ahead_.erase(0, in_hand);
      RETURN_IF_ERROR(bytes_->Skip(hop - in_hand).status());
    }
    const int64_t needed = options_.record + options_.footer;
    if (static_cast<int64_t>(ahead_.size()) < needed) {
      std::string more;
      RETURN_IF_ERROR(bytes_->Read(needed - ahead_.size(), &more));
      ahead_ += more;
    }
    if (static_cast<int64_t>(ahead_.size()) < needed) return std::nullopt;
    return Record{.key = absl::StrCat(name_, ":", record_number_++),
                  .value = ahead_.substr(0, options_.record)};
  }

 private:
  const std::string name_;
  const std::unique_ptr<ByteSource> bytes_;
  const Options options_;
  std::string ahead_;
  int64_t record_number_ = 0;
};

class TfRecords final : public Work {
 public:
  struct Options {
    explicit Options(const KernelBuild& build) {
      const absl::StatusOr<Compression> found =
          CompressionFromName(build.attr<std::string>("compression_type"));
      if (found.ok()) compression = *found;
      build.Fail(found.status());
    }
    Compression compression = Compression::kNone;
  };
  TfRecords(const std::string& name, std::unique_ptr<ByteSource> bytes, const Options&)
      : name_(name), bytes_(std::move(bytes)) {}

  static absl::Status Start() { return absl::OkStatus(); }
  absl::StatusOr<std::optional<Record>> Next() override {
    Record record{.key = absl::StrCat(name_, ":", bytes_->position()), .value = ""};
    ASSIGN_OR_RETURN(const bool more, ReadRecord(*bytes_, &record.value));
    if (!more) return std::nullopt;
    return record;
  }

 private:
  const std::string name_;
  const std::unique_ptr<ByteSource> bytes_;
};

// One record that is in memory.
class OneRecord final : public Work {
 public:
  explicit OneRecord(Record record) : record_(std::move(record)) {}
  absl::StatusOr<std::optional<Record>> Next() override {
    return std::exchange(record_, std::nullopt);
  }
  bool AtEnd() const override { return !record_.has_value(); }

 private:
  std::optional<Record> record_;
};

struct NoOptions {
  explicit NoOptions(const KernelBuild&) {}
};

// The record of a file is all that is in it; its key is the file's name.
class WholeFileReader final : public RecordReader {
 public:
  using Options = NoOptions;
  explicit WholeFileReader(const Options&) {}
  bool HasState() const override { return true; }

 protected:
  absl::StatusOr<std::unique_ptr<Work>> Open(const std::string& name) const override {
    ASSIGN_OR_RETURN(std::string contents, ReadFile(name));
    return std::make_unique<OneRecord>(Record{.key = name, .value = std::move(contents)});
  }
};

// The record is the unit of work itself.
class IdentityReader final : public RecordReader {
 public:
  using Options = NoOptions;
  explicit IdentityReader(const Options&) {}
  bool HasState() const override { return true; }

 protected:
  absl::StatusOr<std::unique_ptr<Work>> Open(const std::string& name) const override {
    return std::make_unique<OneRecord>(Record{.key = name, .value = name});
  }
};

// Makes a reader of class R, with the attributes of the node that first names it.
template <typename R>
class MakeReaderKernel final : public ResourceHandleKernel {
 public:
  explicit MakeReaderKernel(const KernelBuild& build)
      : ResourceHandleKernel(build, RecordReader::kTypeName), options_(build) {}

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext&) override {
    return IntrusivePtr<Resource>(MakeRefCounted<R>(options_));
  }

 private:
  const typename R::Options options_;
};
REGISTER_KERNEL("FixedLengthRecordReader", kCpu, MakeReaderKernel<FileReader<FixedLengthRecords>>);
REGISTER_KERNEL("FixedLengthRecordReaderV2", kCpu,
                MakeReaderKernel<FileReader<FixedLengthRecords>>);
REGISTER_KERNEL("IdentityReader", kCpu, MakeReaderKernel<IdentityReader>);
REGISTER_KERNEL("IdentityReaderV2", kCpu, MakeReaderKernel<IdentityReader>);
REGISTER_KERNEL("TFRecordReader", kCpu, MakeReaderKernel<FileReader<TfRecords>>);
REGISTER_KERNEL("TFRecordReaderV2", kCpu, MakeReaderKernel<FileReader<TfRecords>>);
REGISTER_KERNEL("TextLineReader", kCpu, MakeReaderKernel<FileReader<Lines>>);
REGISTER_KERNEL("TextLineReaderV2", kCpu, MakeReaderKernel<FileReader<Lines>>);
REGISTER_KERNEL("WholeFileReader", kCpu, MakeReaderKernel<WholeFileReader>);
REGISTER_KERNEL("WholeFileReaderV2", kCpu, MakeReaderKernel<WholeFileReader>);

}  // namespace
}  // namespace tessera
