#include "tensor/ops/weight.h"

#include <pthread.h>

#include <array>
#include <cstdint>
#include <mutex>

#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/ops/detail/int8_panels.h"
#include "tensor/ops/detail/weight_panels.h"

namespace tessera {

using detail::PanelOrder;
using detail::WeightPanels;

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
// Otherwise a child of fork() would wait for a thread that does not exist there.
[[maybe_unused]] const int fork_handler =
    pthread_atfork(lock_packing, unlock_packing, unlock_packing);

/// The mutex of a weight, chosen by its address. A thread never holds two while it packs.
std::mutex& packing_mutex(const void* weight) {
  const auto address = reinterpret_cast<std::uintptr_t>(weight);
  return packing_mutexes[address / alignof(Weight) % packing_mutexes.size()];
}

}  // namespace

/// WeightPanels, and the elements that they were made from.
struct detail::MadePanels {
  Tensor elements;
  std::uint64_t version;
  std::shared_ptr<const WeightPanels> panels;

  MadePanels(const Tensor& source, std::shared_ptr<const WeightPanels> packed)
      : elements(source.detach()), version(source.storage().version()), panels(std::move(packed)) {}

  bool is_of(const Tensor& source) const {
    return are_same_elements(elements, source) && version == source.storage().version() &&
           panels->is_current();
  }
};

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

Weight& Weight::operator=(const Weight& other) {
  if (use_ == Use::kLinear) use_ = other.use_;
  const PanelOrder wanted = use_ == Use::kGated ? PanelOrder::kGated : PanelOrder::kPlain;
  const bool fits = !other.is_frozen() || (!is_table() && other.order() == wanted);
  take_form(fits ? other : other.thawed());
  return *this;
}

Weight& Weight::operator=(Tensor elements) {
  form_ = Dense{std::move(elements)};
  return *this;
}

// ---- properties ----

const Shape& Weight::shape() const {
  return is_frozen() ? only_panels()->shape() : dense().elements.shape();
}

index_t Weight::size(index_t axis) const {
  return is_frozen() ? shape()[normalize_axis("size", axis, rank())] : dense().elements.size(axis);
}

index_t Weight::count() const {
  return is_frozen() ? element_count("count", shape()) : dense().elements.count();
}

DType Weight::dtype() const {
  return is_frozen() ? kFloat32 : dense().elements.dtype();
}

const Tensor& Weight::operator*() const {
  require(!is_frozen(), "weight", "elements must be readable, got a frozen weight of shape ",
          shape(), "; call thaw() first");
  return dense().elements;
}

Tensor& Weight::operator*() {
  return const_cast<Tensor&>(*std::as_const(*this));
}

PanelOrder Weight::order() const {
  if (is_frozen()) return only_panels()->order();
  return use_ == Use::kGated ? PanelOrder::kGated : PanelOrder::kPlain;
}

WeightFormat Weight::format() const {
  if (is_frozen()) return only_panels()->format();
  return detail::fitting_format(dense().wanted, dtype(), shape());
}

bool Weight::is_frozen_or_rounded() const {
  return is_frozen() || format() != WeightFormat::kExact;
}

bool Weight::is_same(const Weight& other) const {
  if (order() != other.order() || is_frozen() != other.is_frozen()) return false;
  return is_frozen() ? only_panels() == other.only_panels()
                     : are_same_elements(dense().elements, other.dense().elements);
}

// ---- forms ----

Weight Weight::in_format(WeightFormat format) const {
  Weight result = *this;
  result.form_ = Dense{.elements = **this, .wanted = format};
  return result;
}

Weight Weight::frozen(WeightFormat format) const {
  check_matrix("weight");
  format = detail::fitting_format(format, dtype(), shape());
  if (is_frozen() && this->format() == format && only_panels()->is_current()) return *this;
  Weight result = *this;
  if (is_frozen()) {
    result.form_ = detail::make_panels(*thawed(), order(), format);
  } else if (format == this->format()) {
    result.form_ = panels();  // the panels of the last product, if they are current
  } else {
    dense().made.store(nullptr);  // so that the new panels can reuse the memory
    result.form_ = detail::make_panels(dense().elements, order(), format);
  }
  return result;
}

