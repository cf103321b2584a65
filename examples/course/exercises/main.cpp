// The main function of all exercises: runs the checks that are compiled with it.
#include "examples/course/exercises/check.h"

int main() {
  return tessera::exercises::checks::check_lesson();
}
