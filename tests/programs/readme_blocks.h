// What readme_blocks.cpp makes of the pages' blocks of C++, for readme_test.cpp to call.
#pragma once

#include <string>
#include <vector>

namespace tessera::test {

struct CompiledBlock {
  std::string place;  // "nn/README.md:101"
  bool is_program;    // it prints, and is given the folder of a model
  std::string first;  // its first line
  int (*run)(int argc, char** argv);
};

const std::vector<CompiledBlock>& compiled_blocks();

}  // namespace tessera::test
