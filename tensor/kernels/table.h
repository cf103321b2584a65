// The interface of the kernels: tables of function pointers, one of each kind per instruction set.
// `table<T>()` returns those of the instruction set in use. Each file of isa/ is compiled for one
// instruction set: it includes the headers of all kernels in a namespace of its own, and fills the
// tables with pointers to their functions, which have the names of the fields.
//
// Kernels take raw pointers, extents and strides (in elements); they allocate nothing and throw
// nothing. `x_row` is the stride between the rows of x.
#pragma once

#include "tessera/tensor/kernels/elementwise_ops.h"
#include "tessera/tensor/kernels/product_args.h"
#include "tessera/tensor/kernels/types.h"

namespace tessera::kernels {

/// (batch, heads, tokens, width) in memory: the strides of the first three axes; the last axis is
/// contiguous.
template <class T>
struct Heads {
  T* data = nullptr;
  index_t batch = 0, head = 0, token = 0;
};

/// y is x with its heads rotated by `rotation`. Row r of the batch is token r % rotation.tokens of
/// sequence r / rotation.tokens; columns that are not rotated are copied.
template <class T>
struct RotaryArgs {
  HeadRotation<T> rotation;
  Heads<const T> x;
  Heads<T> y;                   // may be x
  index_t first_row = 0, rows;  // the rows of the batch to rotate
  bool back = false;            // true: by the opposite angles, for gradients
};

/// Indices selected along an axis: `count` numbers in any order, or all if `numbers` is null.
struct Picked {
  const index_t* numbers = nullptr;
  index_t count = 0;
};

/// A window that hides no key; adding a position to it does not overflow.
inline constexpr index_t kNoWindow = index_t{1} << 62;

/// Dropout draws a random number of 16 bits for each element.
inline constexpr index_t kDropoutSteps = 65536;

/// A dropout: drops the elements whose random number, a function of `key` (dropout.h), is less
/// than `threshold`. Kept elements are multiplied by kDropoutSteps / (kDropoutSteps - threshold);
/// if all are dropped, this scale is 0.
struct Dropout {
  std::uint64_t key = 0;
  index_t threshold = 0;
};

/// The number of consecutive elements of a tensor whose random numbers are computed together.
inline constexpr index_t kDropoutGroup = 32;

/// y[i] = x[i] times the scale of kept elements, or 0 if element i is dropped (+ residual[i]).
template <class T>
struct DropoutArgs {
  index_t n;
  index_t first = 0;  // index of x[0] in its tensor, a multiple of kDropoutGroup
  const T* x;
  const T* residual = nullptr;
  T* y;  // may be x or residual
  Dropout mask;
};

/// One number per score (batch, heads, queries, keys); strides are 0 along broadcast axes.
template <class T>
struct PerScore {
  T* data = nullptr;
  index_t batch = 0, head = 0, query = 0, key = 0;
};

/// The keys that a query sees, and the bias of its scores. By default a query sees all keys.
template <class T>
struct AttentionMasks {
  bool causal = false;               // query i sees keys j <= i
  index_t window = kNoWindow;        // from 0 to kNoWindow: query i sees keys |i - j| <= window
  const index_t* lengths = nullptr;  // (batch): keys j >= lengths[b] are masked
  PerScore<const bool> keep = {};    // false masks
  PerScore<const T> bias = {};       // added to the scaled scores; -inf masks
};

/// The weights of some heads and queries are written to `rows`: (batch, picked heads, picked
/// queries, keys).
template <class T>
struct WeightCapture {
  Heads<T> rows = {};
  Picked heads = {};
  Picked queries = {};
};

/// Two numbers per (batch, head, query), from which attention_backward recomputes the weights.
template <class T>
struct AttentionStatistics {
  T* maxima = nullptr;  // the largest score, in units of ln 2
  T* scales = nullptr;  // 1 / the sum of 2^(score - largest); 0 if all keys are masked
};

/// out = dropout(softmax(q k^T scale + masks)) v, for each batch and head, without the matrix of
/// scores in memory.
///
/// **Shapes**: q (batch, heads, queries, width), k (batch, heads / group, keys, width),
/// v (batch, heads / group, keys, v_width), out (batch, heads, queries, v_width).
/// Heads [g group, (g + 1) group) of the queries read head g of keys and values.
/// Masked keys get a weight of exactly 0, and their values have no effect, even NaN; a query whose
/// keys are all masked gives zeros. `out` must not overlap the inputs.
template <class T>
struct AttentionArgs {
  index_t batch, heads, queries, keys, width, v_width;
  index_t group = 1;  // heads of q per head of k and v; divides `heads`
  Heads<const T> q, k, v;
  Heads<T> out;
  T scale;
  AttentionMasks<T> masks = {};
  Dropout dropout = {};  // of the weights; the value of a dropped weight has no effect, even NaN
  // (batch + 1), for sequences packed one after the other: sequence b is tokens [offsets[b],
  // offsets[b + 1]) of q, k, v, out and their gradients, and strides along the batch are not read.
  // `queries` and `keys` are then equal, and at least the length of the longest sequence. Masks,
  // weights, dropout and statistics still have axes of `batch`, `queries` and `keys`.
  const index_t* offsets = nullptr;
  WeightCapture<T> weights = {};           // optional
  AttentionStatistics<T> statistics = {};  // optional
  index_t workers = 1;                     // the largest number of threads
  T* workspace = nullptr;                  // attention_workspace(args) elements
};

/// The gradients of attention: with P its weights, D_i = sum_c dout_ic out_ic and o the elementwise
/// product,
///
///     dP = dout v^T      dS = P o (dP - D)
///     dv = P^T dout      dq = scale dS k      dk = scale dS^T q      dbias = dS
///
/// With dropout, the P in dv and dP are dropped and scaled like the weights of the forward pass.
/// **Shapes**: as in AttentionArgs; each gradient has the shape of its input, and separate strides.
/// Each element is one chain of fused multiply-adds in the order of the queries or of the keys,
/// however the work is divided; a chain of dk or dv goes through the queries of the group's first
/// head, then of its second, and so on. A key that no query uses, and a query whose keys are all
/// masked, get zeros. Masked elements have no effect, even NaN; if an element of dout is infinite
/// or NaN, all gradients that depend on the element's query are NaN.
template <class T>
struct AttentionBackwardArgs {
  // `out` and `statistics` are results of the forward pass; `workers` and `workspace` are for the
  // backward.
  AttentionArgs<T> forward;
  Heads<const T> d_out;
  Heads<T> dq, dk, dv;
  PerScore<T> d_bias = {};  // optional; the sums are added to its elements
};

enum class ReduceOp {
  kSum,                // without elements: 0
  kMax,                // NaN if one is NaN; without elements: -inf
  kMin,                // NaN if one is NaN; without elements: inf
  kSquaredDeviations,  // sum of (x - mean of x)^2, in two passes
};

/// y = h weight + bias, h = (x - mean) / sqrt(variance + eps), for each row of x.
///
/// **Shapes**: x, y (rows, n), rows contiguous; weight, bias (n); mean, rstd, shift (rows).
/// The variance is the biased one, computed in two passes, so that a mean far from 0 loses no
/// digits. RMS norm takes 0 as the mean, so its variance is the mean of x^2.
template <class T>
struct LayerNormArgs {
  index_t rows, n;
  bool centres = true;  // false: RMS norm
  const T* x;
  index_t x_row;
  const T* weight = nullptr;  // null: 1
  const T* bias = nullptr;    // null: 0
  T eps = 0;
  T* y = nullptr;  // may be x
  index_t y_row = 0;
  T* mean = nullptr;   // optional
  T* rstd = nullptr;   // optional: 1 / sqrt(variance + eps)
  T* shift = nullptr;  // optional: h = (x - mean) rstd + shift, with the rounded mean
};

/// The gradients of layer norm's input, here s, of its weight and of its bias, from dy:
///
///     ds = rstd (dh - mean(dh) - h mean(dh h)) (+ added),    dh = dy weight
///     dweight = sum over the rows of dy h,  dbias = sum over the rows of dy
///
/// with the normalised row h, y = h weight + bias. RMS norm omits mean(dh).
///
/// **Shapes**: s, dy, added, ds (rows, n), rows contiguous; mean, rstd, shift (rows), results of
/// layer_norm; weight, dweight, dbias (n). Each sum over the rows is one chain in their order.
template <class T>
struct LayerNormGradientArgs {
  index_t rows, n;
  bool centres = true;  // false: RMS norm, which needs neither mean nor shift
  const T* s;
  index_t s_row;
  const T* dy;
  index_t dy_row;
  const T* weight = nullptr;  // null: 1
  const T* mean = nullptr;
  const T* rstd = nullptr;
  const T* shift = nullptr;
  const T* added = nullptr;  // a gradient of s that bypasses the norm, as of a residual
  index_t added_row = 0;
  T* ds = nullptr;  // optional; may be dy or added
  index_t ds_row = 0;
  T* dweight = nullptr;  // optional, both or none
  T* dbias = nullptr;
};

/// loss[i] = -log softmax(x[i])[targets[i]] for each row of x, and the gradients: the formulas are
/// in loss.h.
///
/// **Shapes**: x (rows, classes), rows contiguous; targets, loss (rows); dx (rows, classes),
/// contiguous; weight (classes). A target is in [0, classes), or is `ignored`: then the loss and
/// the gradient of its row are 0.
template <class T>
struct CrossEntropyArgs {
  index_t rows, classes;
  const T* x;
  index_t x_row;
  const index_t* targets;
  index_t ignored;
  T smoothing = 0;            // in [0, 1]
  const T* weight = nullptr;  // null: 1
  T weight_sum = 0;           // the sum of `weight`
  T* loss = nullptr;
  T* dx = nullptr;       // optional
  T gradient_scale = 1;  // multiplies dx
};

enum class PointwiseLoss {
  kSquaredError,   // (x - t)^2
  kBceWithLogits,  // -log sigmoid(x) t p - log(1 - sigmoid(x)) (1 - t), p: positive_weight
  kSmoothL1,       // d^2 / (2 beta) if |d| < beta, else |d| - beta / 2, with d = x - t
};

/// loss[i] = the loss of x[i] at target t[i], times weight[i]; all contiguous; `loss` and `dx` do
/// not overlap the inputs.
template <class T>
struct PointwiseLossArgs {
  index_t n;
  const T* x;
  const T* target;
  const T* weight = nullptr;           // null: 1
  const T* positive_weight = nullptr;  // null: 1
  T* loss = nullptr;
  T* dx = nullptr;       // optional
  T gradient_scale = 1;  // multiplies dx
  T beta = 1;            // for kSmoothL1: finite, not negative
};

/// One step of stochastic gradient descent on n elements, in place (optimizer.h).
template <class T>
struct SgdArgs {
  index_t n;
  T* w;
  const T* gradient;
  T* buffer = nullptr;  // of the momentum; null: no momentum
  bool first = false;   // sets the buffer to the gradient without reading it
  bool nesterov = false;
  T rate;
  T weight_decay = 0;
  T momentum = 0;
  T gain = 1;  // 1 - dampening
};

/// One step of Adam or AdamW on n elements, in place (optimizer.h).
template <class T>
struct AdamArgs {
  index_t n;
  T* w;
  const T* gradient;
  T* m;
  T* v;
  T l2 = 0;        // Adam: w l2 is added to the gradient
  T keep = 1;      // AdamW: 1 - rate * weight_decay, multiplies w
  T beta1, gain1;  // gain = 1 - beta
  T beta2, gain2;
  T step;  // rate / (1 - beta1^t)
  T root;  // sqrt(1 - beta2^t)
  T eps;
};

/// gemm, pack_b, pack_gated_b, attention and attention_backward divide their work among threads;
/// all other kernels run in the calling thread, and ops divide rows among threads. A stride counts
/// elements and may have any value; 1 and 0 are fast. Neither strides nor the address of a row
/// change a bit. Outputs are contiguous and, unless stated otherwise, do not overlap the inputs.
template <class T>
struct FloatKernels {
  index_t lanes;  // the elements of a vector; a panel of B has kPanelVectors vectors of columns
  void (*gemm)(const GemmArgs<T>&) noexcept;
  /// The number of elements that gemm needs as workspace.
  index_t (*gemm_workspace)(const GemmArgs<T>&) noexcept;
  /// B (k, n) in panels: k panel_columns(n, false, lanes) elements.
  void (*pack_b)(index_t k, index_t n, const MatrixRef<T>& b, T* packed) noexcept;
  /// The same for B (k, 2n) of a gated product: k panel_columns(n, true, lanes) elements.
  void (*pack_gated_b)(index_t k, index_t n, const MatrixRef<T>& b, T* packed) noexcept;
  /// dz (2n) for one row y = activation(u) g, from z = [u | g] (2n) and dy (n); all contiguous.
  void (*gated_gradient)(Activation, index_t n, const T* z, const T* dy, T* dz) noexcept;
  void (*attention)(const AttentionArgs<T>&) noexcept;
  /// The number of elements that attention needs as workspace.
  index_t (*attention_workspace)(const AttentionArgs<T>&) noexcept;
  void (*attention_backward)(const AttentionBackwardArgs<T>&) noexcept;
  index_t (*attention_backward_workspace)(const AttentionBackwardArgs<T>&) noexcept;

