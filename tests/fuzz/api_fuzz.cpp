// A program of calls of the public functions: each byte chooses a call or one of its arguments.
// The arguments have unusual shapes, dtypes, values and layouts, and may be undefined.
//
// A call may throw a std::invalid_argument with printable text, or std::bad_alloc; then the program
// continues. In libFuzzer's program, some bytes make the n-th allocation of the next call fail.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "tessera/models/encoder.h"
#include "tessera/nn/nn.h"
#include "tessera/nn/training/optim.h"
#include "tessera/nn/training/trainer.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/ops.h"
#include "tessera/tensor/ops/weight.h"
#include "tessera/tensor/print.h"
#include "tests/fuzz/target.h"

namespace tessera::test {

/// Makes the n-th allocation from now on fail, once; 0: none. Only in the program of libFuzzer.
[[gnu::weak]] void fail_allocation(long n);

namespace {

/// The bytes, as arguments. After the last byte all arguments are zero.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  /// From 0 to count - 1.
  index_t below(index_t count) {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte % count;
  }
  bool flag() { return below(2) == 1; }
  index_t axis() { return below(8) - 4; }
  index_t integer() {
    constexpr std::array<index_t, 12> kOdd = {0,
                                              1,
                                              2,
                                              3,
                                              4,
                                              7,
                                              -1,
                                              -2,
                                              -5,
                                              64,
                                              std::numeric_limits<index_t>::max(),
                                              std::numeric_limits<index_t>::min()};
    return kOdd[static_cast<std::size_t>(below(kOdd.size()))];
  }
  double real() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr std::array<double, 12> kOdd = {
        0,    1,      -1,   0.5,  -2.25, 1e-320,
        1e38, -1e300, -0.0, kInf, -kInf, std::numeric_limits<double>::quiet_NaN()};
    return kOdd[static_cast<std::size_t>(below(kOdd.size()))];
  }
  Scalar scalar() { return flag() ? Scalar(integer()) : Scalar(real()); }
  DType dtype() {
    constexpr std::array<DType, 6> kSome = {kFloat32, kFloat32, kFloat32, kFloat64, kInt64, kBool};
    return kSome[static_cast<std::size_t>(below(kSome.size()))];
  }
  Shape shape() {
    Shape result;
    for (index_t rank = below(5); rank > 0; --rank) result.push_back(below(6));
    return result;
  }
  Axes axes() {
    Axes result;
    for (index_t count = below(4); count > 0; --count) result.push_back(axis());
    return result;
  }

 private:
  std::string_view bytes_;
};

/// A model of each kind of part.
struct Model {
  nn::Embedding embedding;
  models::Encoder encoder;
  nn::Linear output;
  nn::Dropout dropout{0.25};

  explicit Model(const models::EncoderLayerOptions& layer)
      : embedding(5, layer.d_model),
        encoder({.layers = models::repeat_layer(layer, 2), .final_norm = true}),
        output(layer.d_model, 3) {}

  Tensor operator()(const Tensor& ids, const AttentionMask& mask) const {
    return output(dropout(encoder(embedding(ids), mask)));
  }

  static void visit(auto& self, auto&& visitor) {
    visitor("embedding", self.embedding);
    visitor("encoder", self.encoder);
    visitor("output", self.output);
    visitor("dropout", self.dropout);
  }
};

/// The state of a program.
struct Program {
  Bytes in;
  std::vector<Tensor> values = std::vector<Tensor>(1);  // the first is undefined
  Weight weight = {};
  std::vector<std::unique_ptr<Tape>> tapes = {};
  std::optional<Model> model = {};
  std::unique_ptr<nn::Optimizer> optimizer = {};

  Tensor& any() { return values[static_cast<std::size_t>(in.below(std::ssize(values)))]; }
  void put(const Tensor& x) {
    constexpr index_t kMostElements = 4096;
    constexpr std::size_t kMostValues = 12;
    if (x.defined() && x.count() > kMostElements) return;
    values.size() < kMostValues ? values.push_back(x) : void(any() = x);
  }
  Tensor put_all(const std::vector<Tensor>& all) {
    for (const Tensor& x : all) put(x);
    return {};
  }
  std::vector<Tensor> some() {
    std::vector<Tensor> result;
    for (index_t count = in.below(4); count > 0; --count) result.push_back(any());
    return result;
  }
  AttentionMask mask();
  template <class Enum>
  Enum odd(index_t count) {
    return static_cast<Enum>(in.below(count));
  }
};

/// A call of the program `p` with one of its values.
using Call = Tensor (*)(Program& p, const Tensor& x);

