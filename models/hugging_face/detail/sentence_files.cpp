#include "tessera/models/hugging_face/detail/sentence_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/json_edit.h"
#include "tessera/models/hugging_face/detail/sentence_settings.h"
#include "tessera/models/hugging_face/detail/weight_files.h"
#include "tessera/nn/detail/check.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/io/safetensors.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera::models {

Tensor identity(const Tensor& x) {
  return x;
}

namespace {

using Path = std::filesystem::path;

constexpr std::string_view kSentenceInput = "sentence_embedding";
constexpr index_t kMostModules = 16;  // each may have a file of weights, which may be the same
constexpr index_t kMostModes = 16;    // each makes embeddings longer

/// The text after the last dot.
std::string_view last_part(std::string_view dotted) {
  return dotted.substr(dotted.rfind('.') + 1);  // npos + 1 is 0
}

/// Throws if the config's key has a different width; it may be absent.
void want_width(const Json& config, std::string_view key, index_t width) {
  const index_t found = config.integer(key, JsonRange{1, config::kMaxWidth}, width);
  if (found != width)
    config.at(key).fail("must be ", width, ", the width of its input, got ", found);
}

/// A function, and PyTorch's class for it; only the part after the last dot is read.
struct NamedActivation {
  std::string_view type;
  Tensor (*function)(const Tensor& x);
};

constexpr std::array<NamedActivation, 5> kActivations = {{
    {"torch.nn.modules.activation.Tanh", tanh},
    {"torch.nn.modules.linear.Identity", identity},
    {"torch.nn.modules.activation.ReLU", relu},
    {"torch.nn.modules.activation.GELU", gelu},
    {"torch.nn.modules.activation.Sigmoid", sigmoid},
}};

nn::LayerNorm read_layer_norm(const Path& folder, index_t width) {
  want_width(read_json(folder / "config.json", kSmallJson), "dimension", width);
  return nn::LayerNorm(width, WeightFiles(folder).source()["norm"]);
}

/// A folder named in modules.json, which must be inside `folder`.
Path folder_inside(const Path& folder, const Json& path) {
  const Path named = Path(path.text()).lexically_normal();
  const bool outside = named.is_absolute() || (!named.empty() && *named.begin() == "..");
  if (outside) path.fail("must be a folder inside the model's, got ", path.described());
  return named.empty() || named == "." ? folder : folder / named;
}

Pooling mode_named(const Json& name) {
  std::string names;
  for (const Pooling& pooling : Pooling::all()) {
    if (pooling.name == name.text()) return pooling;
    names += (names.empty() ? "" : ", ") + std::string(pooling.name);
  }
  name.fail("must be one of ", names, ", got ", name.described());
}

/// The modes that older files switch on one by one, in the order of concatenation.
struct Switch {
  const char* key;
  const Pooling& pooling;
  bool otherwise = false;
};
const std::array<Switch, 6> kSwitches = {
    {{"pooling_mode_cls_token", Pooling::kCls},
     {"pooling_mode_max_tokens", Pooling::kMax},
     {"pooling_mode_mean_tokens", Pooling::kMean, true},
     {"pooling_mode_mean_sqrt_len_tokens", Pooling::kMeanSqrtLength},
     {"pooling_mode_weightedmean_tokens", Pooling::kWeightedMean},
     {"pooling_mode_lasttoken", Pooling::kLast}}};

std::vector<Pooling> switched_modes(const Json& config) {
  std::vector<Pooling> modes;
  for (const Switch& mode : kSwitches) {
    if (config.boolean(mode.key, mode.otherwise)) modes.push_back(mode.pooling);
  }
  if (modes.empty()) modes.push_back(Pooling::kMean);
  return modes;
}

}  // namespace

std::vector<ModuleRow> read_module_rows(const Path& folder) {
  const Path file = folder / "modules.json";
  const std::optional<Json> json = find_json(file, kSmallJson);
  if (!json) return {{"Transformer", false, folder, file.string()}};
  std::vector<ModuleRow> rows;
  std::set<std::string> names;
  for (const Json& row : json->as_list().items()) {
    if (std::ssize(rows) == kMostModules)
      json->fail("must have at most ", kMostModules, " modules");
    const Json type = row.at("type");
    const bool is_dotted = type.text().find('.') != std::string_view::npos;
    const bool is_pylate = type.text() == "pylate.models.Dense.Dense";
    if (is_dotted && !is_pylate && !type.text().starts_with("sentence_transformers.")) {
      type.fail("must be a module of sentence_transformers, got ", type.described(),
                ", which is code of the folder itself");
    }
    const auto name = row.find("name");  // the last of equal names would be used
    if (name && !names.insert(JsonText(*name).text()).second) {
      name->fail("must be different for each module, got ", name->described(), " twice");
    }
    rows.push_back({std::string(last_part(type.text())), is_pylate,
                    folder_inside(folder, row.at("path")), type.place()});
  }
  if (rows.empty()) json->fail("must have at least one module, got none");
  return rows;
}

