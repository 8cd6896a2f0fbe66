#include "runtime/checkpoint/checkpoint_index.h"

#include <sys/stat.h>

#include <bit>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/table_reader.h"
#include "runtime/checkpoint/table_writer.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor_slice.pb.h"
#include "tensorflow/core/protobuf/tensor_bundle.pb.h"

namespace tessera {
namespace {

using tensorflow::BundleEntryProto;
using tensorflow::BundleHeaderProto;

// The version of the format that is read and written here. An index says which one its reader must
// know at least.
constexpr int kFormatVersion = 1;
constexpr bool kIsBigEndian = std::endian::native == std::endian::big;

bool Parse(absl::string_view bytes, google::protobuf::MessageLite* proto) {
  return bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()) &&
         proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

absl::StatusOr<CheckpointHeader> ParseHeader(absl::string_view value) {
  BundleHeaderProto proto;
  if (!Parse(value, &proto)) return absl::DataLossError("the header does not parse");
  if (proto.version().min_consumer() > kFormatVersion) {
    return absl::UnimplementedError(absl::StrCat("it asks for a reader of format version ",
                                                 proto.version().min_consumer(),
                                                 ", and this one reads version ", kFormatVersion));
  }
  CheckpointHeader header;
  header.num_shards = proto.num_shards();
  header.is_foreign_endian = (proto.endianness() == BundleHeaderProto::BIG) != kIsBigEndian;
  return header;
}

absl::StatusOr<CheckpointIndexEntry> ParseEntry(absl::string_view value,
                                                const CheckpointHeader& header) {
  BundleEntryProto proto;
  if (!Parse(value, &proto)) return absl::DataLossError("its entry does not parse");
  CheckpointIndexEntry entry;
  entry.shard = proto.shard_id();
  if (entry.shard < 0 || entry.shard >= header.num_shards) {
    return absl::DataLossError(
        absl::StrCat("it is said to be in data file ", entry.shard, " of ", header.num_shards));
  }
  StoredTensor& stored = entry.stored;
  const bool fits_dtype = proto.dtype() >= 0 && proto.dtype() <= 255;
  stored.dtype = fits_dtype ? static_cast<DType>(proto.dtype()) : DType::kInvalid;
  ASSIGN_OR_RETURN(stored.shape, ShapeFromProto(proto.shape()));
  stored.offset = proto.offset();
  stored.size = proto.size();
  stored.crc = UnmaskCrc32c(proto.crc32c());
  stored.is_foreign_endian = header.is_foreign_endian;
  for (const tensorflow::TensorSliceProto& slice_proto : proto.slices()) {
    TensorSlice slice;
    for (const auto& extent : slice_proto.extent()) {
      slice.start.push_back(extent.start());
      slice.length.push_back(extent.has_length() ? extent.length() : -1);
    }
    RETURN_IF_ERROR(slice.Within(stored.shape).status());
    entry.slices.push_back(std::move(slice));
  }
  return entry;
}

std::string SerializeEntry(const CheckpointIndexEntry& entry) {
  BundleEntryProto proto;
  proto.set_dtype(static_cast<tensorflow::DataType>(entry.stored.dtype));
  ShapeToProto(PartialShape(entry.stored.shape), proto.mutable_shape());
  for (const TensorSlice& slice : entry.slices) {
    tensorflow::TensorSliceProto* slice_proto = proto.add_slices();
    for (int d = 0; d < slice.rank(); ++d) {
      auto* extent = slice_proto->add_extent();
      if (slice.length[d] < 0) continue;
      extent->set_start(slice.start[d]);
      extent->set_length(slice.length[d]);
    }
  }
  if (entry.slices.empty()) {
    proto.set_shard_id(entry.shard);
    proto.set_offset(entry.stored.offset);
    proto.set_size(entry.stored.size);
    proto.set_crc32c(MaskCrc32c(entry.stored.crc));
  }
  return proto.SerializeAsString();
}

// A pipe in the file's place would hold up its reader.
absl::Status RequireRegularFile(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cannot read '", path, "': it is not a regular file"));
}

}  // namespace

std::string ShardPath(absl::string_view prefix, int shard, int num_shards) {
  return absl::StrFormat("%s.data-%05d-of-%05d", prefix, shard, num_shards);
}

absl::StatusOr<CheckpointHeader> ReadCheckpointIndex(
    const std::string& prefix,
    absl::FunctionRef<absl::Status(absl::string_view key, CheckpointIndexEntry entry)> visit) {
  const std::string path = prefix + ".index";
  RETURN_IF_ERROR(RequireRegularFile(path));
  ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
  CheckpointHeader header;
  bool has_header = false;
  absl::Status status =
      ReadTable(file, [&](absl::string_view key, absl::string_view value) -> absl::Status {
        if (!has_header) {
          if (!key.empty()) return absl::DataLossError("it has no header");
          has_header = true;
          ASSIGN_OR_RETURN(header, ParseHeader(value));
          return absl::OkStatus();
        }
        auto entry = ParseEntry(value, header);
        if (!entry.ok()) {
          return absl::DataLossError(absl::StrCat("tensor '", absl::Utf8SafeCHexEscape(key),
                                                  "': ", entry.status().message()));
        }
        return visit(key, *std::move(entry));
      });
  if (status.ok() && !has_header) status = absl::DataLossError("it has no header");
  RETURN_IF_ERROR(Annotate(status, absl::StrCat("checkpoint index '", path, "': ")));
  return header;
}

absl::Status WriteCheckpointIndex(const std::string& prefix, const CheckpointHeader& header,
                                  const std::map<std::string, CheckpointIndexEntry>& entries) {
  BundleHeaderProto proto;
  proto.set_num_shards(header.num_shards);
  proto.set_endianness(header.is_foreign_endian == kIsBigEndian ? BundleHeaderProto::LITTLE
                                                                : BundleHeaderProto::BIG);
  proto.mutable_version()->set_producer(kFormatVersion);
  TableWriter table;
  table.Add("", proto.SerializeAsString());
  for (const auto& [key, entry] : entries) table.Add(key, SerializeEntry(entry));
  return WriteFileAtomically(prefix + ".index", std::move(table).Finish());
}

}  // namespace tessera
