// A .safetensors file. Its tensors are read one by one and together, written and read again.
#include "tessera/tensor/io/safetensors.h"

#include "tests/fuzz/same_tensor.h"
#include "tests/fuzz/target.h"

namespace tessera::test {

void fuzz_safetensors(std::string_view bytes) {
  const std::filesystem::path path = fuzz_file("x.safetensors", bytes);
  const Safetensors all = load_safetensors(path);
  const SafetensorsFile file(path);
  expect(file.stored().size() == all.tensors.size(), "another number of tensors");
  for (const auto& [name, tensor] : all.tensors) {
    expect(same_tensor(file.read(name), tensor), "a tensor read alone is another");
  }

  const std::filesystem::path again = fuzz_folder() / "again.safetensors";
  save_safetensors(again, all.tensors, all.metadata);
  const Safetensors back = load_safetensors(again);
  expect(back.tensors.size() == all.tensors.size(), "tensors were lost");
  for (const auto& [name, tensor] : all.tensors) {
    expect(same_tensor(back.tensors.at(name), tensor), "what was written is not what is read");
  }
  for (const auto& [name, text] : all.metadata) {
    expect(back.metadata.at(name) == text, "a text was written that is not what is read");
  }
}

}  // namespace tessera::test
