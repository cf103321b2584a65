#include "models/runs/interrupts.h"

#include <csignal>
#include <cstddef>

namespace tessera::runs {

namespace {

volatile std::sig_atomic_t noted = 0;
int scopes = 0;

void note(int signal) {
  noted = signal;
}

}  // namespace

InterruptScope::InterruptScope() {
  if (scopes++ == 0) noted = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    // A closing terminal sends SIGHUP more than once.
    const int reset = kSignals[i] == SIGHUP ? 0 : static_cast<int>(SA_RESETHAND);
    struct sigaction action = {};
    action.sa_handler = note;
    action.sa_flags = reset | SA_RESTART;
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptScope::~InterruptScope() {
  --scopes;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int noted_signal() {
  return noted;
}

}  // namespace tessera::runs
