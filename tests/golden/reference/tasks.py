"""What the pipelines of transformers make of texts: classes, pairs, tags, answers, filled blanks."""

import re

import torch

from reference.cases import WORD_PIECE
from reference.vocabularies import encode_word_pieces

CLS, SEP, UNK = (WORD_PIECE.id(name) for name in ("cls", "sep", "unk"))
MARGIN = 1e-4  # Choices closer than this depend on rounding: the script refuses them.
SPAN_MARGIN = 1e-6  # The same for the spans of answers, of which there are many.


class Text:
    """A text or a pair, encoded: ids, types, and of each token (text number or None, start, end)."""

    def __init__(self, *texts, most=None):
        self.ids, self.types, self.spans = [CLS], [0], [(None, 0, 0)]
        pieces = [encode_word_pieces(WORD_PIECE, text.lower()) for text in texts]
        if most:
            pieces = longest_first(pieces, most - 1 - len(texts))
        for number, part in enumerate(pieces):
            self.add(number, part)

    def add(self, number, pieces):
        for i, start, end in pieces:
            self.ids.append(i)
            self.spans.append((number, start, end))
        self.ids.append(SEP)
        self.spans.append((None, 0, 0))
        self.types += [number] * (len(self.ids) - len(self.types))

    def tensors(self):
        return torch.tensor(self.ids), torch.tensor(self.types)


def longest_first(pieces, room):
    """Two texts cut to `room` tokens; as Rust does it in one step."""
    short, long = sorted(pieces, key=len)
    n1, n2 = len(short), len(long)
    if n1 + n2 > room:
        n2 = max(n1, room - n1) if n1 <= room else n1
        if n1 + n2 > room:
            n1 = room // 2
            n2 = n1 + room % 2
    sizes = (n1, n2) if short is pieces[0] else (n2, n1)
    return [part[:size] for part, size in zip(pieces, sizes)]


def best(scores):
    """The place of the largest, which must be clear."""
    ordered = sorted(scores, reverse=True)
    assert len(ordered) < 2 or ordered[0] - ordered[1] > MARGIN, ordered[:2]
    return max(range(len(scores)), key=lambda i: scores[i])


# Classes.

def classified(model, names, problem, *texts, most=None):
    logits = model("sequence", Text(*texts, most=most))[0]
    several = problem != "multi_label_classification" and len(logits) > 1
    values = logits if problem == "regression" else (
        torch.softmax(logits, -1) if several else torch.sigmoid(logits))
    return {name: value.item() for name, value in zip(names, values)}


# Tags.

def tokens_of(model, names, text):
    encoded = Text(text)
    scores = torch.softmax(model("tokens", encoded), -1)
    found = []
    for i, (number, start, end) in enumerate(encoded.spans):
        if number is None:
            continue
        piece, unknown = WORD_PIECE.tokens[encoded.ids[i]], encoded.ids[i] == UNK
        found.append({"scores": scores[i], "start": start, "end": end,
                      "continues": not unknown and len(piece) != end - start})
    return found


def with_label(row, scores, names):
    label = best(scores.tolist())
    return {"label": names[label], "score": scores[label].item(), "start": row["start"],
            "end": row["end"]}


def words_of(tokens):
    words = []
    for token in tokens:
        if token["continues"] and words:
            words[-1].append(token)
        else:
            words.append([token])
    return words


def word_with_label(word, strategy, names):
    row = {"start": word[0]["start"], "end": word[-1]["end"]}
    if strategy == "first":
        return with_label(row, word[0]["scores"], names)
    if strategy == "max":
        chosen = best([token["scores"].max().item() for token in word])
        return with_label(row, word[chosen]["scores"], names)
    return with_label(row, torch.stack([token["scores"] for token in word]).mean(0), names)


def split(label):
    return (label[0], label[2:]) if label[:2] in ("B-", "I-") else ("I", label)


def grouped(rows):
    groups = []
    for row in rows:
        start, tag = split(row["label"])
        if groups and tag == split(groups[-1][-1]["label"])[1] and start != "B":
            groups[-1].append(row)
        else:
            groups.append([row])
    return [{"label": group[0]["label"].split("-", 1)[-1],
             "score": sum(row["score"] for row in group) / len(group), "start": group[0]["start"],
             "end": group[-1]["end"]} for group in groups]


def tagged(model, names, strategy, text):
    tokens = tokens_of(model, names, text)
    if strategy in ("none", "simple"):
        rows = [with_label(token, token["scores"], names) for token in tokens]
    else:
        rows = [word_with_label(word, strategy, names) for word in words_of(tokens)]
    rows = rows if strategy == "none" else grouped(rows)
    return [row for row in rows if row["label"] != "O"]


# Answers.

def windows(question, context, most, stride):
    """Texts of at most `most` tokens, the context cut into windows that share `stride` tokens."""
    pieces = encode_word_pieces(WORD_PIECE, context.lower())
    room = most - 3 - len(encode_word_pieces(WORD_PIECE, question.lower()))
    start = 0
    while True:
        window = Text(question)
        window.add(1, pieces[start:start + room])
        yield window
        if start + room >= len(pieces):
            return
        start += room - stride


def answered(model, question, context, most, impossible=False, count=1, longest=15):
    """The best answer. Equal ones of all windows, without regard to case, are one: their scores are added."""
    candidates, null = [], 1.0
    for window in windows(question, context, most, min(most // 2, 128)):
        logits = model("answers", window)
        outside = torch.tensor([i > 0 and span[0] != 1 for i, span in enumerate(window.spans)])
        start, end = torch.softmax(logits.masked_fill(outside[:, None], -10000.0), 0).T.clone()
        null = min(null, (start[0] * end[0]).item())
        start[0] = end[0] = 0
        pairs = torch.triu(start[:, None] * end[None]).tril(longest - 1)
        ordered = sorted((value, *divmod(i, len(start)))
                         for i, value in enumerate(pairs.flatten().tolist()) if value > 0)[::-1]
        chosen = ordered[:2 * count + 10]  # several spans may be widened to the same words
        assert len(ordered) == len(chosen) or chosen[-1][0] - ordered[len(chosen)][0] > SPAN_MARGIN
        words = [match.span() for match in re.finditer(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]", context)]
        for score, first, last in chosen:
            begin = next(a for a, b in words if a <= window.spans[first][1] < b)
            finish = next(b for a, b in words if a < window.spans[last][2] <= b)
            text = context[begin:finish]
            same = [one for one in candidates if one["answer"].lower() == text.lower()]
            if same:
                same[0]["score"] += score
            else:
                candidates.append({"answer": text, "score": score, "start": begin, "end": finish})
    if impossible:
        candidates.append({"answer": "", "score": null, "start": 0, "end": 0})
    return candidates[best([candidate["score"] for candidate in candidates])]


# Blanks.

def filled(model, before, after, count):
    """The likeliest tokens for a blank between two texts."""
    encoded = Text(before + " " + after)
    place = 1 + len(encode_word_pieces(WORD_PIECE, before.lower()))
    encoded.ids.insert(place, WORD_PIECE.id("mask"))
    encoded.types.append(0)
    scores = torch.softmax(model("masked", encoded)[place], -1)
    values, ids = torch.topk(scores, count + 1)
    assert (values[:-1] - values[1:]).min() > MARGIN, values
    return [{"id": i, "token": WORD_PIECE.tokens[i], "score": value}
            for i, value in zip(ids[:count].tolist(), values[:count].tolist())]
