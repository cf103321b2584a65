// The kernels' interface: one table of function pointers per instruction set, all with the same
// meaning. Raw pointers, extents and strides (in elements); no allocation, no exceptions. `x_row` is
// the stride from one row of x to the next, `x_col` that from one column to the next.
#pragma once

#include "tensor/kernels/elementwise_ops.h"
#include "tensor/kernels/product_args.h"
#include "tensor/kernels/types.h"

namespace tessera::kernels {

/// (batch, heads, tokens, width) in memory: the strides of the first three axes; the last axis is
/// contiguous.
template <class T>
struct Heads {
  T* data = nullptr;
  index_t batch = 0, head = 0, token = 0;
};

/// Heads rotated by `rotation`. Row r of the batch is token r % rotation.tokens of sequence r /
/// rotation.tokens; columns that are not rotated are copied.
template <class T>
struct RotaryArgs {
  HeadRotation<T> rotation;
  Heads<const T> x;
  Heads<T> y;                   // may be x
  index_t first_row = 0, rows;  // the rows of the batch to rotate
  bool back = false;            // by the opposite angles, for gradients
};

/// Positions chosen from an axis: `count` numbers in any order, or all if `numbers` is null.
struct Picked {
  const index_t* numbers = nullptr;
  index_t count = 0;
};

/// A window that hides no key: no sum of it and a position overflows.
inline constexpr index_t kNoWindow = index_t{1} << 62;

/// A dropout draws numbers of 16 bits.
inline constexpr index_t kDropoutSteps = 65536;

/// Which elements a dropout drops: those that draw less than `threshold` of kDropoutSteps, by a key.
/// dropout_bits.h says how. Survivors are multiplied by kDropoutSteps / (kDropoutSteps - threshold),
/// or by 0 where there are none.
struct Dropout {
  std::uint64_t key = 0;
  index_t threshold = 0;
};

/// The number of neighbouring elements of a tensor that draw together.
inline constexpr index_t kDropoutGroup = 32;

/// y[i] = x[i] times the survivors' scale, or 0 if it is dropped (+ residual[i]).
template <class T>
struct DropoutArgs {
  index_t n;
  index_t first = 0;  // number of element 0 in its tensor: a multiple of kDropoutGroup
  const T* x;
  const T* residual = nullptr;
  T* y;  // may be x or residual
  Dropout mask;
};

/// A number for each score (batch, heads, queries, keys), by strides that are 0 along broadcast
/// axes.
template <class T>
struct PerScore {
  T* data = nullptr;
  index_t batch = 0, head = 0, query = 0, key = 0;
};

/// The keys that a query sees, and the bias of its scores. By default a query sees all keys.
template <class T>
struct AttentionMasks {
  bool causal = false;               // query i sees keys j <= i
  index_t window = kNoWindow;        // query i sees keys |i - j| <= window, from 0 to kNoWindow
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

/// What attention_backward needs to compute the weights again, for each (batch, head, query).
template <class T>
struct AttentionStatistics {
  T* maxima = nullptr;  // the largest score, in units of ln 2
  T* scales = nullptr;  // 1 / the sum of 2^(score - largest); 0 where all keys are masked
};

/// out = dropout(softmax(q k^T scale + masks)) v, per batch and head, without the matrix of scores in
/// memory.
///
/// **Shapes**: q (batch, heads, queries, width), k (batch, heads, keys, width),
/// v (batch, heads, keys, v_width), out (batch, heads, queries, v_width).
/// Masked keys get weight exactly 0 and their values are never used, NaN or not; a query whose keys
/// are all masked gives zeros. `out` must not overlap the inputs.
template <class T>
struct AttentionArgs {
  index_t batch, heads, queries, keys, width, v_width;
  Heads<const T> q, k, v;
  Heads<T> out;
  T scale;
  AttentionMasks<T> masks = {};
  Dropout dropout = {};  // of the weights: the value of a dropped one is not used, NaN or not
  // (batch + 1), for sequences packed one after the other: tokens offsets[b] .. offsets[b + 1] of
  // q, k, v, out and their gradients are sequence b's, and no stride along the batch is read.
  // `queries` and `keys` are then equal, and no sequence is longer. Masks, weights, dropout and
  // statistics still have axes of `batch`, `queries` and `keys`.
  const index_t* offsets = nullptr;
  WeightCapture<T> weights = {};           // optional
  AttentionStatistics<T> statistics = {};  // optional
  index_t workers = 1;                     // threads at most
  T* workspace = nullptr;                  // attention_workspace(args) elements
};

/// The gradients of attention: with P its weights, D_i = sum_c dout_ic out_ic and o the elementwise
/// product,
///
///     dP = dout v^T      dS = P o (dP - D)
///     dv = P^T dout      dq = scale dS k      dk = scale dS^T q      dbias = dS
///
/// With dropout, P in dv and dP are dropped and scaled as the weights were.
/// **Shapes**: as in AttentionArgs; each gradient has the shape of what it belongs to, and strides of
/// its own.
/// Each element is one chain of fused multiply-adds, over the queries or the keys in their order,
/// however the work is cut. A key that no query uses, and a query whose keys are all masked, get
/// zeros. What a mask hides never shows, NaN or not; an infinite or NaN element of dout shows as NaN
/// in all that depends on its query.
template <class T>
struct AttentionBackwardArgs {
  // With out and statistics as the forward left them; workers and workspace are the backward's.
  AttentionArgs<T> forward;
  Heads<const T> d_out;
  Heads<T> dq, dk, dv;
  PerScore<T> d_bias = {};  // optional; the sums are added to its elements
};

enum class ReduceOp {
  kSum,                // of none: 0
  kMax,                // NaN where one is NaN; of none: -inf
  kMin,                // NaN where one is NaN; of none: inf
  kSquaredDeviations,  // sum of (x - mean of x)^2, in two passes
};

/// y = h weight + bias, h = (x - mean) / sqrt(variance + eps), for each row of x.
///
/// **Shapes**: x, y (rows, n), rows contiguous; weight, bias (n); mean, rstd, shift (rows).
/// The variance is the biased one, in two passes: a mean far from 0 costs no digits. RMS norm, which
/// does not centre, takes the mean for 0: the variance is then the mean of x^2.
template <class T>
struct LayerNormArgs {
  index_t rows, n;
  bool centres = true;  // false: RMS norm
  const T* x;
  index_t x_row;
  const T* weight = nullptr;  // none: 1
  const T* bias = nullptr;    // none: 0
  T eps = 0;
  T* y = nullptr;  // may be x
  index_t y_row = 0;
  T* mean = nullptr;   // optional
  T* rstd = nullptr;   // optional: 1 / sqrt(variance + eps)
  T* shift = nullptr;  // optional: h = (x - mean) rstd + shift, the mean being rounded
};

/// The gradients of layer norm's x, here called s, its weight and bias, dy being that of y:
///
///     ds = rstd (dh - mean(dh) - h mean(dh h)) (+ added),    dh = dy weight
///     dweight = sum over the rows of dy h,  dbias = sum over the rows of dy
///
/// with h the normalised row, y = h weight + bias. For RMS norm without mean(dh).
///
/// **Shapes**: s, dy, added, ds (rows, n), rows contiguous; mean, rstd, shift (rows), as layer_norm
/// gave them; weight, dweight, dbias (n). The sums run over the rows in their order, each in one chain.
template <class T>
struct LayerNormGradientArgs {
  index_t rows, n;
  bool centres = true;  // false: RMS norm, which needs neither mean nor shift
  const T* s;
  index_t s_row;
  const T* dy;
  index_t dy_row;
  const T* weight = nullptr;  // none: 1
  const T* mean = nullptr;
  const T* rstd = nullptr;
  const T* shift = nullptr;
  const T* added = nullptr;  // a gradient that reached s past the norm
  index_t added_row = 0;
  T* ds = nullptr;  // optional; may be dy or added
  index_t ds_row = 0;
  T* dweight = nullptr;  // optional, both or none
  T* dbias = nullptr;
};

/// loss[i] = -log softmax(x[i])[targets[i]] for each row of x, and the gradients: the formulas are
/// in cross_entropy.h.
///
/// **Shapes**: x (rows, classes), rows contiguous; targets, loss (rows); dx (rows, classes),
/// contiguous; weight (classes). A target is in [0, classes), or `ignored`: loss and gradient are 0.
template <class T>
struct CrossEntropyArgs {
  index_t rows, classes;
  const T* x;
  index_t x_row;
  const index_t* targets;
  index_t ignored;
  T smoothing = 0;            // in [0, 1]
  const T* weight = nullptr;  // none: 1
  T weight_sum = 0;           // of `weight`
  T* loss = nullptr;
  T* dx = nullptr;       // optional
  T gradient_scale = 1;  // multiplies dx
};

enum class PointwiseLoss {
  kSquaredError,   // (x - t)^2
  kBceWithLogits,  // -log sigmoid(x) t p - log(1 - sigmoid(x)) (1 - t), p: positive_weight
  kSmoothL1,       // d^2 / (2 beta) where |d| < beta, else |d| - beta / 2, with d = x - t
};

/// loss[i] = the loss of x[i] at target t[i], times weight[i]; all contiguous; `loss` and `dx` do
/// not overlap the inputs.
template <class T>
struct PointwiseLossArgs {
  index_t n;
  const T* x;
  const T* target;
  const T* weight = nullptr;           // none: 1
  const T* positive_weight = nullptr;  // none: 1
  T* loss = nullptr;
  T* dx = nullptr;       // optional
  T gradient_scale = 1;  // multiplies dx
  T beta = 1;            // of kSmoothL1: finite, not negative
};

/// One step of stochastic gradient descent on n elements, in place, as optimizer.h says.
template <class T>
struct SgdArgs {
  index_t n;
  T* w;
  const T* gradient;
  T* buffer = nullptr;  // of the momentum; none: no momentum
  bool first = false;   // the buffer is not read, and becomes the gradient
  bool nesterov = false;
  T rate;
  T weight_decay = 0;
  T momentum = 0;
  T gain = 1;  // 1 - dampening
};

/// One step of Adam or AdamW on n elements, in place, as optimizer.h says.
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

/// gemm, pack_b, pack_gated_b, attention and attention_backward share their work among threads; every
/// other kernel runs in the calling thread, and ops cut rows into pieces. A stride is in elements and
/// may be anything; 1 and 0 are fast. Neither strides nor a row's place in memory change a bit.
/// Outputs are contiguous and, unless said otherwise, do not overlap the inputs.
template <class T>
struct FloatKernels {
  void (*gemm)(const GemmArgs<T>&) noexcept;
  /// The number of elements that gemm needs as workspace.
  index_t (*gemm_workspace)(const GemmArgs<T>&) noexcept;
  /// B (k, n) in the layout that gemm reads: packed_size(k, n) elements.
  void (*pack_b)(index_t k, index_t n, const MatrixRef<T>& b, T* packed) noexcept;
  index_t (*packed_size)(index_t k, index_t n) noexcept;
  /// The same of B (k, 2n) for a gated product: packed_size(k, gated_columns(n)) elements.
  void (*pack_gated_b)(index_t k, index_t n, const MatrixRef<T>& b, T* packed) noexcept;
  index_t (*gated_columns)(index_t n) noexcept;
  /// dz (2n) of one row y = activation(u) g, z = [u | g] (2n) and dy (n); all contiguous.
  void (*gated_gradient)(Activation, index_t n, const T* z, const T* dy, T* dz) noexcept;
  void (*attention)(const AttentionArgs<T>&) noexcept;
  /// The number of elements that attention needs as workspace.
  index_t (*attention_workspace)(const AttentionArgs<T>&) noexcept;
  void (*attention_backward)(const AttentionBackwardArgs<T>&) noexcept;
  index_t (*attention_backward_workspace)(const AttentionBackwardArgs<T>&) noexcept;

