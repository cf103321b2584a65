#include "nn/source.h"

#include <utility>

#include "tensor/error.h"
#include "tensor/printable.h"

namespace tessera::nn {

Source::Source(Rng& rng)
    : Source(Find([&rng](const std::string&, const Shape& shape, const Start& start) {
        return start(shape, rng);
      })) {}

Source::Source(StateDict state)
    : Source(Find([state = std::move(state)](const std::string& name, const Shape&, const Start&) {
        const auto found = state.find(name);
        require(found != state.end(), "Source", printable(name), " must be in the state, got ",
                state.size(), " other names");
        if (!found->second.defined()) return Tensor();
        const bool floats = is_floating(found->second.dtype());
        return (floats ? found->second.detach().to(kFloat32) : found->second).contiguous();
      })) {}

Source::Source(Find find) : find_(std::make_shared<const Find>(std::move(find))) {}

Tensor Source::operator()(std::string_view name, const Shape& shape, const Start& start) const {
  const std::string full_name = detail::join_names(module_, name);
  Tensor found = (*find_)(full_name, shape, start);
  require(found.defined() && is_floating(found.dtype()), "Source", printable(full_name),
          " must be a floating tensor, got ",
          found.defined() ? str_cat(found.dtype()) : "an undefined one");
  require(found.shape() == shape, "Source", printable(full_name), " must have shape ", shape,
          ", got ", found.shape());
  return found;
}

Source Source::operator[](std::string_view part) const {
  Source result = *this;
  result.module_ = detail::join_names(module_, part);
  return result;
}

}  // namespace tessera::nn
