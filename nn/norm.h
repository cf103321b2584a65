// Layer normalisation and RMS normalisation.
#pragma once

#include "tessera/nn/parameter_source.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// The formula of a norm.
enum class NormKind {
  kLayerNorm,
  kRMSNorm,  // does not subtract the mean, and has no bias
};

/// The options of Norm.
struct NormOptions {
  index_t width;
  NormKind kind = NormKind::kLayerNorm;
  double eps = 1e-5;
  bool bias = true;  // of a layer norm
};

/// A norm over the last axes of x, as many as the weight has:
///
///     kLayerNorm    y = (x - mean) / sqrt(var + eps) * weight + bias      with the biased variance
///     kRMSNorm      y = x / sqrt(mean(x^2) + eps) * weight
///
/// **Shapes**: (..., *shape) -> the same; weight and bias have `shape`, which is (width), or
/// normalized_shape in LayerNorm and RMSNorm. The weight starts as ones, the bias as zeros.
/// **Errors**: a width below 1; an eps that is negative or not finite; an unknown kind; an input
/// with different last axes or a different dtype.
/// **Source**: Ba, Kiros and Hinton, "Layer Normalization", 2016; Zhang and Sennrich, "Root Mean
/// Square Layer Normalization", 2019.
struct Norm {
  Tensor weight;
  Tensor bias;  // undefined without bias
  double eps;
  NormKind kind;

  explicit Norm(const NormOptions& options, const ParameterSource& from = default_rng());

  Tensor operator()(const Tensor& x) const;

  static void visit(auto& self, auto&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }

 protected:
  Norm(const char* name, const Shape& shape, NormKind its_kind, double its_eps, bool has_bias,
       const ParameterSource& from);
};

/// The options of LayerNorm.
struct LayerNormOptions {
  Shape normalized_shape;
  double eps = 1e-5;
  bool bias = true;
};

/// A Norm of kind kLayerNorm over the axes of normalized_shape.
/// **Errors**: as Norm; no axis. **Source**: torch.nn.LayerNorm.
struct LayerNorm : Norm {
  explicit LayerNorm(const LayerNormOptions& options, const ParameterSource& from = default_rng());
  explicit LayerNorm(index_t width, const ParameterSource& from = default_rng())
      : LayerNorm({.normalized_shape = {width}}, from) {}
};

/// The options of RMSNorm.
struct RMSNormOptions {
  Shape normalized_shape;
  double eps = 1e-6;
};

/// A Norm of kind kRMSNorm over the axes of normalized_shape. The default eps of torch.nn.RMSNorm
/// depends on the dtype: to use the weights of a torch.nn.RMSNorm, also set the eps that it used.
/// **Errors**: as Norm; no axis. **Source**: torch.nn.RMSNorm.
struct RMSNorm : Norm {
  explicit RMSNorm(const RMSNormOptions& options, const ParameterSource& from = default_rng());
  explicit RMSNorm(index_t width, const ParameterSource& from = default_rng())
      : RMSNorm({.normalized_shape = {width}}, from) {}
};

}  // namespace tessera::nn