  /// y[i] = op(x[i]) for i < n. y may be x where the stride is 1.
  void (*unary)(UnaryOp, index_t n, const T* x, index_t x_stride, T* y) noexcept;
  /// dx[i] = dy[i] times the derivative of op, which is computed from op's x or y: see
  /// gradient_reads_x. dx may be an operand whose stride is 1.
  void (*unary_gradient)(UnaryOp, index_t n, const T* x_or_y, index_t stride, const T* dy,
                         index_t dy_stride, T* dx) noexcept;
  /// y[i] = op(x[i]; p, q). y may be x where the stride is 1.
  void (*parametric)(ParametricOp, T p, T q, index_t n, const T* x, index_t x_stride,
                     T* y) noexcept;
  /// dx[i] = dy[i] times the derivative of op at x[i]; what clamp cut off has none. dx may be an
  /// operand whose stride is 1.
  void (*parametric_gradient)(ParametricOp, T p, T q, index_t n, const T* x, index_t x_stride,
                              const T* dy, index_t dy_stride, T* dx) noexcept;
  /// y[i] = a[i] op b[i]. y may be an operand whose stride is 1.
  void (*binary)(BinaryOp, index_t n, const T* a, index_t a_stride, const T* b, index_t b_stride,
                 T* y) noexcept;
  /// y[i] = whether a[i] op b[i]; NaN is unequal to everything, itself too.
  void (*compare)(CompareOp, index_t n, const T* a, index_t a_stride, const T* b, index_t b_stride,
                  bool* y) noexcept;
  /// y[i] = mask[i] ? a[i] : b[i]. y may be an operand whose stride is 1.
  void (*where)(index_t n, const bool* mask, index_t mask_stride, const T* a, index_t a_stride,
                const T* b, index_t b_stride, T* y) noexcept;

