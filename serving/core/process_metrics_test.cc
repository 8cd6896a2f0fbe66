#include "serving/core/process_metrics.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

class ProcessMetricsTest : public ::testing::Test {
 protected:
  // Returns what the page says now; fails if it says nothing.
  double Value(absl::string_view name) {
    const std::string page = registry_.RenderMetrics();
    const std::string start = absl::StrCat("\n:tessera:serving:process_", name, "{} ");
    const size_t found = page.find(start);
    double value = -1;
    if (found == std::string::npos) {
      ADD_FAILURE() << "no " << name << " in " << page;
      return value;
    }
    const size_t begin = found + start.size();
    EXPECT_TRUE(absl::SimpleAtod(page.substr(begin, page.find('\n', begin) - begin), &value));
    return value;
  }

  MetricsRegistry registry_;
  const std::vector<std::unique_ptr<MetricsRegistry::Collection>> collections_ =
      CollectProcess(&registry_);
};

TEST_F(ProcessMetricsTest, MemoryGrowsByWhatIsWritten) {
  constexpr size_t kBytes = 64 << 20;
  const double resident = Value("resident_memory_bytes");
  const double anonymous = Value("anonymous_memory_bytes");
  EXPECT_LE(anonymous, resident);
  const std::unique_ptr<char[]> block(new char[kBytes]);
  std::memset(block.get(), 1, kBytes);
  EXPECT_GT(Value("resident_memory_bytes"), resident + 0.9 * kBytes);
  EXPECT_GT(Value("anonymous_memory_bytes"), anonymous + 0.9 * kBytes);
}

TEST_F(ProcessMetricsTest, CpuSecondsGrowWithWork) {
  const double before = Value("cpu_seconds");
  rusage usage;
  do {
    getrusage(RUSAGE_SELF, &usage);
  } while (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec < before + 1);
  EXPECT_GE(Value("cpu_seconds"), before + 0.9);
}

TEST_F(ProcessMetricsTest, OpenFilesAndTheirLimit) {
  const double before = Value("open_files");
  const int file = open("/dev/null", O_RDONLY);
  EXPECT_EQ(Value("open_files"), before + 1);
  close(file);
  EXPECT_EQ(Value("open_files"), before);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(Value("max_open_files"), static_cast<double>(limit.rlim_cur));
}

TEST_F(ProcessMetricsTest, Threads) {
  std::thread([] {}).join();  // with the first thread a sanitizer starts one of its own
  const double before = Value("threads");
  absl::Notification done;
  std::thread thread([&] { done.WaitForNotification(); });
  EXPECT_EQ(Value("threads"), before + 1);
  done.Notify();
  thread.join();
}

TEST_F(ProcessMetricsTest, StartIsBeforeNowAndOfThisHour) {
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  EXPECT_LT(Value("start_seconds"), now + 2);  // the time of the boot is in whole seconds
  EXPECT_GT(Value("start_seconds"), now - 3600);
}

}  // namespace
}  // namespace tessera::serving
