#include "tessera/models/hugging_face/text_reader.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "tessera/models/hugging_face/detail/sentence_files.h"
#include "tessera/models/hugging_face/detail/weight_files.h"
#include "tessera/models/text/tokenizers.h"
#include "tessera/nn/hook.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::models {

std::string text_name(const TextName& name, index_t number) {
  return name ? name(number) : str_cat("text ", number);
}

void require_finite_outputs(std::span<const float> outputs, const TextName& name, index_t number) {
  const auto found = std::ranges::find_if(outputs, [](float x) { return !std::isfinite(x); });
  if (found == outputs.end()) return;
  throw NotFinite(
      str_cat(text_name(name, number), ": the model's output must be finite, got ", *found));
}

namespace {

using Encodings = std::span<const text::Encoding>;
using Numbers = std::vector<index_t>;

std::vector<index_t> longest_first(Encodings encodings) {
  std::vector<index_t> order(encodings.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) {
    return encodings[static_cast<std::size_t>(a)].ids.size() >
           encodings[static_cast<std::size_t>(b)].ids.size();
  });
  return order;
}

/// The largest batch in tokens, unless it is one encoding: larger batches need memory without being
/// faster.
constexpr index_t kMostTokens = 256;
/// The smallest batch in encodings, unless options request fewer: each batch reads all weights.
constexpr index_t kFewEncodings = 8;
/// With this many batches per thread the threads end at about the same time.
constexpr index_t kBatchesPerThread = 4;

/// The order divided into batches.
std::vector<std::span<const index_t>> batches_of(Encodings encodings,
                                                 std::span<const index_t> order,
                                                 index_t batch_size) {
  const index_t shared = std::ssize(order) / (kBatchesPerThread * thread_count());
  const index_t size = std::min(batch_size, std::max(shared, kFewEncodings));
  std::vector<std::span<const index_t>> batches;
  while (!order.empty()) {
    const index_t longest = std::ssize(encodings[static_cast<std::size_t>(order.front())].ids);
    const index_t fitting = std::max<index_t>(1, kMostTokens / longest);
    const auto count =
        static_cast<std::size_t>(std::min<index_t>({size, fitting, std::ssize(order)}));
    batches.push_back(order.first(count));
    order = order.subspan(count);
  }
  return batches;
}

/// One list of each chosen encoding as rows, (B, T), padded with `pad`.
Tensor padded_rows(Encodings encodings, std::span<const index_t> chosen, index_t longest,
                   Numbers text::Encoding::*list, index_t pad) {
  Tensor result = Tensor::empty({std::ssize(chosen), longest}, kInt64);
  auto* row = result.mutable_data<index_t>();
  for (const index_t i : chosen) {
    const Numbers& numbers = encodings[static_cast<std::size_t>(i)].*list;
    std::fill(std::copy(numbers.begin(), numbers.end(), row), row + longest, pad);
    row += longest;
  }
  return result;
}

/// The chosen encodings; the first one is the longest.
Tokens tokens_of(Encodings encodings, std::span<const index_t> chosen, const TextReader& reader) {
  const auto encoding = [&](index_t i) -> const text::Encoding& {
    return encodings[static_cast<std::size_t>(i)];
  };
  const index_t longest = std::ssize(encoding(chosen.front()).ids);
  const index_t pad = reader.tokenizer ? reader.tokenizer->special().pad.value_or(0) : 0;
  Tokens tokens = {.ids = padded_rows(encodings, chosen, longest, &text::Encoding::ids, pad)};
  if (std::ssize(encoding(chosen.back()).ids) < longest) {
    tokens.lengths = Tensor::empty({std::ssize(chosen)}, kInt64);
    std::transform(chosen.begin(), chosen.end(), tokens.lengths.mutable_data<index_t>(),
                   [&](index_t i) { return std::ssize(encoding(i).ids); });
  }
  for (const index_t i : chosen) {
    require(encoding(i).type_ids.size() <= encoding(i).ids.size(), "TextReader",
            "types must be at most 1 per token, got ", encoding(i).type_ids.size(), " types of ",
            encoding(i).ids.size(), " tokens");
  }
  const bool has_types = std::ranges::any_of(chosen, [&](index_t i) {
    return std::ranges::any_of(encoding(i).type_ids, [](index_t type) { return type != 0; });
  });
  if (reader.feeds_type_ids && has_types) {
    tokens.type_ids = padded_rows(encodings, chosen, longest, &text::Encoding::type_ids, 0);
  }
  return tokens;
}

}  // namespace

void require_max_length(const char* op, index_t max_length, index_t most) {
  require(max_length >= 0, op, "max_length must be at least 0, got ", max_length);
  require(most == 0 || max_length <= most, op, "max_length must be at most ", most,
          ", the tokens that the model reads, got ", max_length);
}

text::EncodeOptions TextReader::encode_options(const TaskOptions& options) const {
  require(tokenizer != nullptr, "TextReader", "must have a tokenizer, got a null pointer");
  require_max_length("TaskOptions", options.max_length, max_length);
  return {.add_special_tokens = add_special_tokens,
          .max_length = options.max_length > 0 ? options.max_length : max_length,
          .truncation_side = truncation_side.value_or(tokenizer->settings().truncation_side),
          .split_special_tokens = options.split_special_tokens};
}

Tokens TextReader::tokens(const text::Encoding& encoding) const {
  constexpr index_t kFirst[] = {0};
  return tokens_of(Encodings(&encoding, 1), kFirst, *this);
}

