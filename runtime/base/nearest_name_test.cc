#include "runtime/base/nearest_name.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(NearestNameTest, SuggestsTheOnlyNameThatBeginsSo) {
  EXPECT_EQ(DidYouMean("acc", {"auc", "accuracy", "loss"}), "; did you mean 'accuracy'?");
  // Two names begin so: the nearer one.
  EXPECT_EQ(DidYouMean("los", {"losses", "loss", "auc"}), "; did you mean 'loss'?");
  EXPECT_EQ(DidYouMean("ac", {"auc", "accuracy"}), "; did you mean 'auc'?") << "two letters";
}

TEST(NearestNameTest, SuggestsTheNameWithTheFewestChanges) {
  EXPECT_EQ(DidYouMean("learnig_rate", {"rate", "learning_rate"}),
            "; did you mean 'learning_rate'?");
  EXPECT_EQ(DidYouMean("zzzz", {"rate", "learning_rate"}), "");
  EXPECT_EQ(DidYouMean("rate", {}), "");
}

}  // namespace
}  // namespace tessera
