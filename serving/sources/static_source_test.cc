#include "serving/sources/static_source.h"

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

TEST(StaticSourceTest, TellsItsVersionsWhenConnected) {
  struct Recorder : Target<std::string> {
    void SetAspiredVersions(absl::string_view n, AspiredVersions<std::string> v) override {
      name = std::string(n);
      versions = std::move(v);
    }
    std::string name;
    AspiredVersions<std::string> versions;
  } recorder;
  AspiredVersions<std::string> versions;
  versions.push_back({{"m", 3}, std::string("/m/3")});
  StaticSource<std::string> source("m", std::move(versions));
  EXPECT_EQ(recorder.name, "");
  source.ConnectTo(&recorder);
  EXPECT_EQ(recorder.name, "m");
  ASSERT_EQ(recorder.versions.size(), 1);
  EXPECT_EQ(*recorder.versions[0].data, "/m/3");
}

}  // namespace
}  // namespace tessera::serving