void Weight::check_matrix(const std::string& name) const {
  require(defined() && rank() == 2 && dtype() == kFloat32, "freeze", name,
          " must be a float32 matrix, got ", dtype(), ' ', shape());
  require(order() == PanelOrder::kPlain || size(0) % 2 == 0, "freeze", name,
          " must have an even number of rows for gated_linear, got shape ", shape());
}

void Weight::check_freezable(const std::string& name, WeightFormat format) const {
  if (!is_table()) check_matrix(name);
  const bool is_rounded = detail::fitting_format(format, dtype(), shape()) == WeightFormat::kInt8;
  if (!is_rounded || (is_frozen() && this->format() == format)) return;
  const Weight exact = thawed();  // panels of another format may hold inf too
  require(detail::is_finite(exact->detach()), "freeze", name,
          " must be finite for int8, got inf or NaN");
}

Weight Weight::thawed() const {
  if (!is_frozen()) return in_format(WeightFormat::kExact);
  Weight result = *this;
  result.form_ = Dense{only_panels()->values(0, size(0))};
  return result;
}

// ---- products ----

std::shared_ptr<const WeightPanels> Weight::panels() const {
  if (is_frozen()) {
    require(only_panels()->is_current(), "weight",
            "a frozen weight's instruction set must be the one in use, which is now ",
            current_isa(), "; call freeze() again after set_isa()");
    return only_panels();
  }
  const Dense& form = dense();
  const WeightFormat format = this->format();
  const auto current = [&]() -> std::shared_ptr<const WeightPanels> {
    const std::shared_ptr<const detail::MadePanels> last = form.made.load();
    const bool fits = last && last->is_of(form.elements) && last->panels->format() == format;
    return fits ? last->panels : nullptr;
  };
  if (std::shared_ptr<const WeightPanels> panels = current()) return panels;
  // One thread packs while others wait; otherwise each would make its own copy.
  const std::lock_guard lock(packing_mutex(this));
  if (std::shared_ptr<const WeightPanels> panels = current()) return panels;
  form.made.store(nullptr);  // frees the old panels first
  const auto now = std::make_shared<const detail::MadePanels>(
      form.elements, detail::make_panels(form.elements, order(), format));
  form.made.store(now);
  return now->panels;
}

WeightView Weight::rows(index_t begin, index_t end) const {
  require(0 <= begin && begin <= end && rank() == 2 && end <= size(0), "rows",
          "rows must be a range within weight ", shape(), ", got ", begin, " to ", end);
  WeightView view = *this;
  if (!is_frozen()) view.elements = dense().elements.slice(0, begin, end);
  view.shape[0] = end - begin;
  view.first_row = begin;
  return view;
}

WeightView::WeightView(const Tensor& tensor)
    : shape(tensor.shape()), dtype(tensor.dtype()), elements(tensor) {}

WeightView::WeightView(const Weight& whole)
    : shape(whole.shape()),
      dtype(whole.dtype()),
      elements(whole.is_frozen() ? Tensor() : whole.dense().elements),
      weight(whole.defined() ? &whole : nullptr) {}

index_t WeightView::size(index_t axis) const {
  return shape[normalize_axis("size", axis, shape.size())];
}

detail::Factor WeightView::factor(PanelOrder order) const {
  if (weight == nullptr) return {.elements = elements};
  const bool is_whole = shape[0] == weight->shape()[0];
  const bool begins_a_panel = first_row % detail::panel_width(dtype) == 0;
  if (weight->order() == order && (order == PanelOrder::kPlain ? begins_a_panel : is_whole)) {
    return {.panels = weight->panels(), .first_row = first_row};
  }
  if (!is_frozen_or_rounded()) return {.elements = elements};
  const auto panels = weight->panels();
  const index_t end = first_row + shape[0];
  if (auto part = panels->part(first_row, end, order)) return {.panels = std::move(part)};
  return {.elements = panels->values(first_row, end)};
}

}  // namespace tessera
