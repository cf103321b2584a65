#include "tessera/models/text/detail/subword_trainer.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "tessera/models/text/character_tokenizer.h"
#include "tessera/tensor/error.h"

namespace tessera::text {

namespace {

using Symbol = std::uint32_t;
using Pair = std::uint64_t;  // the left symbol, then the right one: the order of the trainer's ties

Pair pair_of(Symbol left, Symbol right) {
  return Pair{left} << 32 | right;
}

/// A pair that may become a token, and the words in which it occurs.
struct Candidate {
  index_t count;  // its count when it was queued
  Pair pair;
  index_t order;  // of queueing: of equal candidates the older one comes first
  std::vector<std::size_t> words;

  /// Ordered for a heap, whose top is the greatest.
  bool operator<(const Candidate& other) const {
    if (count != other.count) return count < other.count;
    return pair != other.pair ? pair > other.pair : order > other.order;
  }
};

/// No model accepts longer tokens (subword_model.cpp).
constexpr std::size_t kLongestTrainedToken = 1000;

class Learner {
 public:
  explicit Learner(const SubwordLearning& options) : options_(options) {
    for (const std::string& token : options.special) number(token);
  }

  std::vector<std::string> learn(const WordCounts& words) {
    add_alphabet(words);
    for (const auto& [word, count] : words) add_word(word, count);
    queue_touched();
    while (!is_full() && !queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end());
      Candidate top = std::move(queue_.back());
      queue_.pop_back();
      if (top.count != counts_[top.pair]) {
        top.count = counts_[top.pair];
        push(std::move(top));
        continue;
      }
      if (top.count < std::max<index_t>(options_.min_count, 1)) break;
      if (joined(top.pair).size() > kLongestTrainedToken) continue;
      merge(top);
      queue_touched();
    }
    return std::move(tokens_);
  }

 private:
  bool is_full() const {
    return options_.vocab_size > 0 && std::ssize(tokens_) >= options_.vocab_size;
  }

  /// The number of a token; adds the token if it is new.
  Symbol number(const std::string& token) {
    const auto [place, is_new] = numbers_.emplace(token, static_cast<Symbol>(tokens_.size()));
    if (is_new) tokens_.push_back(token);
    return place->second;
  }

  void add_alphabet(const WordCounts& words) {
    std::map<std::string, index_t> characters;  // in the order of their code points
    for (const auto& [word, count] : words) {
      require(count >= 0, "learn_subwords", "counts of words must be at least 0, got ", count);
      for (const std::string& character : split_characters(word)) characters[character] += count;
    }
    std::vector<std::pair<std::string, index_t>> kept(characters.begin(), characters.end());
    if (options_.max_characters > 0 && std::ssize(kept) > options_.max_characters) {
      std::stable_sort(kept.begin(), kept.end(),
                       [](const auto& a, const auto& b) { return a.second > b.second; });
      kept.resize(static_cast<std::size_t>(options_.max_characters));
      std::sort(kept.begin(), kept.end());
    }
    for (const auto& character : kept) number(character.first);
  }

  /// Adds a word, without characters that are not in the alphabet.
  void add_word(const std::string& word, index_t count) {
    const std::vector<std::string> characters = split_characters(word);
    std::vector<Symbol>& symbols = words_.emplace_back();
    word_counts_.push_back(count);
    for (std::size_t i = 0; i < characters.size(); ++i) {
      if (!numbers_.contains(characters[i])) continue;
      symbols.push_back(number((i > 0 ? options_.prefix : "") + characters[i]));
    }
    for (std::size_t i = 1; i < symbols.size(); ++i) {
      change(symbols[i - 1], symbols[i], count, words_.size() - 1);
    }
  }

  void change(Symbol left, Symbol right, index_t count, std::size_t word) {
    const Pair pair = pair_of(left, right);
    counts_[pair] += count;
    if (count < 0) return;
    std::vector<std::size_t>& places = touched_[pair];
    if (places.empty() || places.back() != word) places.push_back(word);
  }

  void push(Candidate candidate) {
    if (candidate.count <= 0) return;
    queue_.push_back(std::move(candidate));
    std::push_heap(queue_.begin(), queue_.end());
  }

  /// Queues the pairs that occurred since the last call.
  void queue_touched() {
    for (auto& [pair, words] : touched_) push({counts_[pair], pair, order_, std::move(words)});
    touched_.clear();
    ++order_;
  }

  /// The token that the pair would become.
  std::string joined(Pair pair) const {
    const std::string& right = tokens_[static_cast<Symbol>(pair)];
    const std::size_t prefix = right.starts_with(options_.prefix) ? options_.prefix.size() : 0;
    return tokens_[pair >> 32] + right.substr(prefix);
  }

  void merge(const Candidate& candidate) {
    const auto left = static_cast<Symbol>(candidate.pair >> 32);
    const auto right = static_cast<Symbol>(candidate.pair);
    const Symbol merged = number(joined(candidate.pair));
    for (const std::size_t word : candidate.words) merge_in(word, left, right, merged);
  }

  void merge_in(std::size_t word, Symbol left, Symbol right, Symbol merged) {
    std::vector<Symbol>& symbols = words_[word];
    const index_t count = word_counts_[word];
    std::size_t end = 0;  // of the rewritten part
    for (std::size_t at = 0; at < symbols.size(); ++at) {
      const bool joins = symbols[at] == left && at + 1 < symbols.size() && symbols[at + 1] == right;
      if (!joins) {
        symbols[end++] = symbols[at];
        continue;
      }
      ++at;
      if (end > 0) {
        change(symbols[end - 1], left, -count, word);
        change(symbols[end - 1], merged, count, word);
      }
      if (at + 1 < symbols.size()) {
        change(right, symbols[at + 1], -count, word);
        change(merged, symbols[at + 1], count, word);
      }
      symbols[end++] = merged;
    }
    symbols.resize(end);
  }

  const SubwordLearning& options_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, Symbol> numbers_;
  std::vector<std::vector<Symbol>> words_;
  std::vector<index_t> word_counts_;
  std::unordered_map<Pair, index_t> counts_;
  std::unordered_map<Pair, std::vector<std::size_t>> touched_;  // since queue_touched
  std::vector<Candidate> queue_;                                // a heap
  index_t order_ = 0;
};

}  // namespace

std::vector<std::string> learn_subwords(const WordCounts& words, const SubwordLearning& options) {
  require(options.vocab_size >= 0 && options.min_count >= 0 && options.max_characters >= 0,
          "learn_subwords", "vocab_size, min_count and max_characters must be at least 0, got ",
          options.vocab_size, ", ", options.min_count, " and ", options.max_characters);
  return Learner(options).learn(words);
}

}  // namespace tessera::text