bool is_stanford_colbert(const Json& config) {
  const auto names = config.find("architectures");
  return names && names->is_list() && names->size() > 0 && names->item(0).is_text() &&
         names->item(0).text() == "HF_ColBERT";
}

index_t rows_of(const WeightFiles& files, const std::string& name, index_t width) {
  const Shape* const shape = files.shape(name);
  if (shape == nullptr || shape->size() != 2 || (*shape)[0] < 1 || (*shape)[1] != width) {
    fail_file(files.file_of(name), "tensor ", printable(name), ": must have shape (W, ", width,
              "), got ", shape == nullptr ? "none" : str_cat(*shape));
  }
  return (*shape)[0];
}

std::optional<nn::Linear> find_m3_layer(const Path& folder, std::string_view file, index_t width) {
  if (!std::filesystem::exists(folder / file)) {
    const Path pickle = (folder / file).replace_extension("pt");
    if (!std::filesystem::exists(pickle)) return {};
    fail_file(pickle.string(), "must be a safetensors file, got a Python pickle; save it as ",
              file);
  }
  const WeightFiles files(folder / file);
  files.require_finite_weights();  // with_finite_outputs does not read this file
  const index_t rows = file == kM3Sparse ? 1 : rows_of(files, "weight", width);
  return nn::Linear({.in_features = width, .out_features = rows}, files.source());
}

Dense read_dense(const ModuleRow& row, index_t width, std::string_view input) {
  const Path& folder = row.folder;
  const Json config = read_json(folder / "config.json", kSmallJson);
  want_width(config, "in_features", width);
  const index_t out = config.integer("out_features", JsonRange{1, config::kMaxWidth});
  config::want_flag(config, "use_residual", false);
  for (const char* key : {"module_input_name", "module_output_name"}) {
    config::want_text(config, key, input);
  }
  const std::string name =
      config.text("activation_function", row.is_pylate ? "torch.nn.modules.linear.Identity"
                                                       : "torch.nn.modules.activation.Tanh");
  const auto* found = std::ranges::find_if(kActivations, [&](const NamedActivation& known) {
    // The reference uses Tanh for a function of the folder's own code.
    return name.starts_with("torch.") && last_part(known.type) == last_part(name);
  });
  if (found == kActivations.end()) {
    config.at("activation_function")
        .fail("must be torch's Tanh, Identity, ReLU, GELU or Sigmoid, got ",
              config.at("activation_function").described());
  }
  nn::Linear linear(
      {.in_features = width, .out_features = out, .bias = config.boolean("bias", true)},
      WeightFiles(folder).source()["linear"]);
  return {std::move(linear), found->function};
}

