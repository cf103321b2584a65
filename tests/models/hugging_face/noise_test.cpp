// Files of folders with random changes: they are read, or one line gives the reason why not.
#include <random>

#include "tessera/models/hugging_face/folder.h"
#include "tessera/models/hugging_face/multi_vector_encoder.h"
#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/models/hugging_face/sparse_encoder.h"
#include "tessera/models/text/tokenizers.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using Folder = std::filesystem::path;

void load_encoder(const Folder& folder) {
  models::load_encoder(models::ModelFolder(folder));
}

void load_tokenizer(const Folder& folder) {
  const auto tokenizer = text::load_tokenizer(folder);
  try {
    const text::Encoding e =
        tokenizer->encode("The cat, 42 [MASK] sat\n on a mat.", {.max_length = 9});
    tokenizer->decode_text(e.ids);
  } catch (const std::invalid_argument&) {  // a token without a number, and no unknown token
  }
}

void load_sentence_encoder(const Folder& folder) {
  models::load_sentence_encoder(folder);
}

void load_multi_vector_encoder(const Folder& folder) {
  models::load_multi_vector_encoder(folder);
}

void load_sparse_encoder(const Folder& folder) {
  models::load_sparse_encoder(folder);
}

struct Subject {
  std::string folder, file;
  void (*load)(const Folder& folder);
};

const std::vector<Subject> kSubjects = {
    {"bert", "config.json", load_encoder},
    {"bert", "model.safetensors", load_encoder},
    {"bert", "vocab.txt", load_tokenizer},
    {"bert", "tokenizer_config.json", load_tokenizer},
    {"sentence", "tokenizer.json", load_tokenizer},
    {"bert_old", "tokenizer.json", load_tokenizer},
    {"roberta", "tokenizer.json", load_tokenizer},
    {"sentence", "modules.json", load_sentence_encoder},
    {"sentence", "1_Pooling/config.json", load_sentence_encoder},
    {"sentence", "config_sentence_transformers.json", load_sentence_encoder},
    {"sentence", "sentence_bert_config.json", load_sentence_encoder},
    {"static", "0_StaticEmbedding/tokenizer.json", load_sentence_encoder},
    {"qwen3", "config.json", load_encoder},
    {"qwen3", "tokenizer.json", load_tokenizer},
    {"eurobert_new", "config.json", load_encoder},
    {"deberta", "config.json", load_encoder},
    {"deberta_convolution", "config.json", load_encoder},
    {"colbert", "modules.json", load_multi_vector_encoder},
    {"colbert", "1_Dense/config.json", load_multi_vector_encoder},
    {"colbert", "config_sentence_transformers.json", load_multi_vector_encoder},
    {"stanford", "artifact.metadata", load_multi_vector_encoder},
    {"m3", "colbert_linear.safetensors", load_multi_vector_encoder},
    {"m3", "sparse_linear.safetensors", load_sparse_encoder},
    {"m3", "modules.json", load_sparse_encoder},
    {"splade", "modules.json", load_sparse_encoder},
    {"splade", "1_SpladePooling/config.json", load_sparse_encoder},
    {"splade", "config_sentence_transformers.json", load_sparse_encoder},
};

/// Whether the folder's file was refused, in one line that names it.
bool refused(const Subject& subject, const EditedFolder& edited) {
  try {
    subject.load(edited.path());
  } catch (const std::runtime_error& error) {
    const std::string line = error.what();
    if (line.find('\n') != std::string::npos || line.size() > 700 ||
        line.find(edited.path().string()) == std::string::npos) {
      ADD_FAILURE() << "not one line about a file: " << line;
    }
    return true;
  }
  return false;
}

/// Tries `change` on the file's text repeatedly; returns the number of refusals.
template <class Change>
int refusals(const Subject& subject, int times, Change change) {
  SCOPED_TRACE(subject.folder + "/" + subject.file);
  const EditedFolder edited(subject.folder);
  const std::string good = edited.read(subject.file);
  int count = 0;
  for (int i = 0; i < times; ++i) {
    std::string text = good;
    const std::string what = change(text);
    SCOPED_TRACE(what);
    edited.write(subject.file, text);
    EXPECT_NO_THROW(count += refused(subject, edited));
  }
  return count;
}

TEST(NoisyFolder, BytesMayBeAnything) {
  std::mt19937 random(1);
  int count = 0;
  for (const Subject& subject : kSubjects) {
    count += refusals(subject, 50, [&](std::string& text) {
      const std::size_t place = random() % std::min<std::size_t>(text.size(), 3500);
      const bool any = random() % 4 == 0;
      text[place] = any ? static_cast<char>(random()) : "0179\"{}[],:-e"[random() % 13];
      return "byte " + std::to_string(place);
    });
  }
  EXPECT_GT(count, 200);
}

TEST(NoisyFolder, ValuesMayBeOfAnyKind) {
  std::mt19937 random(2);
  const std::vector<std::string> others = {"\"x\"", "-1",   "[2]",         "{}",   "1e99",
                                           "true",  "null", "99999999999", "\"\"", "[[], []]"};
  int count = 0;
  for (const Subject& subject : kSubjects) {
    if (!subject.file.ends_with(".json")) continue;
    count += refusals(subject, 80, [&](std::string& text) {
      const std::size_t end = std::min<std::size_t>(text.size(), 6000);
      std::size_t begin = text.find(':', random() % end);
      if (begin == std::string::npos) begin = text.find(':');
      const std::size_t stop = text.find_first_of(",}]\n", begin);
      const std::string& other = others[random() % others.size()];
      const std::string what = text.substr(begin, stop - begin) + " -> " + other;
      text.replace(begin + 1, stop - begin - 1, other);
      return what;
    });
  }
  EXPECT_GT(count, 250);
}

// Files cut off at any position.
TEST(NoisyFolder, FilesMayEndEarly) {
  std::mt19937 random(3);
  int count = 0;
  for (const Subject& subject : kSubjects) {
    count += refusals(subject, 12, [&](std::string& text) {
      text.resize(random() % text.size());
      return "the first " + std::to_string(text.size()) + " bytes";
    });
  }
  EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace tessera::test
