#include "runtime/kernels/nn/ctc_beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

namespace tessera {
namespace {

constexpr double kLogZero = -std::numeric_limits<double>::infinity();

// The correction is computed in float, as by TensorFlow, whose numbers in double show it.
double LogSum(double a, double b) {
  if (a == kLogZero) return b;
  if (b == kLogZero) return a;
  return std::max(a, b) + std::log1p(std::exp(static_cast<float>(std::min(a, b) - std::max(a, b))));
}

// Log probabilities of a prefix: of paths that end with a blank, with its label, and of both.
struct Probability {
  double total = kLogZero, blank = kLogZero, label = kLogZero;
};

}  // namespace

struct CtcBeamSearch::Prefix {
  Prefix* parent = nullptr;
  int64_t label = -1;
  Probability before, now;
  std::map<int64_t, std::unique_ptr<Prefix>> children;

  bool IsActive() const { return now.total != kLogZero; }
};

CtcBeamSearch::CtcBeamSearch(int64_t num_classes, int64_t beam_width)
    : num_classes_(num_classes), beam_width_(beam_width), root_(new Prefix) {
  root_->now.total = root_->now.blank = 0;
  beam_.push_back(root_);
}

CtcBeamSearch::~CtcBeamSearch() {
  // Long prefixes would nest destructors as deep as they are long.
  std::vector<std::unique_ptr<Prefix>> left;
  left.emplace_back(root_);
  while (!left.empty()) {
    const std::unique_ptr<Prefix> prefix = std::move(left.back());
    left.pop_back();
    for (auto& [label, child] : prefix->children) left.push_back(std::move(child));
  }
}

bool CtcBeamSearch::IsCandidate(double log_probability) const {
  return log_probability > kLogZero && (static_cast<int64_t>(beam_.size()) < beam_width_ ||
                                        log_probability > beam_.back()->now.total);
}

void CtcBeamSearch::Keep(Prefix* prefix) {
  const auto after = std::upper_bound(
      beam_.begin(), beam_.end(), prefix,
      [](const Prefix* a, const Prefix* b) { return a->now.total > b->now.total; });
  beam_.insert(after, prefix);
  if (static_cast<int64_t>(beam_.size()) > beam_width_) {
    beam_.back()->now = Probability();
    beam_.pop_back();
  }
}

CtcBeamSearch::Prefix* CtcBeamSearch::Child(Prefix* parent, int64_t label) {
  std::unique_ptr<Prefix>& child = parent->children[label];
  if (child == nullptr) {
    child = std::make_unique<Prefix>();
    child->parent = parent;
    child->label = label;
  }
  return child.get();
}

void CtcBeamSearch::Step(const std::vector<double>& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  const double norm = largest + std::log(sum);
  const int64_t blank = num_classes_ - 1;
  const std::vector<Prefix*> branches = std::move(beam_);
  beam_.clear();
  for (Prefix* b : branches) b->before = b->now;
  for (Prefix* b : branches) {
    if (b->parent != nullptr) {
      if (b->parent->IsActive()) {
        const Probability& parent = b->parent->before;
        b->now.label =
            LogSum(b->now.label, b->label == b->parent->label ? parent.blank : parent.total);
      }
      b->now.label += logits[b->label] - norm;
    }
    b->now.blank = b->before.total + logits[blank] - norm;
    b->now.total = LogSum(b->now.blank, b->now.label);
    Keep(b);
  }
  for (Prefix* b : branches) {
    if (!IsCandidate(b->before.total)) continue;
    for (int64_t label = 0; label < blank; ++label) {
      Prefix* const child = Child(b, label);
      if (child->IsActive()) continue;
      child->now.blank = kLogZero;
      child->now.label =
          logits[label] - norm + (label == b->label ? b->before.blank : b->before.total);
      child->now.total = child->now.label;
      if (IsCandidate(child->now.total)) {
        Keep(child);
      } else {
        child->before = child->now = Probability();
      }
    }
  }
}

std::vector<CtcPath> CtcBeamSearch::Best(int64_t count, bool merge_repeated) const {
  std::vector<CtcPath> paths;
  for (const Prefix* leaf : beam_) {
    if (static_cast<int64_t>(paths.size()) == count) break;
    CtcPath path{{}, leaf->now.total};
    int64_t next = -1;
    for (const Prefix* p = leaf; p->parent != nullptr; p = p->parent) {
      if (!merge_repeated || p->label != next) path.classes.push_back(p->label);
      next = p->label;
    }
    std::reverse(path.classes.begin(), path.classes.end());
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace tessera
