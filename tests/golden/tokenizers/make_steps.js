// Writes steps.jsonl: what the tokenizers library's normalizers and pre-tokenizers make of texts.
//
//   NODE_PATH=.../node_modules node tests/golden/tokenizers/make_steps.js    (tokenizers@0.23.2)
//
// A line is {"kind", "spec", "texts", "want"}: kind "normalizer" or "pre_tokenizer", its JSON, and for
// each text a list of [part, [begin, end]]: a character of the normalized text, or a word, and the
// characters that it comes from.
'use strict';

const fs = require("fs");
const path = require("path");
const { Tokenizer } = require("tokenizers");
const { charsmap } = require("./charsmap.js");

const TEXTS = 14;  // a line

// ---- texts ----------------------------------------------------------------------------------

let state = 14;
/** 0 to n - 1, as mulberry32 draws it. */
function draw(n) {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * n);
}

const KINDS = ["abcdefghijklmnopqrstuvwxyzABCDEFGH", "    \t\n\r",
  "   \u00a0\u2003\u3000\u0085\u200b\u2028\ufeff", "0123456789²³½٣৪",
  ".,;:!?'\"()[]{}-_+*/\\|<>=$^`~#@&%", "'s't're've'm'll'd'S", "éèêàçñüößÅŒæøğıİŁ",
  "e\u0301a\u0308\u0323o\u0302\u0301\u0327\u0316n\u0303",
  "\u0344\u0f73\u0f75\u0f81\u1e69\u01d5\u0390\u1fb7", "中文字漢日本語三\uf900\u{20000}\u{2f800}",
  "한국어각힣ᄀ\u1161\u11a8ᄒ", "αβγΣςΩάΐ", "приветЖЁйыіў", "مرحباً\u0651\u064eﷺﷲ١ൗ",
  "नमस्तेक्षिकि", "สวัสดีำก้ำ", "👍🏽👨‍👩‍👧‍👦🇩🇪😀❤️",
  "ﬁﬂ①⑴㎏㍿Ⅸⅷℌ™…﹏～ｱｶﾞ\u32ff\u{11938}\u166d",
  "\u0000\u0001\u0007\u000b\u000c\u001f\u007f\u008f\u009f\u00ad\u200c\u200d\u200e\ufffd\u2581\ue000",
  "“”‘’—–·•¡¿«»、。！？"].map((text) => Array.from(text));

function randomText() {
  let text = "";
  for (let parts = draw(12); parts > 0; --parts) {
    const kind = KINDS[draw(3) === 0 ? draw(2) : draw(KINDS.length)];
    for (let count = 1 + draw(5); count > 0; --count) text += kind[draw(kind.length)];
    if (draw(3) === 0) text += " ".repeat(1 + draw(3));
  }
  return text;
}

// ---- steps ----------------------------------------------------------------------------------

/** NFKC of a part of Unicode, with spaces and without controls. */
function smallMap() {
  const map = {};
  const codes = [...Array(0x250).keys(), 0x32ff, 0xfb01, 0xfb02, 0xfdfa, 0xff71, 0xff76, 0xff9e,
    0x2026, 0x2122, 0x2460, 0x338f, 0x3000, 0x200b, 0x200e, 0x2028, 0x2581, 0xfeff, 0xfffd];
  for (const code of codes.slice(1)) {
    const text = String.fromCodePoint(code);
    const nfkc = text.normalize("NFKC");
    if (/[\s\u200b-\u200e\u2581\ufeff\ufffd]/.test(text)) map[text] = " ";
    else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) map[text] = "";
    else if (nfkc !== text) map[text] = nfkc;
    const parts = text.normalize("NFD");
    if (parts !== text) map[parts] = text;
  }
  map["ｶﾞ"] = "ガ";
  return charsmap(map);
}

const bert = (clean_text, handle_chinese_chars, strip_accents, lowercase) => ({ type: "BertNormalizer",
  clean_text, handle_chinese_chars, strip_accents, lowercase });
const strip = (strip_left, strip_right) => ({ type: "Strip", strip_left, strip_right });
const replace = (pattern, content) => ({ type: "Replace", pattern, content });
const normalizers = (...steps) => ({ type: "Sequence", normalizers: steps });
const precompiled = { type: "Precompiled", precompiled_charsmap: smallMap() };

const NORMALIZERS = [
  ...["Lowercase", "NFD", "NFC", "NFKD", "NFKC", "StripAccents", "Nmt", "ByteLevel"].map((type) => ({ type })),
  bert(true, true, null, true), bert(true, true, false, false), bert(false, true, true, false),
  bert(true, false, false, true), bert(false, false, null, true),
  strip(true, true), strip(true, false), strip(false, true),
  replace({ String: "a" }, "xyz"), replace({ String: "e\u0301" }, ""), replace({ String: "" }, "-"),
  replace({ Regex: "\\s+" }, " "), replace({ Regex: " {2,}" }, "▁"), replace({ Regex: "(a)(b)?" }, "$1"),
  { type: "Prepend", prepend: "▁" }, precompiled,
  normalizers({ type: "NFD" }, { type: "Lowercase" }, { type: "StripAccents" }),
  normalizers(replace({ String: "``" }, '"'), { type: "NFKD" }, { type: "StripAccents" }, { type: "Lowercase" }, precompiled),
  normalizers({ type: "Prepend", prepend: "▁" }, replace({ String: " " }, "▁")),
];

