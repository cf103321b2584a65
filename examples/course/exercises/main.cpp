// Runs the checks of one lesson, TESSERA_CHECKS, on the code of its exercises, TESSERA_EXERCISES.
#include "examples/course/exercises/check.h"
#include TESSERA_EXERCISES
#include TESSERA_CHECKS

int main() {
  return tessera::exercises::run_checks(TESSERA_LESSON,
                                        tessera::exercises::checks::all_exercises());
}
