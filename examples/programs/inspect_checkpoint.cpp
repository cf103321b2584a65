// The contents of .safetensors files: names, dtypes, shapes, bytes and metadata.
//
//   inspect_checkpoint model.safetensors
//   inspect_checkpoint --int8 model.safetensors      the rounding by `--weight-format int8`
//
// The program makes all checks of the loader, so a file that it lists can be loaded. It reads the
// elements of tensors only with --int8.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "examples/programs/cli.h"
#include "tensor/error.h"
#include "tensor/format.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"
#include "tensor/io/safetensors.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/weight.h"

namespace {

using namespace tessera;

std::string shape_text(const Shape& shape) {
  return str_cat(shape);
}

/// A tensor's rounding errors in int8, or the reason why it stays float32.
struct Int8Errors {
  std::string kept = {};  // the reason; empty: it is rounded
  double all = 0;         // the root mean square of the errors, relative to that of the elements
  double worst_row = 0;   // the largest such quotient of a row
};

/// Whether the tensor is part of a layer: one part of its name is the layer's number, as in
/// encoder.layer.0.output.dense.weight. Heads, poolers and embeddings have no such part.
bool is_in_layer(const std::string& name) {
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '.');) {
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string::npos) return true;
  }
  return false;
}

double root_of_quotient(const Tensor& errors, const Tensor& elements) {
  return std::sqrt(max(errors / maximum(elements, 1e-300)).item<double>());
}

/// Rounds one tensor of the file as models::prepack rounds a weight. A model may join several
/// tensors into one weight.
Int8Errors int8_errors(const StoredTensor& stored, const SafetensorsFile& opened) {
  if (stored.shape.size() != 2) return {"not a matrix"};
  if (!is_in_layer(stored.name)) return {"not in a layer"};
  const Tensor read = opened.read(stored.name);
  if (!is_floating(read.dtype())) return {str_cat(read.dtype())};
  const Weight weight = read.to(kFloat32);
  if (!weight.in_format(WeightFormat::kInt8).is_prepacked_or_rounded()) {
    return {"fewer than 64 rows or more than 65,536 columns"};
  }
  const Tensor elements = weight->to(kFloat64);
  const Tensor squares = sum(elements * elements, {1});
  if (!std::isfinite(sum(squares).item<double>())) return {"inf or NaN, which int8 refuses"};
  const Tensor errors = weight.prepacked(WeightFormat::kInt8).unpacked()->to(kFloat64) - elements;
  const Tensor error_squares = sum(errors * errors, {1});
  return {.all = root_of_quotient(sum(error_squares), sum(squares)),
          .worst_row = root_of_quotient(error_squares, squares)};
}

std::string percent(double share) {
  return decimals(100 * share, 2) + " %";
}

void print_table(const std::string& file, const SafetensorsFile& opened, bool int8) {
  const std::vector<StoredTensor> stored = opened.stored();
  index_t bytes = 0;
  index_t elements = 0;
  std::size_t name_width = 4;
  std::size_t shape_width = 5;
  for (const StoredTensor& tensor : stored) {
    bytes += tensor.bytes;
    elements += element_count("inspect_checkpoint", tensor.shape);
    name_width = std::max(name_width, escaped(tensor.name).size());
    shape_width = std::max(shape_width, shape_text(tensor.shape).size());
  }
  std::cout << file << ": " << stored.size() << " tensors, " << elements << " elements, " << bytes
            << " bytes\n";
  for (const auto& [key, value] : opened.metadata()) {
    std::cout << "  " << escaped(key) << ": " << printable(value) << '\n';
  }
  const auto row = [&](const std::string& name, const std::string& dtype, const std::string& shape,
                       const std::string& size, const std::string& error,
                       const std::string& worst_row) {
    std::cout << "  " << std::left << std::setw(static_cast<int>(name_width)) << name << "  "
              << std::setw(5) << dtype << "  " << std::setw(static_cast<int>(shape_width)) << shape
              << "  " << std::right << std::setw(12) << size;
    if (int8) std::cout << "  " << std::setw(10) << error << "  " << worst_row;
    std::cout << '\n';
  };
  row("name", "dtype", "shape", "bytes", "int8 error", "worst row");
  for (const StoredTensor& tensor : stored) {
    const Int8Errors errors = int8 ? int8_errors(tensor, opened) : Int8Errors();
    row(escaped(tensor.name), tensor.dtype, shape_text(tensor.shape), std::to_string(tensor.bytes),
        errors.kept.empty() ? percent(errors.all) : "-",
        errors.kept.empty() ? percent(errors.worst_row) : errors.kept);
  }
}

JsonObject json_of(const Int8Errors& errors) {
  if (!errors.kept.empty()) return JsonObject({{"kept", errors.kept}});
  return JsonObject({{"error", errors.all}, {"worst_row", errors.worst_row}});
}

std::string json_of(const std::string& file, const SafetensorsFile& opened, bool int8) {
  JsonObject metadata;
  for (const auto& [key, value] : opened.metadata()) metadata.add(key, value);
  const auto one = [&](const StoredTensor& tensor) {
    JsonObject all({{"name", tensor.name},
                    {"dtype", tensor.dtype},
                    {"shape", json_list(tensor.shape)},
                    {"bytes", tensor.bytes}});
    if (int8) all.add("int8", json_of(int8_errors(tensor, opened)));
    return all;
  };
  return JsonObject(
             {{"file", file}, {"metadata", metadata}, {"tensors", json_list(opened.stored(), one)}})
      .text();
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command(
      "inspect_checkpoint",
      "Lists the tensors of .safetensors files, after all checks of the loader.");
  std::vector<std::string> files;
  bool int8 = false;
  bool json = false;
  command.add_arguments("FILE", files, ".safetensors files", examples::kRequired);
  command.add("--int8", int8,
              "relative rounding error of each weight in int8, or why it stays float32");
  command.add("--json", json, "JSON output, one object per file");
  return command.run(argc, argv, [&] {
    for (const std::string& file : files) {
      const SafetensorsFile opened(file);
      if (json) {
        std::cout << json_of(file, opened, int8) << '\n';
      } else {
        print_table(file, opened, int8);
      }
    }
  });
}