const split = (Regex, behavior = "Isolated", invert = false) => ({ type: "Split", pattern: { Regex }, behavior, invert });
const splitText = (String, behavior) => ({ type: "Split", pattern: { String }, behavior, invert: false });
const metaspace = (prepend_scheme, split = true) => ({ type: "Metaspace", replacement: "▁", prepend_scheme, split });
const byteLevel = (add_prefix_space, use_regex) => ({ type: "ByteLevel", add_prefix_space, trim_offsets: true, use_regex });
const pretokenizers = (...steps) => ({ type: "Sequence", pretokenizers: steps });
const BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"];

const ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const REST = " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const LLAMA = ENDINGS + "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" + REST;
const UPPER = "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}";
const LOWER = "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}";
const O200K = `[^\\r\\n\\p{L}\\p{N}]?[${UPPER}]*[${LOWER}]+${ENDINGS}?|[^\\r\\n\\p{L}\\p{N}]?[${UPPER}]+[${LOWER}]*${ENDINGS}?|\\p{N}{1,3}|${REST}`;
const BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+";
const CLIP = "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";

const PRE_TOKENIZERS = [
  ...["BertPreTokenizer", "Whitespace", "WhitespaceSplit"].map((type) => ({ type })),
  { type: "Digits", individual_digits: true }, { type: "Digits", individual_digits: false },
  byteLevel(false, true), byteLevel(true, true), byteLevel(true, false),
  metaspace("always"), metaspace("first"), metaspace("never"), metaspace("always", false),
  { type: "Metaspace", replacement: "▁", add_prefix_space: true },
  { type: "CharDelimiterSplit", delimiter: "e" },
  ...BEHAVIORS.map((behavior) => ({ type: "Punctuation", behavior })),
  ...BEHAVIORS.flatMap((b) => [split("[aeiou]", b), split("\\s+", b, true), split("x*", b)]),
  split(GPT2), split(GPT2, "Removed", true), split(LLAMA), split(O200K), split(BLOOM), split(CLIP, "Removed", true),
  split("\\w+|[^\\w\\s]+"), split("\\w+"), split("(?=\\p{Lu})"), split("$"), split("^."), split(".+?e"),
  split("a{2,3}?|b{2}+|c*+."), split("(?>ab|a)c|\\d+(?!\\d)"), split("(?i)[a-ce]+|é|Σ"), split("[^\\P{L}a-m]+"),
  split("(ab|a)*b"), split("[[:space:]]+|[\\]\\-a]"), split("\\A.|.\\z"), split("(?:[A-Z][a-z]*?)+"),
  split("\\u00e9|\\x{4e2d}|\\x61|\\t"), split("(?:a|b){1,2}?c?|(?:d|e){2,}"),
  splitText(" ", "MergedWithNext"), splitText("'s", "Isolated"), splitText("", "Isolated"),
  pretokenizers({ type: "WhitespaceSplit" }, metaspace("always")),
  pretokenizers({ type: "WhitespaceSplit" }, metaspace("first")),
  pretokenizers(split(LLAMA), byteLevel(false, false)),
  pretokenizers({ type: "Digits", individual_digits: true }, byteLevel(true, true)),
  pretokenizers({ type: "Punctuation" }, { type: "Whitespace" }, { type: "Digits", individual_digits: false }),
];

// ---- cases ----------------------------------------------------------------------------------

const tokenizer = (normalizer, pre_tokenizer) => Tokenizer.fromString(JSON.stringify({ version: "1.0",
  truncation: null, padding: null, added_tokens: [], normalizer, pre_tokenizer, post_processor: null,
  decoder: null, model: { type: "WordLevel", unk_token: "[UNK]", vocab: { "[UNK]": 0 } } }));

/** Each character of the normalized text is made a token, whose offsets tell where it comes from. */
async function normalized(spec, text) {
  const whole = tokenizer(spec, splitText("", "Isolated"));
  const offsets = (await whole.encode(text, null, { addSpecialTokens: false })).getOffsets();
  return Array.from(whole.getNormalizer().normalizeString(text)).map((c, i) => [c, offsets[i]]);
}

async function main() {
  const lines = [];
  const add = async (kind, spec, run) => {
    const texts = Array.from({ length: TEXTS }, randomText);
    lines.push(JSON.stringify({ kind, spec, texts, want: await Promise.all(texts.map(run)) }));
  };
  for (const spec of NORMALIZERS) await add("normalizer", spec, (text) => normalized(spec, text));
  for (const spec of PRE_TOKENIZERS) {
    const step = tokenizer(null, spec).getPreTokenizer();
    await add("pre_tokenizer", spec, (text) => step.preTokenizeString(text));
  }
  fs.writeFileSync(path.join(__dirname, "steps.jsonl"), lines.join("\n") + "\n");
}

main();
