#include "examples/course/exercises/check.h"

int main() {
  return tessera::exercises::check_lesson();
}
