#include "tessera/tensor/ops/weight.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/dispatch.h"
#include "tessera/tensor/ops/detail/product.h"

namespace tessera {

using detail::WeightPanels;

namespace {

std::array<std::mutex, 16> packing_mutexes;

void lock_packing() {
  for (std::mutex& mutex : packing_mutexes) mutex.lock();
}
void unlock_packing() {
  for (std::mutex& mutex : packing_mutexes) mutex.unlock();
}
// Otherwise a child of fork() would wait for a thread that does not exist there. The storage pool
// registers its own handlers first: the last ones lock first, and packing allocates.
[[maybe_unused]] const int fork_handler =
    (memory_stats(), pthread_atfork(lock_packing, unlock_packing, unlock_packing));

/// The mutex of a weight, chosen by its address. A thread never holds two while it packs.
std::mutex& packing_mutex(const void* weight) {
  const auto address = reinterpret_cast<std::uintptr_t>(weight);
  return packing_mutexes[address / alignof(Weight) % packing_mutexes.size()];
}

std::atomic<bool>& checks() {
#if defined(NDEBUG)
  constexpr bool kInDebug = false;
#else
  constexpr bool kInDebug = true;
#endif
  static std::atomic<bool> on = [] {
    const char* const value = std::getenv("TESSERA_CHECK_WEIGHTS");
    const std::string text = value != nullptr ? value : "";
    require(text.empty() || text == "0" || text == "1", "TESSERA_CHECK_WEIGHTS",
            "value must be 0 or 1, got '", text, "'");
    return text.empty() ? kInDebug : text == "1";
  }();
  return on;
}

}  // namespace

bool checks_weights() {
  return checks().load(std::memory_order_relaxed);
}

void set_checks_weights(bool on) {
  checks().store(on);
}

Weight Weight::gated(Tensor elements) {
  Weight weight = std::move(elements);
  weight.use_ = Use::kGated;
  return weight;
}

Weight Weight::table(Tensor elements) {
  Weight weight = std::move(elements);
  weight.use_ = Use::kTable;
  return weight;
}

Weight::Weight(const Weight& other) : use_(other.use_) {
  take_form(other);
}

Weight::Weight(Weight&& other) noexcept
    : use_(other.use_),
      wanted_(std::exchange(other.wanted_, WeightFormat::kExact)),
      elements_(std::exchange(other.elements_, Tensor())),
      only_panels_(std::move(other.only_panels_)) {
  cache_.store(other.cache_.load());
  other.cache_.store(nullptr);
}

Weight& Weight::operator=(const Weight& other) {
  if (use_ == Use::kLinear) use_ = other.use_;
  const bool fits = !other.is_prepacked() || (!is_table() && other.is_gated() == is_gated());
  take_form(fits ? other : other.unpacked());
  return *this;
}

Weight& Weight::operator=(Weight&& other) {
  if (this == &other) return *this;
  *this = std::as_const(other);
  other.take_form({});
  return *this;
}

Weight& Weight::operator=(Tensor elements) {
  take_form(Weight(std::move(elements)));
  return *this;
}

void Weight::take_form(const Weight& other) {
  if (this == &other) return;
  wanted_ = other.wanted_;
  elements_ = other.elements_;
  only_panels_ = other.only_panels_;
  cache_.store(nullptr);
}

// ---- properties ----

const Shape& Weight::shape() const {
  return is_prepacked() ? only_panels_->shape() : elements_.shape();
}

index_t Weight::size(index_t axis) const {
  return is_prepacked() ? shape()[normalize_axis("size", axis, rank())] : elements_.size(axis);
}

index_t Weight::count() const {
  return is_prepacked() ? element_count("count", shape()) : elements_.count();
}

DType Weight::dtype() const {
  return is_prepacked() ? kFloat32 : elements_.dtype();
}

const Tensor& Weight::operator*() const {
  require(!is_prepacked(), "weight", "elements must be readable, got a prepacked weight of shape ",
          shape(), "; call unpack() first");
  return elements_;
}

Tensor& Weight::operator*() {
  return const_cast<Tensor&>(*std::as_const(*this));
}

WeightFormat Weight::format() const {
  return is_prepacked() ? only_panels_->format()
                        : detail::fitting_format(wanted_, dtype(), shape());
}

bool Weight::is_prepacked_or_rounded() const {
  return is_prepacked() || format() != WeightFormat::kExact;
}

bool Weight::is_same(const Weight& other) const {
  if (is_gated() != other.is_gated() || is_prepacked() != other.is_prepacked()) return false;
  return is_prepacked() ? only_panels_ == other.only_panels_
                        : detail::are_same_elements(elements_, other.elements_);
}

// ---- forms ----

Weight Weight::in_format(WeightFormat format) const {
  Weight result = *this;
  result.elements_ = **this;
  result.wanted_ = format;
  return result;
}

Weight Weight::prepacked(WeightFormat format) const {
  check_matrix("weight");
  require_enum("prepack", "format", format, kLastWeightFormat);
  format = detail::fitting_format(format, dtype(), shape());
  if (is_prepacked()) {
    const bool fits = this->format() == format && only_panels_->is_current();
    return fits ? *this : unpacked().prepacked(format);
  }
  if (format != this->format()) cache_.store(nullptr);  // so that new panels can reuse the memory
  const auto packed =
      format == this->format() ? panels(is_gated()) : in_format(format).panels(is_gated());
  const auto made = std::make_shared<WeightPanels>(*packed);
  made->forget_source();
  Weight result;
  result.use_ = use_;
  result.only_panels_ = made;
  return result;
}

void Weight::check_matrix(const std::string& name) const {
  require(defined() && rank() == 2 && dtype() == kFloat32, "prepack", name,
          " must be a float32 matrix, got ", dtype(), ' ', shape());
  require(!is_gated() || size(0) % 2 == 0, "prepack", name,
          " must have an even number of rows for gated_linear, got shape ", shape());
}

void Weight::check_prepackable(const std::string& name, WeightFormat format) const {
  if (!is_table()) check_matrix(name);
  const bool is_rounded = detail::fitting_format(format, dtype(), shape()) == WeightFormat::kInt8;
  if (!is_rounded || (is_prepacked() && this->format() == format)) return;
  const Weight exact = unpacked();  // panels of another format may hold inf too
  require(detail::is_finite(exact->detach()), "prepack", name,
          " must be finite for int8, got inf or NaN");
}

Weight Weight::unpacked() const {
  if (!is_prepacked()) return in_format(WeightFormat::kExact);
  Weight result = only_panels_->elements();
  result.use_ = use_;
  return result;
}

// ---- products ----

std::shared_ptr<const WeightPanels> Weight::panels(bool gated) const {
  if (gated != is_gated()) {
    if (is_prepacked_or_rounded()) return panels(is_gated())->rows(0, size(0), gated);
    return std::make_shared<const WeightPanels>(elements_, gated, WeightFormat::kExact);
  }
  if (is_prepacked()) {
    require(only_panels_->is_current(), "weight",
            "a prepacked weight's instruction set must be the one in use, which is now ",
            current_isa(), "; call prepack() again after set_isa()");
    return only_panels_;
  }
  const WeightFormat format = this->format();
  const auto current = [&]() -> std::shared_ptr<const WeightPanels> {
    std::shared_ptr<const WeightPanels> last = cache_.load();
    return last && last->are_of(elements_) && last->format() == format ? last : nullptr;
  };
  if (std::shared_ptr<const WeightPanels> panels = current()) {
    panels->check_source();
    return panels;
  }
  // One thread packs while others wait; otherwise each would make its own copy.
  const std::lock_guard lock(packing_mutex(this));
  if (std::shared_ptr<const WeightPanels> panels = current()) return panels;
  cache_.store(nullptr);  // frees the old panels first
  const auto made = std::make_shared<const WeightPanels>(elements_, gated, format);
  cache_.store(made);
  return made;
}

Weight Weight::rows(index_t begin, index_t end) const {
  require(0 <= begin && begin <= end && rank() == 2 && end <= size(0), "rows",
          "rows must be a range within weight ", shape(), ", got ", begin, " to ", end);
  Weight result;
  if (is_prepacked_or_rounded()) {
    result.only_panels_ = panels(is_gated())->rows(begin, end, false);
    // A product refuses elements that require a gradient, which panels would lose in silence.
    if (elements_.defined()) result.elements_ = elements_.slice(0, begin, end);
    return result;
  }
  result.elements_ = elements_.slice(0, begin, end);
  const bool is_shared = is_floating(dtype()) && begin % detail::panel_width(dtype()) == 0;
  if (!is_gated() && is_shared) result.cache_.store(panels(false)->rows(begin, end, false));
  return result;
}

}  // namespace tessera
