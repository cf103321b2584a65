// Products of int8: the register tile of integers, in the loops of gemm.h.
//
// A step multiplies a group, four k at a time, or half a group, a pair, if the processor has no dot
// products of bytes. Pairs of B are made from groups: in each tile, or once for all tiles of a
// panel. The sums of a tile begin at -zero(i) sum(j), on Arm at (128 - zero(i)) sum(j), so that
// they are complete after the last step. Then they are converted to floats once, and the epilogues
// of gemm.h apply. k is not divided into blocks, so the sums stay in registers.
#pragma once

#include "tessera/tensor/kernels/gemm.h"
#include "tessera/tensor/kernels/int8.h"

namespace tessera::kernels::TESSERA_ISA {

/// Rows of A, of a whole product or of a tile.
template <bool kDots>
struct Int8TileRows {
  const std::uint32_t* codes;
  index_t row;
  const float* scales;
  const std::int32_t* zeros;

  Int8TileRows tile(index_t i, index_t, index_t) const {
    return {codes + i * row, row, scales + i, zeros + i};
  }
};

/// Codes 0 and 2 of a group as 16 bits, or 1 and 3 if `odd`.
[[gnu::always_inline]] inline Words pairs_of(Words group, bool odd) {
  const auto halves = reinterpret_cast<Vec<std::int16_t>>(group);
  return reinterpret_cast<Words>((odd ? halves : halves << 8) >> 8);
}

/// Panels of B, of a whole product or of a tile.
struct Int8TilePanels {
  static constexpr bool kNarrowLast = false;  // padded with zeros

  const std::uint32_t* codes;
  index_t panel_step;
  const float* scales;
  const std::int32_t* sums;
  std::uint32_t* pairs = nullptr;  // room for a panel of pairs, if enough tiles read a panel

  /// The panels from column j on; the first one as pairs, if there is room for them.
  Int8TilePanels from(index_t j, index_t) const {
    Int8TilePanels rest = *this;
    rest.codes += j / kPanel<float> * panel_step;
    rest.scales += j;
    rest.sums += j;
    if (pairs != nullptr) rest.codes = widen_panel(rest.codes);
    return rest;
  }
  void take_share(index_t, index_t, index_t) {}

 private:
  /// Each row of groups becomes a row of pairs (0, 2) and a row of pairs (1, 3).
  const std::uint32_t* widen_panel(const std::uint32_t* panel) const {
    for (index_t i = 0; i < panel_step; i += kPanel<float>) {
      for (index_t v = i; v < i + kPanel<float>; v += kLanes<float>) {
        const Words groups = load(panel + v);
        store(pairs + i + v, pairs_of(groups, false));
        store(pairs + i + v + kPanel<float>, pairs_of(groups, true));
      }
    }
    return pairs;
  }
};

/// Row p of B: one word per column.
template <int kVectors>
[[gnu::always_inline]] inline void load_words(const Int8TilePanels& b, index_t p,
                                              Words (&words)[kVectors]) {
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    words[v] = load(b.codes + v / kPanelVectors * b.panel_step + p * kPanel<float> +
                    v % kPanelVectors * kLanes<float>);
  }
}

/// sum[r][v] += the products of kRows rows of A and kVectors vectors of B, whose words are both
/// groups or both pairs.
template <int kRows, int kVectors, bool kDots>
[[gnu::always_inline]] inline void multiply_words(index_t words, const Int8TileRows<kDots>& a,
                                                  const Int8TilePanels& b,
                                                  Words (&sum)[kRows][kVectors]) {
#pragma GCC unroll 4
  for (index_t p = 0; p < words; ++p) {
    Words bp[kVectors];
    load_words(b, p, bp);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Words codes = broadcast(a.codes[r * a.row + p]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (takes_bytes(kDots)) {
          sum[r][v] = add_dots<kDots>(sum[r][v], codes, bp[v]);
        } else {
          sum[r][v] = add_pairs(sum[r][v], codes, bp[v]);
        }
      }
    }
  }
}

/// The same for pairs of A; each tile widens B's groups.
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_groups(index_t groups, const Int8TileRows<false>& a,
                                                   const Int8TilePanels& b,
                                                   Words (&sum)[kRows][kVectors]) {
  Int8TilePanels source = b;
#pragma GCC unroll 1
  for (index_t group = 0; group < groups; ++group) {
#pragma GCC unroll 2
    for (index_t odd = 0; odd < 2; ++odd) {
      __asm__("" : "+r"(source.codes));  // keeps no words in registers between the two
      Words words[kVectors];
      load_words(source, group, words);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        words[v] = pairs_of(words[v], odd != 0);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const Words codes = broadcast(a.codes[r * a.row + 2 * group + odd]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sum[r][v] = add_pairs(sum[r][v], codes, words[v]);
      }
    }
  }
}

