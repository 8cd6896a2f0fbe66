#include "runtime/kernels/primitives/cuda/kernel_file_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"

namespace tessera::cuda {
namespace {

using ::testing::Optional;

std::string NewFolder(absl::string_view name) {
  return absl::StrCat(::testing::TempDir(), "/kernels_", name, "/deep");
}
std::string OnlyFileIn(const std::string& folder) {
  const auto files = ListDirectory(folder);
  EXPECT_TRUE(files.ok() && files->size() == 1) << files.status();
  return JoinPath(folder, files->at(0));
}

TEST(KernelFileCacheTest, AnotherProcessFindsWhatWasStored) {
  const std::string folder = NewFolder("found"), kernel("\0binary\n", 8);
  KernelFileCache(folder).Store("sm_90 a", kernel);
  EXPECT_THAT(KernelFileCache(folder).Find("sm_90 a"), Optional(kernel));
  EXPECT_EQ(KernelFileCache(folder).Find("sm_90 b"), std::nullopt);
}

TEST(KernelFileCacheTest, LaterKernelOfAKeyReplacesTheEarlier) {
  const KernelFileCache cache(NewFolder("replaced"));
  cache.Store("key", "first");
  cache.Store("key", "second");
  EXPECT_THAT(cache.Find("key"), Optional(std::string("second")));
}

TEST(KernelFileCacheTest, FilesThatAreTornOrAlteredAreMissing) {
  const std::string folder = NewFolder("altered");
  const KernelFileCache cache(folder);
  cache.Store("key", "kernel");
  const std::string path = OnlyFileIn(folder), whole = ReadFile(path).value();
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(WriteFileAtomically(path, whole.substr(0, size)).ok());
    EXPECT_EQ(cache.Find("key"), std::nullopt) << size << " bytes";
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string altered = whole;
    altered[i] ^= 1;
    ASSERT_TRUE(WriteFileAtomically(path, altered).ok());
    EXPECT_EQ(cache.Find("key"), std::nullopt) << "byte " << i;
  }
}

TEST(KernelFileCacheTest, FolderThatCannotBeMadeKeepsNothing) {
  const std::string file = absl::StrCat(::testing::TempDir(), "/kernels_file");
  ASSERT_TRUE(WriteFileAtomically(file, "").ok());
  for (const std::string& folder : {std::string(), JoinPath(file, "below")}) {
    const KernelFileCache cache(folder);
    cache.Store("key", "kernel");
    EXPECT_EQ(cache.Find("key"), std::nullopt);
  }
}

}  // namespace
}  // namespace tessera::cuda
