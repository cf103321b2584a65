#include "nn/training/mpi/detail/mpi_communicator.h"

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "nn/training/mpi/detail/farewell.h"
#include "nn/training/mpi/detail/patience.h"
#include "tensor/error.h"

namespace tessera::mpi {

namespace {

constexpr index_t kMostBytes = std::numeric_limits<int>::max();

/// The length that a process sends if it is at its end.
constexpr std::int64_t kParts = -1;
/// The tag of the empty message that a process at its end sends to each of the others.
constexpr int kEndTag = static_cast<int>(nn::Communicator::kMostTags);

[[noreturn]] void fail_by_end(index_t rank) {
  throw nn::ProcessLost(
      str_cat("rank ", rank, " has ended its session, but this process waits for it"));
}

std::string text_of(int error) {
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

/// Checks that MPI supports the tags that are used here.
void check_tags() {
  int* most = nullptr;
  int is_set = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&most), &is_set);
  if (is_set != 0 && *most < kEndTag) {
    throw std::runtime_error(str_cat("MPI: tags must go up to ", kEndTag, ", got up to ", *most));
  }
}

}  // namespace

MpiCommunicator::MpiCommunicator() {
  check_tags();
  check(MPI_Comm_dup(MPI_COMM_WORLD, &group_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(group_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(group_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(group_, &size_), "MPI_Comm_size");
  for (const std::string& text : all_gather(to_text(this_place()))) {
    places_.push_back(place_from_text(text));
  }
  std::vector<long> neighbours;
  const Place& mine = places_[static_cast<std::size_t>(rank_)];
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    const bool is_seen = place.host == mine.host && place.ids == mine.ids && !has_ended(place);
    if (!is_seen || place.id == mine.id) continue;
    watched_.push_back(i);
    neighbours.push_back(place.id);
  }
  begin_farewells(neighbours);
}

MpiCommunicator::~MpiCommunicator() {
  end_farewells();
  MPI_Comm_free(&group_);
}

int MpiCommunicator::checked_size(const char* op, index_t other, index_t tag,
                                  std::size_t bytes) const {
  require(other >= 0 && other < size_ && tag >= 0 && tag < kMostTags, op, "rank must be below ",
          size_, " and tag below ", kMostTags, ", got process ", other, " and tag ", tag);
  require(std::cmp_less_equal(bytes, kMostBytes), op, "a message must have at most ", kMostBytes,
          " bytes, got ", bytes, " bytes");
  return static_cast<int>(bytes);
}

void MpiCommunicator::send(index_t to, index_t tag, std::span<const std::byte> bytes) {
  const int size = checked_size("send", to, tag, bytes.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(bytes.data(), size, MPI_BYTE, static_cast<int>(to), static_cast<int>(tag), group_,
                  &request),
        "MPI_Isend");
  add(request, to, -1);
  bytes_sent_ += size;
}

void MpiCommunicator::receive(index_t from, index_t tag, std::span<std::byte> bytes) {
  const int size = checked_size("receive", from, tag, bytes.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(bytes.data(), size, MPI_BYTE, static_cast<int>(from), static_cast<int>(tag),
                  group_, &request),
        "MPI_Irecv");
  add(request, from, size);
}

void MpiCommunicator::add(MPI_Request request, index_t other, index_t expected_bytes) {
  requests_.push_back(request);
  others_.push_back(other);
  expected_.push_back(expected_bytes);
}

void MpiCommunicator::progress() {
  test_some();
}

void MpiCommunicator::wait() {
  wait_until([&] {
    const bool moved = test_some();
    return requests_.empty() ? Progress::kDone : moved ? Progress::kSome : Progress::kNone;
  });
}

/// Removes the completed requests from the lists; returns false if there are none.
bool MpiCommunicator::test_some() {
  if (requests_.empty()) return false;
  const std::size_t begun = requests_.size();
  indices_.resize(begun);
  statuses_.resize(begun);
  int ended = 0;
  const int error = MPI_Testsome(static_cast<int>(begun), requests_.data(), &ended, indices_.data(),
                                 statuses_.data());
  if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS) check(error, "MPI_Testsome");
  if (ended == 0) return false;
  for (int i = 0; i < ended; ++i) {
    const auto which = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
    const bool receives = expected_[which] >= 0;
    const auto what = [&] {  // only computed for errors, because there are many messages
      return str_cat(receives ? "receiving from rank " : "sending to rank ", others_[which]);
    };
    if (error == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS) {
      fail_by_mpi(status.MPI_ERROR, what());
    }
    if (!receives) continue;
    int length = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &length), "MPI_Get_count");
    if (length != expected_[which]) {
      throw std::runtime_error(
          str_cat(what(), ": a message must have ", expected_[which], " bytes, got ", length));
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < begun; ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    others_[kept] = others_[i];
    expected_[kept++] = expected_[i];
  }
  requests_.resize(kept);
  others_.resize(kept);
  expected_.resize(kept);
  return true;
}

