// The texts that the small tokenizers are trained on, and those that they are tried on.
'use strict';

/** A generator of numbers in [0, 1), the same on every machine. */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const SENTENCES = [
  "The cat sat on the mat, and the dog didn't like it at all.",
  "What is the capital of Greenland? Nobody who was asked knew the answer.",
  "She's reading the newest books; we've read them already, haven't we?",
  "Tokenizers cut words into pieces: un-break-able, re-tokenizing, unhappiness.",
  "In 1995 there were 3,141 houses here; in 2024 there are 27182.",
  "A model learns what words mean from the words that stand beside them.",
  "The quick brown fox jumps over the lazy dog while the rain keeps falling.",
  "I'm sure they'll come tomorrow. They're never late, but you'd better wait.",
  "Reading, writing and counting are what children learn in their first years.",
  "International organisations published their reports on the environment.",
  "The water in the river was colder than the water in the lake that morning.",
  "He wrote: \"Nothing is ever as simple as it seems\" (and he was right).",
  "Straße, Größe, Übermut und ähnliche Wörter schreibt man mit Umlauten.",
  "Der Hund läuft über die Straße, während die Katze auf dem Dach schläft.",
  "Où est passé l'été? Le garçon a mangé des crêpes à la crème près du château.",
  "L'élève naïve a reçu une leçon de français à Noël.",
  "El niño comió piñas y jalapeños mañana por la mañana; ¿por qué no?",
  "Кошка сидит на окне и смотрит на улицу. Ёжик ещё спит.",
  "Η γάτα κάθεται στο παράθυρο και κοιτάζει τον δρόμο.",
  "我们今天去北京大学学习中文。天气很好。",
  "私は東京で日本語を勉強しています。カタカナとひらがな。",
  "한국어 문장은 띄어쓰기가 중요합니다. 고양이가 창문에 앉아 있다.",
  "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
  "القطة تجلس على النافذة وتنظر إلى الشارع",
  "हिन्दी में लिखा हुआ एक छोटा वाक्य",
  "Việt Nam là một đất nước xinh đẹp ở Đông Nam Á.",
  "Zażółć gęślą jaźń. Łódź jest piękna.",
  "function f(x) { return x + 1; } // code, too\n\tif (a == b) { c += d; }",
  "https://example.com/path?query=1&other=two#part or mail@example.com",
  "ﬁne ﬂowers, ½ of them, x² + y³, ①②③, ＦＵＬＬ ｗｉｄｔｈ, ㎏, ℃",
  "😀 👍🏽 👩‍👩‍👧‍👦 🇩🇪 ❤️ ☕ ✓ → ∑ √2 ≠ ∞",
];

const WORDS = ("the a an of to and in is it was for on that with as be at by not from this have but " +
  "cat dog house river water morning books reading writing tokenizing unbreakable happiness children " +
  "model learns words stand beside never always tomorrow capital greenland answer nobody").split(" ");

/** What the vocabularies are made from: the sentences, and sentences of frequent words. */
function trainingLines() {
  const random = randomNumbers(1);
  const lines = [];
  for (let i = 0; i < 8; ++i) lines.push(...SENTENCES);
  for (let i = 0; i < 200; ++i) {
    const words = [];
    for (let j = 0; j < 9; ++j) words.push(WORDS[Math.floor(random() * WORDS.length)]);
    lines.push(words.join(" ") + ".");
  }
  return lines;
}

