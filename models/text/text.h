// All of tessera::text: files, tokenizers, batches, masked tokens.
#pragma once

#include "models/text/batches.h"
#include "models/text/character_tokenizer.h"
#include "models/text/labelled_text.h"
#include "models/text/masked_tokens.h"
#include "models/text/text_file.h"
#include "models/text/tokenizer.h"
#include "models/text/tokenizers.h"
#include "models/text/utf8.h"
#include "models/text/vocabulary.h"
#include "models/text/word_tokenizer.h"
