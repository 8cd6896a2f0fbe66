#include "runtime/checkpoint/table_writer.h"

#include <algorithm>

#include "runtime/base/crc32c.h"
#include "runtime/base/logging.h"
#include "runtime/checkpoint/table_format.h"

namespace tessera {
namespace {

// A reader that looks for one key reads one block.
constexpr size_t kBlockSize = 4096;
// Every so many entries a key is written whole, for readers that search within a block.
constexpr int kRestartInterval = 16;

}  // namespace

void TableWriter::Block::Add(absl::string_view key, absl::string_view value) {
  size_t shared = 0;
  if (num_restarts_ == 0 || since_restart_ == kRestartInterval) {
    table::AppendLittleEndian(static_cast<uint32_t>(bytes_.size()), &restarts_);
    ++num_restarts_;
    since_restart_ = 0;
  } else {
    const size_t limit = std::min(key.size(), last_key_.size());
    while (shared < limit && key[shared] == last_key_[shared]) ++shared;
  }
  table::AppendVarint(shared, &bytes_);
  table::AppendVarint(key.size() - shared, &bytes_);
  table::AppendVarint(value.size(), &bytes_);
  bytes_.append(key.data() + shared, key.size() - shared);
  bytes_.append(value.data(), value.size());
  last_key_.assign(key.data(), key.size());
  ++since_restart_;
}

std::string TableWriter::Block::Take() {
  if (num_restarts_ == 0) {  // even an empty block has one restart point
    table::AppendLittleEndian(uint32_t{0}, &restarts_);
    ++num_restarts_;
  }
  table::AppendLittleEndian(num_restarts_, &restarts_);
  std::string block = std::move(bytes_) + restarts_;
  *this = Block();
  return block;
}

void TableWriter::Add(absl::string_view key, absl::string_view value) {
  CHECK((data_.empty() && index_.empty()) ||
        key > (data_.empty() ? index_.last_key() : data_.last_key()))
      << "key '" << key << "' is out of order";
  data_.Add(key, value);
  if (data_.size() >= kBlockSize) FlushData();
}

std::string TableWriter::Append(std::string block) {
  std::string handle;
  table::AppendVarint(file_.size(), &handle);
  table::AppendVarint(block.size(), &handle);
  block.push_back(static_cast<char>(table::Compression::kNone));
  const uint32_t crc = Crc32c(block);
  file_ += block;
  table::AppendLittleEndian(MaskCrc32c(crc), &file_);
  return handle;
}

void TableWriter::FlushData() {
  const std::string last_key = data_.last_key();
  index_.Add(last_key, Append(data_.Take()));
}

std::string TableWriter::Finish() && {
  if (!data_.empty()) FlushData();
  std::string footer = Append(Block().Take());  // of meta blocks there are none
  footer += Append(index_.Take());
  footer.resize(table::kFooterSize - sizeof(table::kMagic));
  table::AppendLittleEndian(table::kMagic, &footer);
  return std::move(file_) + footer;
}

}  // namespace tessera