/// One tile of C.
template <class T, int kRows, int kVectors, bool kDots>
inline void compute_tile(index_t groups, const Int8TileRows<kDots>& a, const Int8TilePanels& b,
                         const TileTarget<T>& out) {
  prefetch_target<kRows, kVectors>(groups, out);
  Words sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const Words sums = reinterpret_cast<Words>(load(b.sums + v * kLanes<T>));
      sum[r][v] = sums * broadcast(kCodeOffset - static_cast<std::uint32_t>(a.zeros[r]));
    }
  }
  if constexpr (takes_bytes(kDots)) {
    multiply_words(groups, a, b, sum);
  } else if (kVectors == kPanelVectors && b.pairs != nullptr) {
    multiply_words(2 * groups, a, b, sum);
  } else {
    multiply_groups(groups, a, b, sum);
  }
  Vec<T> y[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const Vec<T> scale = a.scales[r] * load(b.scales + v * kLanes<T>);
      const auto whole = reinterpret_cast<Vec<std::int32_t>>(sum[r][v]);
      y[r][v] = rounded(__builtin_convertvector(whole, Vec<T>) * scale);
    }
  }
  store_tile(out, y);
}

/// compute_rows, compiled once for all kinds of multiply_block.
template <bool kDots>
[[gnu::noinline]] void compute_rows(index_t rows, bool wide, index_t groups,
                                    const Int8TileRows<kDots>& a, const Int8TilePanels& b,
                                    const TileTarget<float>& out) {
  compute_rows<float, kTileRows>(rows, wide, groups, a, b, out);
}

/// The rows that are processed at a time, in a rectangle of `rows` rows: their codes stay in L2
/// while all panels are read.
inline index_t int8_block_rows(index_t rows, index_t row_size) {
  constexpr index_t kWordsOfBlock = index_t{64} << 10;
  constexpr index_t kFewest = 96;
  const index_t most = at_least(kWordsOfBlock / row_size, kFewest);
  return round_up(ceil_div(rows, ceil_div(rows, most)), kTileRows);
}

/// Whether tiles of `rows` rows together read a panel often enough to widen it first.
inline bool is_worth_widening(index_t rows) {
  return rows > 2 * kTileRows;
}

/// The words of a panel of pairs, for the thread of each rectangle; 0 if panels stay as they are,
/// also those that would exceed half of an L2 of 512 KiB.
template <bool kDots>
inline index_t room_for_pairs(index_t rows, index_t groups) {
  constexpr index_t kMostWords = index_t{64} << 10;
  const index_t words = 2 * groups * kPanel<float>;
  return !takes_bytes(kDots) && is_worth_widening(rows) && words <= kMostWords ? words : 0;
}

inline index_t int8_workspace(GemmArgs<float> args, bool dots) noexcept {
  if (args.m == 0 || args.n == 0 || (kMayHaveDots && dots)) return 0;
  args.k = ceil_div(args.k, kInt8Group);
  const GemmPlan plan = split_work(args, false);
  return plan.parts() * room_for_pairs<false>(plan.rows, args.k);
}

template <bool kDots>
inline void multiply_codes(const Int8Args& args) {
  GemmArgs<float> product = args.product;
  const index_t groups = ceil_div(product.k, kInt8Group);
  const index_t row_size = int8_row_size(product.k, kDots);
  // gemm.h counts a group as one step of k: with dot products both take the same time.
  product.k = groups;
  const GemmPlan plan = split_work(product, false);
  const index_t block = int8_block_rows(plan.rows, row_size);
  const Int8TileRows<kDots> a = {args.a.codes, row_size, args.a.scales, args.a.zeros};
  const Int8TilePanels b = {reinterpret_cast<const std::uint32_t*>(args.b.codes),
                            groups * kPanel<float>, args.b.scales, args.b.sums};
  const index_t room = room_for_pairs<kDots>(plan.rows, groups);
  auto* const workspace = reinterpret_cast<std::uint32_t*>(product.workspace);
  const auto multiply = [&](index_t row, index_t row_end, index_t j, index_t column_end,
                            index_t worker) {
    const index_t n = column_end - j;
    Int8TilePanels panels = b.from(j, n);
    for (index_t i = row; i < row_end; i += block) {
      const index_t m = at_most(row_end - i, block);
      panels.pairs = room > 0 && is_worth_widening(m) ? workspace + worker * room : nullptr;
      multiply_chunk(product, a.tile(i, m, groups), panels, i, m, j, n, 0, groups);
    }
  };
  for_each_rectangle(product, plan, multiply);
}

inline void gemm_int8(const Int8Args& args) noexcept {
  if (args.product.m == 0 || args.product.n == 0) return;
  if constexpr (kMayHaveDots) {
    if (args.a.dots) return multiply_codes<true>(args);
  }
  multiply_codes<false>(args);
}

}  // namespace tessera::kernels::TESSERA_ISA
