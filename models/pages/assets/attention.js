'use strict';
// The viewer: the choices, by controls, keyboard and the page's address, and what they show.

const NONE = -1;  // no second text; no such token
const opening = mostTelling();
const state = {
  text: 0, other: NONE, layer: opening.layer, head: opening.head, show: 'weights', shade: 'root', lines: 'token',
  measure: opening.measure, key: opening.key,
};
const kept = {layer: state.layer, head: state.head};  // what to return to when the pointer leaves
let colors = palette(false);
let onPaper = false;

/** The select of each part of the state. */
const SELECTS = {
  text: 'text', other: 'other', layer: 'layer', head: 'head', show: 'show', shade: 'shade', lines: 'lines-of',
  measure: 'measure', key: 'key',
};

const currentName = () => nameOf(state.layer, state.head, state.show);
const textName = (text) => `${text + 1}: ${data.texts[text].title}`;
const options = (values, name) => values.map((value) => make('option', {value, textContent: name(value)}));

const panels = [makePanel('text'), makePanel('other')];
const shownPanels = () => panels.filter(isShown);
panels[0].kept = opening.token;

// ---- the choices at the top ----

function fillChoices() {
  const texts = [...data.texts.keys()];
  byId('text').append(...options(texts, textName));
  byId('other').append(...options(texts, textName));
  byId('layer').append(...options(layers, (layer) => layer === MEAN ? 'mean' : layerNumber(layer)));
  byId('head').append(...options(heads, (head) => head === MEAN ? 'mean' : headNumber(head)));
  byId('measure').append(...options(Object.keys(MEASURES), (measure) => MEASURES[measure].name));
  for (const label of document.querySelectorAll('.several')) label.hidden = data.texts.length === 1;
  for (const [name, id] of Object.entries(SELECTS)) {
    byId(id).addEventListener('change', (event) => choose({[name]: typed(name, event.target.value)}));
  }
  for (const [value, there] of [['norms', hasNorms], ['rollout', hasRollout]]) {
    const option = byId('show').querySelector(`[value="${value}"]`);
    option.hidden = option.disabled = !there;
    byId(`about-${value}`).hidden = !there;
  }
  byId('find').addEventListener('input', findToken);
  byId('controls').addEventListener('submit', (event) => event.preventDefault());
}

/** A part of the state from the text of an option. */
const typed = (name, value) => typeof state[name] === 'number' ? Number(value) : value;

function describePage() {
  const left = byId('left-out');
  left.hidden = data.leftOut === 0;
  left.textContent = `The first ${data.texts.length} texts are here; ${data.leftOut} more are left out to keep the page small.`;
  byId('precision').textContent = data.encoding === 'float32' ?
      'The page holds each weight as the float32 that the model used.' :
      'To keep the page small it holds the upper 18 significant bits of each weight: numbers here differ from ' +
      'the model\'s by at most 4 millionths of themselves.';
  byId('about-ablation').hidden = !hasAblation;
  byId('ablation-measure').textContent = data.ablation;
}

/** Goes to the next token that contains what was typed, from the chosen one on. */
function findToken() {
  const wanted = byId('find').value.toLowerCase();
  const tokens = tokensOf(panels[0]);
  const places = [...tokens.keys()].map((step) => (panels[0].kept + step) % tokens.length);
  const found = wanted === '' ? undefined : places.find((place) => tokens[place].toLowerCase().includes(wanted));
  byId('find').setAttribute('aria-invalid', wanted !== '' && found === undefined);
  if (found !== undefined) keep(panels[0], found);
}

// ---- what is chosen ----

/** Shows a map as long as the pointer is there. */
function peek(layer, head) {
  if (layer === state.layer && head === state.head) return;
  Object.assign(state, {layer, head});
  showMap();
}

/** Shows a token as long as the pointer is there; a second text shows the same word if it has it. */
function point(panel, token) {
  for (const each of shownPanels()) {
    const same = each === panel ? token : aligned(tokensOf(panel), tokensOf(each))[token];
    each.token = same >= 0 ? same : each.kept;
    showToken(each);
  }
}

/** Shows a token until another is chosen. */
function hold(panel, token) {
  point(panel, token);
  for (const each of shownPanels()) each.kept = each.token;
}

/** The same, for a reader's choice: the heads found, the address and the spoken line follow. */
function keep(panel, token) {
  hold(panel, token);
  if (state.measure === 'pair') showScores();
  saveLink();
  speak();
}

/** Keeps a token, and in the first text ranks the heads by the token's weight on another. */
function keepPair(panel, token, key) {
  keep(panel, token);
  if (panel === panels[0]) choose({key, measure: 'pair'});
}

function strongest(tokens, weights, count) {
  const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, count);
  return order.map((token) => `${tokens[token]} ${(100 * weights[token]).toFixed(1)} %`).join(', ');
}

