// Any bytes as a checkpoint: opening and reading fail with a status, whatever index and data say.
// The input is the index's size (four bytes, little-endian), the index, and the data file.
// Checksums count as right in a build for fuzzing.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "runtime/base/logging.h"
#include "runtime/checkpoint/checkpoint_reader.h"

namespace {

// A folder of this process, on a file system in memory where there is one.
std::string MakePrefix() {
  const char* parent = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  std::string folder = std::string(parent) + "/checkpoint_fuzzer_XXXXXX";
  CHECK(::mkdtemp(folder.data()) != nullptr);
  static std::string to_remove;
  to_remove = folder;
  std::atexit([] {
    for (const char* name : {"/c.index", "/c.data-00000-of-00001"}) {
      ::unlink((to_remove + name).c_str());
    }
    ::rmdir(to_remove.c_str());
  });
  return folder + "/c";
}

void Write(const std::string& path, const uint8_t* data, size_t size) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

void ReadAll(const tessera::CheckpointReader& reader) {
  for (const std::string& name : reader.TensorNames()) {
    const auto entry = reader.Find(name);
    CHECK(entry.ok());
    const auto whole = reader.Read(name);
    if (whole.ok()) {
      CHECK(whole->dtype() == entry->dtype && whole->shape() == entry->shape);
      whole->ToString(1000);
    }
    if (entry->shape.rank() == 0 || entry->shape.dim(0) == 0) continue;
    tessera::TensorSlice slice = tessera::TensorSlice::Whole(entry->shape.rank());
    slice.start[0] = entry->shape.dim(0) / 2;
    slice.length[0] = entry->shape.dim(0) - slice.start[0];
    const auto part = reader.ReadSlice(name, slice);
    if (part.ok()) part->ToString(1000);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string prefix = MakePrefix();
  if (size < 4) return 0;
  const size_t asked = data[0] | data[1] << 8 | data[2] << 16 | static_cast<size_t>(data[3]) << 24;
  const size_t index_size = std::min(asked, size - 4);
  Write(prefix + ".index", data + 4, index_size);
  Write(prefix + ".data-00000-of-00001", data + 4 + index_size, size - 4 - index_size);
  const auto reader = tessera::CheckpointReader::Open(prefix);
  if (reader.ok()) ReadAll(**reader);
  return 0;
}
