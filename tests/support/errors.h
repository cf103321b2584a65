// Checks of texts, and of errors: the type, and every word that the text must contain.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace tessera::test {

/// Whether `part` is in `text`.
inline ::testing::AssertionResult contains(std::string_view text, std::string_view part) {
  const bool is_there = text.find(part) != std::string_view::npos;
  return ::testing::AssertionResult(is_there) << "'" << part << "' in: " << text;
}

/// Whether `body` throws std::invalid_argument whose text starts with `op: ` and contains each of
/// `parts`.
template <class Body>
::testing::AssertionResult throws(const std::string& op, const std::vector<std::string>& parts,
                                  const Body& body) {
  try {
    body();
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    if (!text.starts_with(op + ": ")) {
      return ::testing::AssertionFailure() << "'" << text << "' does not name " << op;
    }
    for (const std::string& part : parts) {
      if (const auto said = contains(text, part); !said) return said;
    }
    return ::testing::AssertionSuccess();
  } catch (const std::exception& error) {
    return ::testing::AssertionFailure()
           << "threw " << typeid(error).name() << ": " << error.what();
  }
  return ::testing::AssertionFailure() << "nothing was thrown";
}

}  // namespace tessera::test
