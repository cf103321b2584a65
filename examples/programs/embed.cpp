// Encodes lines as vectors, with a pretrained sentence encoder.
//
//   embed --model all-MiniLM-L6-v2 --output embeddings.npy lines.txt   # (lines, 384) float32
//   embed --model all-MiniLM-L6-v2 --query 'Who built Rome?' lines.txt # the most similar lines
//   embed --model all-MiniLM-L6-v2 few.txt                             # similarity of each pair
//
// A model with one vector per token (ColBERT), or with sparse vectors (SPLADE), ranks lines for a
// query, or prints its vectors as JSON. bge-m3 gives every form; --vectors selects one.
#include <algorithm>
#include <functional>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <tessera/models/hugging_face/multi_vector_encoder.h>
#include <tessera/models/hugging_face/sentence_encoder.h>
#include <tessera/models/hugging_face/sparse_encoder.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/io/json.h>
#include <tessera/tensor/io/npy.h>
#include "examples/programs/cli.h"
#include "examples/programs/model_options.h"

namespace {

using namespace tessera;

struct Options {
  examples::ModelOptions model;
  std::string prompt, prompt_name, query, query_prompt, output;
  std::string pooling = "the folder's", vectors = "the folder's";
  bool normalize = false;
  index_t truncate_dim = 0;
  index_t top = 10;
};

/// The largest table of similarities that is printed.
constexpr index_t kTableLines = 100;

void add_options(examples::Command& command, Options& options) {
  std::vector<std::string> poolings = {options.pooling};
  for (const models::Pooling& pooling : models::Pooling::all()) poolings.emplace_back(pooling.name);
  options.model.add_to(command);
  command.add("--prompt", options.prompt, "prefix of each line; the folder's default if absent");
  command.add("--prompt-name", options.prompt_name, "name of a prompt in the model's folder");
  command.add("--pooling", options.pooling, "pooling of the token vectors", poolings);
  command.add("--vectors", options.vectors,
              "form of the vectors: one per text, one per token, or sparse",
              {options.vectors, "single", "multi", "sparse"});
  command.add("--normalize", options.normalize, "L2 normalization of the vectors");
  command.add("--truncate-dim", options.truncate_dim,
              "leading columns to keep; the folder's number or all if absent",
              {1, examples::kMany});
  command.add_output("--output", options.output, "output file for the vectors, .npy");
  command.add("--query", options.query, "query to compare the lines with");
  command.add("--query-prompt", options.query_prompt,
              "prefix of the query; the folder's prompt for queries if absent");
  command.add("--top", options.top, "maximum number of lines to print for a query",
              {1, examples::kMany});
}

models::TaskOptions encoding_options(const Options& options) {
  models::TaskOptions how = examples::task_options(options.model);
  how.truncate_dim = options.truncate_dim;
  how.normalize_embeddings = options.normalize;
  if (!options.prompt.empty()) how.prompt = options.prompt;
  if (!options.prompt_name.empty()) how.prompt_name = options.prompt_name;
  return how;
}

models::SentenceEncoder load(const Options& options) {
  std::optional<models::Pooling> pooling;
  if (options.pooling != Options().pooling) pooling = models::Pooling::named(options.pooling);
  const auto from = [&](const std::string& folder) {
    return models::load_sentence_encoder(folder, pooling);
  };
  auto model = examples::loaded_model(from, options.model);
  const auto* const encoder = std::get_if<models::TokenEncoder>(&model.token_encoder);
  require(encoder != nullptr || options.model.attention.file.empty(), "--attention",
          "the model must have layers, got static embeddings");
  if (encoder != nullptr) options.model.attention.check(encoder->encoder);
  return model;
}

void write_attention(const models::SentenceEncoder& model, const std::vector<std::string>& lines,
                     const models::TaskOptions& how, const Options& options) {
  if (options.model.attention.file.empty()) return;
  std::vector<text::Encoding> encodings;
  for (const std::string& line : lines) encodings.push_back(model.tokenize(line, how));
  const auto vector = [&](const text::Encoding& text) {
    return model(model.reader.tokens(text), model.prompt_tokens(how));
  };
  examples::write_attention(options.model.attention,
                            {.about = options.model.model,
                             .encoder = std::get<models::TokenEncoder>(model.token_encoder),
                             .reader = model.reader,
                             .encodings = std::move(encodings),
                             .result = vector,
                             .result_name = "the text's vector"});
}

/// The similarities (M, N) of vectors to those of the lines. **Errors**: NotFinite with the name of
/// the first of the lines that has one.
Tensor similarities(const models::SentenceEncoder& model, const Tensor& to, const Tensor& lines,
                    const Options& options) {
  const Tensor table = model.similarity(to, lines);
  const models::TextName name = encoding_options(options).name;
  for (index_t i = 0; i < table.size(1); ++i) {
    models::require_finite_outputs(table.select(1, i).to_vector<float>(), name, i);
  }
  return table;
}

/// Prints the lines with the highest scores, the best first, of equal ones the earlier: score,
/// number, line.
void print_best(const std::vector<std::string>& lines, const std::vector<float>& scores,
                const Options& options) {
  std::vector<std::size_t> order(lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return scores[i]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(options.top)));
  for (const std::size_t i : order) {
    if (options.model.json) {
      const JsonObject row({{"line", i + 1}, {"score", scores[i]}, {"text", lines[i]}});
      std::cout << row.text() << '\n';
    } else {
      std::cout << decimals(scores[i], 4) << '\t' << i + 1 << '\t'
                << examples::escaped_line(lines[i]) << '\n';
    }
  }
}

