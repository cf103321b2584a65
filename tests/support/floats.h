// One check for float and for double:
//
//     for_floats([]<class T>(T) { expect_rows<T>(7); });
#pragma once

namespace tessera::test {

/// Calls body(float()), then body(double()).
template <class Body>
void for_floats(const Body& body) {
  body(float{});
  body(double{});
}

}  // namespace tessera::test
