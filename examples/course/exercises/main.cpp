#include "examples/course/exercises/check.h"

int main() {
  return tessera::exercises::checks::check_lesson();
}