/// The options of the query, given those of the lines.
models::TaskOptions query_options(models::TaskOptions how, const Options& options) {
  how.prompt.reset();
  how.prompt_name.reset();
  if (!options.query_prompt.empty()) how.prompt = options.query_prompt;
  how.name = [](index_t) { return "--query"; };
  how.progress = {};
  return how;
}

/// Prints the lines most similar to the query.
void search(const models::SentenceEncoder& model, const std::vector<std::string>& lines,
            const Tensor& vectors, const models::TaskOptions& how, const Options& options) {
  const Tensor query = model.encode_query({options.query}, query_options(how, options));
  print_best(lines, similarities(model, query, vectors, options).to_vector<float>(), options);
}

void print_vectors(const std::vector<std::string>& lines, const Tensor& vectors) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto vector = vectors.select(0, static_cast<index_t>(i)).to_vector<float>();
    const JsonObject row({{"line", i + 1}, {"text", lines[i]}, {"vector", json_list(vector)}});
    std::cout << row.text() << '\n';
  }
}

/// Prints the similarities (N, N) of each pair of lines.
void print_table(const std::vector<std::string>& lines, const Tensor& table) {
  constexpr int kWidth = 8;
  std::cout << "    ";
  for (std::size_t i = 0; i < lines.size(); ++i) std::cout << std::setw(kWidth) << i + 1;
  std::cout << '\n';
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::cout << std::setw(4) << i + 1;
    for (const float score : table.select(0, static_cast<index_t>(i)).to_vector<float>()) {
      std::cout << std::setw(kWidth) << decimals(score, 3);
    }
    std::cout << "  " << examples::escaped_line(lines[i]) << '\n';
  }
}

/// Refuses the options for models with one vector per text.
void check_form(const Options& options, const char* form) {
  const auto refuse = [&](bool is_given, const char* option) {
    require(!is_given, option, "must be absent for ", form);
  };
  refuse(!options.output.empty(), "--output");
  refuse(options.normalize, "--normalize");
  refuse(options.truncate_dim > 0, "--truncate-dim");
  refuse(options.pooling != Options().pooling, "--pooling");
  refuse(!options.model.attention.file.empty(), "--attention");
  require(!options.query.empty() || options.model.json, "embed",
          "--query or --json must be given for ", form);
}