function speak() {
  byId('live').textContent = `${currentName()}: ` + shownPanels().map((panel) =>
    `${tokensOf(panel)[panel.token]} attends to ${strongest(tokensOf(panel), rowOf(panel, mapIn(panel)), 3)}`).join('; ');
}

function showMap() {
  const name = currentName();
  byId('one-heading').textContent = name[0].toUpperCase() + name.slice(1);
  markGrid();
  shownPanels().forEach(showPanelMap);
}

/** Draws all of the texts: what changes with their lengths, their widths and the colours. */
function showTexts() {
  byId('columns').classList.toggle('comparing', state.other !== NONE);
  const tokens = data.texts[state.text].tokens;
  state.key = Math.min(state.key, tokens.length - 1);
  byId('key').replaceChildren(...options([...tokens.keys()], (token) => `${token}: ${tokens[token]}`));
  sizeGrid();
  panels.forEach(fillPanel);
}

/** Takes some parts of the state, and shows what follows. */
function choose(changes) {
  const before = {...state};
  const wanted = {...state, ...changes};
  if (partsOf(wanted.layer, wanted.head).length === 0) return;  // a layer without that head
  Object.assign(state, wanted);
  Object.assign(kept, {layer: state.layer, head: state.head});
  const changed = (...names) => names.some((name) => state[name] !== before[name]);
  if (changed('text', 'other', 'lines')) showTexts();
  if (changed('text', 'other')) hold(panels[0], panels[0].kept);
  if (changed('text', 'other', 'shade', 'show')) paintGrid();
  if (changed('text', 'other', 'show', 'measure', 'key')) showScores();
  for (const [name, id] of Object.entries(SELECTS)) byId(id).value = state[name];
  byId('key-choice').hidden = state.measure !== 'pair';
  showMap();
  saveLink();
  speak();
}

// ---- the page's address ----

const TOKEN_IN_LINK = {text: 'token', other: 'other-token'};

function saveLink() {
  const tokens = Object.fromEntries(shownPanels().map((panel) => [TOKEN_IN_LINK[panel.which], panel.kept]));
  const link = new URLSearchParams({...state, ...kept, ...tokens});
  try {
    history.replaceState(null, '', `#${link}`);
  } catch {
    // A sandboxed frame without an address of its own has nothing to keep the link in; browsers also
    // refuse too many changes in a short time. The page works without it.
  }
}

/** Chooses what the address names, as far as this page has it. */
function followLink(hash) {
  const link = new URLSearchParams(hash.slice(1));
  const take = (names) => {
    const known = names.filter((name) => [...byId(SELECTS[name]).options].some(
        (option) => option.value === link.get(name) && !option.disabled));
    choose(Object.fromEntries(known.map((name) => [name, typed(name, link.get(name))])));
  };
  const tokenIn = (panel) => !isShown(panel) ? NONE : tokensOf(panel).findIndex(
      (_, place) => String(place) === link.get(TOKEN_IN_LINK[panel.which]));
  take(Object.keys(SELECTS).filter((name) => name !== 'key'));
  const [first, second] = panels.map(tokenIn);
  if (first !== NONE) keep(panels[0], first);
  if (second !== NONE) panels[1].token = panels[1].kept = second;
  take(['key']);  // its options are the text's tokens
}

// ---- events ----

const ANYWHERE = {
  h: () => ({head: neighbour(heads, state.head, 1)}),
  H: () => ({head: neighbour(heads, state.head, -1)}),
  l: () => ({layer: neighbour(layers, state.layer, 1)}),
  L: () => ({layer: neighbour(layers, state.layer, -1)}),
  t: () => ({text: neighbour([...data.texts.keys()], state.text, 1)}),
  T: () => ({text: neighbour([...data.texts.keys()], state.text, -1)}),
};

function listen() {
  document.addEventListener('keydown', (event) => {
    const typing = event.target.matches('select, input');  // where letters choose an option
    if (!ANYWHERE[event.key] || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    choose(ANYWHERE[event.key]());
  });
  window.addEventListener('hashchange', () => followLink(location.hash));
  window.addEventListener('resize', () => redraw(onPaper));
  window.addEventListener('beforeprint', () => redraw(true));
  window.addEventListener('afterprint', () => redraw(false));
  matchMedia('print').addEventListener('change', (event) => redraw(event.matches));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redraw(onPaper));
}

/** Draws again for a screen or for paper, and for another width or colours. */
function redraw(paper) {
  onPaper = paper;
  colors = palette(paper);
  showTexts();
  paintGrid();
  showScores();
  choose({});
}

fillChoices();
describePage();
fillGrid();
const asked = location.hash;
redraw(false);
followLink(asked);
listen();