template <std::size_t N>
Tensor one_of(const std::array<Call, N>& calls, Program& p, const Tensor& x) {
  return calls[static_cast<std::size_t>(p.in.below(N))](p, x);
}

AttentionMask Program::mask() {
  switch (in.below(8)) {
    case 0:
      return causal_mask();
    case 1:
      return window_mask(in.integer());
    case 2:
      return length_mask(any());
    case 3:
      return keep_mask(any());
    case 4:
      return additive_mask(any());
    case 5:
      return ignore_keys_mask(any());
    case 6:
      return causal_mask() & length_mask(any());
    default:
      return {};
  }
}

using Unary = Tensor (*)(const Tensor&);
constexpr std::array<Unary, 24> kUnary = {
    neg,    exp,        expm1, log,   log1p, sqrt,  rsqrt,   sin,  cos,  tanh, erf,       abs,
    square, reciprocal, sign,  floor, ceil,  round, sigmoid, relu, silu, gelu, gelu_tanh, isnan};
using Binary = Tensor (*)(const Operand&, const Operand&);
constexpr std::array<Binary, 12> kBinary = {add, sub,          mul,       div, maximum, minimum,
                                            pow, floor_divide, remainder, eq,  lt,      ge};
constexpr std::array kSpecs = {"ij,jk", "...i,...i->...", "ii->i", "ab->ba", "a,b->ab"};

void make_model(Program& p) {
  models::EncoderLayerOptions layer = {.d_model = 4 * p.in.below(4), .nhead = 1 + p.in.below(3)};
  layer.dim_feedforward = p.in.below(7);
  layer.activation = p.odd<nn::Activation>(6);
  for (bool* const option :
       {&layer.norm_first, &layer.bias, &layer.gated, &layer.gradient_checkpoint, &layer.alibi}) {
    *option = p.in.flag();
  }
  layer.dropout = p.in.flag() ? 0.5 : p.in.real();
  if (p.in.flag()) layer.window = p.in.integer();
  if (p.in.flag()) layer.rotary = nn::RotaryOptions{};
  if (p.in.flag()) layer.norm = p.odd<nn::NormKind>(3);
  p.model.emplace(layer);
}

void train(Program& p, const Tensor& x, const Tensor& y) {
  const index_t kind = p.in.below(3);
  const auto loss = [&](const Tensor& rows, const Tensor& targets) {
    const Tensor scores = (*p.model)(rows, {});
    if (kind == 0) return nn::LossSum{sum(scores), p.in.real(), p.in.real()};
    if (kind == 1) return nn::summed_mean(mean(scores), p.in.real());
    return nn::summed_cross_entropy(scores.flatten(0, -2), targets);
  };
  nn::Trainer trainer(*p.model, *p.optimizer, nn::examples_of(x, y, loss),
                      {.steps = 2,
                       .batch_size = 2,
                       .shards = 1 + p.in.below(2),
                       .warmup_ratio = p.in.flag() ? 0.5 : p.in.real()});
  trainer.train();
}

// One call per line.
// clang-format off
const std::array kCreate = std::to_array<Call>({
  [](Program& p, const Tensor&) -> Tensor { return randn(p.in.shape(), p.in.dtype()); },
  [](Program& p, const Tensor&) -> Tensor { return full(p.in.shape(), p.in.scalar(), p.in.dtype()); },
  [](Program& p, const Tensor&) -> Tensor { return randint(p.in.integer(), p.in.integer(), p.in.shape()); },
  [](Program& p, const Tensor&) -> Tensor { return arange(p.in.below(30)).to(p.in.dtype()); },
  [](Program& p, const Tensor&) -> Tensor { return uniform(p.in.real(), p.in.real(), p.in.shape()); },
  [](Program& p, const Tensor&) -> Tensor { return linspace(p.in.real(), p.in.real(), p.in.below(9)); },
  [](Program& p, const Tensor&) -> Tensor { return eye(p.in.below(5), p.in.below(5), p.in.dtype()); },
  [](Program&, const Tensor&) -> Tensor { return Tensor(); },
});

