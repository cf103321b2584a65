#include "tessera/tensor/detail/parse_number.h"

#include "tests/support/test.h"

namespace tessera {
namespace {

template <class T>
class ParseNumber : public ::testing::Test {};
using Types = ::testing::Types<std::int8_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(ParseNumber, Types);

TYPED_TEST(ParseNumber, AWholeTextIsANumber) {
  TypeParam value = 0;
  const ParsedNumber found = parse_number("17", value);
  EXPECT_TRUE(found);
  EXPECT_FALSE(found.is_out_of_range());
  EXPECT_EQ(value, TypeParam{17});
}

TYPED_TEST(ParseNumber, WhatIsNoNumberChangesNothing) {
  for (const std::string text : {"", " 1", "1 ", "+1", "0x1", "1,5", "one", "1e", "-", "1x"}) {
    TypeParam value = 5;
    const ParsedNumber found = parse_number(text, value);
    EXPECT_FALSE(found) << text;
    EXPECT_FALSE(found.is_out_of_range()) << text;
    EXPECT_EQ(value, TypeParam{5}) << text;
  }
}

TYPED_TEST(ParseNumber, WhatTheTypeCannotHoldIsOutOfRange) {
  const bool is_whole = std::numeric_limits<TypeParam>::is_integer;
  TypeParam value = 5;
  EXPECT_TRUE(parse_number(is_whole ? "18446744073709551616" : "1e400", value).is_out_of_range());
  EXPECT_FALSE(parse_number(is_whole ? "18446744073709551616" : "1e400", value));
  EXPECT_FALSE(parse_number("1e400x", value).is_out_of_range());
  EXPECT_EQ(value, TypeParam{5});
}

TEST(ParseNumberTypes, OnlyFloatingTypesHoldFractionsAndInfinity) {
  double number = 0;
  std::int64_t whole = 5;
  for (const char* const text : {"2.5", "1e3", "inf", "nan"}) {
    EXPECT_TRUE(parse_number(text, number)) << text;
    EXPECT_FALSE(parse_number(text, whole)) << text;
    EXPECT_FALSE(parse_number(text, whole).is_out_of_range()) << text;
  }
  EXPECT_TRUE(parse_number("1e-400", number).is_out_of_range());
  EXPECT_EQ(whole, 5);
}

}  // namespace
}  // namespace tessera