  /// The reduction of x[0], ..., x[n - 1].
  T (*reduce)(ReduceOp, index_t n, const T* x, index_t x_stride) noexcept;
  /// y[j] = the reduction of column j of x (rows, columns), its columns contiguous: the bits that
  /// `reduce` gives for that column.
  void (*reduce_columns)(ReduceOp, index_t rows, index_t columns, const T* x, index_t x_row,
                         T* y) noexcept;
  /// The first index of the largest x[i], or of the first NaN; n >= 1.
  index_t (*argmax)(index_t n, const T* x, index_t x_stride) noexcept;

  /// y = exp(x) / sum of exp(x), over each row of x (rows, n); rows contiguous, y may be x. NaN
  /// throughout a row that holds NaN or +inf, or nothing but -inf.
  void (*softmax)(index_t rows, index_t n, const T* x, index_t x_row, T* y, index_t y_row) noexcept;
  /// y = x - log(sum of exp(x)), as softmax.
  void (*log_softmax)(index_t rows, index_t n, const T* x, index_t x_row, T* y,
                      index_t y_row) noexcept;
  /// The gradients dx (rows, n) of softmax and log_softmax, from their results y and dy; dx may be
  /// dy, where its rows are n apart.
  void (*softmax_gradient)(index_t rows, index_t n, const T* y, index_t y_row, const T* dy,
                           index_t dy_row, T* dx) noexcept;
  void (*log_softmax_gradient)(index_t rows, index_t n, const T* y, index_t y_row, const T* dy,
                               index_t dy_row, T* dx) noexcept;
  /// y[i] = log(sum of exp(x)) over row i; -inf for a row of none or of nothing but -inf.
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

/// Products of int8: see int8.h.
struct Int8Kernels {
  /// Whether no element of x is inf or NaN.
  bool (*is_finite)(index_t n, const float* x, index_t stride) noexcept;
  /// The words of a row of k codes of A, in the order that `dots` chooses: those of the rows of
  /// Int8Rows follow each other.
  index_t (*row_size)(index_t k, bool dots) noexcept;
  /// Finds the scale and the zero point of each row of A (m, k), and the codes in the order of
  /// `to.dots`.
  void (*quantize_rows)(index_t m, index_t k, const MatrixRef<float>& a,
                        const Int8Rows& to) noexcept;
  /// The columns of B's panels, for C of n columns; the bytes of their codes are k, rounded up to
  /// whole groups, times that.
  index_t (*columns)(index_t n, bool gated) noexcept;
  /// Finds the scale, the codes and their sum for each column of B (k, n), or (k, 2n) if it is
  /// gated; returns whether all elements were finite.
  bool (*pack)(index_t k, index_t n, bool gated, const MatrixRef<float>& b, std::int8_t* codes,
               float* scales, std::int32_t* sums) noexcept;
  void (*gemm)(const Int8Args&) noexcept;
};

struct KernelTable {
  int vector_bytes;
  FloatKernels<float> f32;
  FloatKernels<double> f64;
  Int8Kernels int8;

  template <class T>
  const FloatKernels<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};

/// The table of the instruction set in use: see dispatch.h.
const KernelTable& table();

/// As tessera::dot_products.
bool dot_products();

}  // namespace tessera::kernels
