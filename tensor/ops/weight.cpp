#include "tensor/ops/weight.h"

#include <pthread.h>

#include <array>
#include <cstdint>
#include <mutex>

#include "tensor/error.h"
#include "tensor/ops/detail/panels.h"

namespace tessera {

using detail::PanelOrder;
using detail::Panels;

namespace {

bool are_same_elements(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

std::array<std::mutex, 16> packing_mutexes;

void lock_packing() {
  for (std::mutex& mutex : packing_mutexes) mutex.lock();
}
void unlock_packing() {
  for (std::mutex& mutex : packing_mutexes) mutex.unlock();
}
// Or else a child of fork() would wait for a thread that it does not have.
[[maybe_unused]] const int fork_handler =
    pthread_atfork(lock_packing, unlock_packing, unlock_packing);

/// The mutex of a weight, by its address. No thread holds two while it packs.
std::mutex& packing_mutex(const void* weight) {
  const auto address = reinterpret_cast<std::uintptr_t>(weight);
  return packing_mutexes[address / alignof(Weight) % packing_mutexes.size()];
}

}  // namespace

/// Panels that a weight keeps for its next product, and what they were made of.
struct Weight::Kept {
  Tensor elements;  // undefined: frozen panels
  std::uint64_t version;
  std::shared_ptr<const Panels> panels;

  Kept(const Tensor& source, std::shared_ptr<const Panels> made)
      : elements(source.detach()),
        version(source.defined() ? source.storage().version() : 0),
        panels(std::move(made)) {}

  bool is_of(const Tensor& other) const {
    return are_same_elements(elements, other) &&
           (!other.defined() || version == other.storage().version());
  }
};

Weight Weight::gated(Tensor elements) {
  Weight weight = std::move(elements);
  weight.order_ = PanelOrder::kGated;
  return weight;
}

Weight Weight::table(Tensor elements) {
  Weight weight = std::move(elements);
  weight.is_table_ = true;
  return weight;
}

Weight& Weight::operator=(const Weight& other) {
  const bool takes_order = other.is_frozen() || other.order_ != PanelOrder::kPlain;
  if (takes_order) order_ = other.order_;
  is_table_ = is_table_ || other.is_table_;
  elements_ = other.elements_;
  frozen_ = other.frozen_;
  format_ = other.format_;
  kept_.store(nullptr);
  return *this;
}

Weight& Weight::operator=(Tensor elements) {
  elements_ = std::move(elements);
  frozen_ = nullptr;
  format_ = WeightFormat::kExact;
  kept_.store(nullptr);
  return *this;
}

// ---- what it is ----

const Shape& Weight::shape() const {
  return is_frozen() ? frozen_->shape() : elements_.shape();
}

index_t Weight::size(index_t axis) const {
  return is_frozen() ? shape()[normalize_axis("size", axis, rank())] : elements_.size(axis);
}

index_t Weight::count() const {
  return is_frozen() ? element_count("count", shape()) : elements_.count();
}

DType Weight::dtype() const {
  return is_frozen() ? kFloat32 : elements_.dtype();
}

const Tensor& Weight::operator*() const {
  require(!is_frozen(), "weight", "elements must be there, got a frozen weight of shape ", shape(),
          "; call thaw() first");
  return elements_;
}

Tensor& Weight::operator*() {
  return const_cast<Tensor&>(*std::as_const(*this));
}

WeightFormat Weight::format() const {
  return dtype() == kFloat32 ? format_ : WeightFormat::kExact;
}

bool Weight::is_constant() const {
  return is_frozen() || format() != WeightFormat::kExact;
}

bool Weight::is_same(const Weight& other) const {
  return order_ == other.order_ && frozen_ == other.frozen_ &&
         are_same_elements(elements_, other.elements_);
}

// ---- forms ----

Weight Weight::in_format(WeightFormat format) const {
  Weight result = *this;
  result.format_ = format;
  return result;
}

Weight Weight::frozen(WeightFormat format) const {
  if (is_table_) return in_format(format);
  if (is_frozen() && frozen_->format() == format) return *this;
  require(defined() && rank() == 2 && dtype() == kFloat32, "freeze",
          "weight must be a float32 matrix, got ", dtype(), ' ', shape());
  require(order_ == PanelOrder::kPlain || size(0) % 2 == 0, "freeze",
          "number of rows of a gated weight must be even, got shape ", shape());
  Weight result;
  result.order_ = order_;
  if (is_frozen()) {
    result.frozen_ = detail::make_panels(*thawed(), order_, format);
  } else if (format == this->format()) {
    result.frozen_ = panels();  // those of the last product, if they are current
  } else {
    kept_.store(nullptr);  // their memory serves the new ones
    result.frozen_ = detail::make_panels(elements_, order_, format);
  }
  return result;
}

Weight Weight::thawed() const {
  if (!is_frozen()) return in_format(WeightFormat::kExact);
  Weight result = frozen_->values(0, size(0));
  result.order_ = order_;
  return result;
}

// ---- products ----

std::shared_ptr<const Panels> Weight::panels() const {
  if (is_frozen() && frozen_->is_current()) return frozen_;
  const WeightFormat wanted = is_frozen() ? frozen_->format() : format();
  const auto current = [&]() -> std::shared_ptr<const Panels> {
    const std::shared_ptr<const Kept> kept = kept_.load();
    const bool fits = kept && kept->is_of(elements_) && kept->panels->is_current() &&
                      kept->panels->format() == wanted;
    return fits ? kept->panels : nullptr;
  };
  if (std::shared_ptr<const Panels> panels = current()) return panels;
  // One thread packs, and those that ask meanwhile wait: or else each would hold a copy of its own.
  const std::lock_guard lock(packing_mutex(this));
  if (std::shared_ptr<const Panels> panels = current()) return panels;
  kept_.store(nullptr);  // gives the old panels' memory back first
  const Tensor values = is_frozen() ? frozen_->values(0, size(0)) : elements_;
  const auto kept =
      std::make_shared<const Kept>(elements_, detail::make_panels(values, order_, wanted));
  kept_.store(kept);
  return kept->panels;
}

WeightView Weight::rows(index_t begin, index_t end) const {
  require(0 <= begin && begin <= end && rank() == 2 && end <= size(0), "rows",
          "rows must be a range of those of weight ", shape(), ", got ", begin, " to ", end);
  WeightView view = *this;
  if (!is_frozen()) view.elements = elements_.slice(0, begin, end);
  view.shape[0] = end - begin;
  view.first_row = begin;
  return view;
}

WeightView::WeightView(const Tensor& tensor)
    : shape(tensor.shape()), dtype(tensor.dtype()), elements(tensor) {}

WeightView::WeightView(const Weight& whole)
    : shape(whole.shape()),
      dtype(whole.dtype()),
      elements(whole.elements_),
      weight(whole.defined() ? &whole : nullptr) {}

index_t WeightView::size(index_t axis) const {
  return shape[normalize_axis("size", axis, shape.size())];
}

detail::Factor WeightView::factor(PanelOrder order) const {
  if (weight == nullptr) return {.elements = elements};
  const bool is_whole = shape[0] == weight->shape()[0];
  const bool begins_a_panel = first_row == 0 || first_row % detail::panel_width(dtype) == 0;
  if (weight->order_ == order && (order == PanelOrder::kPlain ? begins_a_panel : is_whole)) {
    return {.panels = weight->panels(), .first_row = first_row};
  }
  if (!is_constant()) return {.elements = elements};
  return {.elements = weight->panels()->values(first_row, first_row + shape[0])};
}

}  // namespace tessera
