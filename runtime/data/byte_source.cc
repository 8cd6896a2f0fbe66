#include "runtime/data/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/file_descriptor.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

constexpr int64_t kDefaultBufferSize = 256 << 10;
constexpr int64_t kMaxBufferSize = 64 << 20;

class FileSource final : public ByteSource {
 public:
  FileSource(std::string path, int fd, size_t buffer_size)
      : ByteSource(buffer_size), path_(std::move(path)), fd_(fd) {}

 protected:
  absl::StatusOr<size_t> Fetch(char* to, size_t size) override {
    while (true) {
      const ssize_t got = ::read(fd_.get(), to, size);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) return ErrnoStatus(errno, "read", path_);
    }
  }

 private:
  const std::string path_;
  const FileDescriptor fd_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(absl::string_view bytes) : ByteSource(1 << 10), bytes_(bytes) {}

 protected:
  absl::StatusOr<size_t> Fetch(char* to, size_t size) override {
    const size_t taken = std::min(size, bytes_.size());
    std::memcpy(to, bytes_.data(), taken);
    bytes_.remove_prefix(taken);
    return taken;
  }

 private:
  absl::string_view bytes_;
};

// What zlib makes of another source. A gzip file may consist of several members (RFC 1952, 2.2).
class InflatedSource final : public ByteSource {
 public:
  InflatedSource(std::unique_ptr<ByteSource> compressed, Compression compression,
                 size_t buffer_size)
      : ByteSource(buffer_size), compressed_(std::move(compressed)) {
    constexpr int kWindowBits = 15, kGzipFormat = 16;
    good_ = inflateInit2(&stream_, compression == Compression::kGzip ? kWindowBits + kGzipFormat
                                                                     : kWindowBits) == Z_OK;
    multiple_members_ = compression == Compression::kGzip;
  }
  ~InflatedSource() override { inflateEnd(&stream_); }

 protected:
  absl::StatusOr<size_t> Fetch(char* to, size_t size) override {
    if (!good_) return absl::DataLossError("the compressed data is damaged");
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size) {
      if (stream_.avail_in == 0) {
        RETURN_IF_ERROR(compressed_->Read(kInputSize, &input_));
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(input_.size());
        if (input_.empty()) {
          if (between_members_) return size_t{0};
          return absl::DataLossError("the compressed data is cut short");
        }
      }
      if (between_members_) {
        if (ended_ && !multiple_members_) return size_t{0};
        if (ended_) inflateReset(&stream_);
        ended_ = between_members_ = false;
      }
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        ended_ = between_members_ = true;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        good_ = false;
        return absl::DataLossError(absl::StrCat("the compressed data is damaged: ",
                                                stream_.msg != nullptr ? stream_.msg : "no zlib"));
      }
    }
    return size - stream_.avail_out;
  }

 private:
  static constexpr uint64_t kInputSize = 64 << 10;

  const std::unique_ptr<ByteSource> compressed_;
  std::string input_;
  z_stream stream_ = {};
  bool good_ = false;
  bool multiple_members_ = false;
  bool ended_ = false;           // a member came to its end
  bool between_members_ = true;  // the data may end here
};

}  // namespace

absl::StatusOr<Compression> CompressionFromName(absl::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "ZLIB") return Compression::kZlib;
  if (name == "GZIP") return Compression::kGzip;
  return absl::InvalidArgumentError(absl::StrCat("Unsupported compression_type: ", name, "."));
}

absl::StatusOr<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path,
                                                             Compression compression,
                                                             int64_t buffer_size) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  const size_t size = static_cast<size_t>(buffer_size <= 0 ? kDefaultBufferSize
                                                           : std::min(buffer_size, kMaxBufferSize));
  std::unique_ptr<ByteSource> file = std::make_unique<FileSource>(path, fd, size);
  struct stat status;
  if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) return DirectoryError("read", path);
  if (compression == Compression::kNone) return file;
  return std::make_unique<InflatedSource>(std::move(file), compression, size);
}

std::unique_ptr<ByteSource> ByteSource::Of(absl::string_view bytes, Compression compression) {
  auto source = std::make_unique<MemorySource>(bytes);
  if (compression == Compression::kNone) return source;
  return std::make_unique<InflatedSource>(std::move(source), compression, 1 << 10);
}

absl::StatusOr<bool> ByteSource::Fill() {
  if (begin_ < end_) return true;
  begin_ = end_ = 0;
  ASSIGN_OR_RETURN(end_, Fetch(buffer_.data(), buffer_.size()));
  return end_ > 0;
}

absl::Status ByteSource::Read(uint64_t count, std::string* bytes) {
  bytes->clear();
  while (bytes->size() < count) {
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) break;
    const absl::string_view taken = unread().substr(0, count - bytes->size());
    bytes->append(taken.data(), taken.size());
    Take(taken.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ByteSource::ReadLine(std::string* line) {
  line->clear();
  bool any = false;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) return any;
    any = true;
    const absl::string_view rest = unread();
    const size_t end = rest.find('\n');
    line->append(rest.data(), std::min(end, rest.size()));
    if (end != absl::string_view::npos) {
      Take(end + 1);
      return true;
    }
    Take(rest.size());
  }
}

absl::StatusOr<uint64_t> ByteSource::Skip(uint64_t count) {
  uint64_t skipped = 0;
  while (skipped < count) {
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) break;
    const size_t taken = static_cast<size_t>(std::min<uint64_t>(count - skipped, unread().size()));
    Take(taken);
    skipped += taken;
  }
  return skipped;
}

absl::StatusOr<int> ByteSource::Peek() {
  ASSIGN_OR_RETURN(const bool more, Fill());
  return more ? static_cast<unsigned char>(unread()[0]) : -1;
}

}  // namespace tessera
