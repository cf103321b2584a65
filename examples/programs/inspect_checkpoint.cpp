// The contents of .safetensors files: names, dtypes, shapes, bytes and metadata.
//
//   inspect_checkpoint model.safetensors
//
// All checks of the loader are made, but no tensor is read: a listed file can be loaded.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "examples/programs/command.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"
#include "tensor/io/safetensors.h"

namespace {

using namespace tessera;

std::string shape_text(const Shape& shape) {
  return str_cat(shape);
}

void print_table(const std::string& file, const SafetensorsFile& opened) {
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
                       const std::string& size) {
    std::cout << "  " << std::left << std::setw(static_cast<int>(name_width)) << name << "  "
              << std::setw(5) << dtype << "  " << std::setw(static_cast<int>(shape_width)) << shape
              << "  " << std::right << std::setw(12) << size << '\n';
  };
  row("name", "dtype", "shape", "bytes");
  for (const StoredTensor& tensor : stored) {
    row(escaped(tensor.name), tensor.dtype, shape_text(tensor.shape), std::to_string(tensor.bytes));
  }
}

std::string json_of(const std::string& file, const SafetensorsFile& opened) {
  JsonObject metadata;
  for (const auto& [key, value] : opened.metadata()) metadata.add(key, value);
  const auto one = [](const StoredTensor& tensor) {
    return JsonObject({{"name", tensor.name},
                       {"dtype", tensor.dtype},
                       {"shape", json_list(tensor.shape)},
                       {"bytes", tensor.bytes}});
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
  bool json = false;
  command.add_arguments("FILE", files, ".safetensors files").required();
  command.add("--json", json, "JSON output, one object per file");
  return command.run(argc, argv, [&] {
    for (const std::string& file : files) {
      const SafetensorsFile opened(file);
      if (json) {
        std::cout << json_of(file, opened) << '\n';
      } else {
        print_table(file, opened);
      }
    }
  });
}
