#include "models/runs/detail/children.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <system_error>
#include <thread>

#include "models/runs/interrupts.h"
#include "tensor/error.h"

namespace tessera::runs {

namespace {

/// Prepares the child: the kernel kills it when the parent ends, the parent forwards the terminal's
/// signals, and signals have their default effect.
void become_child(pid_t parent, int output, const sigset_t& signals) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(Children::kFailed);
  ::setpgid(0, 0);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) ::signal(number, SIG_DFL);
  }
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
}

int result_of(const std::function<int()>& work) {
  int code = Children::kFailed;
  try {
    code = work();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  } catch (...) {
    std::cerr << "an exception without a text\n";
  }
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  return code;
}

}  // namespace

Children::~Children() {
  signal(SIGKILL);
  for (const pid_t child : children_) {
    if (child > 0) ::waitpid(child, nullptr, 0);
  }
}

void Children::start(const std::filesystem::path& output, const std::function<int()>& work) {
  const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) fail_file(output.string(), "cannot be written");
  std::cout.flush();
  std::fflush(nullptr);  // otherwise the child would write the buffer too
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);  // the child loses no signal
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  const int error = errno;
  if (child == 0) {
    become_child(parent, file, before);
    ::_exit(result_of(work));
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(file);
  if (child < 0)
    fail_file(output.string(), "cannot start a process: ", std::generic_category().message(error));
  children_.push_back(child);
}

Children::Ended Children::wait() {
  for (;;) {
    if (const int number = noted_signal(); number != 0 && !forwarded_) {
      signal(number);
      forwarded_ = true;
    }
    for (std::size_t i = 0; i < children_.size(); ++i) {
      int status = 0;
      if (children_[i] == 0) continue;
      const pid_t ended = ::waitpid(children_[i], &status, WNOHANG);
      const bool is_lost =
          ended < 0 && errno == ECHILD;  // the caller ignores SIGCHLD, or has waited itself
      if (ended != children_[i] && !is_lost) continue;
      children_[i] = 0;
      if (is_lost) return {i, kFailed};
      return {i, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::size_t Children::running() const {
  return children_.size() - static_cast<std::size_t>(std::ranges::count(children_, 0));
}

void Children::signal(int number) const {
  for (const pid_t child : children_) {
    if (child > 0) ::kill(child, number);
  }
}

}  // namespace tessera::runs
