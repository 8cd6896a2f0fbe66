#include "runtime/checkpoint/table_reader.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/table_format.h"
#include "snappy.h"

namespace tessera {
namespace {

using table::ConsumeVarint;
using table::LoadLittleEndian;

// Keys share prefixes, so they may be longer together than the file: in checkpoints some ten times.
constexpr size_t kMaxKeyRatio = 64;

// The longest output that a byte of snappy's input can stand for is about 21 bytes.
constexpr size_t kMaxSnappyRatio = 32;

absl::Status Corrupt(uint64_t at, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("table is corrupt at byte ", at, ": ", what, "; copy the file anew"));
}

// Where a block lies, without its trailer.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;

  bool Consume(absl::string_view* in) {
    return ConsumeVarint(in, &offset) && ConsumeVarint(in, &size);
  }
};

// The checked contents of a block; `storage` holds them if they had to be decompressed.
absl::StatusOr<absl::string_view> ReadBlock(absl::string_view file, const BlockHandle& handle,
                                            std::string* storage) {
  if (handle.offset > file.size() || handle.size > file.size() - handle.offset ||
      file.size() - handle.offset - handle.size < table::kTrailerSize) {
    return Corrupt(handle.offset, absl::StrCat("a block of ", handle.size,
                                               " bytes ends beyond the file's ", file.size()));
  }
  const absl::string_view block = file.substr(handle.offset, handle.size);
  const char* trailer = block.data() + block.size();
  const uint32_t stored = UnmaskCrc32c(LoadLittleEndian<uint32_t>(trailer + 1));
  if (!ChecksumMatches(stored, Crc32c(file.substr(handle.offset, handle.size + 1)))) {
    return Corrupt(handle.offset, "a block has the wrong checksum");
  }
  switch (static_cast<table::Compression>(*trailer)) {
    case table::Compression::kNone:
      return block;
    case table::Compression::kSnappy: {
      size_t size = 0;
      if (!snappy::GetUncompressedLength(block.data(), block.size(), &size) ||
          size > block.size() * kMaxSnappyRatio ||
          !snappy::Uncompress(block.data(), block.size(), storage)) {
        return Corrupt(handle.offset, "a block does not decompress");
      }
      return absl::string_view(*storage);
    }
  }
  return Corrupt(handle.offset,
                 absl::StrCat("a block has the unknown compression ", static_cast<int>(*trailer)));
}

// Calls visit for the entries of a block. Each key is given as the length it shares with the one
// before, and the rest.
absl::Status ReadEntries(
    absl::string_view block, uint64_t at,
    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> visit) {
  if (block.size() < 4) return Corrupt(at, "a block is too short");
  // Restart points serve binary search; reading all entries in order needs none.
  const uint32_t restarts = LoadLittleEndian<uint32_t>(block.data() + block.size() - 4);
  if (restarts > (block.size() - 4) / 4) return Corrupt(at, "a block has too many restart points");
  block.remove_suffix(4 + 4 * size_t{restarts});

  std::string key;
  while (!block.empty()) {
    uint64_t shared, rest, value_size;
    if (!ConsumeVarint(&block, &shared) || !ConsumeVarint(&block, &rest) ||
        !ConsumeVarint(&block, &value_size) || shared > key.size() || rest > block.size() ||
        value_size > block.size() - rest) {
      return Corrupt(at, "an entry does not fit its block");
    }
    key.resize(shared);
    key.append(block.data(), rest);
    RETURN_IF_ERROR(visit(key, block.substr(rest, value_size)));
    block.remove_prefix(rest + value_size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadTable(
    absl::string_view file,
    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> visit) {
  if (file.size() < table::kFooterSize) {
    return Corrupt(file.size(), "the file is too short for a table");
  }
  const uint64_t footer_at = file.size() - table::kFooterSize;
  absl::string_view footer = file.substr(footer_at);
  if (LoadLittleEndian<uint64_t>(footer.data() + table::kFooterSize - 8) != table::kMagic) {
    return Corrupt(footer_at, "the file does not end as a table does");
  }
  BlockHandle meta_index, index;
  if (!meta_index.Consume(&footer) || !index.Consume(&footer)) {
    return Corrupt(footer_at, "the footer does not name an index block");
  }

  std::string index_storage, block_storage, last_key;
  bool first = true;
  uint64_t blocks_end = 0;
  size_t key_bytes = 0;
  ASSIGN_OR_RETURN(const absl::string_view index_block, ReadBlock(file, index, &index_storage));
  return ReadEntries(
      index_block, index.offset, [&](absl::string_view, absl::string_view value) -> absl::Status {
        BlockHandle handle;
        if (!handle.Consume(&value)) {
          return Corrupt(index.offset, "the index block does not name a block");
        }
        // Blocks lie one after the other. One that is named twice would let a small file stand for
        // a large table.
        if (handle.offset < blocks_end) {
          return Corrupt(index.offset, "blocks overlap or are out of order");
        }
        ASSIGN_OR_RETURN(const absl::string_view block, ReadBlock(file, handle, &block_storage));
        blocks_end = handle.offset + handle.size;
        return ReadEntries(block, handle.offset,
                           [&](absl::string_view key, absl::string_view value) -> absl::Status {
                             if (!first && key <= last_key) {
                               return Corrupt(handle.offset, "keys are out of order");
                             }
                             first = false;
                             key_bytes += key.size();
                             if (key_bytes > kMaxKeyRatio * file.size()) {
                               return Corrupt(handle.offset, "keys are too long for the file");
                             }
                             last_key.assign(key.data(), key.size());
                             return visit(key, value);
                           });
      });
}

}  // namespace tessera
