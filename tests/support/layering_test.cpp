// Includes. The layers: a file includes only files of its own folder and of the folders in
// kMayInclude, a public header includes nothing from a folder detail/, and the kernels' headers,
// compiled once per instruction set, include no standard header with code.
#include <cctype>
#include <filesystem>

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace {

namespace fs = std::filesystem;

/// What a folder includes in addition to its own files; "tensor*" is all folders of tensor.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"tensor/kernels", {}},
    {"tensor", {"tensor/kernels"}},
    {"tensor/autograd", {"tensor/kernels", "tensor"}},
    {"tensor/ops", {"tensor*"}},
    {"nn", {"tensor*"}},
    {"nn/training", {"tensor*", "nn"}},
    {"nn/training/mpi", {"tensor*", "nn", "nn/training"}},
    {"models", {"tensor*", "nn"}},
    {"models/text", {"tensor*"}},
    {"models/pages", {"tensor*"}},
    {"models/inspect", {"tensor*", "nn", "nn/training"}},
    {"models/hugging_face",
     {"tensor*", "nn", "nn/training", "models", "models/text", "models/pages"}},
    {"models/runs",
     {"tensor*", "nn", "nn/training", "models", "models/text", "models/pages", "models/inspect"}},
    {"bench", {"*"}},
    {"examples", {"*"}},
};

/// The umbrella headers include all.
const std::set<std::string> kUmbrellas = {"nn/nn.h", "models/models.h"};

/// The longest folder of kMayInclude that has the file, or "".
std::string layer_of(const std::string& path) {
  std::string layer;
  for (const auto& [folder, others] : kMayInclude) {
    if (path.starts_with(folder + "/") && folder.size() > layer.size()) layer = folder;
  }
  return layer;
}

bool may_include(const std::string& layer, const std::string& other) {
  const std::set<std::string>& allowed = kMayInclude.at(layer);
  return layer == other || allowed.contains(other) || allowed.contains("*") ||
         (other.starts_with("tensor") && allowed.contains("tensor*"));
}

bool is_isa_code(const std::string& path) {
  static const std::set<std::string> kCompiledOnce = {
      "tensor/kernels/dispatch.h", "tensor/kernels/dispatch.cpp", "tensor/kernels/parallel.cpp"};
  return path.starts_with("tensor/kernels/") && !kCompiledOnce.contains(path);
}

/// Files in a folder detail/ are not installed.
bool is_private(const std::string& path) {
  return path.find("/detail/") != std::string::npos;
}

struct Include {
  std::string target;
  bool ours;  // not a system header
};

/// The included file of a line: `#include`, with blanks around the #, and a name in quotes or
/// brackets. Headers of the libraries are included as tessera/..., which is not part of `target`.
std::optional<Include> parse_include(const std::string& line) {
  std::istringstream in(line);
  char hash = 0;
  std::string directive;
  char open = 0;
  if (!(in >> hash) || hash != '#') return std::nullopt;
  while (std::isalpha(in.peek()) || in.peek() == ' ') {
    const char c = static_cast<char>(in.get());
    if (c != ' ') directive += c;
  }
  if (directive != "include" || !(in >> open) || (open != '"' && open != '<')) return std::nullopt;
  std::string target;
  std::getline(in, target, open == '"' ? '"' : '>');
  static const std::string kPrefix = "tessera/";
  if (target.starts_with(kPrefix)) return Include{target.substr(kPrefix.size()), true};
  const std::string layer = layer_of(target);
  const bool has_own_path = layer == "examples" || layer == "bench";
  if (open == '"' && !has_own_path) target = "without tessera/: " + target;
  return Include{target, open == '"'};
}

/// The errors in the includes of the file `path` with this text; `exists` tests whether a file
/// exists.
template <class Exists>
std::vector<std::string> violations(const std::string& path, const std::string& text,
                                    const Exists& exists) {
  static const std::set<std::string> kFreeOfCode = {"cstddef", "cstdint"};
  std::vector<std::string> found;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::optional<Include> include = parse_include(line);
    if (!include) continue;
    const std::string& target = include->target;
    const std::string place = path + ":" + std::to_string(number) + ": ";
    if (!include->ours) {
      // Intrinsics are always inlined, so no object file defines them.
      const bool intrinsics =
          (target == "immintrin.h" || target == "arm_neon.h") && path == "tensor/kernels/simd.h";
      if (is_isa_code(path) && !kFreeOfCode.contains(target) && !intrinsics) {
        found.push_back(place + "<" + target + "> in a file compiled per instruction set");
      }
    } else if (layer_of(target).empty() || !exists(target)) {
      found.push_back(place + target + " is not a path from the root of the repository");
    } else if (!kUmbrellas.contains(path) && !may_include(layer_of(path), layer_of(target))) {
      found.push_back(place + target + " is not in a layer below");
    } else if (path.ends_with(".h") && layer_of(path) != "examples" && is_private(target) &&
               !is_private(path)) {
      found.push_back(place + target + " is private, and this header is not");
    }
  }
  return found;
}

TEST(LayeringTest, IncludesPointDownwards) {
  const fs::path root = TESSERA_SOURCE_DIR;
  const auto exists = [&](const std::string& path) { return fs::is_regular_file(root / path); };
  int files = 0;
  for (const char* folder : {"tensor", "nn", "models", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp" && extension != ".inc") continue;
      ++files;
      const std::string path = fs::relative(entry.path(), root).generic_string();
      for (const std::string& violation :
           violations(path, tessera::test::file_text(entry.path()), exists)) {
        ADD_FAILURE() << violation;
      }
    }
  }
  EXPECT_GT(files, 20) << "in " << root;
}

