// The functions that readme_blocks.cpp makes from the pages' C++ blocks, called by readme_test.cpp.
#pragma once

#include <string>
#include <vector>

namespace tessera::test {

struct CompiledBlock {
  std::string place;  // "nn/README.md:101"
  bool is_program;    // it prints, and gets the folder of a model
  std::string first;  // its first line
  int (*run)(int argc, char** argv);
};

const std::vector<CompiledBlock>& compiled_blocks();

}  // namespace tessera::test
