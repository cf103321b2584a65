// The families, each in a file with its names and its options.
#pragma once

#include "models/hugging_face/family.h"

namespace tessera::models::families {

extern const Family kBert;
extern const Family kRoberta, kXlmRoberta, kCamembert;
extern const Family kDistilBert;
extern const Family kMpnet;
extern const Family kAlbert;
extern const Family kElectra;
extern const Family kModernBert;
extern const Family kNomicBert;
extern const Family kGte;

/// BERT's options, which its relatives change in places.
TokenEncoderOptions bert_options(const Json& config);

}  // namespace tessera::models::families
