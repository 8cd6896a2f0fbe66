// A regular expression that several threads match with at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "re2/re2.h"
#include "runtime/kernels/string/simple_pattern.h"

namespace tessera {

// Lends copies of an RE2, one to a thread at a time. An RE2 makes its automaton while it matches,
// under a lock that every search takes twice: two threads that share one take longer than a single
// thread does.
//
//   ASSIGN_OR_RETURN(const std::shared_ptr<SharedRegex> regex, SharedRegex::Make("a|b"));
//   const SharedRegex::Copy copy(*regex);  // on each thread
//   RE2::GlobalReplace(&text, *copy, "c");
//
// Thread-safe.
class SharedRegex {
 public:
  // Errors: INVALID_ARGUMENT with RE2's reason.
  static absl::StatusOr<std::shared_ptr<SharedRegex>> Make(const std::string& pattern);

  const std::string& pattern() const { return pattern_; }
  // The same expression without an automaton, if it is simple enough.
  const std::optional<SimplePattern>& simple() const { return simple_; }

  // A copy that is lent until it dies, and then kept for others. `regex` must outlive it.
  class Copy {
   public:
    explicit Copy(SharedRegex& regex) : regex_(regex), copy_(regex.Take()) {}
    ~Copy() { regex_.Give(std::move(copy_)); }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;

    const RE2& operator*() const { return *copy_; }
    const RE2* operator->() const { return copy_.get(); }

   private:
    SharedRegex& regex_;
    std::unique_ptr<RE2> copy_;
  };

 private:
  explicit SharedRegex(std::unique_ptr<RE2> first);
  std::unique_ptr<RE2> Take();
  void Give(std::unique_ptr<RE2> copy);

  const std::string pattern_;
  const std::optional<SimplePattern> simple_;
  absl::Mutex mu_;
  std::vector<std::unique_ptr<RE2>> idle_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
