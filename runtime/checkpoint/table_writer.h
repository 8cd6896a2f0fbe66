// Writes sorted string tables, uncompressed. Format: docs/formats.md.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

// Builds a table in memory.
//
//   TableWriter writer;
//   writer.Add("", header);
//   writer.Add("a", value);
//   std::string file = std::move(writer).Finish();
//
// Used by one thread at a time.
class TableWriter {
 public:
  // Requires that `key` is greater than all keys added before.
  void Add(absl::string_view key, absl::string_view value);
  // Returns the contents of the file.
  std::string Finish() &&;

 private:
  // A block under construction. Each key is stored without the prefix that it shares with the key
  // before it.
  class Block {
   public:
    void Add(absl::string_view key, absl::string_view value);
    bool empty() const { return bytes_.empty(); }
    size_t size() const { return bytes_.size(); }
    const std::string& last_key() const { return last_key_; }
    // Returns the bytes of the block and clears it.
    std::string Take();

   private:
    std::string bytes_;
    std::string restarts_;
    uint32_t num_restarts_ = 0;
    int since_restart_ = 0;
    std::string last_key_;
  };

  // Appends a block and its trailer to the file. Returns the encoded handle of the block.
  std::string Append(std::string block);
  void FlushData();

  std::string file_;
  Block data_;
  Block index_;
};

}  // namespace tessera
