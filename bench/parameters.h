// Parses a benchmark's name: "matmul/M:128/N:768/K:768" is the kind "matmul" with three sizes.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "tessera/tensor/dtype.h"

namespace tessera::bench {

/// The parts of a name, by key.
///
/// **Errors** throughout: std::invalid_argument that begins with the name and the key: a value that
/// is missing, not a number, or out of range.
class Parameters {
 public:
  /// Errors: an empty part, a part that is not `key:value`, a key twice.
  explicit Parameters(std::string name);

  const std::string& name() const { return name_; }
  const std::string& kind() const { return kind_; }

  bool has(const char* key);
  /// The largest size: products of two fit into an index_t, products of three need a double.
  static constexpr index_t kMost = index_t{1} << 31;
  /// An integer in [low, high].
  index_t size(const char* key, std::optional<index_t> otherwise = {}, index_t low = 1,
               index_t high = kMost);
  std::optional<index_t> optional_size(const char* key, index_t low = 1);
  /// A divisor of `whole`; `whole` itself if it is absent.
  index_t divisor(const char* key, index_t whole);
  /// "10,256": a list of `count` integers.
  std::vector<index_t> sizes(const char* key, std::size_t count);
  /// A number in [0, 1).
  double fraction(const char* key, double otherwise);
  /// `key:1` or `key:0`; 0 if it is absent.
  bool flag(const char* key);
  /// One of `choices`; empty if it is absent.
  std::string choice(const char* key, std::initializer_list<const char*> choices);
  /// `dtype:float64`; float32 if it is absent.
  DType dtype();

  /// Errors: an unknown part.
  void finish() const;

 private:
  struct Part {
    std::string key, value;
    bool used = false;
  };
  const std::string* find(const char* key);
  index_t whole(const char* key, const std::string& text, index_t low, index_t high) const;
  template <class... Words>
  [[noreturn]] void refuse(const Words&... words) const;

  std::string name_;
  std::string kind_;
  std::vector<Part> parts_;
  std::vector<std::string> known_;  // the keys that were requested
};

}  // namespace tessera::bench
