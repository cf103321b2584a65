// JSON as the programs write it, one value a line.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <string>

#include "tensor/io/json.h"

namespace tessera::examples {

/// The shortest number that reads as the same value; null for what JSON has no number for.
template <std::floating_point T>
std::string json_number(T value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  return std::string(digits, end);
}

/// `[a,b,c]`, each item written by `write`.
template <class Items, class Write>
std::string json_list(const Items& items, const Write& write) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ',';
    text += write(item);
  }
  return text + ']';
}

}  // namespace tessera::examples