namespace {

/// Reads the model's poolings from a module's folder; model.width is the width of their input.
void read_pooling(const Path& folder, SentenceEncoder& model) {
  const Json config = read_json(folder / "config.json", kSmallJson);
  for (const char* key : {"word_embedding_dimension", "embedding_dimension"}) {
    const index_t width = config.integer(key, JsonRange{1, config::kMaxWidth}, model.width);
    if (width == model.width) continue;  // the reference only reports this number
    model.reader.warnings.push_back(str_cat(config.at(key).place(), ": must be ", model.width,
                                            ", the width of its input, got ", width,
                                            "; the number is ignored"));
  }
  model.pools_prompt = config.boolean("include_prompt", true);
  const auto mode = config.find("pooling_mode");
  if (!mode) {
    model.poolings = switched_modes(config);
  } else if (mode->is_list()) {
    if (mode->size() == 0) mode->fail("must have at least one mode, got none");
    if (mode->size() > kMostModes) mode->fail("must have at most ", kMostModes, " modes");
    model.poolings.clear();
    for (const Json& name : mode->items()) model.poolings.push_back(mode_named(name));
  } else {
    model.poolings = {mode_named(*mode)};
  }
}

/// Appends the module of a row, except a Dropout, and sets model.width to the width of its output.
void add_module(const ModuleRow& row, SentenceEncoder& model) {
  if (row.is_pylate)
    fail_file(row.place, "must be of sentence_transformers here, got PyLate's Dense");
  if (row.kind == "Dropout") return;
  if (row.kind == "Normalize") {
    model.modules.emplace_back(Normalize{});
  } else if (row.kind == "LayerNorm") {
    model.modules.emplace_back(read_layer_norm(row.folder, model.width));
  } else if (row.kind == "Dense") {
    Dense dense = read_dense(row, model.width, kSentenceInput);
    model.width = dense.linear.weight.size(0);
    model.modules.emplace_back(std::move(dense));
  } else {
    fail_file(row.place, "must be Normalize, Dense, LayerNorm or Dropout here, got ",
              printable(row.kind));
  }
}

JsonMembers switched_on(const std::vector<Pooling>& modes) {
  JsonMembers values;
  std::size_t next = 0;
  for (const Switch& mode : kSwitches) {
    const bool on = next < modes.size() && modes[next].name == mode.pooling.name;
    values.emplace_back(mode.key, on);
    if (on) ++next;
  }
  return next == modes.size() ? values : JsonMembers{};
}

void write_layer_norm(const Path& folder, const nn::LayerNorm& norm) {
  require(norm.bias.defined() && norm.eps == nn::LayerNormOptions{}.eps, "save_folder",
          "LayerNorm must have a bias and eps ", nn::LayerNormOptions{}.eps,
          ", as in sentence-transformers");
  write_text(folder / "config.json", file_of({{"dimension", norm.weight.size(0)}}));
  save_safetensors(folder / "model.safetensors", {{"norm.weight", norm.weight.to(kFloat32)},
                                                  {"norm.bias", norm.bias.to(kFloat32)}});
}

}  // namespace

void read_modules(const std::vector<ModuleRow>& rows, const std::optional<Pooling>& pooling,
                  SentenceEncoder& model) {
  const bool pools = rows.size() > 1 && rows.front().kind == "Transformer";
  if (pools) {
    if (rows[1].kind != "Pooling") {
      fail_file(rows[1].place, "module after Transformer must be Pooling, got ",
                printable(rows[1].kind),
                rows[1].kind == "Dense" ? "; call load_multi_vector_encoder()" : "");
    }
    read_pooling(rows[1].folder, model);
  }
  if (pooling) model.poolings = {*pooling};
  model.width *= std::ssize(model.poolings);
  for (std::size_t i = pools ? 2 : 1; i < rows.size(); ++i) add_module(rows[i], model);
}

void write_dense(const Path& folder, const Dense& dense, std::string_view input) {
  const auto* found = std::ranges::find(kActivations, dense.activation, &NamedActivation::function);
  require(found != kActivations.end(), "save_folder",
          "activation of a Dense module must be tanh, relu, gelu, sigmoid or the identity");
  const nn::Linear& linear = dense.linear;
  std::map<std::string, Tensor> tensors = {{"linear.weight", linear.weight->to(kFloat32)}};
  if (linear.bias.defined()) tensors.emplace("linear.bias", linear.bias.to(kFloat32));
  JsonMembers members = {{"in_features", linear.weight.size(1)},
                         {"out_features", linear.weight.size(0)},
                         {"bias", linear.bias.defined()},
                         {"activation_function", found->type}};
  if (input != kSentenceInput) {  // what a module reads and writes without these keys
    members.emplace_back("module_input_name", input);
    members.emplace_back("module_output_name", input);
  }
  write_text(folder / "config.json", file_of(members));
  save_safetensors(folder / "model.safetensors", tensors);
}

void write_poolings(const Path& folder, const SentenceEncoder& model, index_t width) {
  JsonMembers values = switched_on(model.poolings);
  if (values.empty()) {  // an order that only newer files can give
    const auto name = [](const Pooling& mode) { return JsonText(mode.name, "save_folder"); };
    values = {{"embedding_dimension", width},
              {"pooling_mode", json_list(model.poolings, name, kListInLine)}};
  } else {
    values.insert(values.begin(), {"word_embedding_dimension", width});
  }
  values.emplace_back("include_prompt", model.pools_prompt);
  write_text(folder / "config.json", file_of(values));
}

const char* kind_of(const SentenceModule& module) {
  if (std::holds_alternative<Dense>(module)) return "Dense";
  return std::holds_alternative<nn::LayerNorm>(module) ? "LayerNorm" : "Normalize";
}

