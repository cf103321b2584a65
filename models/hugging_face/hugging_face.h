// All of tessera::hugging_face.
#pragma once

#include "models/hugging_face/batches.h"
#include "models/hugging_face/folder.h"
