// Processes that this one starts and waits for. Private.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <vector>

namespace tessera::runs {

/// Child processes, each with one thread of this library. They are killed when this process ends in
/// any way, so none goes on unseen.
class Children {
 public:
  Children() = default;
  /// Kills those that still run.
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Starts a child that calls `work` and ends with its result, or, after an exception, writes its text
  /// to standard error and ends with kFailed. Its standard output and error are appended to `output`.
  /// **Errors**: the file cannot be written; no process can be started.
  void start(const std::filesystem::path& output, const std::function<int()>& work);

  /// The result of a child that has ended, and its number in the order of start().
  struct Ended {
    std::size_t number;
    int code;  // 128 + the signal that has killed it
  };
  /// Waits for one. A signal that an InterruptScope notes meanwhile is sent to all of them.
  Ended wait();
  std::size_t running() const;
  /// Sends a signal to all.
  void signal(int number) const;

  static constexpr int kFailed = 2;

 private:
  std::vector<pid_t> children_;  // 0: has ended
  bool forwarded_ = false;
};

}  // namespace tessera::runs
