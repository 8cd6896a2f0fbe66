// Beam search over what connectionist temporal classification can mean.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

struct CtcPath {
  std::vector<int64_t> classes;
  double log_probability;
};

// Finds the most probable sequences of classes. The last class is the blank.
//
//   CtcBeamSearch search(classes, beam_width);
//   for (each step) search.Step(logits);
//   search.Best(1, merge_repeated)[0].classes
//
// Used by one thread at a time.
class CtcBeamSearch {
 public:
  CtcBeamSearch(int64_t num_classes, int64_t beam_width);
  ~CtcBeamSearch();

  // Takes the logits of one step, `num_classes` of them; they need not be normalised.
  void Step(const std::vector<double>& logits);

  // Returns up to `count` paths, the most probable first. `merge_repeated` makes one class of
  // repetitions in them.
  std::vector<CtcPath> Best(int64_t count, bool merge_repeated) const;

 private:
  struct Prefix;

  bool IsCandidate(double log_probability) const;
  void Keep(Prefix* prefix);
  Prefix* Child(Prefix* parent, int64_t label);

  const int64_t num_classes_, beam_width_;
  std::vector<Prefix*> beam_;  // the most probable first
  Prefix* root_;               // owns all others
};

}  // namespace tessera
