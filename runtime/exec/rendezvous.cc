#include "runtime/exec/rendezvous.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera {

LocalRendezvous::~LocalRendezvous() {
  {
    absl::MutexLock lock(&mu_);
    if (entries_.empty()) return;  // the usual case must not pay for making an error
  }
  Abort(absl::CancelledError("the step ended before this tensor was sent"));
}

absl::Status LocalRendezvous::Send(absl::string_view key, Tensor tensor, bool is_dead) {
  DoneCallback receiver;
  {
    absl::MutexLock lock(&mu_);
    if (!aborted_.ok()) return aborted_;
    Entry& entry = entries_[key];
    if (entry.is_sent) {
      return absl::InternalError(absl::StrCat("a tensor was sent twice for key '", key, "'"));
    }
    entry.is_sent = true;
    if (entry.waiting) {
      receiver = std::move(entry.waiting);
    } else {
      entry.tensor = std::move(tensor);
      entry.is_dead = is_dead;
    }
  }
  // Outside the lock: the receiver goes on with its step.
  if (receiver) receiver(absl::OkStatus(), std::move(tensor), is_dead);
  return absl::OkStatus();
}

void LocalRendezvous::RecvAsync(absl::string_view key, DoneCallback done) {
  absl::Status status;
  Tensor tensor;
  bool is_dead = false;
  {
    absl::MutexLock lock(&mu_);
    status = aborted_;
    if (status.ok()) {
      Entry& entry = entries_[key];
      if (!entry.is_sent) {
        if (!entry.waiting) {
          entry.waiting = std::move(done);
          return;
        }
        status = absl::InternalError(
            absl::StrCat("two receivers wait for the tensor of key '", key, "'"));
      } else {
        tensor = std::move(entry.tensor);
        is_dead = entry.is_dead;
      }
    }
  }
  done(std::move(status), std::move(tensor), is_dead);
}

void LocalRendezvous::Abort(absl::Status status) {
  absl::flat_hash_map<std::string, Entry> entries;
  {
    absl::MutexLock lock(&mu_);
    if (!aborted_.ok()) return;
    aborted_ = status;
    entries.swap(entries_);
  }
  for (auto& [key, entry] : entries) {
    if (entry.waiting) entry.waiting(status, Tensor(), false);
  }
}

}  // namespace tessera
