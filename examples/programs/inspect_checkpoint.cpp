// The contents of .safetensors files: names, dtypes, shapes, bytes and metadata.
//
//   inspect_checkpoint model.safetensors
//
// The program makes the loader's checks of a file's header, but also lists tensors of dtypes that
// the loader refuses, such as F8_E4M3. The elements of tensors are not read.
#include <iostream>
#include <string>
#include <vector>

#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/io/json.h>
#include <tessera/tensor/io/safetensors.h>
#include "examples/programs/cli.h"

namespace {

using namespace tessera;

void print_table(const std::string& file, const SafetensorsFile& opened) {
  const std::vector<StoredTensor> stored = opened.stored();
  index_t bytes = 0, elements = 0;
  std::vector<std::vector<std::string>> rows = {{"", "name", "dtype", "shape", "bytes"}};
  for (const StoredTensor& tensor : stored) {
    bytes += tensor.bytes;
    elements += element_count("inspect_checkpoint", tensor.shape);
    rows.push_back({"", escaped(tensor.name), escaped(tensor.dtype), str_cat(tensor.shape),
                    std::to_string(tensor.bytes)});
  }
  std::cout << file << ": " << stored.size() << " tensors, " << elements << " elements, " << bytes
            << " bytes\n";
  for (const auto& [key, value] : opened.metadata()) {
    std::cout << "  " << escaped(key) << ": " << printable(value) << '\n';
  }
  std::cout << in_columns(rows, 4);
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
      "Lists the tensors of .safetensors files, after the loader's checks of the header.");
  std::vector<std::string> files;
  bool json = false;
  command.add_arguments("FILE", files, ".safetensors files", examples::kRequired);
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
