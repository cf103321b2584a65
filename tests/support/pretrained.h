// The folders of tests/golden/folders: pretrained models with random weights, and PyTorch's results
// for them. golden/README.md describes each.
//
//   const Pretrained bert("bert");
//   bert.expect_parity("hidden", models::load_encoder(bert.folder()));
//
//   const EditedFolder edited("bert");                 // a copy, to be changed
//   edited.replace("config.json", "\"gelu\"", "\"swish\"");
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tessera/models/tokens.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/io/safetensors.h"
#include "tests/support/file_support.h"
#include "tests/support/golden.h"
#include "tests/support/oracle.h"

namespace tessera::test {

inline std::filesystem::path folders() {
  return std::filesystem::path(TESSERA_GOLDEN_DIR) / "folders";
}

/// The folders whose expected.npz has the entry, in the order of their names.
inline std::vector<std::string> folders_with(const std::string& entry) {
  std::vector<std::string> names;
  for (const auto& folder : std::filesystem::directory_iterator(folders())) {
    const std::string name = folder.path().filename().string();
    if (GoldenCase("folders/" + name + "/expected").has(entry)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The texts of a folder's texts.json.
inline std::vector<std::string> texts_in(const std::string& folder) {
  std::vector<std::string> texts;
  for (const Json& text : read_json(folders() / folder / "texts.json").items()) {
    texts.emplace_back(text.text());
  }
  return texts;
}

class Pretrained {
 public:
  explicit Pretrained(const std::string& name)
      : name_(name), expected_("folders/" + name + "/expected") {
    const Json config = read_json(folder() / "config.json");
    if (const auto pad = config.find("pad_token_id")) pad_ = pad->integer();
    if (!expected_.has("lengths")) return;
    lengths_ = expected_.array("lengths").to_vector<index_t>();
    for (index_t begin = 0; const index_t length : lengths_) {
      begins_.push_back(begin);
      begin += length;
    }
  }

  std::filesystem::path folder() const { return folders() / name_; }
  const GoldenCase& expected() const { return expected_; }
  index_t texts() const { return std::ssize(lengths_); }

  /// A text without padding.
  models::Tokens text(index_t i) const {
    models::Tokens tokens = {.ids = rows("ids", i).unsqueeze(0)};
    if (expected_.has("types")) tokens.type_ids = rows("types", i).unsqueeze(0);
    return tokens;
  }

  /// All texts, with `more` columns than the longest has tokens.
  models::Tokens batch(index_t more) const {
    const index_t count = *std::max_element(lengths_.begin(), lengths_.end()) + more;
    models::Tokens tokens = {.ids = full({texts(), count}, static_cast<double>(pad_), kInt64),
                             .lengths = expected_.array("lengths")};
    if (expected_.has("types")) tokens.type_ids = zeros({texts(), count}, kInt64);
    for (index_t i = 0; i < texts(); ++i) {
      real(tokens.ids, i).copy_from(rows("ids", i));
      if (tokens.type_ids.defined()) real(tokens.type_ids, i).copy_from(rows("types", i));
    }
    return tokens;
  }

  /// Checks a model against the entry on each instruction set: single texts within 1e-5, and in a
  /// batch, with any padding, with the same bits. The output has a row for each text, or for each
  /// token of each.
  void expect_parity(const std::string& entry,
                     const std::function<Tensor(const models::Tokens&)>& model) const {
    const bool of_tokens = expected_.array(entry).size(0) == expected_.array("ids").size(0);
    const std::string before = current_isa();
    for (const std::string& isa : available_isas()) {
      set_isa(isa);
      std::vector<Tensor> alone;
      for (index_t i = 0; i < texts(); ++i) {
        SCOPED_TRACE(str_cat(name_, ", ", entry, ", text ", i, ", ", isa));
        alone.push_back(model(text(i)).select(0, 0));
        const Tensor want = of_tokens ? rows(entry, i) : expected_.array(entry).select(0, i);
        ASSERT_TRUE(near(alone.back(), array(want), 0, 1e-5));
      }
      for (const index_t more : {0, 3}) {
        const Tensor together = model(batch(more));
        for (index_t i = 0; i < texts(); ++i) {
          SCOPED_TRACE(str_cat(name_, ", ", entry, ", text ", i, " of a batch, ", isa));
          const Tensor row = of_tokens ? real(together, i) : together.select(0, i);
          ASSERT_TRUE(same_bits(row, alone[static_cast<std::size_t>(i)]));
        }
      }
    }
    set_isa(before);
  }

 private:
  /// The rows of text `i` in an entry with the rows of all texts in sequence.
  Tensor rows(const std::string& entry, index_t i) const {
    const index_t begin = begins_[static_cast<std::size_t>(i)];
    return expected_.array(entry).slice(0, begin, begin + lengths_[static_cast<std::size_t>(i)]);
  }
  /// The tokens of text `i` in a padded batch.
  Tensor real(const Tensor& batch, index_t i) const {
    return batch.select(0, i).slice(0, 0, lengths_[static_cast<std::size_t>(i)]);
  }

  std::string name_;
  GoldenCase expected_;
  index_t pad_ = 0;
  std::vector<index_t> lengths_, begins_;
};

/// An editable copy of a folder; its weights are in one file, in float32.
class EditedFolder {
 public:
  std::map<std::string, Tensor> tensors;  // the current tensors; `save` writes them

  explicit EditedFolder(const std::string& name) {
    for (const auto& file : std::filesystem::directory_iterator(folders() / name)) {
      const std::filesystem::path path = file.path();
      const bool is_of_model = path.filename().string().starts_with("model");
      if (path.extension() == ".safetensors" && is_of_model) {
        tensors.merge(load_safetensors(path).tensors);
      } else if (path.filename() != "model.safetensors.index.json" && path.extension() != ".npz") {
        std::filesystem::copy(path, folder_.path() / path.filename(),
                              std::filesystem::copy_options::recursive);
      }
    }
    save();
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  void save() const { save_as("model.safetensors", tensors); }
  void save_as(const std::string& file, const std::map<std::string, Tensor>& some) const {
    save_safetensors(path() / file, some);
  }
  void write(const std::string& file, const std::string& text) const { folder_.write(file, text); }
  std::string read(const std::string& file) const { return folder_.read(file); }
  void remove(const std::string& file) const { std::filesystem::remove_all(path() / file); }

  /// Changes a file's text, which must contain `from`.
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = folder_.read(file);
    const std::size_t place = text.find(from);
    ASSERT_NE(place, std::string::npos) << file << " has no " << from;
    text.replace(place, from.size(), to);
    folder_.write(file, text);
  }

  /// Sets a key of config.json to a value, as JSON; "" removes the key.
  void set(const std::string& key, const std::string& value) const {
    std::string text = folder_.read("config.json");
    const std::string start = "\"" + key + "\": ";
    std::size_t begin = text.find(start);
    if (begin == std::string::npos) {
      begin = text.find('{') + 1;
      text.insert(begin, start + "0, ");
    }
    const std::size_t end = text.find_first_of(",\n", begin);
    if (value.empty()) {
      text.erase(begin, end + 1 - begin);
    } else {
      text.replace(begin, end - begin, start + value);
    }
    folder_.write("config.json", text);
  }

  /// Removes the tensors whose names contain one of `parts`.
  void leave_out(const std::vector<std::string>& parts) {
    std::erase_if(tensors, [&](const auto& entry) {
      return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
        return entry.first.find(part) != std::string::npos;
      });
    });
    save();
  }

  /// Renames every tensor by `name`.
  void rename(const std::function<std::string(const std::string&)>& name) {
    std::map<std::string, Tensor> renamed;
    for (auto& [old, tensor] : tensors) renamed.emplace(name(old), tensor);
    tensors = std::move(renamed);
    save();
  }

 private:
  TemporaryFolder folder_;
};

/// `text` with every `from` replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t i = 0; (i = text.find(from, i)) != std::string::npos; i += to.size()) {
    text.replace(i, from.size(), to);
  }
  return text;
}

}  // namespace tessera::test
