#include "tessera/tensor/profile.h"

#include <chrono>
#include <mutex>

#include "tessera/tensor/detail/profile_log.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/module_path.h"

namespace tessera {

namespace {

std::mutex profile_mutex;  // of the variables below, and of the list of logs
Profile* measuring = nullptr;
std::uint32_t last_profile = 0;
std::uint32_t last_log = 0;

/// The log of this thread in the active profile; null if it has none yet.
detail::ProfileLog* active_log() noexcept {
  const std::uint32_t active = detail::active_profile.load(std::memory_order_relaxed);
  const detail::ThreadContext& context = detail::thread_context;
  return active != 0 && context.profile == active ? context.log : nullptr;
}

void add_wait(index_t nanoseconds) noexcept {
  if (detail::ProfileLog* const log = active_log()) log->nodes[log->current].wait += nanoseconds;
}

}  // namespace

namespace detail {

index_t profile_time() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

ProfileLog::ProfileLog(std::uint32_t log_number)
    : number(log_number), path(ModulePath::current()), nodes(1) {}

std::uint32_t ProfileLog::node_of(SpanKind kind, const char* name, index_t step_number,
                                  ProfiledStep recorded) {
  const bool is_op = kind == SpanKind::kForward || kind == SpanKind::kBackward;
  const ProfileNode& in = nodes[current];
  const std::uint32_t module = recorded.log == number ? nodes[recorded.node].module : in.module;
  std::uint32_t last = 0;
  for (std::uint32_t i = in.first_child; i != 0; i = nodes[i].next_sibling) {
    const ProfileNode& node = nodes[i];
    const bool is_same = node.name == name && node.kind == kind && node.number == step_number;
    if (is_same && (!is_op || node.module == module)) return i;
    last = i;
  }
  const auto made = static_cast<std::uint32_t>(nodes.size());
  ProfileNode node = {.kind = kind,
                      .is_backward = in.is_backward || kind == SpanKind::kBackward,
                      .name = name,
                      .number = step_number,
                      .parent = current,
                      .module = is_op ? module : made,
                      .outer = module};
  // Scopes contain modules, but are not part of the modules' paths.
  while (node.outer != 0 && nodes[node.outer].kind == SpanKind::kScope) {
    node.outer = nodes[node.outer].outer;
  }
  nodes.push_back(node);
  (last == 0 ? nodes[current].first_child : nodes[last].next_sibling) = made;
  return made;
}

void ProfileLog::open(std::uint32_t i) {
  current = i;
  nodes[i].begin = profile_time();
}

void ProfileLog::close(index_t end) {
  ProfileNode& node = nodes[current];
  const index_t time = end - node.begin;
  node.time += time;
  ++node.calls;
  if (event_count < kMostEvents) events[event_count++] = {current, node.begin, time};
  current = node.parent;
}

ProfiledStep current_step() {
  const ProfileLog* const log = active_log();
  return log != nullptr ? ProfiledStep{log->number, log->current} : ProfiledStep{};
}

void add_work(double flops, double bytes) noexcept {
  ProfileLog* const log = active_log();
  if (log == nullptr) return;
  log->nodes[log->current].flops += flops;
  log->nodes[log->current].bytes += bytes;
}

void add_arguments(double bytes) noexcept {
  if (ProfileLog* const log = active_log()) log->nodes[log->current].arguments += bytes;
}

}  // namespace detail

detail::ProfileLog* detail::ProfileLog::join(std::uint32_t profile) {
  const std::lock_guard lock(profile_mutex);
  if (measuring == nullptr || measuring->number_ != profile) return nullptr;
  measuring->logs_.push_back(std::make_unique<detail::ProfileLog>(++last_log));
  detail::thread_context.profile = profile;
  return detail::thread_context.log = measuring->logs_.back().get();
}

void detail::Span::open(SpanKind kind, const char* name, index_t number, ProfiledStep recorded) {
  const ThreadContext& context = thread_context;
  ProfileLog* log = context.profile == profile_ ? context.log : ProfileLog::join(profile_);
  if (log == nullptr) {
    profile_ = 0;
    return;
  }
  log->open(log->node_of(kind, name, number, recorded));
}

void detail::Span::close() const noexcept {
  if (active_profile.load(std::memory_order_relaxed) != profile_) return;
  thread_context.log->close(profile_time());
}

Profile::Profile() {
  {
    const std::lock_guard lock(profile_mutex);
    require(measuring == nullptr, "Profile",
            "at most one profile must measure at a time, got a second one; "
            "call stop() of the first one");
    measuring = this;
    number_ = ++last_profile;
  }
  try {
    detail::ProfileLog::join(number_);
  } catch (...) {
    const std::lock_guard lock(profile_mutex);
    measuring = nullptr;
    throw;
  }
  kernels::set_wait_observer(add_wait);
  begin_ = detail::profile_time();
  detail::active_profile.store(number_);
}

Profile::~Profile() {
  stop();
}

void Profile::stop() {
  if (end_ != 0) return;
  end_ = detail::profile_time();
  detail::active_profile.store(0);
  kernels::set_wait_observer(nullptr);
  const std::lock_guard lock(profile_mutex);
  measuring = nullptr;
  for (const auto& log : logs_) {
    while (log->current != 0) log->close(end_);
  }
}

double Profile::wall() {
  stop();
  return static_cast<double>(end_ - begin_) * 1e-9;
}

}  // namespace tessera
