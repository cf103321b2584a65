// All of Tessera: pretrained models, models, text, nn and tensor.
#pragma once

#include "models/hugging_face/fine_tuning.h"
#include "models/hugging_face/folder.h"
#include "models/hugging_face/mask_filler.h"
#include "models/hugging_face/question_answerer.h"
#include "models/hugging_face/save_folder.h"
#include "models/hugging_face/sentence_encoder.h"
#include "models/hugging_face/text_classifier.h"
#include "models/hugging_face/text_reader.h"
#include "models/hugging_face/token_tagger.h"
#include "models/models.h"
#include "models/text/text.h"
