// The training programs in tests.
#pragma once

#include <string>

#include "tests/programs/programs.h"

namespace tessera::test {

/// With files to learn from.
class TrainingPrograms : public Programs {
 protected:
  void SetUp() override {
    Programs::SetUp();
    std::string tsv;
    for (int i = 0; i < 20; ++i) {
      tsv += "fruit\tan apple and " + std::to_string(i) + " pears\n";
      tsv += "tool\ta hammer or " + std::to_string(i) + " nails\n";
    }
    write("train.tsv", tsv);
    write("test.tsv", "tool\ta hammer\nfruit\tpears\n");
    std::string text;
    for (int i = 0; i < 60; ++i) text += "Round and round the ragged rock.\n";
    write("text.txt", text);
  }
};

inline const std::string kTiny = "--layers 1 --width 8 --heads 2 --feed-forward 16 --batch-size 4 ";
inline const std::string kClassifier = "--train train.tsv --test test.tsv --epochs 3 " + kTiny;
inline const std::string kMaskedLm = "--text text.txt --length 20 --epochs 2 " + kTiny;
inline const std::string kReverse = "--words 40 --length 5 --epochs 3 " + kTiny;

}  // namespace tessera::test
