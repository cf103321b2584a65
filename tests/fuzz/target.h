// Fuzz targets: functions that read bytes as an untrusted file, and the rules for all of them.
//
//   void fuzz_npy(std::string_view bytes) {
//     const Tensor array = load_npy(fuzz_file("x.npy", bytes));
//     expect(array.defined(), "an array that is undefined");
//   }
//
// A target may throw a std::runtime_error with one printable line, which means that the file is
// refused. All else is a finding: any other exception, an abort, or more processor time or memory
// than tests/support/limits.h allows. Targets keep no state between inputs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::test {

void fuzz_api(std::string_view bytes);
void fuzz_checkpoint(std::string_view bytes);
void fuzz_config(std::string_view bytes);
void fuzz_npy(std::string_view bytes);
void fuzz_npz(std::string_view bytes);
void fuzz_safetensors(std::string_view bytes);
void fuzz_tokenizer(std::string_view bytes);
void fuzz_tokenizer_config(std::string_view bytes);
void fuzz_vocabulary(std::string_view bytes);

/// A folder of this process, in memory if the system has such a file system; removed with the
/// process.
const std::filesystem::path& fuzz_folder();

/// The file `name` of that folder, which now holds `bytes`.
std::filesystem::path fuzz_file(const std::string& name, std::string_view bytes);

/// A condition that no input may violate. Errors: std::logic_error, a finding.
void expect(bool condition, const char* broken);

/// The bytes before and after the first zero byte: two files in one input.
std::pair<std::string_view, std::string_view> split_at_zero(std::string_view bytes);

/// Whether memory is counted: only if a sanitizer is linked.
bool counts_memory();

/// Runs a target on one input; returns the finding, or an empty text.
std::string finding(void (*target)(std::string_view), std::string_view bytes);

}  // namespace tessera::test
