#include "serving/servables/saved_model/shown_paths.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::SizeIs;

class ShownPathsTest : public ::testing::Test {
 protected:
  std::unique_ptr<ShownPaths::Share> Load(const std::string& path) {
    loads_->Record({path, "success"}, 1);
    return paths_.Show(path);
  }
  void LoadAndUnload(const std::string& model, int first, int last) {
    for (int version = first; version <= last; ++version) Load(absl::StrCat(model, "/", version));
  }
  std::vector<std::string> Shown() {
    std::vector<std::string> paths;
    for (const absl::string_view line : absl::StrSplit(registry_.RenderMetrics(), '\n')) {
      const std::vector<std::string> parts = absl::StrSplit(line, '"');
      if (parts.size() > 1) paths.push_back(parts[1]);
    }
    return paths;
  }

  static constexpr int kGone = ShownPaths::kGonePerModel;
  MetricsRegistry registry_;
  PassingCounterFamily* const loads_ =
      registry_.AddPassingCounter("/load_attempt_count", {"model_path", "status"});
  ShownPaths paths_{&registry_};
};

TEST_F(ShownPathsTest, AThousandVersionsLeaveTheLastFew) {
  LoadAndUnload("/m", 1, 1000);
  EXPECT_THAT(Shown(), SizeIs(kGone));
  EXPECT_THAT(Shown(), Contains("/m/1000"));
  EXPECT_THAT(Shown(), Contains(absl::StrCat("/m/", 1001 - kGone)));
}

TEST_F(ShownPathsTest, AVersionThatExistsStaysWhateverComesAfterIt) {
  const auto old = Load("/m/0");
  LoadAndUnload("/m", 1, 1000);
  EXPECT_THAT(Shown(), SizeIs(kGone + 1));
  EXPECT_THAT(Shown(), Contains("/m/0"));
}

TEST_F(ShownPathsTest, ModelsDoNotCountForEachOther) {
  Load("/a/1");
  LoadAndUnload("/b", 1, 1000);
  EXPECT_THAT(Shown(), Contains("/a/1"));
}

TEST_F(ShownPathsTest, AVersionThatComesBackExistsAgain) {
  LoadAndUnload("/m", 1, kGone);
  auto again = Load("/m/1");
  LoadAndUnload("/m", kGone + 1, 3 * kGone);
  EXPECT_THAT(Shown(), Contains("/m/1"));
  again.reset();
  EXPECT_THAT(Shown(), Contains("/m/1"));
  LoadAndUnload("/m", 3 * kGone + 1, 4 * kGone);
  EXPECT_THAT(Shown(), Not(Contains("/m/1")));
}

TEST_F(ShownPathsTest, AVersionHasGoneWithItsLastShare) {
  auto first = Load("/m/0"), second = Load("/m/0");
  first.reset();
  LoadAndUnload("/m", 1, 2 * kGone);
  EXPECT_THAT(Shown(), Contains("/m/0"));
  second.reset();
  LoadAndUnload("/m", 2 * kGone + 1, 3 * kGone);
  EXPECT_THAT(Shown(), Not(Contains("/m/0")));
}

}  // namespace
}  // namespace tessera::serving
