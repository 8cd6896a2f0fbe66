#include "runtime/summary/testing/read_events.h"

#include <cstring>

#include "gtest/gtest.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/file_system.h"

namespace tessera {

std::vector<tensorflow::Event> ReadEvents(const std::string& path) {
  const std::string file = ReadFile(path).value();
  std::vector<tensorflow::Event> events;
  for (size_t at = 0; at < file.size();) {
    uint64_t length = 0;
    uint32_t length_crc = 0, data_crc = 0;
    std::memcpy(&length, file.data() + at, 8);
    std::memcpy(&length_crc, file.data() + at + 8, 4);
    const absl::string_view text = file;
    EXPECT_EQ(length_crc, MaskCrc32c(Crc32c(text.substr(at, 8))));
    EXPECT_LE(at + 16 + length, file.size());
    const absl::string_view data = text.substr(at + 12, length);
    std::memcpy(&data_crc, file.data() + at + 12 + length, 4);
    EXPECT_EQ(data_crc, MaskCrc32c(Crc32c(data)));
    EXPECT_TRUE(events.emplace_back().ParseFromArray(data.data(), static_cast<int>(data.size())));
    at += 16 + length;
  }
  return events;
}

}  // namespace tessera
