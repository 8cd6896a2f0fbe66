#include "runtime/host/mapping_guard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/host/mapped_file.h"
#include "runtime/host/testing/mapping_state.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr size_t kSize = 3 << 20;

class MappingGuardTest : public ::testing::Test {
 protected:
  MappingGuardTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "guard_XXXXXX");
    directory_ = mkdtemp(pattern.data());
    path_ = JoinPath(directory_, "weights");
    std::ofstream(path_) << std::string(kSize, 'a');
  }
  ~MappingGuardTest() override { fs::remove_all(directory_); }

  std::string directory_;
  std::string path_;
};

bool IsAll(const MappedFile& file, char byte) {
  return file.view().find_first_not_of(byte) == absl::string_view::npos;
}

TEST_F(MappingGuardTest, OverwritingInPlaceDoesNotReachReaders) {
  const auto file = *MappedFile::Open(path_);
  std::fstream(path_, std::ios::in | std::ios::out) << std::string(kSize, 'b');
  EXPECT_TRUE(IsAll(*file, 'a'));
  EXPECT_TRUE(IsAll(**MappedFile::Open(path_), 'b')) << "later ones see the new bytes";
}

TEST_F(MappingGuardTest, ReleasedPagesLeaveMemoryAndComeBack) {
  if (!CanGuard(path_)) GTEST_SKIP() << "needs leases on files";
  const auto file = *MappedFile::Open(path_);
  EXPECT_TRUE(IsAll(*file, 'a'));
  EXPECT_EQ(ResidentSize(file->view().data()), kSize >> 10);
  ReleaseMappedPages(file->view().substr(1));
  EXPECT_LE(ResidentSize(file->view().data()), 4) << "more than the page of the first byte";
  EXPECT_TRUE(IsAll(*file, 'a'));
}

TEST_F(MappingGuardTest, WhatIsNoMapOrNoLongerOneIsNotReleased) {
  const std::string text(kSize, 'a');
  ReleaseMappedPages(text);
  EXPECT_EQ(text, std::string(kSize, 'a'));

  const auto file = *MappedFile::Open(path_);
  std::fstream(path_, std::ios::in | std::ios::out) << std::string(kSize, 'b');
  ReleaseMappedPages(file->view());
  EXPECT_TRUE(IsAll(*file, 'a'));
}

TEST_F(MappingGuardTest, TruncationDoesNotReachReaders) {
  const auto file = *MappedFile::Open(path_);
  fs::resize_file(path_, 10);
  EXPECT_EQ(file->size(), kSize);
  EXPECT_TRUE(IsAll(*file, 'a'));
  EXPECT_TRUE(CheckMappings(directory_).ok());
}

TEST_F(MappingGuardTest, ReadersNeverNoticeAnOverwrite) {
  const auto file = *MappedFile::Open(path_);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, rounds{0};
  std::thread reader([&] {
    while (!stop) {
      if (!IsAll(*file, 'a')) ++wrong;
      ++rounds;
    }
  });
  while (rounds < 2) std::this_thread::yield();
  std::ofstream(path_) << std::string(kSize, 'b');
  const int before = rounds;
  while (rounds < before + 3) std::this_thread::yield();
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(MappingGuardTest, FileThatIsOpenForWritingIsReadAtOnce) {
  std::fstream writer(path_, std::ios::in | std::ios::out);
  const auto file = *MappedFile::Open(path_);
  writer << std::string(kSize, 'b') << std::flush;
  EXPECT_TRUE(IsAll(*file, 'a'));
}

TEST_F(MappingGuardTest, SeveralMapsOfOneFileAreAllKept) {
  const auto first = *MappedFile::Open(path_);
  const auto second = *MappedFile::Open(path_);
  auto third = *MappedFile::Open(path_);
  third.reset();
  fs::resize_file(path_, 0);
  EXPECT_TRUE(IsAll(*first, 'a'));
  EXPECT_TRUE(IsAll(*second, 'a'));
}

TEST_F(MappingGuardTest, PagesThatCannotBeHadBecomeZerosAndAreToldOf) {
  if (!CanGuard(path_)) GTEST_SKIP() << "needs leases on files";
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  char* const map = static_cast<char*>(mmap(nullptr, kSize, PROT_READ, MAP_SHARED, fd, 0));
  const int same_file = dup(fd);
  ASSERT_TRUE(GuardMapping(fd, path_, map, kSize));
  // Without its lease the guard learns nothing, as when a disk fails.
  ASSERT_EQ(fcntl(same_file, F_SETLEASE, F_UNLCK), 0);
  close(same_file);
  fs::resize_file(path_, 8192);
  EXPECT_TRUE(CheckMappings(directory_).ok()) << "nobody has read it yet";
  EXPECT_EQ(map[100], 'a');
  EXPECT_EQ(map[kSize - 1], 0);
  EXPECT_EQ(map[kSize / 2], 0);
  EXPECT_TRUE(AnyMappingDamaged());
  EXPECT_EQ(CheckMappings(directory_).code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(CheckMappings(directory_).message()), HasSubstr(path_));
  EXPECT_EQ(CheckMappings(directory_ + "/").code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(CheckMappings(directory_ + "x").ok());
  EXPECT_TRUE(CheckMappings(directory_.substr(0, directory_.size() - 1)).ok());
  UnguardMapping(map);
  EXPECT_TRUE(CheckMappings(directory_).ok()) << "damage goes with its map";
  EXPECT_FALSE(AnyMappingDamaged());
  munmap(map, kSize);
}

TEST_F(MappingGuardTest, BusErrorsElsewhereStillEndTheProcess) {
  const auto file = *MappedFile::Open(path_);
  EXPECT_DEATH(
      {
        const std::string other = JoinPath(directory_, "other");
        std::ofstream(other) << std::string(8192, 'a');
        const int fd = open(other.c_str(), O_RDONLY);
        char* map = static_cast<char*>(mmap(nullptr, 8192, PROT_READ, MAP_SHARED, fd, 0));
        fs::resize_file(other, 0);
        volatile char byte = map[0];
        (void)byte;
      },
      "");
}

TEST_F(MappingGuardTest, DescriptorsAreGivenBack) {
  auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  MappedFile::Open(path_)->reset();
  const auto before = open_files();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(MappedFile::Open(path_).ok());
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace tessera