  /// y[i] = op(x[i]) for i < n. y may be x if the stride is 1.
  void (*unary)(UnaryOp, index_t n, const T* x, index_t x_stride, T* y) noexcept;
  /// dx[i] = dy[i] times the derivative of op, which is computed from x or from y
  /// (gradient_reads_x). dx may be an operand whose stride is 1.
  void (*unary_gradient)(UnaryOp, index_t n, const T* x_or_y, index_t stride, const T* dy,
                         index_t dy_stride, T* dx) noexcept;
  /// y[i] = op(x[i]; p, q). y may be x if the stride is 1.
  void (*parametric)(ParametricOp, T p, T q, index_t n, const T* x, index_t x_stride,
                     T* y) noexcept;
  /// dx[i] = dy[i] times the derivative of op at x[i], which is 0 outside the bounds of clamp. dx
  /// may be an operand whose stride is 1.
  void (*parametric_gradient)(ParametricOp, T p, T q, index_t n, const T* x, index_t x_stride,
                              const T* dy, index_t dy_stride, T* dx) noexcept;
  /// y[i] = a[i] op b[i]. y may be an operand whose stride is 1.
  void (*binary)(BinaryOp, index_t n, const T* a, index_t a_stride, const T* b, index_t b_stride,
                 T* y) noexcept;
  /// y[i] = whether a[i] op b[i]; NaN is unequal to everything, including NaN.
  void (*compare)(CompareOp, index_t n, const T* a, index_t a_stride, const T* b, index_t b_stride,
                  bool* y) noexcept;
  /// y[i] = mask[i] ? a[i] : b[i]. y may be an operand whose stride is 1.
  void (*where)(index_t n, const bool* mask, index_t mask_stride, const T* a, index_t a_stride,
                const T* b, index_t b_stride, T* y) noexcept;

