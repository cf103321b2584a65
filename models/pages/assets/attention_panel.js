'use strict';
// A panel: one text in the chosen layer and head, with its tokens, their lines, its map and its tables.
// A panel is {which, root, token, kept}: state[which] is its text, `token` is shown, `kept` stays.

const MAP_MARGIN = 24;  // around labels and map

function makePanel(which) {
  const root = byId('panel').content.firstElementChild.cloneNode(true);
  const panel = {which, root, token: 0, kept: 0};
  const tokens = part(panel, 'tokens');
  tokens.addEventListener('keydown', (event) => moveInTokens(panel, event));
  part(panel, 'reading').addEventListener('pointerleave', () => point(panel, panel.kept));
  const canvas = part(panel, 'map-canvas');
  canvas.addEventListener('pointermove', (event) => pointAtMap(panel, event));
  canvas.addEventListener('click', (event) => keepPair(panel, ...placeOnMap(panel, event)));
  canvas.addEventListener('pointerleave', () => point(panel, panel.kept));
  byId('panels').append(root);
  return panel;
}

const part = (panel, name) => panel.root.querySelector(`.${name}`);
const textOf = (panel) => state[panel.which];
const isShown = (panel) => textOf(panel) !== NONE;
const tokensOf = (panel) => data.texts[textOf(panel)].tokens;
const mapIn = (panel) => mapOf(textOf(panel), state.layer, state.head, state.show);
const rowOf = (panel, map) => map.slice(panel.token * tokensOf(panel).length, (panel.token + 1) * tokensOf(panel).length);

// ---- the tokens ----

function fillTokens(panel) {
  refill(part(panel, 'tokens'), textOf(panel), () => tokensOf(panel).map((token, place) => {
    const button = make('button', {type: 'button', textContent: token, tabIndex: -1});
    button.dataset.token = place;
    button.addEventListener('pointerenter', () => point(panel, place));
    button.addEventListener('focus', () => keep(panel, place));
    button.addEventListener('click', () => keep(panel, place));
    return button;
  }));
  refill(part(panel, 'keys'), textOf(panel), () => tokensOf(panel).map((token, place) => {
    const key = make('span', {textContent: token});
    key.addEventListener('click', () => keepPair(panel, panel.kept, place));
    return key;
  }));
}

function moveInTokens(panel, event) {
  const last = tokensOf(panel).length - 1;
  const places = {ArrowLeft: panel.token - 1, ArrowRight: panel.token + 1, Home: 0, End: last};
  if (!(event.key in places) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  part(panel, 'tokens').children[Math.max(0, Math.min(last, places[event.key]))].focus();
}

function showTokens(panel, weights) {
  const buttons = [...part(panel, 'tokens').children];
  const keys = [...part(panel, 'keys').children];
  buttons.forEach((button, token) => {
    const chosen = token === panel.token;
    button.setAttribute('aria-pressed', chosen);
    button.tabIndex = chosen ? 0 : -1;
    const depth = Math.sqrt(weights[token] || 0).toFixed(3);
    button.style.setProperty('--weight', state.lines === 'all' ? 0 : depth);
    keys[token].style.setProperty('--weight', depth);
  });
  if (state.lines === 'token') drawLines(part(panel, 'lines'), buttons, panel.token, [...weights]);
  else markLines(panel);
}

function markLines(panel) {
  for (const line of part(panel, 'lines').children) {
    line.classList.toggle('chosen', Number(line.dataset.from) === panel.token);
  }
}

// ---- its tables ----

function fillTable(panel, table, caption, weights) {
  const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a] || a - b);
  const rows = order.map((token) => {
    const number = make('td', {textContent: shown(weights[token]), title: String(weights[token])});
    number.dataset.weight = weights[token];
    const bar = make('span', {className: 'bar'});
    bar.style.width = `${Math.min(100, 100 * (weights[token] || 0))}%`;
    const barCell = make('td', {}, [bar]);
    barCell.setAttribute('aria-hidden', 'true');
    const row = make('tr', {}, [make('td', {textContent: tokensOf(panel)[token]}), make('td', {textContent: token}), number, barCell]);
    row.dataset.token = token;
    return row;
  });
  table.caption.textContent = caption;
  table.tBodies[0].replaceChildren(...rows);
}