/** Texts that have broken tokenizers. */
const HARD = [
  "", " ", "  ", "\t", "\n", "\r\n", " \n ", "a", " a", "a ", " a ", "  a  b  ", "\ta\tb", "a\u00a0b", "a\u3000b",
  "a\u2003b\u2009c", "a\u200bb", "a\u200cb\u200dc", "\ufeffa", "a\ufeffb", "a\u0000b", "\u0001\u0002a\u001fb\u007f",
  "a\u0085b", "a\u2028b\u2029c", "a\u00adb", "soft\u00adhyphen", "\ufffd", "a\ufffdb", "\u180ea", "a\u2060b", "\ue000private",
  "e\u0301", "\u0301", "a\u0301\u0302\u0303b", "\u00e9\u0301", "o\u0308\u0304", "\u1e69", "s\u0323\u0307", "s\u0307\u0323", "q\u0307\u0323",
  "\u0340\u0341\u0343\u0344", "\u212b \u2126 \u212a", "\uf900\uf901 \u{2f800}", "\u0958\u0959", "\ufb1d\ufb2a", "\u0f43",
  "caf\u00e9 cafe\u0301", "\u0130stanbul \u0131s\u0131k", "\u00dfSS\u1e9e", "\u01c5\u01c6", "\u03a3\u03c3\u03c2 \u039f\u03a3",
  "\u1f88\u1fb3", "\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06", "\u2460\u2461\u32ff", "\u00bd \u2153 \u00b2 \u2075",
  "\u1100\u1161\u11a8", "\uac01", "\uac00\u11a8", "\u1112\u1161\u11ab\u1100\u1173\u11af", "\u3131\u314f",
  "\uff21\uff22\uff23 \uff11\uff12", "\uff76\uff9e\uff77\uff9f", "\u30ab\u3099 \u30ac", "\u6f22\u5b57\u304b\u306a", "\u{20000}\u{2a6df}",
  "\u4e00-\u9fff", "\u3400\u4dbf", "\u3007\u3005\u3006", "\u3042\u30fc\u30fc", "a\u4e2db\u6587c", "\u4e2d \u6587", "\uff0c\u3002\uff01\uff1f",
  "\ud83d\ude00", "\ud83d\udc4d\ud83c\udffd", "\ud83d\udc69\u200d\ud83d\udc69\u200d\ud83d\udc67", "\ud83c\udde9\ud83c\uddea\ud83c\uddeb\ud83c\uddf7", "\u2764\ufe0f", "1\ufe0f\u20e3",
  "\u05e9\u05c1\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643", "\u064e\u0651", "\ufdfa", "\ufefb", "\u0915\u094d\u0937\u093f", "\u0e01\u0e33\u0e40\u0e19", "\u0eb3\u0f77",
  "\u202eabc\u202c", "\u200eleft\u200f", "\u{1d400}\u{1d4d0}\u{1d7d8}", "\u{10ffff}", "\u{e0001}\u{e0061}", "\u{1f1e6}", "\u{16fe4}\u{18b00}",
  "don't", "DON'T", "don\u2019t", "I'll we've they're he'd I'm it's", "I'LL WE'VE", "''s 'S 's", "'tis 'twas", "a'b'c", "rock 'n' roll",
  "...", "....", "a...b", "!?!?", "(a)", "[a]", "{a}", "<a>", "a-b_c", "a--b", "--", "the-final--countdown", "$5.00", "#tag", "@user", "50%",
  "^~`|\\", "\u00a7\u00b6\u00a9\u00ae\u2122", "\u00ab\u00bb\u2039\u203a\u201c\u201d\u2018\u2019\u201e", "\u2013\u2014\u2026", "a\u2013b", "+-*/=<>", "\u20ac100", "\u00b11", "_", "__init__", "snake_case", "camelCase", "x_1",
  "0", "00", "123", "1234567890", "3.14", "1,000", "1e10", "0x1f", "12th", "a1b2", "\u0661\u0662\u0663", "\u0967\u0968", "\u2167\u216b", "\u00b9\u00b2",
  "``quoted''", "hello  world\n\n  x ", "a\n\nb", "a \n b", "line\r\nline", "   leading", "trailing   ", "tabs\t\tand  spaces", " \u00a0 \u00a0 ",
  "\u2581", "\u2581a", "a\u2581b", "a \u2581 b", "\u0120a", "\u010a", "a\u0120b", "##a", "## b", "a##b", "##", "</w>", "a</w>b", "<0x41>", "<0x0A>",
  "[CLS]", "[SEP]", "a[SEP]b", "[CLS] a [SEP]", "[MASK]", "a [MASK] b", "a[MASK]b", "  [MASK]  ", "[mask]", "[MASK", "[[MASK]]", "[PAD][UNK]", "[UNK]",
  "<s>", "</s>", "a<s>b", "<s>a</s>", "<mask>", "a <mask> b", "a  <mask>  b", "a<mask>b", "<mask><mask>", "<mask> <mask>", "<MASK>", "<unk><pad>", "<|endoftext|>", "a<|endoftext|>b", "<|end",
  "NEW-TOKEN", "new-token", "a NEW-TOKEN b", "aNEW-TOKENb", "Whole", "a whole b", "wholesome", "un-whole", "whole.", "WHOLE", "xyz", "xyzzy", "axyzzyb", " xyz ", "|||IP|||", "a|||IP|||b",
  "Caf\u00c9", "CAF\u00c9", "cafe\u0301 au lait", "left<L", "a   <L   b", "a   R>   b", "<L<L R>R>", "a <L R> b", "<L  R>",
];

/** Words that are long, or long in bytes. */
const LONG = [
  "a".repeat(99), "a".repeat(100), "a".repeat(101), "ab".repeat(120), "\u00e9".repeat(100), "e\u0301".repeat(60), "\u00df".repeat(101),
  "\u4e2d".repeat(70), "\ud83d\ude00".repeat(40), "unbreakable".repeat(11), "x".repeat(200), "-".repeat(90), " ".repeat(60), "the".repeat(50),
  "\u0301".repeat(30), "1".repeat(150), "\n".repeat(30), "a ".repeat(40),
];

const SEPARATORS = [" ", " ", " ", "", "  ", "\n", ", ", "-", "'", "\t", "\u00a0", ". ", "\u200b", "/"];

/** Random texts of all of the above, and of any code points. */
function texts(count, seed) {
  const random = randomNumbers(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const words = SENTENCES.join(" ").split(" ");
  const character = () => {
    const range = pick([[0x20, 0x7e], [0x20, 0x7e], [0xa0, 0x24f], [0x250, 0x58f], [0x590, 0x8ff], [0x900, 0x1fff], [0x2000, 0x2bff],
      [0x3000, 0x30ff], [0x4e00, 0x9fff], [0xa000, 0xd7ff], [0xe000, 0xffff], [0x10000, 0x1ffff], [0x0, 0x1f]]);
    return String.fromCodePoint(range[0] + Math.floor(random() * (range[1] - range[0] + 1)));
  };
  const fragment = () => {
    const kind = random();
    if (kind < 0.45) return pick(words);
    if (kind < 0.75) return pick(HARD);
    if (kind < 0.8) return pick(WORDS).toUpperCase();
    let text = "";
    for (let n = 1 + Math.floor(random() * 4); n > 0; --n) text += character();
    return text;
  };
  const result = [];
  while (result.length < count) {
    let text = "";
    for (let n = 1 + Math.floor(random() * 7); n > 0; --n) text += fragment() + (n > 1 ? pick(SEPARATORS) : "");
    result.push(text);
  }
  return result;
}

module.exports = { randomNumbers, trainingLines, texts, HARD, LONG, SENTENCES };
