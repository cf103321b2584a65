// Fuzz targets: functions that read bytes as an untrusted file, and the rules for all of them.
//
//   void fuzz_npy(std::string_view bytes) {
//     const Tensor array = load_npy(fuzz_file("x.npy", bytes));
//     expect(array.defined(), "an array that is undefined");
//   }
//
// A target may throw a std::runtime_error of one printable line: that is how a bad file is refused.
// Everything else is a finding: another exception, an abort, more of the processor or
// of memory than tests/support/limits.h allows. Targets keep no state from one input to the next.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::test {

void fuzz_checkpoint(std::string_view bytes);
void fuzz_config(std::string_view bytes);
void fuzz_npy(std::string_view bytes);
void fuzz_npz(std::string_view bytes);
void fuzz_safetensors(std::string_view bytes);
void fuzz_tokenizer(std::string_view bytes);
void fuzz_vocabulary(std::string_view bytes);

/// A folder of this process, in memory where the system has such; it goes with the process.
const std::filesystem::path& fuzz_folder();

/// The file `name` of that folder, which now holds `bytes`.
std::filesystem::path fuzz_file(const std::string& name, std::string_view bytes);

/// What no input may break. Errors: std::logic_error, a finding.
void expect(bool condition, const char* broken);

/// What is before the first zero byte, and what is after it: two files in one input.
std::pair<std::string_view, std::string_view> split_at_zero(std::string_view bytes);

/// Whether memory is counted: where a sanitizer is linked.
bool counts_memory();

/// Runs a target on one input: what was found, or nothing.
std::string finding(void (*target)(std::string_view), std::string_view bytes);

}  // namespace tessera::test
