// Rollout: where the rollout of one model stands, and what comes next. A state machine of times,
// events and measures, without threads, clocks and files.
//
//   Rollout rollout("resnet", WithDefaults(config), saved);
//   rollout.SetVersions(now, {{1, revision}, {2, revision}});      // what is on disk
//   rollout.NoteState(now, {{"resnet", 2}, State::kAvailable});    // what the manager made of it
//   rollout.Advance(now, {live, candidate, verdict});              // what was measured
//   ... rollout.Wanted(), rollout.route(), rollout.TakeEvents() ...
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "serving/core/servable_state.h"
#include "serving/rollout/judgement.h"
#include "tessera/rollout.pb.h"

namespace tessera::serving {

// The versions of a model have these parts. The stable one has the traffic. The candidate, if there
// is one, is tried on a share of it, and is promoted, which makes it the stable one, or rejected.
// The previous one was stable before; it stays in memory so that there is something to go back to.
//
// Without a saved state, a version is stable at once: the highest that is available, if the model
// was served before it had a rollout, or else the highest that has not failed, or else the highest.
// Later the highest version on disk becomes the candidate if it is above the stable one and was not
// rejected; a version between the two never does. A candidate is loaded once the stable version is
// available, so that it delays nobody. A rejected version becomes a candidate again when its
// revision has changed.
//
// If the folder of the stable version is removed while that of the previous one stays, the rollout
// goes back to the previous one, as TensorFlow Serving does. Otherwise what is in memory is served
// on.
//
// A candidate that does not fit into memory takes that of the previous version. Without one it is
// not rejected, because it is not at fault, but loaded again after each kMemoryRetryInterval.
//
// Not thread-safe. Times never go back from call to call.
class Rollout {
 public:
  static constexpr absl::Duration kMemoryRetryInterval = absl::Minutes(1);

  // The measurements of both versions, and the judgement that follows from them.
  struct Evidence {
    VersionMeasures live;
    VersionMeasures candidate;
    Verdict verdict;
  };
  // The versions that answer requests which name neither a version nor a label.
  struct Route {
    int64_t stable = 0;     // 0: there is no version
    int64_t candidate = 0;  // 0: none is loaded
    double share_percent = 0;
  };
  enum class Start {
    kFromSaved,
    // The saved state is lost. The second highest version on disk counts as stable, so that the
    // highest one is tried again, whatever came of it before.
    kCautious,
  };

  // `config` has its defaults filled in. `saved` is what saved() returned in the process before.
  Rollout(std::string model, RolloutConfig config, RolloutState::Model saved,
          Start start = Start::kFromSaved);

  // Replaces the configuration. The step that runs goes on, under the new conditions.
  void SetConfig(RolloutConfig config);
  // Sets the versions on disk, with their revisions. None: the model is not served any more; what
  // was decided is kept.
  void SetVersions(absl::Time now, std::map<int64_t, uint64_t> revisions);
  // Tells a change of a version's state, in the order of the event bus.
  void NoteState(absl::Time now, const ServableState& state);
  // Lets a candidate that lacked memory be loaded again, if it is time to.
  void LoadAgain(absl::Time now);
  // Judges the candidate, if it is being tried, and passes to the next step when it is time to.
  void Advance(absl::Time now, const Evidence& evidence);

  // The actions of RolloutAdmin, with its errors.
  absl::Status Promote(absl::Time now, int64_t version);
  absl::Status Rollback(absl::Time now, int64_t version);
  absl::Status Pause(absl::Time now, int64_t version);
  absl::Status Resume(absl::Time now, int64_t version);

  // Returns the versions that ought to be in memory.
  std::set<int64_t> Wanted() const;
  Route route() const;
  // Whether a candidate gets traffic, so that both versions ought to be measured.
  bool IsTrying() const { return step_began_.has_value(); }
  // Whether time alone may change something, by Advance() or LoadAgain().
  bool NeedsTime() const { return IsTrying() || load_again_at_.has_value(); }
  // Counts the steps that have begun. Measures of the candidate start anew with each.
  uint64_t steps_begun() const { return steps_begun_; }
  // Returns the decisions since the last call.
  std::vector<RolloutEvent> TakeEvents();
  const RolloutState::Model& saved() const { return saved_; }
  const RolloutConfig& config() const { return config_; }
  RolloutStatus Status(absl::Time now) const;

 private:
  bool IsOnDisk(int64_t version) const { return on_disk_.contains(version); }
  // Whether a version can be served: it is on disk, or still in memory.
  bool IsThere(int64_t version) const { return IsOnDisk(version) || in_memory_.contains(version); }
  bool IsRejected(int64_t version) const;
  // Returns the version that ought to be stable if none is, among those on disk that were not
  // rejected and are not `except`; 0 if there is none.
  int64_t BestEligible(int64_t except) const;
  RolloutPhase phase() const;
  const RolloutStep& step() const { return config_.steps(saved_.step()); }

  // Brings the parts of the versions up to what is on disk and in memory.
  void Settle(absl::Time now);
  // Returns why there is no stable version any more; "" if there is one, or was none.
  std::string DropWhatIsGone(absl::Time now);
  void ChooseStable(absl::Time now, const std::string& lost);
  void ChooseCandidate(absl::Time now);

  void MakeStable(absl::Time now, int64_t version, const std::string& reason);
  void DropCandidate();
  void BeginStep(absl::Time now, int index, const std::string& reason);
  void PromoteCandidate(absl::Time now, const std::string& reason, bool by_hand);
  void RejectCandidate(absl::Time now, const std::string& reason, bool by_hand);
  // Rejects the stable version and goes back to the previous one.
  void GoBack(absl::Time now, const std::string& reason, bool by_hand);
  void Reject(int64_t version, uint64_t revision, const std::string& reason);
  // Checks that the caller of an action means the candidate, and that there is one.
  absl::Status CheckCandidate(absl::string_view action, int64_t version) const;
  void Tell(absl::Time now, absl::string_view kind, int64_t version, const std::string& reason,
            bool by_hand = false);

  const std::string model_;
  RolloutConfig config_;
  RolloutState::Model saved_;
  bool is_cautious_;
  std::map<int64_t, uint64_t> on_disk_;  // revisions by version
  std::set<int64_t> in_memory_;          // from kStart to kEnd
  std::set<int64_t> available_;
  std::map<int64_t, absl::Status> failed_;  // why the last load of a version failed
  // A version whose memory the candidate needs before it can be loaded; 0: none.
  int64_t making_room_ = 0;
  bool lacks_memory_ = false;  // whether a load of the candidate failed for want of memory
  std::optional<absl::Time> load_again_at_;  // set while such a candidate waits
  std::optional<absl::Time> step_began_;     // set while the candidate is tried
  bool is_held_ = false;
  uint64_t steps_begun_ = 0;
  Evidence evidence_;   // of the step that runs
  std::string reason_;  // of the last decision
  std::vector<RolloutEvent> events_;
};

}  // namespace tessera::serving