std::size_t violation_count(const std::string& path, const std::string& text) {
  return violations(path, text, [](std::string_view) { return true; }).size();
}

TEST(LayeringTest, TheRuleItself) {
  using Includes = std::vector<std::pair<const char*, const char*>>;  // a file, its include
  const Includes allowed = {
      {"tensor/io/npy.cpp", "tensor/tensor.h"},
      {"nn/training/optim.h", "nn/linear.h"},
      {"nn/training/mpi/session.h", "nn/training/communicator.h"},
      {"models/models.h", "models/text/batches.h"},
      {"models/runs/run.h", "models/pages/run_log.h"},
      {"models/runs/run.h", "nn/training/trainer.h"},
      {"nn/detail/check.h", "tensor/detail/rows.h"},
      {"nn/linear.cpp", "tensor/detail/rows.h"},
      {"tensor/kernels/gemm.h", "<cstdint>"},
      {"tensor/kernels/simd.h", "<immintrin.h>"},
      {"tensor/kernels/simd.h", "<arm_neon.h>"},
      {"tensor/kernels/parallel.cpp", "<thread>"},
      {"nn/linear.h", "tensor/ops/matmul.h"},
  };
  const Includes forbidden = {
      {"tensor/tensor.cpp", "tensor/ops/matmul.h"},
      {"tensor/autograd/tape.h", "tensor/ops/matmul.h"},
      {"nn/linear.h", "nn/training/optim.h"},
      {"nn/training/trainer.cpp", "nn/training/mpi/session.h"},
      {"models/hugging_face/tasks.h", "nn/training/mpi/session.h"},
      {"models/hugging_face/tasks.h", "models/runs/run.h"},
      {"models/text/batches.h", "nn/linear.h"},
      {"models/encoder.h", "models/text/batches.h"},
      {"models/encoder.h", "nn/training/optim.h"},
      {"nn/linear.h", "tensor/detail/rows.h"},
      {"nn/linear.h", "../tensor/tensor.h"},
      {"nn/linear.h", "tests/support.h"},
      {"tensor/kernels/gemm.h", "<cmath>"},
      {"tensor/kernels/gemm.h", "<immintrin.h>"},
      {"tensor/kernels/gemm.h", "<arm_neon.h>"},
      {"tensor/kernels/gemm.h", "tensor/shape.h"},
      {"nn/linear.h", "models/encoder.h"},
  };
  const auto text_of = [](const std::string& name) {
    return name.starts_with('<') ? "#include " + name : "#include \"tessera/" + name + '"';
  };
  for (const auto& [path, name] : allowed) {
    EXPECT_EQ(violation_count(path, text_of(name)), 0U) << path << ": " << name;
  }
  for (const auto& [path, name] : forbidden) {
    EXPECT_EQ(violation_count(path, text_of(name)), 1U) << path << ": " << name;
  }
  EXPECT_EQ(violation_count("nn/linear.h",
                            "\n  #  include \"tessera/models/encoder.h\"\n#include <vector>"),
            1U);
  EXPECT_EQ(violation_count("nn/linear.cpp", "#include \"tensor/tensor.h\""), 1U);
  EXPECT_EQ(violation_count("examples/demo.cpp", "#include <tessera/tensor/tensor.h>"), 0U);
}

// One header is enough: models/hugging_face/hugging_face.h includes every public header,
// models/models.h those of models, nn and tensor, nn/nn.h those of nn and tensor, tensor/ops/ops.h every op.

const fs::path kRoot = TESSERA_SOURCE_DIR;

/// Public headers for authors of ops or programs, who include them by name.
const std::set<std::string> kByName = {"tensor/autograd/recording.h", "tensor/io/file.h"};

/// Adds to `found` all of our headers that `header` includes, directly or indirectly.
void add_includes(const std::string& header, std::set<std::string>& found) {
  if (!found.insert(header).second) return;
  std::istringstream in(tessera::test::file_text(kRoot / header));
  EXPECT_FALSE(in.str().empty()) << header;
  for (std::string line; std::getline(in, line);) {
    const std::optional<Include> include = parse_include(line);
    if (include && include->ours) add_includes(include->target, found);
  }
}

TEST(UmbrellaTest, BringsThePublicHeadersOfItsFolders) {
  const std::vector<std::string> tensor = {"tensor", "tensor/autograd", "tensor/io", "tensor/ops"};
  const std::vector<std::string> nn = {"nn", "nn/training"};
  const std::vector<std::string> models = {"models"};
  const std::vector<std::string> text = {"models/text"};
  const std::vector<std::string> hugging_face = {"models/hugging_face"};
  using Groups = std::vector<std::vector<std::string>>;
  const std::vector<std::pair<std::string, Groups>> umbrellas = {
      {"tensor/ops/ops.h", {{"tensor/ops"}}},
      {"nn/nn.h", {tensor, nn}},
      {"models/models.h", {tensor, nn, models}},
      {"models/hugging_face/hugging_face.h", {tensor, nn, models, text, hugging_face}},
      {"models/text/text.h", {text}},
      {"models/pages/pages.h", {{"models/pages"}}}};
  for (const auto& [umbrella, groups] : umbrellas) {
    std::set<std::string> found = kByName;
    add_includes(umbrella, found);
    int headers = 0;
    for (const auto& group : groups) {
      for (const std::string& folder : group) {
        for (const auto& entry : fs::directory_iterator(kRoot / folder)) {
          if (entry.path().extension() != ".h") continue;
          ++headers;
          const std::string header = folder + "/" + entry.path().filename().string();
          EXPECT_TRUE(found.contains(header)) << umbrella << " does not bring " << header;
        }
      }
    }
    EXPECT_GT(headers, 3) << umbrella;
  }
}

}  // namespace
