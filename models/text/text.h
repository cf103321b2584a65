// All of tessera::text: files, tokenizers, batches, masked tokens.
#pragma once

#include "tessera/models/text/batches.h"
#include "tessera/models/text/character_tokenizer.h"
#include "tessera/models/text/labelled_text.h"
#include "tessera/models/text/masked_tokens.h"
#include "tessera/models/text/text_file.h"
#include "tessera/models/text/tokenizer.h"
#include "tessera/models/text/tokenizers.h"
#include "tessera/models/text/utf8.h"
#include "tessera/models/text/vocabulary.h"
#include "tessera/models/text/word_tokenizer.h"
