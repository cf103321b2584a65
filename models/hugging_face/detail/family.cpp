#include "tessera/models/hugging_face/detail/family.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>

#include "tessera/tensor/ops/rearrange.h"

namespace tessera::models {

namespace {

constexpr std::array kFamilies = {
    &families::kBert,       &families::kRoberta,   &families::kXlmRoberta, &families::kCamembert,
    &families::kDistilBert, &families::kMpnet,     &families::kAlbert,     &families::kElectra,
    &families::kModernBert, &families::kNomicBert, &families::kGte,        &families::kQwen3,
    &families::kEuroBert,   &families::kDebertaV2,
};

/// Encoders that users may try, and the reason why they are not supported.
struct Refusal {
  std::string_view name;
  std::string_view why;
};
constexpr Refusal kRefused[] = {
    {"deberta",
     "its projections are packed by head, which is unsupported; deberta-v2 is supported"},
    {"neobert", "its projections are packed by head, which is unsupported"},
};

}  // namespace

std::span<const Family* const> all_families() {
  return kFamilies;
}

const Family& family_of(const Json& config) {
  const Json type = config.at("model_type");
  const std::string_view name = type.text();
  for (const Family* family : kFamilies) {
    if (family->name == name) return *family;
  }
  for (const Refusal& refused : kRefused) {
    if (refused.name != name) continue;
    type.fail("must be a supported family, got ", type.described(), "; ", refused.why);
  }
  std::string known;
  for (const Family* family : kFamilies) {
    known += (known.empty() ? "" : ", ") + std::string(family->name);
  }
  type.fail("must be one of ", known, ", got ", type.described());
}

namespace {

/// The text that # and * match in a line.
struct Match {
  std::string number = {};
  std::string last = {};
};

/// Whether `name` begins with `part`; if so, removes `part`.
bool take(std::string_view& name, std::string_view part) {
  if (!name.starts_with(part)) return false;
  name.remove_prefix(part.size());
  return true;
}

std::optional<Match> match(std::string_view pattern, std::string_view name) {
  Match found;
  const std::size_t hash = pattern.find('#');
  if (hash != std::string_view::npos) {
    if (!take(name, pattern.substr(0, hash))) return {};
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    found.number = name.substr(0, digits);
    name.remove_prefix(digits);
    pattern.remove_prefix(hash + 1);
  }
  if (!pattern.ends_with('*')) return pattern == name ? std::optional(found) : std::nullopt;
  if (!take(name, pattern.substr(0, pattern.size() - 1))) return {};
  if (name != "weight" && name != "bias") return {};
  found.last = name;
  return found;
}

/// The pattern with its placeholders replaced by the match.
std::string filled(std::string_view pattern, const Match& match, index_t group_size) {
  index_t number = 0;
  std::from_chars(match.number.data(), match.number.data() + match.number.size(), number);
  std::string result;
  for (const char c : pattern) {
    if (c == '#')
      result += match.number;
    else if (c == '*')
      result += match.last;
    else if (c == '@')
      result += std::to_string(number / group_size);
    else if (c == '%')
      result += std::to_string(number % group_size);
    else
      result += c;
  }
  return result;
}

}  // namespace

std::optional<TensorNames> tensor_names(const WeightName& line, const std::string& name,
                                        index_t group_size) {
  const auto found = match(line.ours, name);
  if (!found) return {};
  const std::string theirs = filled(line.theirs, *found, group_size);
  const std::size_t open = theirs.find('{');
  if (open == std::string::npos) return TensorNames{.names = {theirs}, .halves = line.halves};
  const std::size_t close = theirs.find('}', open);
  TensorNames tensors = {.names = {}, .halves = line.halves};
  for (std::size_t begin = open + 1; begin <= close;) {
    const std::size_t end = std::min(theirs.find(',', begin), close);
    tensors.names.push_back(theirs.substr(0, open) + theirs.substr(begin, end - begin) +
                            theirs.substr(close + 1));
    begin = end + 1;
  }
  return tensors;
}

index_t TensorNames::rows_of(std::size_t i, index_t rows) const {
  if (shares.empty()) return rows / std::ssize(names);
  return rows / std::accumulate(shares.begin(), shares.end(), index_t{0}) * shares[i];
}

namespace {

/// `x`, with its halves exchanged if they are so in the checkpoint: its own inverse.
Tensor with_halves(Halves halves, const Tensor& x) {
  if (halves == Halves::kKept) return x;
  const index_t half = x.size(0) / 2;
  return concat({x.slice(0, half, 2 * half), x.slice(0, 0, half)});
}

}  // namespace

Tensor joined(const TensorNames& tensors, const std::vector<Tensor>& parts) {
  return with_halves(tensors.halves, parts.size() == 1 ? parts.front() : concat(parts));
}

std::vector<Tensor> cut(const TensorNames& tensors, const Tensor& parameter) {
  const Tensor all = with_halves(tensors.halves, parameter);
  if (tensors.names.size() == 1) return {all};
  std::vector<Tensor> parts;
  index_t row = 0;
  for (std::size_t i = 0; i < tensors.names.size(); ++i) {
    const index_t rows = tensors.rows_of(i, all.size(0));
    parts.push_back(all.slice(0, row, row + rows));
    row += rows;
  }
  return parts;
}

std::vector<std::string> our_names(const WeightName& line, index_t layers) {
  const bool is_of_layers = line.ours.find('#') != std::string_view::npos;
  std::vector<std::string> names;
  for (index_t i = 0; i < (is_of_layers ? layers : 1); ++i) {
    const std::string number = std::to_string(i);
    if (line.ours.ends_with('*')) {
      for (const char* last : {"weight", "bias"}) {
        names.push_back(filled(line.ours, {number, last}, 1));
      }
    } else {
      names.push_back(filled(line.ours, {number, ""}, 1));
    }
  }
  return names;
}

std::vector<std::string> spellings(const std::string& name, std::string_view prefix) {
  std::vector<std::string> all = {name};
  const auto add_with_end = [&](std::string_view end, const char* other) {
    if (name.ends_with(end)) all.push_back(name.substr(0, name.size() - end.size()) + other);
  };
  add_with_end(".weight", ".gamma");
  add_with_end(".bias", ".beta");
  for (std::size_t i = 0, plain = all.size(); i < plain; ++i) {
    all.push_back(std::string(prefix) + all[i]);
  }
  return all;
}

}  // namespace tessera::models