function showTables(panel, map) {
  const size = tokensOf(panel).length;
  const name = `“${tokensOf(panel)[panel.token]}”, token ${panel.token},`;
  fillTable(panel, part(panel, 'looks'), `${name} attends to`, rowOf(panel, map));
  const column = Float32Array.from({length: size}, (_, i) => map[i * size + panel.token]);
  fillTable(panel, part(panel, 'seen'), `${name} is attended to by`, column);
}

// ---- its map ----

/** Sizes in pixels of a weight and of labels, so that a small map is in sight and its words are whole. */
function mapSizes(panel) {
  const tokens = tokensOf(panel);
  const longest = Math.max(...tokens.map((token) => [...token].length));
  const sizes = (cell) => ({cell, label: Math.min(14, cell * 0.85)});
  if (onPaper) return sizes(Math.min(18, 520 / tokens.length));
  const room = part(panel, 'map-scroll').clientWidth - MAP_MARGIN;
  for (let cell = 32; cell > 12; --cell) {  // the largest that fits
    const {label} = sizes(cell);
    if (cell * tokens.length + longest * label * 0.62 <= room) return sizes(cell);
  }
  return sizes(12);
}

function fillMap(panel) {
  const {cell, label} = mapSizes(panel);
  const map = part(panel, 'map');
  map.style.setProperty('--cell', `${cell}px`);
  map.style.setProperty('--label', `${label.toFixed(1)}px`);
  map.style.setProperty('--side', `${cell * tokensOf(panel).length}px`);
  for (const name of ['map-rows', 'map-columns']) {
    part(panel, name).replaceChildren(...tokensOf(panel).map((token) => make('span', {textContent: token})));
  }
}

function showBand(panel) {
  part(panel, 'map-band').style.top = `calc(1px + ${panel.token} * var(--cell))`;
  [...part(panel, 'map-rows').children].forEach((label, i) => label.classList.toggle('chosen', i === panel.token));
}

/** The row and the column under the pointer. */
function placeOnMap(panel, event) {
  const canvas = part(panel, 'map-canvas');
  const size = tokensOf(panel).length;
  const place = (at, side) => Math.max(0, Math.min(size - 1, Math.floor(at / side * size)));
  return [place(event.offsetY, canvas.clientHeight), place(event.offsetX, canvas.clientWidth)];
}

function pointAtMap(panel, event) {
  const tokens = tokensOf(panel);
  const [row, column] = placeOnMap(panel, event);
  if (row !== panel.token) point(panel, row);
  part(panel, 'readout').textContent = `${tokens[row]} → ${tokens[column]}: ${shown(mapIn(panel)[row * tokens.length + column])}`;
}

const LEGEND = {
  root: () => '(the middle is 0.25: colours show the square root of the weight).',
  linear: () => '(the middle is 0.5).',
  largest: (largest) => `(the map's largest; the middle is ${shown(largest / 2)}).`,
};

function showLegend(panel, map) {
  const largest = map.reduce((most, weight) => Math.max(most, weight || 0), 0);
  part(panel, 'legend-to').textContent = state.shade === 'largest' ? shown(largest) : '1';
  part(panel, 'legend-means').textContent = LEGEND[state.shade](largest);
}

// ---- all of it ----

function showToken(panel) {
  const map = mapIn(panel);
  showTokens(panel, rowOf(panel, map));
  showTables(panel, map);
  showBand(panel);
}

function showPanelMap(panel) {
  const map = mapIn(panel);
  part(panel, 'map-canvas').setAttribute('aria-label', `Map of ${currentName()}; the tables below hold its numbers`);
  paint(part(panel, 'map-canvas'), map, tokensOf(panel).length, colors, state.shade);
  showLegend(panel, map);
  part(panel, 'facts').textContent = state.show === 'rollout' ? '' :
      [ablationNote, sinkNote].map((note) => note(textOf(panel), state.layer, state.head)).join(' ');
  if (state.lines === 'all') {
    drawAllLines(part(panel, 'lines'), part(panel, 'tokens').children, part(panel, 'keys').children, map);
  }
  showToken(panel);
}

/** Draws what changes with the text, its width and the colours. */
function fillPanel(panel) {
  panel.root.hidden = !isShown(panel);
  if (!isShown(panel)) return;
  panel.token = panel.kept = Math.min(panel.kept, tokensOf(panel).length - 1);
  part(panel, 'title').textContent = textName(textOf(panel));
  part(panel, 'title').hidden = state.other === NONE;
  part(panel, 'reading').classList.toggle('all', state.lines === 'all');
  paintLegend(panel.root.querySelector('.legend canvas'), colors);
  fillTokens(panel);
  fillMap(panel);
}