void TextReader::for_each_batch(
    std::span<const text::Encoding> encodings, const TaskOptions& options,
    const std::function<void(const Tokens& tokens, std::span<const index_t> chosen)>& body) const {
  require(options.batch_size >= 1, "for_each_batch", "batch_size must be at least 1, got ",
          options.batch_size);
  const std::vector<index_t> order = longest_first(encodings);
  if (order.empty()) return;
  require(!encodings[static_cast<std::size_t>(order.back())].ids.empty(), "for_each_batch",
          text_name(options.name, order.back()), " must have at least 1 token, got none");

  const auto batches = batches_of(encodings, order, options.batch_size);
  std::mutex mutex;
  std::exception_ptr error;
  std::atomic<index_t> failed = std::ssize(batches);  // the first batch with an error so far
  index_t done = 0;
  const auto batch = [&](index_t number, index_t) {
    if (number > failed) return;
    const ProfileScope scope("batch");
    const NoGrad not_recorded;
    try {
      const std::span<const index_t> chosen = batches[static_cast<std::size_t>(number)];
      const nn::HookedTexts texts(chosen);
      body(tokens_of(encodings, chosen, *this), chosen);
      const std::lock_guard lock(mutex);
      done += std::ssize(chosen);
      if (options.progress) options.progress(done, std::ssize(order));
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (number > failed) return;
      failed = number;
      error = std::current_exception();
    }
  };
  const ProfileScope scope("batches");
  // Hooks belong to this thread, which therefore computes all batches.
  const index_t workers = nn::has_active_hook() ? 1 : thread_count();
  kernels::parallel_tasks(std::ssize(batches), std::min<index_t>(std::ssize(batches), workers),
                          batch);
  if (!error) return;
  with_finite_outputs([&] { std::rethrow_exception(error); });
}

void TextReader::each_row(
    std::span<const text::Encoding> encodings, const TaskOptions& options,
    const std::function<Tensor(const Tokens& tokens)>& model,
    const std::function<void(index_t text, std::span<const float> row)>& use) const {
  for_each_batch(encodings, options, [&](const Tokens& tokens, std::span<const index_t> chosen) {
    const Tensor y = model(tokens);
    require(y.rank() >= 1 && y.size(0) == std::ssize(chosen), "each_row",
            "the model's output must have ", chosen.size(), " rows, one per text, got shape ",
            y.shape());
    const std::vector<float> rows = y.to_vector<float>();
    const std::size_t size = rows.size() / chosen.size();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const auto row = std::span(rows).subspan(i * size, size);
      require_finite_outputs(row, options.name, chosen[i]);
      use(chosen[i], row);
    }
  });
}

namespace {

/// Reads the files, not the model, because the error must name a tensor of a file: a parameter such
/// as in_proj_weight can be made of several tensors with other names.
void require_finite_weights(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    return;  // the folder was moved since the model was loaded
  std::set<std::filesystem::path> seen;
  for (const ModuleRow& row : read_module_rows(folder)) {
    if (has_weight_files(row.folder) && seen.insert(row.folder).second) {
      WeightFiles(row.folder).require_finite_weights();
    }
  }
}

}  // namespace

void TextReader::with_finite_outputs(const std::function<void()>& body) const {
  try {
    body();
  } catch (const NotFinite&) {
    if (!folder.empty()) require_finite_weights(folder);
    throw;
  }
}

std::unique_ptr<text::Tokenizer> load_tokenizer_for(const std::filesystem::path& folder,
                                                    index_t rows, const std::string& table) {
  auto tokenizer = text::load_tokenizer(folder);
  index_t last = tokenizer->size() - 1;
  // A folder can name a special token, such as [MASK], that its model lacks.
  while (last >= rows && tokenizer->special().contains(last)) --last;
  if (last < rows) return tokenizer;
  std::filesystem::path file = folder;
  for (const char* name : {"vocab.json", "vocab.txt", "tokenizer.json"}) {
    if (std::filesystem::exists(folder / name)) file = folder / name;
  }
  fail_file(file.string(), "token ", printable(tokenizer->token(last)), ": id must be less than ",
            rows, ", the rows of ", table, ", got ", last);
}

nn::PrepackOptions with_kept_heads(const nn::PrepackOptions& options) {
  nn::PrepackOptions all = options;
  if (all.format == WeightFormat::kInt8 && !all.keep) {
    all.keep = [](const std::string& name) { return name.find("layers.") == std::string::npos; };
  }
  return all;
}

TextReader load_reader(const ModelFolder& folder, index_t max_length) {
  constexpr const char* kTable = "embeddings.word_embeddings.weight";
  const std::string place = folder.place(kTable);
  const Shape shape = *folder.shape(kTable);
  TextReader reader = {
      .tokenizer = load_tokenizer_for(folder.path, shape.empty() ? 0 : shape[0], place),
      .folder = folder.path};
  const text::TokenizerSettings& settings = reader.tokenizer->settings();
  const index_t limit = max_length > 0 ? max_length : settings.max_length;
  const index_t most = folder.options.max_positions;
  reader.max_length = limit > 0 ? std::min(limit, most) : most;
  // With one row, the table adds the same vector to every token, for any types of the tokenizer.
  reader.feeds_type_ids = settings.feeds_type_ids && folder.options.type_vocab_size > 1;
  return reader;
}

}  // namespace tessera::models
