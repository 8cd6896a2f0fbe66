#include "runtime/kernels/forest/forest_files.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/data/record_file.h"

namespace tessera {
namespace {

// A file of blobs begins with "BS", its version in two bytes, how it is compressed in one, and
// three that mean nothing yet. The rest, which alone is compressed, is blobs: a length in four
// bytes and that many bytes. Numbers are little-endian.
constexpr size_t kBlobHeaderSize = 8;
constexpr uint16_t kBlobVersion = 1;

static_assert(std::endian::native == std::endian::little);
template <typename T>
T LittleEndian(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

absl::StatusOr<Compression> CompressionOfBlobs(absl::string_view file) {
  if (file.size() < kBlobHeaderSize || file.substr(0, 2) != "BS") {
    return absl::DataLossError("not a sequence of blobs");
  }
  const auto version = LittleEndian<uint16_t>(file.data() + 2);
  if (version > kBlobVersion) {
    return absl::UnimplementedError(absl::StrCat("a sequence of blobs of version ", version));
  }
  const auto compression = static_cast<uint8_t>(file[4]);
  if (version == 0 || compression == 0) return Compression::kNone;
  if (compression == 1) return Compression::kGzip;
  return absl::UnimplementedError(
      absl::StrCat("a sequence of blobs with compression ", static_cast<int>(compression)));
}

template <typename Message>
absl::Status ReadMessage(const std::string& path, Message* message) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  if (!message->ParseFromString(bytes)) {
    return absl::DataLossError(absl::StrCat(path, " is no ", message->GetTypeName()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TreeNodeReader> TreeNodeReader::Open(std::string prefix, int num_files,
                                                    absl::string_view format) {
  const bool has_blobs = format == "BLOB_SEQUENCE" || format == "BLOB_SEQUENCE_GZIP";
  if (!has_blobs && format != "TFE_RECORDIO") {
    return absl::UnimplementedError(
        absl::StrCat("the nodes are in format '", format,
                     "'; there are BLOB_SEQUENCE, BLOB_SEQUENCE_GZIP and TFE_RECORDIO"));
  }
  if (num_files < 0) {
    return absl::InvalidArgumentError(absl::StrCat("the nodes are in ", num_files, " files"));
  }
  return TreeNodeReader(std::move(prefix), num_files, has_blobs);
}

std::string TreeNodeReader::path() const {
  return absl::StrFormat("%snodes-%05d-of-%05d", prefix_, file_, num_files_);
}

absl::Status TreeNodeReader::OpenFile() {
  if (!has_blobs_) {
    ASSIGN_OR_RETURN(source_, ByteSource::Open(path(), Compression::kNone));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::string bytes, ReadFile(path()));
  bytes_ = std::make_unique<const std::string>(std::move(bytes));
  const absl::StatusOr<Compression> compression = CompressionOfBlobs(*bytes_);
  if (!compression.ok()) return Annotate(compression.status(), absl::StrCat(path(), ": "));
  source_ = ByteSource::Of(absl::string_view(*bytes_).substr(kBlobHeaderSize), *compression);
  return absl::OkStatus();
}

absl::StatusOr<bool> TreeNodeReader::ReadBlob() {
  RETURN_IF_ERROR(source_->Read(sizeof(uint32_t), &record_));
  if (record_.empty()) return false;
  if (record_.size() < sizeof(uint32_t)) return absl::DataLossError("ends inside a length");
  const auto size = LittleEndian<uint32_t>(record_.data());
  RETURN_IF_ERROR(source_->Read(size, &record_));
  if (record_.size() < size) return absl::DataLossError("ends inside a node");
  return true;
}

absl::StatusOr<bool> TreeNodeReader::Next(TreeNode* node) {
  for (; file_ < num_files_; ++file_) {
    if (source_ == nullptr) RETURN_IF_ERROR(OpenFile());
    const absl::StatusOr<bool> has_record =
        has_blobs_ ? ReadBlob() : ReadRecord(*source_, &record_);
    if (!has_record.ok()) return Annotate(has_record.status(), absl::StrCat(path(), ": "));
    if (*has_record) {
      if (node->ParseFromString(record_)) return true;
      return absl::DataLossError(absl::StrCat(path(), ": a record is no node of a tree"));
    }
    source_ = nullptr;
  }
  return false;
}

int64_t ForestFiles::num_trees() const {
  return std::visit([](const auto& of_kind) { return of_kind.num_trees(); }, header);
}

absl::StatusOr<TreeNodeReader> ForestFiles::OpenNodes() const {
  return std::visit(
      [&](const auto& of_kind) {
        return TreeNodeReader::Open(prefix, of_kind.num_node_shards(), of_kind.node_format());
      },
      header);
}

absl::StatusOr<ForestFiles> ReadForestFiles(const std::string& folder,
                                            absl::string_view file_prefix) {
  ForestFiles files;
  files.prefix =
      absl::StrCat(folder, folder.empty() || folder.back() == '/' ? "" : "/", file_prefix);
  RETURN_IF_ERROR(ReadMessage(files.prefix + "header.pb", &files.model));
  RETURN_IF_ERROR(ReadMessage(files.prefix + "data_spec.pb", &files.data));
  const std::string& kind = files.model.name();
  if (kind == "RANDOM_FOREST") {
    RETURN_IF_ERROR(ReadMessage(files.prefix + "random_forest_header.pb",
                                &files.header.emplace<RandomForestHeader>()));
  } else if (kind == "GRADIENT_BOOSTED_TREES") {
    RETURN_IF_ERROR(ReadMessage(files.prefix + "gradient_boosted_trees_header.pb",
                                &files.header.emplace<BoostedTreesHeader>()));
  } else {
    return absl::UnimplementedError(
        absl::StrCat(files.prefix, "header.pb: a model of kind '", kind,
                     "'; there are RANDOM_FOREST and GRADIENT_BOOSTED_TREES"));
  }
  return files;
}

}  // namespace tessera
