#include "runtime/base/fresh_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

constexpr size_t kPage = 4096;

class FreshPagesTest : public ::testing::Test {
 protected:
  static constexpr size_t kPages = 200;

  void SetUp() override {
    void* const map =
        ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(map, MAP_FAILED);
    begin_ = static_cast<char*>(map);
  }
  void TearDown() override { ::munmap(begin_, kPages * kPage); }

  bool IsResident(size_t page) const {
    unsigned char is_resident = 0;
    EXPECT_EQ(::mincore(begin_ + page * kPage, kPage, &is_resident), 0);
    return is_resident & 1;
  }

  char* begin_ = nullptr;
};

TEST_F(FreshPagesTest, PopulatesEachPageThatTheRangeTouches) {
  if (::madvise(begin_, kPage, 23) != 0) GTEST_SKIP() << "needs Linux 5.14";
  PopulatePages(begin_ + 2 * kPage - 1, 150 * kPage + 2);
  EXPECT_TRUE(IsResident(0));
  for (size_t page = 1; page <= 152; ++page) EXPECT_TRUE(IsResident(page)) << page;
  EXPECT_FALSE(IsResident(153));
}

TEST_F(FreshPagesTest, KeepsContents) {
  begin_[5] = 'x';
  PopulatePages(begin_, 3 * kPage);
  EXPECT_EQ(begin_[5], 'x');
  EXPECT_EQ(begin_[6], 0);
}

TEST_F(FreshPagesTest, IgnoresAnEmptyRange) {
  PopulatePages(begin_, 0);
  EXPECT_FALSE(IsResident(0));
}

TEST_F(FreshPagesTest, IgnoresMemoryThatIsNotMapped) {
  ::munmap(begin_ + kPage, kPage);
  PopulatePages(begin_, 3 * kPage);
  begin_[0] = 'x';
}

}  // namespace
}  // namespace tessera