  /// The reduction of x[0], ..., x[n - 1].
  T (*reduce)(ReduceOp, index_t n, const T* x, index_t x_stride) noexcept;
  /// y[j] = the reduction of column j of x (rows, columns), rows contiguous, with the bits that
  /// `reduce` gives for the column.
  void (*reduce_columns)(ReduceOp, index_t rows, index_t columns, const T* x, index_t x_row,
                         T* y) noexcept;
  /// The first index of the largest x[i], or that of the first NaN; n >= 1.
  index_t (*argmax)(index_t n, const T* x, index_t x_stride) noexcept;

  /// y = exp(x) / sum of exp(x), over each row of x (rows, n); rows contiguous, y may be x. A row
  /// with NaN or +inf, or with only -inf, gives only NaN.
  void (*softmax)(index_t rows, index_t n, const T* x, index_t x_row, T* y, index_t y_row) noexcept;
  /// y = x - log(sum of exp(x)), otherwise as softmax.
  void (*log_softmax)(index_t rows, index_t n, const T* x, index_t x_row, T* y,
                      index_t y_row) noexcept;
  /// The gradients dx (rows, n) of softmax and log_softmax, from their results y and dy; dx may be
  /// dy if the rows of dy are n apart.
  void (*softmax_gradient)(index_t rows, index_t n, const T* y, index_t y_row, const T* dy,
                           index_t dy_row, T* dx) noexcept;
  void (*log_softmax_gradient)(index_t rows, index_t n, const T* y, index_t y_row, const T* dy,
                               index_t dy_row, T* dx) noexcept;
  /// y[i] = log(sum of exp(x)) over row i; -inf for a row without elements or with only -inf.
  void (*logsumexp)(index_t rows, index_t n, const T* x, index_t x_row, T* y) noexcept;