const std::array kView = std::to_array<Call>({
  [](Program& p, const Tensor& x) -> Tensor { return x.transpose(p.in.axis(), p.in.axis()); },
  [](Program& p, const Tensor& x) -> Tensor { return x.permute(p.in.axes()); },
  [](Program& p, const Tensor& x) -> Tensor { return x.slice(p.in.axis(), p.in.integer(), p.in.integer(), p.in.integer()); },
  [](Program& p, const Tensor& x) -> Tensor { return x.select(p.in.axis(), p.in.integer()); },
  [](Program& p, const Tensor& x) -> Tensor { return x.expand(p.in.shape()); },
  [](Program&, const Tensor& x) -> Tensor { return x.squeeze(); },
  [](Program& p, const Tensor& x) -> Tensor { return x.unsqueeze(p.in.axis()); },
  [](Program& p, const Tensor& x) -> Tensor { return x.reshape(p.in.shape()); },
  [](Program& p, const Tensor& x) -> Tensor { return x.flatten(p.in.axis(), p.in.axis()); },
  [](Program& p, const Tensor& x) -> Tensor { return x.unflatten(p.in.axis(), p.in.shape()); },
  [](Program& p, const Tensor& x) -> Tensor { return p.put_all(x.chunk(p.in.below(7) - 1, p.in.axis())); },
  [](Program& p, const Tensor& x) -> Tensor { return p.put_all(x.split({p.in.integer(), p.in.below(4)}, p.in.axis())); },
  [](Program& p, const Tensor& x) -> Tensor { return p.put_all(x.unbind(p.in.axis())); },
  [](Program& p, const Tensor& x) -> Tensor { return x.diagonal(p.in.integer(), p.in.axis(), p.in.axis()); },
  [](Program& p, const Tensor& x) -> Tensor { return x.toeplitz(p.in.integer(), p.in.integer()); },
  [](Program&, const Tensor& x) -> Tensor { return x.contiguous(); },
  [](Program& p, const Tensor& x) -> Tensor { return x.to(p.in.dtype()); },
  [](Program&, const Tensor& x) -> Tensor { return x.clone(); },
  [](Program&, const Tensor& x) -> Tensor { return x.detach(); },
});

