// Any bytes as a checkpoint of version 1: opening and reading fail with a status.
// Checksums count as right in a build for fuzzing.
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "runtime/base/logging.h"
#include "runtime/checkpoint/checkpoint_v1.h"

namespace {

// A file of this process, on a file system in memory where there is one.
std::string MakePath() {
  const char* parent = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  static std::string path;
  path = std::string(parent) + "/checkpoint_v1_fuzzer_XXXXXX";
  const int fd = ::mkstemp(path.data());
  CHECK(fd >= 0);
  ::close(fd);
  std::atexit([] { ::unlink(path.c_str()); });
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path = MakePath();
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto reader = tessera::CheckpointV1Reader::Open(path);
  if (!reader.ok()) return 0;
  const auto slice = tessera::ShapeAndSlice::Parse("3 1,2");
  // The names of the seeds.
  for (const char* name : {"s", "text"}) {
    for (tessera::DType dtype : {tessera::DType::kFloat, tessera::DType::kString}) {
      const auto whole = (*reader)->Read(name, dtype, std::nullopt);
      if (whole.ok()) whole->ToString(1000);
      const auto part = (*reader)->Read(name, dtype, *slice);
      CHECK(!part.ok() || part->shape() == slice->slice.shape());
    }
  }
  return 0;
}