  void (*layer_norm)(const LayerNormArgs<T>&) noexcept;
  void (*layer_norm_gradient)(const LayerNormGradientArgs<T>&) noexcept;

  void (*rotary)(const RotaryArgs<T>&) noexcept;

  void (*cross_entropy)(const CrossEntropyArgs<T>&) noexcept;
  void (*pointwise_loss)(PointwiseLoss, const PointwiseLossArgs<T>&) noexcept;

  void (*sgd)(const SgdArgs<T>&) noexcept;
  void (*adam)(const AdamArgs<T>&) noexcept;
  /// The sum of x[i]^2, computed in double.
  double (*sum_of_squares)(index_t n, const T* x) noexcept;

  void (*dropout)(const DropoutArgs<T>&) noexcept;
};

/// Products of int8: see int8.h. quantize_rows, pack and gemm divide their work among threads.
struct Int8Kernels {
  /// Whether no element of x is inf or NaN.
  bool (*is_finite)(index_t n, const float* x, index_t stride) noexcept;
  /// The number of words from one row of codes of Int8Rows to the next, for k codes in the order of
  /// `dots`.
  index_t (*row_size)(index_t k, bool dots) noexcept;
  /// Finds the scale and the zero point of each row of A (m, k), and the codes in the order of
  /// `to.dots`.
  void (*quantize_rows)(index_t m, index_t k, const MatrixRef<float>& a,
                        const Int8Rows& to) noexcept;
  /// Computes the scale, the codes and their sum for each column of B (k, n), or (k, 2n) if it is
  /// gated; returns whether all elements are finite.
  bool (*pack)(index_t k, index_t n, bool gated, const MatrixRef<float>& b, std::int8_t* codes,
               float* scales, std::int32_t* sums) noexcept;
  /// The number of elements of GemmArgs::workspace that gemm needs, for codes in the order of
  /// `dots`.
  index_t (*workspace)(GemmArgs<float>, bool dots) noexcept;
  void (*gemm)(const Int8Args&) noexcept;
};

/// The kernels of one instruction set.
struct IsaKernels {
  const char* isa;
  const FloatKernels<float>* float32;
  const FloatKernels<double>* float64;
  const Int8Kernels* int8;
  bool has_dots = false;  // dot products of bytes at its vector width

  template <class T>
  const FloatKernels<T>& of() const {
    static_assert(__is_same(T, float) || __is_same(T, double));
    if constexpr (__is_same(T, float)) {
      return *float32;
    } else {
      return *float64;
    }
  }
};

/// The kernels of the instruction set in use (dispatch.h). An op calls this once: set_isa may be
/// called while the op runs.
const IsaKernels& isa_kernels();

/// The kernels for float or double of the instruction set in use.
template <class T>
const FloatKernels<T>& table() {
  return isa_kernels().of<T>();
}

/// Whether these kernels may use dot products of bytes, as tessera::dot_products.
bool dot_products(const IsaKernels& kernels);

}  // namespace tessera::kernels