void write_module(const Path& folder, const SentenceModule& module) {
  if (const auto* const dense = std::get_if<Dense>(&module))
    write_dense(folder, *dense, kSentenceInput);
  if (const auto* const norm = std::get_if<nn::LayerNorm>(&module)) write_layer_norm(folder, *norm);
}

namespace {

/// Throws if the file has a tensor of model2vec that is not one number per row, for `rows` rows.
void check_row_numbers(const WeightFiles& files, const std::string& name, index_t rows) {
  const Shape* shape = files.shape(name);
  if (shape == nullptr || *shape == Shape{rows}) return;
  fail_file(files.file_of(name), "tensor ", printable(name), ": must have shape ", Shape{rows},
            ", a number per token, got shape ", *shape);
}

/// The vectors of model2vec's `table`, one per token: row mapping[i] times weights[i] for token i.
Tensor token_vectors(const WeightFiles& files, Tensor table) {
  if (const Shape* const shape = files.shape("mapping")) {
    if (shape->size() != 1) {
      fail_file(files.file_of("mapping"), "tensor 'mapping': must have 1 axis, got shape ", *shape);
    }
    const double bytes =
        4.0 * static_cast<double>((*shape)[0]) * static_cast<double>(table.size(1));
    nn::detail::require_memory("StaticEmbedding", bytes, (*shape)[0], " rows of ", table.size(1));
    const Tensor mapping = files.read_as_stored("mapping");
    const bool is_inside = mapping.dtype() == kInt64 && mapping.count() > 0 &&
                           min(mapping).item<index_t>() >= 0 &&
                           max(mapping).item<index_t>() < table.size(0);
    if (!is_inside) {
      fail_file(files.file_of("mapping"), "tensor 'mapping': must have integers from 0 to ",
                table.size(0) - 1, ", the rows of 'embeddings'");
    }
    table = index_select(table, 0, mapping);
  }
  if (files.shape("weights") == nullptr) return table;
  check_row_numbers(files, "weights", table.size(0));
  return table * files.read("weights", {table.size(0)}).unsqueeze(1);
}

}  // namespace

nn::Embedding read_static_embedding(const Path& folder) {
  const WeightFiles files(folder);
  const bool is_sentence_transformers =
      files.shape("embeddings") == nullptr || files.shape("embedding.weight") != nullptr;
  const std::string name = is_sentence_transformers ? "embedding.weight" : "embeddings";
  const Shape* shape = files.shape(name);
  if (shape == nullptr) fail_file(files.file_of(name), "tensor ", printable(name), " not found");
  if (shape->size() != 2 || (*shape)[0] < 1 || (*shape)[1] < 1) {
    fail_file(files.file_of(name), "tensor ", printable(name),
              ": must have 2 dimensions of at least 1, got shape ", *shape);
  }
  for (const char* part : {"mapping", "weights"}) {  // model2vec would use them, the other not
    if (!is_sentence_transformers || files.shape(part) == nullptr) continue;
    fail_file(files.file_of(part), "tensor ", printable(part),
              ": must be absent next to 'embedding.weight'");
  }
  const NoGrad not_recorded;
  const Tensor table = is_sentence_transformers
                           ? files.read(name, *shape)
                           : token_vectors(files, files.read_as_stored(name).to(kFloat32));
  return {table.size(0), table.size(1),
          nn::ParameterSource(
              [&](const std::string&, const Shape&, const nn::Init&) { return table; })};
}

TextReader read_static_reader(const Path& folder, index_t rows) {
  const Path file = folder / "tokenizer.json";
  TextReader reader = {
      .tokenizer = load_tokenizer_for(
          file, rows,
          str_cat("the static embeddings in ", escaped((folder / "model.safetensors").string()))),
      .feeds_type_ids = false,
      .add_special_tokens = false,
      .truncation_side = text::Side::kRight};
  const auto truncation = read_json(file).find("truncation");
  if (!truncation) return reader;
  reader.max_length = truncation->integer("max_length", JsonRange{1, kLongestText});
  if (truncation->text("strategy", "LongestFirst") == "OnlySecond") {
    truncation->at("strategy").fail("must truncate single texts, got OnlySecond");
  }
  const std::string direction = truncation->text("direction", "Right");
  if (direction != "Right" && direction != "Left") {
    truncation->at("direction").fail("must be Left or Right, got ", printable(direction));
  }
  if (direction == "Left") reader.truncation_side = text::Side::kLeft;
  return reader;
}

}  // namespace tessera::models
