// The tasks of fine_tune: the classes, the values, the tags of words, or the pairs of a file.
#pragma once

#include "examples/programs/fine_tuning_run.h"

namespace tessera::examples {

/// Each reads the files of the options, makes a model for them, trains it and saves it as a folder.
/// **Errors**: those of fine_tuning_data.h; a model that cannot learn the task.
void learn_classes(const Program& program, const FineTuneOptions& o);
void learn_values(const Program& program, const FineTuneOptions& o);
void learn_tags(const Program& program, const FineTuneOptions& o);
void learn_pairs(const Program& program, const FineTuneOptions& o);

}  // namespace tessera::examples
