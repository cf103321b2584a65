// Dropout of attention's weights.
//
// Each head has one table of random words (dropout.h): rows are queries, columns are pairs of
// keys. So whether a weight is dropped depends only on the dropout's key and on (batch, head,
// query, key), not on how the work is divided, and forward and backward agree without a mask in
// memory.
#pragma once

#include "tessera/tensor/kernels/attention_block.h"
#include "tessera/tensor/kernels/dropout.h"

namespace tessera::kernels::TESSERA_ISA {

/// The dropout mask of a block of queries and up to kKeyTile keys from `key` on.
template <class T>
class Survivors {
 public:
  Survivors(const QueryBlock<T>& block, index_t key, index_t keys)
      : keys_(dropout_keys(block.args.dropout.key, block.batch, block.head)),
        query_(block.first),
        first_pair_(key / 2),
        last_dropped_(last_dropped<T>(block.args.dropout)) {
    for (index_t pair = 0; 2 * (first_pair_ + pair) < key + keys; pair += kLanes<T>) {
      const BitsVec<T> words = place_words<T>(keys_.column, first_pair_ + pair);
      __builtin_memcpy(columns_ + pair, &words, sizeof(words));
    }
  }

  /// The mask of the panel of queries from query i of the block on.
  class Panel {
   public:
    Panel(const Survivors& all, index_t i) : all_(all) {
      for (int v = 0; v < kPanelVectors; ++v) {
        rows_[v] = place_words<T>(all.keys_.row, all.query_ + i + v * kLanes<T>);
      }
    }
    /// The random words of keys 2 `pair` and 2 `pair` + 1 for vector v of the queries.
    BitsVec<T> word(index_t pair, int v) const {
      return scramble_lanes<T>(rows_[v] ^ broadcast(all_.columns_[pair - all_.first_pair_]));
    }
    /// The lanes of `word` in which the weight of key 2 `pair` + `element` is kept.
    Mask<T> survives(BitsVec<T> word, int element) const {
      return kernels::TESSERA_ISA::survives<T>(word, element, all_.last_dropped_);
    }

   private:
    const Survivors& all_;
    BitsVec<T> rows_[kPanelVectors];
  };

 private:
  static constexpr index_t kPairs = kKeyTile / 2 + 1;  // a tile may start at an odd key
  DropoutKeys keys_;
  index_t query_, first_pair_;
  Mask<T> last_dropped_;
  Bits<T> columns_[(kPairs + kLanes<T> - 1) / kLanes<T> * kLanes<T>];
};

/// Sets dropped weights to 0. Kept weights are scaled together with the sums, by scale_survivors.
template <class T>
inline void drop_weights(const QueryBlock<T>& block, index_t key, index_t keys, T* weights) {
  if (block.args.dropout.threshold == 0) return;
  const Survivors<T> survivors(block, key, keys);
  for (index_t i = 0; i < block.padded(); i += kPanel<T>) {
    const typename Survivors<T>::Panel panel(survivors, i);
    for (index_t pair = key / 2; 2 * pair < key + keys; ++pair) {
      BitsVec<T> words[kPanelVectors];
      for (int v = 0; v < kPanelVectors; ++v) words[v] = panel.word(pair, v);
      for (int element = 0; element < 2; ++element) {
        const index_t j = 2 * pair + element - key;
        if (j < 0 || j >= keys) continue;
        for (int v = 0; v < kPanelVectors; ++v) {
          T* const p = weights + j * kQueryBlock + i + v * kLanes<T>;
          store(p, panel.survives(words[v], element) ? load(p) : Vec<T>{});
        }
      }
    }
  }
}

/// Multiplies the factor 1 / l of each query by the scale of kept weights.
template <class T>
inline void scale_survivors(const QueryBlock<T>& block, T* scales) {
  if (block.args.dropout.threshold == 0) return;
  const T scale = survivor_scale<T>(block.args.dropout);
  for (index_t i = 0; i < block.count; ++i) scales[i] *= scale;
}

/// For the backward pass without dropout: leaves weights and their gradients unchanged.
template <class T>
struct NoDropout {
  struct KeyMask {
    Vec<T> operator()(int, Vec<T> x) const { return x; }
  };
  template <int kKeys>
  KeyMask mask(index_t) const {
    return {};
  }
};

/// For the backward pass: dropout of the weights of a panel of queries, and of their gradients.
template <class T>
struct PanelDropout {
  typename Survivors<T>::Panel panel;
  T scale;

  struct KeyMask {
    Mask<T> survives[2 * kPanelVectors];
    T scale;
    /// Dropout of x, vector i of the keys: each key has kPanelVectors vectors.
    Vec<T> operator()(int i, Vec<T> x) const { return survives[i] ? rounded(x * scale) : Vec<T>{}; }
  };
  /// The mask of key `key`, or with kKeys = 2 of keys `key`, which is even, and `key` + 1.
  template <int kKeys>
  [[gnu::always_inline]] KeyMask mask(index_t key) const {
    KeyMask result;
    result.scale = scale;
    for (int v = 0; v < kPanelVectors; ++v) {
      const BitsVec<T> word = panel.word(key / 2, v);
      for (int k = 0; k < kKeys; ++k) {
        const int element = kKeys == 2 ? k : static_cast<int>(key % 2);
        result.survives[k * kPanelVectors + v] = panel.survives(word, element);
      }
    }
    return result;
  }
};

}  // namespace tessera::kernels::TESSERA_ISA
