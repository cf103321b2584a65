// The normalization forms of Unicode, on characters that keep their origins.
// **Source**: Unicode Standard Annex 15.
#pragma once

#include "tessera/models/text/detail/aligned_text.h"

namespace tessera::text {

struct UnicodeForm {
  bool compatibility = false;  // NFKD, NFKC
  bool composed = false;       // NFC, NFKC
};

/// The characters in this form. Marks that change places exchange their origins.
Characters in_form(const Characters& characters, UnicodeForm form);

}  // namespace tessera::text