/// Gathers a number from each process, by rank.
std::vector<std::int64_t> MpiCommunicator::gather_lengths(std::int64_t mine) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(&mine, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, group_, &request),
        "MPI_Iallgather");
  finish(request, "all_gather");
  return lengths;
}

std::vector<std::string> MpiCommunicator::all_gather(std::string_view mine) {
  const auto processes = static_cast<std::size_t>(size_);
  const auto my_size = static_cast<std::int64_t>(mine.size());
  const std::vector<std::int64_t> sizes = gather_lengths(my_size);
  for (std::size_t rank = 0; rank < processes; ++rank) {
    if (sizes[rank] == kParts) fail_by_end(static_cast<index_t>(rank));
  }
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  require(total <= kMostBytes, "all_gather", "all texts must have at most ", kMostBytes,
          " bytes together, got ", total);
  std::vector<int> counts(sizes.begin(), sizes.end()), begins(processes);
  std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
  std::string all(static_cast<std::size_t>(total), '\0');
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgatherv(mine.data(), static_cast<int>(my_size), MPI_BYTE, all.data(), counts.data(),
                        begins.data(), MPI_BYTE, group_, &request),
        "MPI_Iallgatherv");
  finish(request, "all_gather");

  std::vector<std::string> result(processes);
  for (std::size_t i = 0; i < processes; ++i) {
    result[i] =
        all.substr(static_cast<std::size_t>(begins[i]), static_cast<std::size_t>(counts[i]));
  }
  return result;
}

void MpiCommunicator::finish(MPI_Request request, const char* what) {
  wait_until([&] {
    int is_done = 0;
    check(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), what);
    return is_done != 0 ? Progress::kDone : Progress::kNone;
  });
}

void MpiCommunicator::part() {
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(nullptr, 0, MPI_BYTE, other, kEndTag, group_, &request), "MPI_Isend");
    add(request, other, -1);
    check(MPI_Irecv(nullptr, 0, MPI_BYTE, other, kEndTag, group_, &request), "MPI_Irecv");
    add(request, other, 0);
  }
  // The same first call as in all_gather, so that processes that continue with that are notified.
  const std::vector<std::int64_t> lengths = gather_lengths(kParts);
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    if (lengths[rank] == kParts) continue;
    throw std::runtime_error(
        str_cat("rank ", rank, " must end its session too, but waits for this rank"));
  }
  wait();
  // All processes have come here before any of them ends; some may end while others leave the
  // barrier.
  watches_ = false;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(group_, &request), "MPI_Ibarrier");
  finish(request, "the end");
}

void MpiCommunicator::abort(int code) {
  MPI_Abort(group_, code);
  std::abort();  // MPI_Abort does not return
}

template <class Done>
void MpiCommunicator::wait_until(const Done& done) {
  Patience patience;
  for (;;) {
    const Progress progress = done();
    if (progress == Progress::kDone) return;
    if (progress == Progress::kSome) patience.renew();
    const bool looks = patience.should_look();
    if (watches_ && (looks || is_farewell())) look_for_lost_processes();
    if (looks) look_for_ends();
    patience.pause();
  }
}

void MpiCommunicator::look_for_lost_processes() const {
  for (const std::size_t rank : watched_) {
    if (has_ended(places_[rank])) throw nn::ProcessLost(str_cat("rank ", rank, " has ended"));
  }
}

/// A process at its end does not reply to requests begun here. Its earlier messages may still be on
/// their way, so only the second such check is an error.
void MpiCommunicator::look_for_ends() {
  const bool had_seen = std::exchange(has_seen_end_, false);
  for (const index_t other : others_) {
    int is_there = 0;
    check(MPI_Iprobe(static_cast<int>(other), kEndTag, group_, &is_there, MPI_STATUS_IGNORE),
          "MPI_Iprobe");
    if (is_there == 0) continue;
    has_seen_end_ = true;
    if (had_seen) fail_by_end(other);
  }
}

/// The end of a process on another host is only known from MPI's own errors, if at all.
void MpiCommunicator::fail_by_mpi(int error, const std::string& what) const {
  look_for_lost_processes();
  int kind = MPI_SUCCESS;
  MPI_Error_class(error, &kind);
  const std::string text = what + ": " + text_of(error);
  if (kind == MPI_ERR_OTHER || kind == MPI_ERR_INTERN || kind == MPI_ERR_UNKNOWN) {
    throw nn::ProcessLost(text);
  }
  throw std::runtime_error(text);
}

void MpiCommunicator::check(int error, const std::string& what) const {
  if (error != MPI_SUCCESS) fail_by_mpi(error, what);
}

}  // namespace tessera::mpi
