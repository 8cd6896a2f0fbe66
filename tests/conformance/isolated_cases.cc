#include "tests/conformance/isolated_cases.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/logging.h"

namespace tessera {
namespace {

constexpr const char* kWords[] = {"PASS", "FAIL", "SKIP"};

// Exit code of a child that ends because a case failed, and not because it is through.
constexpr int kEndsAfterFailure = 75;

// Ends the process by SIGALRM after `limit`, unless it is set anew before; an infinite one: never.
void SetWatchdog(absl::Duration limit) {
  itimerval timer{};
  if (limit != absl::InfiniteDuration()) timer.it_value = absl::ToTimeval(limit);
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

// Outcomes travel from child to parent as lines "WORD index text".
void WriteLine(int fd, std::string line) {
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  line += '\n';
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t n = ::write(fd, line.data() + written, line.size() - written);
    if (n <= 0) return;
    written += static_cast<size_t>(n);
  }
}

// The folder for temporary files of the children, which end without removing them.
class FolderOfChildren {
 public:
  FolderOfChildren() {
    std::string path = (std::filesystem::temp_directory_path() / "tessera_cases_XXXXXX").string();
    CHECK(::mkdtemp(path.data()) != nullptr) << "cannot make " << path;
    path_ = path;
  }
  ~FolderOfChildren() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FolderOfChildren(const FolderOfChildren&) = delete;
  FolderOfChildren& operator=(const FolderOfChildren&) = delete;

  // Makes it the folder for temporary files of this process.
  void Enter() const { CHECK(::setenv("TMPDIR", path_.c_str(), /*replace=*/1) == 0); }

 private:
  std::filesystem::path path_;
};

// One child process, and what it has to do.
struct Child {
  pid_t pid = -1;
  int fd = -1;
  std::vector<int> todo;  // in order; those done are taken off the front
  bool has_reported = false;
  std::string unread;
};

class Runner {
 public:
  Runner(int num_cases, const Isolation& isolation, absl::FunctionRef<Outcome(int)> check)
      : isolation_(isolation), check_(check), outcomes_(num_cases) {}

  std::vector<Outcome> Run() {
    std::vector<Child> children(isolation_.jobs);
    for (size_t i = 0; i < outcomes_.size(); ++i) {
      children[i % children.size()].todo.push_back(static_cast<int>(i));
    }
    int alive = 0;
    for (Child& child : children) alive += Start(child) ? 1 : 0;
    while (alive > 0) {
      std::vector<pollfd> waits;
      std::vector<Child*> waiting;
      for (Child& child : children) {
        if (child.fd < 0) continue;
        waits.push_back({child.fd, POLLIN, 0});
        waiting.push_back(&child);
      }
      if (::poll(waits.data(), waits.size(), -1) < 0) continue;
      for (size_t i = 0; i < waits.size(); ++i) {
        if (waits[i].revents != 0 && !Read(*waiting[i])) --alive;
      }
    }
    return std::move(outcomes_);
  }

 private:
  bool Start(Child& child) {
    if (child.todo.empty()) return false;
    child.has_reported = false;
    int fds[2];
    CHECK(::pipe(fds) == 0) << std::strerror(errno);
    child.pid = ::fork();
    CHECK(child.pid >= 0) << std::strerror(errno);
    if (child.pid == 0) {
      ::close(fds[0]);
      folder_.Enter();
      Work(child.todo, fds[1]);
    }
    ::close(fds[1]);
    child.fd = fds[0];
    return true;
  }

  [[noreturn]] void Work(const std::vector<int>& todo, int fd) {
    int exit_code = 0;
    for (size_t i = 0; i < todo.size() && exit_code == 0; ++i) {
      const Outcome outcome = Check(todo[i]);
      WriteLine(fd, absl::StrCat(kWords[outcome.kind], " ", todo[i], " ", outcome.text));
      if (outcome.kind == Outcome::kFailed) exit_code = kEndsAfterFailure;
    }
    std::cerr.flush();
    std::cout.flush();
    ::_exit(exit_code);  // without destructors: threads of the runtime's pools may still run
  }

  Outcome Check(int index) {
    if (absl::FromChrono(std::chrono::steady_clock::now() - start_) >= isolation_.total_limit) {
      return {Outcome::kSkipped, "not run: the time was up"};
    }
    SetWatchdog(isolation_.case_limit);
    Outcome outcome = check_(index);
    SetWatchdog(absl::InfiniteDuration());
    return outcome;
  }

  // False if the child is through with all it has to do.
  bool Read(Child& child) {
    char buffer[4096];
    const ssize_t n = ::read(child.fd, buffer, sizeof(buffer));
    if (n > 0) {
      child.unread.append(buffer, static_cast<size_t>(n));
      size_t end;
      while ((end = child.unread.find('\n')) != std::string::npos) {
        Take(child, child.unread.substr(0, end));
        child.unread.erase(0, end + 1);
      }
      return true;
    }
    ::close(child.fd);
    child.fd = -1;
    child.unread.clear();
    int status = 0;
    ::waitpid(child.pid, &status, 0);
    if (child.todo.empty()) return false;
    // Another child does the rest.
    if (child.has_reported && WIFEXITED(status) && WEXITSTATUS(status) == kEndsAfterFailure) {
      return Start(child);
    }
    // It died in the first case that it has not reported.
    const std::string how = WIFSIGNALED(status)
                                ? absl::StrCat("crashed: ", strsignal(WTERMSIG(status)))
                                : absl::StrCat("ended its process with ", WEXITSTATUS(status));
    outcomes_[child.todo.front()] = {Outcome::kFailed, how};
    child.todo.erase(child.todo.begin());
    return Start(child);
  }

  void Take(Child& child, const std::string& line) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 2));
    int index;
    if (parts.size() < 2 || !absl::SimpleAtoi(parts[1], &index)) return;
    Outcome& outcome = outcomes_[index];
    for (int kind = 0; kind < 3; ++kind) {
      if (parts[0] == kWords[kind]) outcome.kind = static_cast<Outcome::Kind>(kind);
    }
    if (parts.size() > 2) outcome.text = parts[2];
    child.todo.erase(child.todo.begin());
    child.has_reported = true;
  }

  const Isolation isolation_;
  const FolderOfChildren folder_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const absl::FunctionRef<Outcome(int)> check_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

bool ParseIsolationFlag(absl::string_view arg, Isolation* isolation) {
  const auto number = [&](absl::string_view flag, int* value) {
    return absl::StartsWith(arg, flag) && absl::SimpleAtoi(arg.substr(flag.size()), value) &&
           *value >= 1;
  };
  int value = 0;
  if (number("--jobs=", &value)) {
    isolation->jobs = value;
  } else if (number("--case_seconds=", &value)) {
    isolation->case_limit = absl::Seconds(value);
  } else if (number("--seconds=", &value)) {
    isolation->total_limit = absl::Seconds(value);
  } else {
    return false;
  }
  return true;
}

std::vector<Outcome> RunIsolated(int num_cases, const Isolation& isolation,
                                 absl::FunctionRef<Outcome(int)> check) {
  return Runner(num_cases, isolation, check).Run();
}

}  // namespace tessera
