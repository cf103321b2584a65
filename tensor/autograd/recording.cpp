#include "tessera/tensor/autograd/recording.h"

#include <algorithm>
#include <optional>
#include <string>

#include "tessera/tensor/error.h"

namespace tessera {

void detail::count_elements(const Tensor& x) {
  index_t bytes = x.count() * item_size(x.dtype());
  for (index_t axis = 0; bytes > 0 && axis < x.rank(); ++axis) {
    if (x.strides()[axis] == 0) bytes /= x.shape()[axis];
  }
  add_arguments(static_cast<double>(bytes));
}

bool any_needs_gradient(std::initializer_list<const Tensor*> inputs) {
  return active_recorder != nullptr &&
         std::any_of(inputs.begin(), inputs.end(),
                     [](const Tensor* x) { return x != nullptr && x->requires_grad(); });
}

const Tensor& Saved::get() const {
  require(!tensor_.defined() || tensor_.storage().version() == version_, "backward",
          tensor_.dtype(), " tensor of shape ", tensor_.shape(),
          " must not be written to before the gradient of ", op_,
          " has read it; clone() it before the write, or write after backward");
  if (detail::is_profiling()) detail::count_elements(tensor_);
  return tensor_;
}

namespace {

/// Throws if x is a parameter that no call of visit has named.
void refuse_unnamed(const char* op, const Tensor& x) {
  if (x.requires_grad()) return;
  const std::optional<std::string> name = x.storage().unnamed_parameter();
  if (!name) return;
  fail(op, "parameter ", printable(*name), ' ', x.shape(),
       " must be prepared by nn::set_requires_grad(model), got no call that names it; if there was "
       "a call, name the member in visit; compute a constant under NoGrad");
}

}  // namespace

Recording::Recording(const char* op, std::initializer_list<const Tensor*> inputs)
    : span_(detail::SpanKind::kForward, op), op_(op) {
  if (detail::is_profiling()) {
    for (const Tensor* x : inputs) {
      if (x != nullptr) detail::count_elements(*x);
    }
  }
  if (active_recorder == nullptr) return;
  for (const Tensor* x : inputs) {
    if (x != nullptr) refuse_unnamed(op, *x);
  }
  if (!any_needs_gradient(inputs)) return;
  for (const Tensor* x : inputs) slots_.push_back(x != nullptr ? x->grad_slot() : nullptr);
  recorder_ = std::exchange(active_recorder, nullptr);
}

Recording::Recording(const char* op, std::span<const Tensor> inputs)
    : span_(detail::SpanKind::kForward, op), op_(op) {
  if (detail::is_profiling()) std::ranges::for_each(inputs, detail::count_elements);
  if (active_recorder == nullptr) return;
  for (const Tensor& x : inputs) refuse_unnamed(op, x);
  if (std::none_of(inputs.begin(), inputs.end(), is_recorded)) return;
  for (const Tensor& x : inputs) slots_.push_back(x.grad_slot());
  recorder_ = std::exchange(active_recorder, nullptr);
}

void refuse_gradient(const char* op, std::initializer_list<const Tensor*> inputs) {
  require(!any_needs_gradient(inputs), op,
          "inputs must not require a gradient, which this op does not have; detach() them to use "
          "them as constants");
}

}  // namespace tessera