/// Prints the lines with the best `scores(query, documents)` or, without a query, each line with
/// `json` of its vectors under `key`.
template <class Model, class Scores, class Vectors>
void rank_or_print(const Model& model, index_t longest_query, const Options& options,
                   const Scores& scores, const char* key, const Vectors& json) {
  const std::vector<std::string> lines = examples::input_lines(options.model.file);
  const models::TaskOptions how = encoding_options(options);
  const auto documents = model.encode_document(lines, how);
  if (!options.query.empty()) {
    models::TaskOptions of_query = query_options(how, options);
    of_query.max_length = std::min(of_query.max_length, longest_query);
    const auto query = model.encode_query({options.query}, of_query).front();
    print_best(lines, scores(query, documents), options);
    return;
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const JsonObject row({{"line", i + 1}, {"text", lines[i]}, {key, json(documents[i])}});
    std::cout << row.text() << '\n';
  }
}

void embed_tokens(const Options& options) {
  check_form(options, "a vector per token");
  const auto model = examples::loaded_model(models::load_multi_vector_encoder, options.model);
  const auto scores = [&](const Tensor& query, const std::vector<Tensor>& documents) {
    return model.similarity(query, documents).to_vector<float>();
  };
  const auto json = [](const Tensor& document) {
    JsonList vectors;
    for (index_t t = 0; t < document.size(0); ++t) {
      vectors.add(json_list(document.select(0, t).to_vector<float>()));
    }
    return vectors;
  };
  rank_or_print(model, model.multi.query_length, options, scores, "vectors", json);
}

void embed_sparse(const Options& options) {
  check_form(options, "sparse vectors");
  const auto model = examples::loaded_model(models::load_sparse_encoder, options.model);
  const auto scores = [](const models::SparseVector& query,
                         const std::vector<models::SparseVector>& documents) {
    std::vector<float> found;
    for (const auto& document : documents) found.push_back(models::dot(query, document));
    return found;
  };
  const auto json = [&](const models::SparseVector& document) {
    JsonObject weights;
    for (std::size_t k = 0; k < document.ids.size(); ++k) {
      const index_t id = document.ids[k];  // models may have more rows than tokens
      const bool has_name = id < model.reader.tokenizer->size();
      weights.add(has_name ? std::string(model.reader.tokenizer->token(id)) : std::to_string(id),
                  document.weights[k]);
    }
    return weights;
  };
  rank_or_print(model, examples::kMany, options, scores, "weights", json);
}

models::VectorForm form_of(const Options& options) {
  if (options.vectors == "single") return models::VectorForm::kSingle;
  if (options.vectors == "multi") return models::VectorForm::kMulti;
  if (options.vectors == "sparse") return models::VectorForm::kSparse;
  return models::vector_form(options.model.model);
}

void embed(const Options& options) {
  require(options.prompt.empty() || options.prompt_name.empty(), "embed",
          "--prompt must not be combined with --prompt-name");
  require(options.query_prompt.empty() || !options.query.empty(), "embed",
          "--query-prompt must be combined with --query");
  const models::VectorForm form = form_of(options);
  if (form == models::VectorForm::kMulti) return embed_tokens(options);
  if (form == models::VectorForm::kSparse) return embed_sparse(options);
  const auto model = load(options);
  const std::vector<std::string> lines = examples::input_lines(options.model.file);
  const bool table = options.query.empty() && options.output.empty() && !options.model.json;
  require(!table || std::ssize(lines) <= kTableLines, "embed", "a printed table must have at most ",
          kTableLines, " lines, got ", lines.size(), " lines; add --output, --query or --json");
  const models::TaskOptions how = encoding_options(options);
  // With a query, the lines are the documents to search.
  const models::TaskOptions of_lines = options.query.empty() ? how : model.for_documents(how);
  const Tensor vectors = model.encode(lines, of_lines);
  if (!options.output.empty()) save_npy(options.output, vectors);
  if (!options.query.empty()) {
    search(model, lines, vectors, how, options);
  } else if (table) {
    print_table(lines, similarities(model, vectors, vectors, options));
  } else if (options.output.empty()) {
    print_vectors(lines, vectors);
  }
  write_attention(model, lines, of_lines, options);
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command(
      "embed", "Encodes lines as vectors, for a file, a search or a table of similarities.");
  Options options;
  add_options(command, options);
  return command.run(argc, argv, [&] { embed(options); });
}
