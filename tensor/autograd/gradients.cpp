// The sums of gradients in their slots: see tensor/gradient.h.
#include <utility>

#include "tessera/tensor/detail/loop.h"
#include "tessera/tensor/detail/rows.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/gradient.h"
#include "tessera/tensor/kernels/table.h"

namespace tessera {

namespace {

/// to = a + b; `to` may be a or b.
template <class T>
void write_sum(Tensor& to, const Tensor& a, const Tensor& b) {
  const auto plan = plan_loop<3>(to.shape(), {to.strides(), a.strides(), b.strides()});
  const index_t step = plan.strides[0].back();
  const index_t a_step = plan.strides[1].back();
  const index_t b_step = plan.strides[2].back();
  const auto kernel = kernels::table<T>().binary;
  const T* const left = a.data<T>();
  const T* const right = b.data<T>();
  T* const out = to.mutable_data<T>();
  for_each_row(plan, 1, [&](const std::array<index_t, 3>& offsets, index_t n) {
    T* y = out + offsets[0];
    const T* p = left + offsets[1];
    const T* q = right + offsets[2];
    if (step == 1) return kernel(kernels::BinaryOp::kAdd, n, p, a_step, q, b_step, y);
    for (index_t i = 0; i < n; ++i) y[i * step] = p[i * a_step] + q[i * b_step];
  });
}

void write_sum_of(Tensor& to, const Tensor& a, const Tensor& b) {
  visit_floating(to.dtype(), [&](auto kind) { write_sum<decltype(kind)>(to, a, b); });
}

/// Code outside the tape may have stored a gradient in a leaf's slot.
void check_kept(const GradSlot& slot) {
  require(slot.gradient.shape() == slot.shape && slot.gradient.dtype() == slot.dtype, "backward",
          "the gradient of a variable must be ", slot.dtype, ' ', slot.shape, ", got ",
          slot.gradient.dtype(), ' ', slot.gradient.shape());
}

}  // namespace

bool is_own(const Tensor& x) {
  return x.storage().is_unique() && x.is_contiguous() && !x.is_broadcast();
}

void add_in_place(Tensor total, const Tensor& part) {
  require(part.shape() == total.shape(), "add_in_place", "part must have shape ", total.shape(),
          " like total, got ", part.shape());
  require(is_floating(total.dtype()) && part.dtype() == total.dtype(), "add_in_place",
          "total and part must have the same floating dtype, got ", total.dtype(), " and ",
          part.dtype());
  // Elements of a different view may be written before they are read.
  const bool may_overlap = part.storage() == total.storage() &&
                           !(part.strides() == total.strides() && part.offset() == total.offset());
  write_sum_of(total, total, may_overlap ? part.clone() : part);
}

void Gradients::add(std::size_t i, Tensor gradient) {
  if (!needs_gradient(i)) return;
  GradSlot& slot = *slots_[i];
  // From here on, `gradient` is the only handle if the caller passed a temporary.
  if (gradient.dtype() != slot.dtype) gradient = gradient.to(slot.dtype);
  if (slot.gradient.defined()) check_kept(slot);
  if (!(gradient.shape() == slot.shape)) gradient = detail::sum_to_shape(gradient, slot.shape);
  if (!slot.gradient.defined()) {
    const bool is_leaf = slot.recording == 0;  // users and optimisers may change its gradient
    slot.gradient = is_leaf && !is_own(gradient) ? gradient.clone() : std::move(gradient);
  } else if (is_own(slot.gradient)) {
    write_sum_of(slot.gradient, slot.gradient, gradient);
  } else {
    Tensor total = Tensor::empty(slot.shape, slot.dtype);
    write_sum_of(total, slot.gradient, gradient);
    slot.gradient = total;
  }
}

Tensor Gradients::take(std::size_t i) {
  return needs_gradient(i) ? std::exchange(slots_[i]->gradient, Tensor()) : Tensor();
}

Tensor Gradients::buffer(std::size_t i) {
  GradSlot& slot = *slots_[i];
  if (!slot.gradient.defined()) {
    slot.gradient = Tensor::empty(slot.shape, slot.dtype).fill(0);
    return slot.gradient;
  }
  check_kept(slot);
  if (!is_own(slot.gradient)) slot.gradient = slot.gradient.clone();
  return slot.gradient;
}

}  // namespace tessera
