#include "tessera/models/hugging_face/detail/tags.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/models/text/utf8.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"

namespace tessera::models {

namespace {

constexpr std::string_view kOutside = "O";

/// A label by its number, with its score.
struct Choice {
  std::size_t label;
  double score;
};

template <class Scores>
Choice best(const Scores& scores) {
  const auto at = std::max_element(scores.begin(), scores.end());
  return {static_cast<std::size_t>(at - scores.begin()), static_cast<double>(*at)};
}

Choice best_of_mean(std::span<const ScoredToken> word) {
  std::vector<double> mean(word.front().scores.size());
  for (const ScoredToken& token : word) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(token.scores[i]);
  }
  for (double& value : mean) value /= static_cast<double>(word.size());
  return best(mean);
}

Choice best_of_word(std::span<const ScoredToken> word, AggregationStrategy strategy) {
  if (strategy == AggregationStrategy::kAverage) return best_of_mean(word);
  Choice result = best(word.front().scores);
  if (strategy != AggregationStrategy::kMax) return result;
  for (const ScoredToken& token : word) {
    const Choice choice = best(token.scores);
    if (choice.score > result.score) result = choice;
  }
  return result;
}

/// Each token's best label, or each word's if words have labels.
std::vector<Tag> choose(std::span<const ScoredToken> tokens, std::span<const std::string> labels,
                        AggregationStrategy strategy) {
  const bool of_words =
      strategy != AggregationStrategy::kNone && strategy != AggregationStrategy::kSimple;
  std::vector<Tag> tags;
  for (std::size_t begin = 0, end = 0; begin < tokens.size(); begin = end) {
    end = begin + 1;
    while (of_words && end < tokens.size() && tokens[end].continues_word) ++end;
    const Choice choice = best_of_word(tokens.subspan(begin, end - begin), strategy);
    tags.push_back({labels[choice.label],
                    choice.score,
                    {tokens[begin].bytes.begin, tokens[end - 1].bytes.end}});
  }
  return tags;
}

/// Whether a label begins a group, and the group's label.
std::pair<bool, std::string_view> parts_of(std::string_view label) {
  if (label.starts_with("B-")) return {true, label.substr(2)};
  if (label.starts_with("I-")) return {false, label.substr(2)};
  return {false, label};
}

std::vector<Tag> grouped(const std::vector<Tag>& tags) {
  std::vector<Tag> groups;
  for (std::size_t begin = 0, end = 0; begin < tags.size(); begin = end) {
    const std::string& label = tags[begin].label;
    double sum = tags[begin].score;
    for (end = begin + 1; end < tags.size(); ++end) {
      const auto [begins, kind] = parts_of(tags[end].label);
      if (begins || kind != parts_of(label).second) break;
      sum += tags[end].score;
    }
    groups.push_back({label.substr(label.find('-') + 1),  // npos + 1 is 0
                      sum / static_cast<double>(end - begin),
                      {tags[begin].bytes.begin, tags[end - 1].bytes.end}});
  }
  return groups;
}

}  // namespace

AggregationStrategy aggregation_strategy(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, AggregationStrategy>, 5> kNames = {
      {{"none", AggregationStrategy::kNone},
       {"simple", AggregationStrategy::kSimple},
       {"first", AggregationStrategy::kFirst},
       {"average", AggregationStrategy::kAverage},
       {"max", AggregationStrategy::kMax}}};
  for (const auto& [known, strategy] : kNames) {
    if (name == known) return strategy;
  }
  fail("aggregation_strategy", "name must be none, simple, first, average or max, got ",
       printable(name));
}

bool continues_word(std::string_view text, text::Span bytes, std::string_view token,
                    bool has_prefix, bool is_unknown) {
  if (is_unknown) return false;
  const auto begin = static_cast<std::size_t>(bytes.begin);
  const auto end = static_cast<std::size_t>(bytes.end);
  require(bytes.begin >= 0 && begin <= end && end <= text.size(), "continues_word",
          "bytes must be inside the text of ", text.size(), " bytes, got ", bytes.begin, " to ",
          bytes.end);
  if (has_prefix)
    return text::code_point_count(token) != text::code_point_count(text.substr(begin, end - begin));
  const bool after_space = begin == 0 || text[begin - 1] == ' ';
  const bool with_space = begin < text.size() && text[begin] == ' ';
  return !after_space && !with_space;
}

std::vector<Tag> group_tags(std::span<const ScoredToken> tokens,
                            std::span<const std::string> labels, AggregationStrategy strategy) {
  for (const ScoredToken& token : tokens) {
    require(!labels.empty() && token.scores.size() == labels.size(), "group_tags",
            "token must have a score for each of the ", labels.size(), " labels, got ",
            token.scores.size(), " scores");
  }
  std::vector<Tag> tags = choose(tokens, labels, strategy);
  if (strategy != AggregationStrategy::kNone) tags = grouped(tags);
  std::erase_if(tags, [](const Tag& tag) { return tag.label == kOutside; });
  return tags;
}

std::vector<Tag> without_overlaps(std::string_view text, std::vector<Tag> tags) {
  const auto length = [&](const Tag& tag) {
    return text::code_point_count(text::text_at(text, tag.bytes));
  };
  std::ranges::stable_sort(tags, {}, [](const Tag& tag) { return tag.bytes.begin; });
  std::vector<Tag> kept;
  for (Tag& tag : tags) {
    if (kept.empty() || tag.bytes.begin >= kept.back().bytes.end) {
      kept.push_back(std::move(tag));
    } else if (std::pair(length(tag), tag.score) >
               std::pair(length(kept.back()), kept.back().score)) {
      kept.back() = std::move(tag);
    }
  }
  return kept;
}

}  // namespace tessera::models
