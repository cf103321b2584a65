'use strict';
// Numbers of heads: the weight on a pattern, the change of the result if a head is ablated.

const hasAblation = data.texts.every((text) => text.ablation.length > 0);

const isSpecial = (token) => /^(\[(CLS|SEP|PAD|BOS|EOS)\]|<\/?s>|<(cls|sep|pad|bos|eos)>)$/i.test(token);
const placesWhere = (tokens, holds) => [...tokens.keys()].filter((place) => holds(tokens[place], place));

/** The places of tokens that are not special; of all tokens if all are special. */
function ordinaryPlaces(tokens) {
  const places = placesWhere(tokens, (token) => !isSpecial(token));
  return places.length ? places : [...tokens.keys()];
}

/** Patterns: the positions to which token i attends. */
const PATTERNS = {
  itself: {name: 'weight on the token itself', keys: (tokens, i) => [i]},
  previous: {name: 'weight on the previous token', keys: (tokens, i) => [i - 1]},
  next: {name: 'weight on the next token', keys: (tokens, i) => [i + 1]},
  first: {name: 'weight on the first token', keys: () => [0]},
  special: {name: 'weight on special tokens', keys: (tokens) => placesWhere(tokens, isSpecial)},
  same: {
    name: 'weight on the same word elsewhere',
    keys: (tokens, i) => placesWhere(tokens, (token, j) => i !== j && token.toLowerCase() === tokens[i].toLowerCase()),
  },
};

/** The mean weight on a pattern, over the ordinary tokens that have a position to attend to; null if none has. */
function shareOf(pattern, tokens, map) {
  const size = tokens.length;
  let [sum, rows] = [0, 0];
  for (const i of ordinaryPlaces(tokens)) {
    const keys = pattern.keys(tokens, i).filter((j) => j >= 0 && j < size);
    if (keys.length) ++rows;
    for (const j of keys) sum += map[i * size + j];
  }
  return rows ? sum / rows : null;
}

/** The largest weight of token i on an ordinary token that is not next to it, and its place. */
function strongestLink(tokens, map, i) {
  let best = {key: i, weight: 0};
  for (const j of ordinaryPlaces(tokens)) {
    const weight = map[i * tokens.length + j];
    if (Math.abs(j - i) > 1 && weight > best.weight) best = {key: j, weight};
  }
  return best;
}

function meanLink(tokens, map) {
  const places = ordinaryPlaces(tokens);
  return places.reduce((sum, i) => sum + strongestLink(tokens, map, i).weight, 0) / places.length;
}

/** The numbers by which heads are found. A choice is {text, show, token, key}. */
const MEASURES = {
  ...(hasAblation && {off: {name: 'change if ablated'}}),
  link: {name: 'weight on one distant token'},
  ...PATTERNS,
  pair: {name: 'weight from the chosen token'},
};

/** The number of a head, or of a mean; null where it has none. */
function scoreOf(measure, choice, layer, head) {
  const {tokens, ablation} = data.texts[choice.text];
  if (measure === 'off') return layer === MEAN || head === MEAN ? null : ablation[layer][head];
  const map = mapOf(choice.text, layer, head, choice.show === 'norms' ? 'norms' : 'weights');
  if (measure === 'link') return meanLink(tokens, map);
  if (measure === 'pair') return map[choice.token * tokens.length + choice.key];
  return shareOf(PATTERNS[measure], tokens, map);
}

/** All heads that have a number, the largest absolute value first: {layer, head, score}. */
function rankedHeads(measure, choice) {
  const heads = partsOf(MEAN, MEAN).map(([layer, head]) => ({layer, head, score: scoreOf(measure, choice, layer, head)}));
  return heads.filter(({score}) => score !== null && !Number.isNaN(score))
      .sort((a, b) => Math.abs(b.score) - Math.abs(a.score));
}

/** The first view: the head with the largest change or the strongest links, and its strongest link. */
function mostTelling() {
  const choice = {text: 0, show: hasNorms ? 'norms' : 'weights'};
  const measure = hasAblation ? 'off' : 'link';
  const {layer, head} = rankedHeads(measure, choice)[0] || {layer: layerCount - 1, head: 0};
  const {tokens} = data.texts[0];
  const map = mapOf(0, layer, head, choice.show);
  const links = ordinaryPlaces(tokens).map((token) => ({token, ...strongestLink(tokens, map, token)}));
  const {token, key} = links.reduce((best, link) => link.weight > best.weight ? link : best);
  return {layer, head, measure, token, key};
}

const percent = (share) => `${(100 * share).toFixed(0)} %`;

/** A line on a head that puts its weight on special tokens and reads little there; '' for others. */
function sinkNote(text, layer, head) {
  if (!hasNorms) return '';
  const {tokens} = data.texts[text];
  const sinks = tokens.some(isSpecial) ? PATTERNS.special : PATTERNS.first;
  const weight = shareOf(sinks, tokens, mapOf(text, layer, head, 'weights'));
  const read = shareOf(sinks, tokens, mapOf(text, layer, head, 'norms'));
  if (!(weight >= 0.5 && read <= weight / 2)) return '';
  const names = [...new Set(sinks.keys(tokens, 0).map((place) => tokens[place]))].join(' and ');
  return `${percent(weight)} of the weight is on ${names}, but ${percent(read)} of weight times norm: ` +
      'the norms of the vectors there are small, so most tokens read little in this head (a no-op).';
}

/** The change of the result without a head, in words; '' if the page has none. */
function ablationNote(text, layer, head) {
  if (!hasAblation || layer === MEAN || head === MEAN) return '';
  const ranked = rankedHeads('off', {text});
  const place = ranked.findIndex((each) => each.layer === layer && each.head === head);
  if (place < 0) return '';
  return `Ablated, this head changes the result by ${shown(ranked[place].score)} (${data.ablation}), ` +
      `rank ${place + 1} of ${ranked.length}.`;
}

/** For each of `from`, the place of the same token in `to` by a longest common subsequence, or -1. */
function aligned(from, to) {
  const width = to.length + 1;
  const longest = new Uint16Array((from.length + 1) * width);  // of what is left from (i, j) on
  for (let i = from.length - 1; i >= 0; --i) {
    for (let j = to.length - 1; j >= 0; --j) {
      longest[i * width + j] = from[i] === to[j] ? 1 + longest[(i + 1) * width + j + 1] :
                                                   Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const places = Array(from.length).fill(-1);
  for (let i = 0, j = 0; i < from.length && j < to.length;) {
    if (from[i] === to[j]) places[i++] = j++;
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) ++i;
    else ++j;
  }
  return places;
}
