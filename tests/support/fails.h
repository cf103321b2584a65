// One line for each error that a test expects:
//
//     fails("gather", {"(1,)", "(2, 3)"}, [&] { gather(x, 1, tensor({0})); });
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/errors.h"

namespace tessera::test {

/// The words that an error's text must contain.
struct Words {
  std::vector<std::string> all;

  Words(const char* word) : all{word} {}
  Words(const std::string& word) : all{word} {}
  Words(std::initializer_list<std::string> words) : all(words) {}
  Words(const std::vector<std::string>& words) : all(words) {}
};

/// fails() without its template: `call(body)` runs the body.
inline void expect_throw(const std::string& op, const Words& words, void (*call)(const void*),
                         const void* body, const char* file, int line) {
  const auto result = throws(op, words.all, [&] { call(body); });
  if (!result) ADD_FAILURE_AT(file, line) << result.message();
}

/// Expects that `body` throws std::invalid_argument whose text starts with `op: ` and contains each
/// of `words`. A failure shows the line of the caller.
template <class Body>
void fails(const std::string& op, const Words& words, const Body& body,
           const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const auto call = [](const void* any) { (*static_cast<const Body*>(any))(); };
  expect_throw(op, words, call, &body, file, line);
}

}  // namespace tessera::test