const std::array kWrite = std::to_array<Call>({
  [](Program& p, const Tensor& x) -> Tensor { return Tensor(x).fill(p.in.scalar()); },
  [](Program& p, const Tensor& x) -> Tensor { return Tensor(x).copy_from(p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { Tensor y = x; return y += p.any(); },
  [](Program& p, const Tensor& x) -> Tensor { Tensor y = x; return y *= p.in.scalar(); },
  [](Program&, const Tensor& x) -> Tensor { Tensor y = x; if (y.count() > 0) *y.mutable_data<float>() = 2; return y; },
  [](Program&, const Tensor& x) -> Tensor { return full({}, x.item(), kFloat64); },
  [](Program& p, const Tensor& x) -> Tensor { to_string(x, {.edgeitems = p.in.integer()}); return x; },
  [](Program&, const Tensor& x) -> Tensor { return from_vector(x.to_vector<float>()); },
});

const std::array kElementwise = std::to_array<Call>({
  [](Program& p, const Tensor& x) -> Tensor { return kUnary[static_cast<std::size_t>(p.in.below(kUnary.size()))](x); },
  [](Program& p, const Tensor& x) -> Tensor { return kBinary[static_cast<std::size_t>(p.in.below(kBinary.size()))](x, p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return kBinary[static_cast<std::size_t>(p.in.below(kBinary.size()))](x, p.in.scalar()); },
  [](Program& p, const Tensor& x) -> Tensor { return where(x, p.any(), p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return clamp(x, p.in.scalar(), p.in.scalar()); },
  [](Program& p, const Tensor& x) -> Tensor { return masked_fill(x, p.any(), p.in.scalar()); },
});

const std::array kReduce = std::to_array<Call>({
  [](Program& p, const Tensor& x) -> Tensor { return sum(x, p.in.axes(), p.in.flag()); },
  [](Program& p, const Tensor& x) -> Tensor { return mean(x, p.in.axes(), p.in.flag()); },
  [](Program& p, const Tensor& x) -> Tensor { return max(x, p.in.axes(), p.in.flag()); },
  [](Program& p, const Tensor& x) -> Tensor { return argmax(x, p.in.axes(), p.in.flag()); },
  [](Program& p, const Tensor& x) -> Tensor { return argmin(x, p.in.axes(), p.in.flag()); },
  [](Program& p, const Tensor& x) -> Tensor { return prod(x, p.in.axes(), p.in.flag()); },
  [](Program& p, const Tensor& x) -> Tensor { return norm(x, p.in.axes(), p.in.flag()); },
  [](Program& p, const Tensor& x) -> Tensor { return all(x, p.in.axes(), p.in.flag()); },
  [](Program& p, const Tensor& x) -> Tensor { return logsumexp(x, p.in.axes(), p.in.flag()); },
  [](Program& p, const Tensor& x) -> Tensor { return var(x, p.in.axes(), p.in.flag(), p.in.integer()); },
  [](Program& p, const Tensor& x) -> Tensor { return softmax(x, p.in.axes()); },
  [](Program& p, const Tensor& x) -> Tensor { return log_softmax(x, p.in.axes()); },
  [](Program& p, const Tensor& x) -> Tensor { return cumsum(x, p.in.axis()); },
  [](Program& p, const Tensor& x) -> Tensor { return layer_norm(x, p.any(), p.any(), p.in.real()); },
  [](Program& p, const Tensor& x) -> Tensor { return rms_norm(x, p.any(), p.in.real()); },
  [](Program& p, const Tensor& x) -> Tensor { return cosine_similarity(x, p.any(), p.in.axis(), p.in.real()); },
});

const std::array kIndex = std::to_array<Call>({
  [](Program& p, const Tensor& x) -> Tensor { return embedding(p.any(), x); },
  [](Program& p, const Tensor& x) -> Tensor { return index_select(x, p.in.axis(), p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return gather(x, p.in.axis(), p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return one_hot(x, p.in.below(9), p.in.dtype()); },
  [](Program&, const Tensor& x) -> Tensor { return nonzero(x); },
  [](Program& p, const Tensor& x) -> Tensor { return masked_select(x, p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return tril(x, p.in.integer()); },
  [](Program& p, const Tensor& x) -> Tensor { return triu(x, p.in.integer()); },
  [](Program& p, const Tensor& x) -> Tensor { return scatter_add(x, p.in.axis(), p.any(), p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return index_add(x, p.in.axis(), p.any(), p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return sort(x, p.in.axis(), p.in.flag()).indices; },
  [](Program& p, const Tensor& x) -> Tensor { return topk(x, p.in.integer(), p.in.axis(), p.in.flag()).values; },
  [](Program& p, const Tensor& x) -> Tensor { return flip(x, p.in.axes()); },
  [](Program& p, const Tensor& x) -> Tensor { return roll(x, p.in.shape(), p.in.axes()); },
  [](Program& p, const Tensor& x) -> Tensor { return pad(x, {p.in.axis(), p.in.axis()}, p.in.scalar()); },
  [](Program& p, const Tensor& x) -> Tensor { return tile(x, p.in.shape()); },
  [](Program& p, const Tensor& x) -> Tensor { return repeat_interleave(x, p.in.below(5), p.in.axis()); },
  [](Program& p, const Tensor&) -> Tensor { return concat(p.some(), p.in.axis()); },
  [](Program& p, const Tensor&) -> Tensor { return stack(p.some(), p.in.axis()); },
  [](Program& p, const Tensor& x) -> Tensor { return slice_scatter(x, p.any(), p.in.axis(), p.in.integer(), p.in.integer()); },
});

const std::array kProduct = std::to_array<Call>({
  [](Program& p, const Tensor& x) -> Tensor { return matmul(x, p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return outer(x, p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return linear(x, p.any(), p.any(), p.odd<Activation>(6), p.any()); },
  [](Program& p, const Tensor&) -> Tensor { return einsum(kSpecs[static_cast<std::size_t>(p.in.below(kSpecs.size()))], p.some()); },
  [](Program& p, const Tensor& x) -> Tensor { p.weight = p.in.flag() ? Weight::gated(x) : Weight(x); return {}; },
  [](Program& p, const Tensor&) -> Tensor { p.weight = p.weight.prepacked(p.odd<WeightFormat>(3)); return {}; },
  [](Program& p, const Tensor& x) -> Tensor { return gated_linear(x, p.weight, p.any(), p.odd<Activation>(5)); },
  [](Program& p, const Tensor& x) -> Tensor { return linear(x, p.weight, p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return attention(x, p.any(), p.any(), p.mask()).output; },
  [](Program& p, const Tensor& x) -> Tensor { return cross_entropy(x, p.any(), {.label_smoothing = p.in.real(), .reduction = p.odd<Reduction>(4)}); },
  [](Program& p, const Tensor& x) -> Tensor { return mse_loss(x, p.any(), p.odd<Reduction>(4)); },
  [](Program& p, const Tensor& x) -> Tensor { return kl_div(x, p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return bce_with_logits(x, p.any(), {.reduction = p.odd<Reduction>(4)}); },
  [](Program& p, const Tensor& x) -> Tensor { return smooth_l1_loss(x, p.any(), {.reduction = p.odd<Reduction>(4)}); },
  [](Program& p, const Tensor& x) -> Tensor { return dropout(x, {p.in.real(), 7}, p.any()); },
  [](Program& p, const Tensor& x) -> Tensor { return unpad_rows(x, p.any()); },
});

const std::array kGradient = std::to_array<Call>({
  [](Program& p, const Tensor&) -> Tensor { p.any().set_requires_grad(p.in.flag()); return {}; },
  [](Program& p, const Tensor&) -> Tensor { if (p.tapes.size() < 2) p.tapes.push_back(std::make_unique<Tape>()); return {}; },
  [](Program& p, const Tensor& x) -> Tensor { if (!p.tapes.empty()) p.tapes.back()->backward(x); return {}; },
  [](Program& p, const Tensor& x) -> Tensor { if (!p.tapes.empty()) p.tapes.back()->backward(x, p.any()); return {}; },
  [](Program& p, const Tensor&) -> Tensor { if (!p.tapes.empty()) p.tapes.pop_back(); return {}; },
  [](Program&, const Tensor& x) -> Tensor { return x.grad(); },
});

const std::array kModule = std::to_array<Call>({
  [](Program& p, const Tensor& x) -> Tensor { return (*p.model)(x, p.mask()); },
  [](Program& p, const Tensor&) -> Tensor { return (*p.model)(randint(0, 5, {2, 3}), p.mask()); },
  [](Program& p, const Tensor& x) -> Tensor { return p.model->encoder(x, p.mask()); },
  [](Program& p, const Tensor& x) -> Tensor { return p.put_all(p.model->encoder.with_attentions({x, p.mask()}).attentions); },
  [](Program& p, const Tensor&) -> Tensor { nn::prepack(*p.model, {.format = p.odd<WeightFormat>(3)}); return {}; },
  [](Program& p, const Tensor&) -> Tensor { nn::unpack(*p.model); return {}; },
  [](Program& p, const Tensor&) -> Tensor { nn::convert(*p.model, p.in.dtype()); return {}; },
  [](Program& p, const Tensor&) -> Tensor { nn::set_training(*p.model, p.in.flag()); return {}; },
  [](Program& p, const Tensor&) -> Tensor { nn::set_requires_grad(*p.model, p.in.flag()); return {}; },
  [](Program& p, const Tensor& x) -> Tensor { nn::load_state_dict(*p.model, {{"output.bias", x}}, {.strict = p.in.flag()}); return {}; },
  [](Program& p, const Tensor&) -> Tensor { p.optimizer.reset(); p.optimizer = std::make_unique<nn::AdamW>(*p.model); return {}; },
  [](Program& p, const Tensor&) -> Tensor { if (p.optimizer) p.optimizer->step(); return {}; },
  [](Program& p, const Tensor&) -> Tensor { if (p.optimizer) p.optimizer->zero_grad(); return {}; },
  [](Program& p, const Tensor& x) -> Tensor { if (p.optimizer && p.tapes.empty()) train(p, x, p.any()); return {}; },
  [](Program& p, const Tensor&) -> Tensor { p.optimizer.reset(); p.model.reset(); return {}; },
});

// clang-format on

/// One call.
Tensor step(Program& p) {
  const Tensor x = p.any();
  switch (p.in.below(12)) {
    case 0:
      return one_of(kCreate, p, x);
    case 1:
      return one_of(kWrite, p, x);
    case 2:
      return one_of(kElementwise, p, x);
    case 3:
      return one_of(kReduce, p, x);
    case 4:
      return one_of(kIndex, p, x);
    case 5:
      return one_of(kProduct, p, x);
    case 6:
      return one_of(kGradient, p, x);
    case 7:
    case 8:
      if (p.model) return one_of(kModule, p, x);
      make_model(p);
      return {};
    case 9:  // an allocation of the next call fails
      if (fail_allocation != nullptr) fail_allocation(1 + p.in.below(64));
      return step(p);
    default:
      return one_of(kView, p, x);
  }
}

bool is_printable(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n';
  });
}

}  // namespace

void fuzz_api(std::string_view bytes) {
  Rng rng(1);
  const RngScope random(rng);
  Program p{Bytes(bytes)};
  while (!p.in.empty()) {
    try {
      p.put(step(p));
    } catch (const std::invalid_argument& error) {
      expect(is_printable(error.what()), "an error without a printable text");
    } catch (const std::bad_alloc&) {
      // The n-th allocation failed, or a shape was too large.
    }
    if (fail_allocation != nullptr) fail_allocation(0);
  }
  while (!p.tapes.empty()) p.tapes.pop_back();
}

}  // namespace tessera::test
