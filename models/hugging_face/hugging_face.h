// All of Tessera: pretrained models, models, text, nn and tensor.
#pragma once

#include "tessera/models/hugging_face/fine_tuning.h"
#include "tessera/models/hugging_face/folder.h"
#include "tessera/models/hugging_face/mask_filler.h"
#include "tessera/models/hugging_face/multi_vector_encoder.h"
#include "tessera/models/hugging_face/question_answerer.h"
#include "tessera/models/hugging_face/save_folder.h"
#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/models/hugging_face/sparse_encoder.h"
#include "tessera/models/hugging_face/text_classifier.h"
#include "tessera/models/hugging_face/text_reader.h"
#include "tessera/models/hugging_face/token_tagger.h"
#include "tessera/models/models.h"
#include "tessera/models/text/text.h"
