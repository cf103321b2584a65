#include "tessera/nn/visit.h"

#include "tessera/tensor/error.h"

namespace tessera::nn {

Buffer::Buffer(const Tensor& exact, DType dtype) : exact_(exact.detach()) {
  convert(dtype);
}

void Buffer::convert(DType dtype) {
  const bool follows = exact_.defined() && is_floating(exact_.dtype());
  value_ = follows ? exact_.to(dtype) : exact_;
}

}  // namespace tessera::nn

namespace tessera::nn::detail {

std::string join_names(std::string_view module, std::string_view part) {
  return module.empty() ? std::string(part) : std::string(module) + "." + std::string(part);
}

void PartLister::add(Tensor& tensor) const {
  if (tensor.defined()) parts_.parameters.push_back({name_, &tensor, nullptr});
}

void PartLister::add(Weight& weight) const {
  if (weight.defined()) parts_.parameters.push_back({name_, nullptr, &weight});
}

void PartLister::add(Buffer& buffer) const {
  parts_.buffers.push_back(&buffer);
}

void mark_named(const Parts& parts) {
  parts.for_each([](const std::string&, const Tensor& p) { p.storage().mark_named(); },
                 kSkipPrepacked);
}

void refuse_prepacked(const std::string& name, const Weight& weight) {
  fail(name.c_str(), "elements must be readable, got a prepacked weight of shape ", weight.shape(),
       "; call nn::unpack(model) first");
}

}  // namespace tessera::nn::detail
