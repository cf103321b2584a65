// A .npy file. Its array is written and read again.
#include "tessera/tensor/io/npy.h"

#include "tests/fuzz/same_tensor.h"
#include "tests/fuzz/target.h"

namespace tessera::test {

void fuzz_npy(std::string_view bytes) {
  const Tensor array = load_npy(fuzz_file("x.npy", bytes));
  const std::filesystem::path again = fuzz_folder() / "again.npy";
  save_npy(again, array);
  expect(same_tensor(load_npy(again), array), "what was written is not what is read");
}

}  // namespace tessera::test
