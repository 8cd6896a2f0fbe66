// FairQueue: what waits for one of several equal places, and the next of them by weighted fairness.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/host/share.h"

namespace tessera {

// Places are threads, or slots of runs; whoever owns them has a queue, and tells it who holds one.
//
//   FairQueue<std::function<void()>> queue;
//   queue.Push(share, closure);
//   auto [whose, next] = queue.Pop(now);    // a place is free
//   next();
//   queue.Give(whose, later);
//
// Items of one share come in order of arrival. Between shares, the next item belongs to the share
// that has used its places for the shortest time over its weight. A share that had neither items
// nor places has no credit for that time: it goes on from the use of whoever got a place last, or
// from its own use if that is more. This is start-time fair queueing with the times that were
// really taken, see P. Goyal et al., "Start-time Fair Queueing", SIGCOMM 1996.
//
// Times are nanoseconds of a clock that never goes back. Not thread-safe.
template <typename Item>
class FairQueue {
 public:
  using Position = typename std::list<Item>::iterator;

  // Adds an item behind the others of its share.
  Position Push(const Share* share, Item item, int64_t now) {
    std::list<Item>& waiting = ActiveUser(share, now).waiting;
    ++size_;
    return waiting.insert(waiting.end(), std::move(item));
  }
  // Removes an item that Pop() has not returned.
  void Remove(const Share* share, Position item) {
    users_.find(share)->second.waiting.erase(item);
    --size_;
  }
  // Removes and returns the next item and its share, which holds one more place from now on.
  // Requires size() > 0.
  std::pair<const Share*, Item> Pop(int64_t now) {
    const auto next = Next(now);
    User& user = next->second;
    std::pair<const Share*, Item> result(next->first, std::move(user.waiting.front()));
    user.waiting.pop_front();
    --size_;
    GivePlace(user, now, next->first);
    ForgetIdleUsers();
    return result;
  }
  // Whether the share of the next item holds no place. Requires size() > 0.
  bool NextHoldsNone(int64_t now) { return Next(now)->second.held == 0; }
  // Notes that a share got a place without waiting.
  void Take(const Share* share, int64_t now) { GivePlace(ActiveUser(share, now), now, share); }
  // Notes that a share gave one of its places back.
  void Give(const Share* share, int64_t now) { users_.find(share)->second.Hold(-1, now, share); }

  // Whether a share has neither items nor places.
  bool IsIdle(const Share* share) const {
    const auto user = users_.find(share);
    return user == users_.end() || user->second.is_idle();
  }
  // Returns the number of items that wait.
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct User {
    std::list<Item> waiting;
    int held = 0;
    double used = 0;  // time with places, over the weight, until `updated`
    int64_t updated = 0;

    bool is_idle() const { return held == 0 && waiting.empty(); }
    double UsedUntil(int64_t now, const Share* share) const {
      const int weight = share == nullptr ? 1 : share->weight();
      return used + static_cast<double>(now - updated) * held / weight;
    }
    void Hold(int more, int64_t now, const Share* share) {
      used = UsedUntil(now, share);
      updated = now;
      held += more;
    }
  };
  using Users = absl::flat_hash_map<const Share*, User>;

  User& ActiveUser(const Share* share, int64_t now) {
    User& user = users_[share];
    if (user.is_idle()) {
      user.used = std::max(user.used, virtual_time_);
      user.updated = now;
    }
    return user;
  }
  void GivePlace(User& user, int64_t now, const Share* share) {
    user.Hold(+1, now, share);
    virtual_time_ = std::max(virtual_time_, user.used);
  }
  typename Users::iterator Next(int64_t now) {
    auto next = users_.end();
    double least = std::numeric_limits<double>::infinity();
    for (auto user = users_.begin(); user != users_.end(); ++user) {
      if (user->second.waiting.empty()) continue;
      const double used = user->second.UsedUntil(now, user->first);
      if (next != users_.end() && used >= least) continue;
      next = user;
      least = used;
    }
    return next;
  }
  // Removes users for which the virtual time says as much as their own use.
  void ForgetIdleUsers() {
    absl::erase_if(users_, [this](const auto& user) {
      return user.second.is_idle() && user.second.used <= virtual_time_;
    });
  }

  Users users_;
  size_t size_ = 0;
  double virtual_time_ = 0;  // the use of the user that got a place last; never goes back
};

}  // namespace tessera
