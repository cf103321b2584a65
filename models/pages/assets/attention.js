'use strict';
// The viewer: what is chosen, how it is chosen by pointer and keyboard, and what then is shown.

const state = {text: 0, layer: layerCount - 1, head: headCount > 1 ? MEAN : 0, token: 0, shade: 'root', show: 'weights'};
const kept = {token: 0, layer: state.layer, head: state.head};  // what to return to when the pointer leaves
let colors = palette(false);
let onPaper = false;

const byId = (id) => document.getElementById(id);
const tokensOf = () => data.texts[state.text].tokens;
const currentMap = () => mapOf(state.text, state.layer, state.head, state.show);
const currentName = () => nameOf(state.layer, state.head, state.show);
const rowOf = (map, token) => map.slice(token * tokensOf().length, (token + 1) * tokensOf().length);

function make(name, properties = {}, children = []) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** Layers from the first to the last and the mean, in the order of the grid; heads alike. */
const withMean = (count) => [...Array(count).keys(), ...(count > 1 ? [MEAN] : [])];
const layers = withMean(layerCount);
const heads = withMean(headCount);

// ---- the choices at the top ----

function fillChoices() {
  const options = (values, name) => values.map((value) => make('option', {value, textContent: name(value)}));
  byId('text').append(...options([...data.texts.keys()], (text) => `${text + 1}: ${data.texts[text].title}`));
  byId('layer').append(...options(layers, (layer) => layer === MEAN ? 'mean' : layerNumber(layer)));
  byId('head').append(...options(heads, (head) => head === MEAN ? 'mean' : headNumber(head)));
  byId('text-choice').hidden = data.texts.length === 1;
  for (const name of ['text', 'layer', 'head']) {
    byId(name).addEventListener('change', (event) => choose({[name]: Number(event.target.value)}));
  }
  for (const name of ['shade', 'show']) byId(name).addEventListener('change', (event) => choose({[name]: event.target.value}));
  byId('show').querySelector('[value="lengths"]').hidden = !hasLengths;
  byId('show').querySelector('[value="rollout"]').hidden = !hasRollout;
  byId('about-lengths').hidden = !hasLengths;
  byId('about-rollout').hidden = !hasRollout;
  byId('find').addEventListener('input', findToken);
  byId('controls').addEventListener('submit', (event) => event.preventDefault());
}

function describePage() {
  const left = byId('left-out');
  left.hidden = data.leftOut === 0;
  left.textContent = `The first ${data.texts.length} texts are here; ${data.leftOut} more are left out to keep the page small.`;
  byId('precision').textContent = data.encoding === 'float32' ?
      'The page holds each weight as the float32 that the model used.' :
      'To keep the page small it holds the upper 18 significant bits of each weight: numbers here differ from ' +
      'the model\'s by at most 4 millionths of themselves.';
}

// ---- all maps ----

/** Goes to the next token that contains what was typed, from the chosen one on. */
function findToken() {
  const wanted = byId('find').value.toLowerCase();
  const size = tokensOf().length;
  const places = [...Array(size).keys()].map((step) => (kept.token + step) % size);
  const found = wanted === '' ? undefined : places.find((place) => tokensOf()[place].toLowerCase().includes(wanted));
  byId('find').setAttribute('aria-invalid', wanted !== '' && found === undefined);
  if (found !== undefined) keep(found);
}

function cellOf(layer, head) {
  const canvas = make('canvas');
  canvas.setAttribute('aria-hidden', 'true');
  const button = make('button', {type: 'button', tabIndex: -1, title: nameOf(layer, head, 'weights')}, [canvas]);
  button.setAttribute('role', 'gridcell');
  button.setAttribute('aria-label', nameOf(layer, head, 'weights'));
  button.dataset.layer = layer;
  button.dataset.head = head;
  button.addEventListener('click', () => choose({layer, head}));
  button.addEventListener('pointerenter', () => peek(layer, head));
  return button;
}

function nameCell(text, role) {
  const cell = make('div', {className: 'name', textContent: text});
  cell.setAttribute('role', role);
  return cell;
}

function gridRow(className, cells) {
  const row = make('div', {className}, cells);
  row.setAttribute('role', 'row');
  return row;
}

function fillGrid() {
  const grid = byId('grid');
  grid.style.gridTemplateColumns = `max-content repeat(${heads.length}, max-content)`;
  grid.append(gridRow('names', [
    nameCell('', 'columnheader'),
    ...heads.map((head) => nameCell(head === MEAN ? 'mean' : headNumber(head), 'columnheader')),
  ]));
  for (const layer of layers) {
    const cells = heads.map((head) => partsOf(layer, head).length ? cellOf(layer, head) : make('div'));
    grid.append(gridRow('row', [nameCell(layer === MEAN ? 'mean' : layerNumber(layer), 'rowheader'), ...cells]));
  }
  grid.addEventListener('keydown', moveInGrid);
  grid.addEventListener('pointerleave', () => peek(kept.layer, kept.head));
}

/** Small maps as large as the room allows, from 18 to 96 pixels. */
function sizeGrid() {
  const room = byId('all').clientWidth - 48;
  const side = Math.max(18, Math.min(96, Math.floor(room / heads.length) - 6));
  byId('grid').style.setProperty('--small', onPaper ? '28px' : `${side}px`);
  byId('grid').style.setProperty('--pixels', tokensOf().length < side ? 'pixelated' : 'auto');
}

function paintGrid() {
  for (const button of byId('grid').querySelectorAll('button')) {
    const map = mapOf(state.text, Number(button.dataset.layer), Number(button.dataset.head), state.show);
    paint(button.firstChild, map, tokensOf().length, colors, state.shade);
  }
}

function markGrid() {
  for (const button of byId('grid').querySelectorAll('button')) {
    const chosen = Number(button.dataset.layer) === kept.layer && Number(button.dataset.head) === kept.head;
    button.setAttribute('aria-selected', chosen);
    button.tabIndex = chosen ? 0 : -1;
  }
}

/** The value `step` places after `value` in a list, no further than its ends. */
function neighbour(list, value, step) {
  const place = Math.max(0, Math.min(list.length - 1, list.indexOf(value) + step));
  return list[place];
}

const IN_GRID = {
  ArrowLeft: () => ({head: neighbour(heads, state.head, -1)}),
  ArrowRight: () => ({head: neighbour(heads, state.head, 1)}),
  ArrowUp: () => ({layer: neighbour(layers, state.layer, -1)}),
  ArrowDown: () => ({layer: neighbour(layers, state.layer, 1)}),
  Home: () => ({head: heads[0]}),
  End: () => ({head: heads[heads.length - 1]}),
};

function moveInGrid(event) {
  if (!IN_GRID[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  choose(IN_GRID[event.key]());
  byId('grid').querySelector('[aria-selected="true"]')?.focus();
}

// ---- the chosen map: its tokens ----

function fillTokens() {
  byId('tokens').replaceChildren(...tokensOf().map((token, place) => {
    const button = make('button', {type: 'button', textContent: token, tabIndex: -1});
    button.dataset.token = place;
    button.addEventListener('pointerenter', () => point(place));
    button.addEventListener('focus', () => keep(place));
    button.addEventListener('click', () => keep(place));
    return button;
  }));
}

function moveInTokens(event) {
  const last = tokensOf().length - 1;
  const places = {ArrowLeft: state.token - 1, ArrowRight: state.token + 1, Home: 0, End: last};
  if (!(event.key in places) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  byId('tokens').children[Math.max(0, Math.min(last, places[event.key]))].focus();
}

function showTokens(weights) {
  [...byId('tokens').children].forEach((button, token) => {
    const chosen = token === state.token;
    button.setAttribute('aria-pressed', chosen);
    button.tabIndex = chosen ? 0 : -1;
    button.style.setProperty('--weight', Math.sqrt(weights[token] || 0).toFixed(3));
  });
  drawLines(byId('lines'), byId('tokens').children, state.token, [...weights]);
}

// ---- its tables ----

function fillTable(table, caption, weights) {
  const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a] || a - b);
  const rows = order.map((token) => {
    const number = make('td', {textContent: shown(weights[token]), title: String(weights[token])});
    number.dataset.weight = weights[token];
    const bar = make('span', {className: 'bar'});
    bar.style.width = `${Math.min(100, 100 * (weights[token] || 0))}%`;
    const barCell = make('td', {}, [bar]);
    barCell.setAttribute('aria-hidden', 'true');
    const row = make('tr', {}, [make('td', {textContent: tokensOf()[token]}), make('td', {textContent: token}), number, barCell]);
    row.dataset.token = token;
    return row;
  });
  table.caption.textContent = caption;
  table.tBodies[0].replaceChildren(...rows);
}

function showTables(map) {
  const size = tokensOf().length;
  const name = `“${tokensOf()[state.token]}”, token ${state.token},`;
  fillTable(byId('looks'), `${name} looks at`, rowOf(map, state.token));
  const column = Float32Array.from({length: size}, (_, i) => map[i * size + state.token]);
  fillTable(byId('seen'), `${name} is looked at by`, column);
}

// ---- its map ----

/** The side of a weight in pixels: readable labels, and all of a small map in sight. */
function cellSize() {
  const size = tokensOf().length;
  if (onPaper) return Math.min(18, 520 / size);
  const room = (byId('map-scroll').clientWidth - 130) / size;
  return Math.round(Math.max(12, Math.min(32, room)));
}

function fillMap() {
  const cell = cellSize();
  const map = byId('map');
  map.style.setProperty('--cell', `${cell}px`);
  map.style.setProperty('--label', `${Math.min(14, cell * 0.85).toFixed(1)}px`);
  map.style.setProperty('--side', `${cell * tokensOf().length}px`);
  for (const id of ['map-rows', 'map-columns']) {
    byId(id).replaceChildren(...tokensOf().map((token) => make('span', {textContent: token})));
  }
}

function showBand() {
  byId('map-band').style.top = `calc(1px + ${state.token} * var(--cell))`;
  [...byId('map-rows').children].forEach((label, i) => label.classList.toggle('chosen', i === state.token));
}

function pointAtMap(event) {
  const canvas = byId('map-canvas');
  const size = tokensOf().length;
  const place = (at, side) => Math.max(0, Math.min(size - 1, Math.floor(at / side * size)));
  const [row, column] = [place(event.offsetY, canvas.clientHeight), place(event.offsetX, canvas.clientWidth)];
  if (row !== state.token) point(row);
  const weight = currentMap()[row * size + column];
  byId('readout').textContent = `${tokensOf()[row]} → ${tokensOf()[column]}: ${shown(weight)}`;
}

// ---- what is chosen ----

function strongest(weights, count) {
  const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, count);
  return order.map((token) => `${tokensOf()[token]} ${(100 * weights[token]).toFixed(1)} %`).join(', ');
}

function showToken() {
  const map = currentMap();
  const weights = rowOf(map, state.token);
  showTokens(weights);
  showTables(map);
  showBand();
}

function speak() {
  const weights = rowOf(currentMap(), state.token);
  byId('live').textContent = `${currentName()}: ${tokensOf()[state.token]} looks at ${strongest(weights, 3)}`;
}

/** Shows a map as long as the pointer is there. */
function peek(layer, head) {
  if (layer === state.layer && head === state.head) return;
  Object.assign(state, {layer, head});
  showMap();
}

/** Shows a token as long as the pointer is there. */
function point(token) {
  state.token = token;
  showToken();
}

/** Shows a token until another is chosen, and says so. */
function keep(token) {
  kept.token = token;
  point(token);
  speak();
}

function showMap() {
  const map = currentMap();
  const name = currentName();
  byId('one-heading').textContent = name[0].toUpperCase() + name.slice(1);
  byId('map-canvas').setAttribute('aria-label', `Map of ${name}; the tables above hold its numbers`);
  paint(byId('map-canvas'), map, tokensOf().length, colors, state.shade);
  const largest = map.reduce((most, weight) => Math.max(most, weight || 0), 0);
  byId('legend-to').textContent = state.shade === 'largest' ? shown(largest) : '1';
  markGrid();
  showToken();
}

/** Draws all of a text: what changes with its length and the colours. */
function showText() {
  state.token = kept.token = Math.min(state.token, tokensOf().length - 1);
  paintLegend(byId('legend'), colors);
  sizeGrid();
  fillTokens();
  fillMap();
  paintGrid();
  showMap();
}

/** Takes some of text, layer, head and shade as the state, and shows what follows. */
function choose(changes) {
  const before = {...state};
  const wanted = {...state, ...changes};
  if (partsOf(wanted.layer, wanted.head).length === 0) return;  // a layer without that head
  Object.assign(state, wanted);
  Object.assign(kept, {layer: state.layer, head: state.head});
  for (const name of ['text', 'layer', 'head', 'shade', 'show']) byId(name).value = state[name];
  if (state.text !== before.text) showText();
  else if (state.shade !== before.shade || state.show !== before.show) paintGrid();
  showMap();
  speak();
}

const ANYWHERE = {
  h: () => ({head: neighbour(heads, state.head, 1)}),
  H: () => ({head: neighbour(heads, state.head, -1)}),
  l: () => ({layer: neighbour(layers, state.layer, 1)}),
  L: () => ({layer: neighbour(layers, state.layer, -1)}),
  t: () => ({text: neighbour([...data.texts.keys()], state.text, 1)}),
  T: () => ({text: neighbour([...data.texts.keys()], state.text, -1)}),
};

function listen() {
  byId('tokens').addEventListener('keydown', moveInTokens);
  byId('tokens').addEventListener('pointerleave', () => point(kept.token));
  byId('map-canvas').addEventListener('pointermove', pointAtMap);
  byId('map-canvas').addEventListener('click', () => keep(state.token));
  byId('map-canvas').addEventListener('pointerleave', () => point(kept.token));
  document.addEventListener('keydown', (event) => {
    const typing = event.target.matches('select, input');  // where letters choose an option
    if (!ANYWHERE[event.key] || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    choose(ANYWHERE[event.key]());
  });
  window.addEventListener('resize', () => redraw(onPaper));
  window.addEventListener('beforeprint', () => redraw(true));
  window.addEventListener('afterprint', () => redraw(false));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redraw(false));
}

/** Draws again for a screen or for paper, and for another width or colours. */
function redraw(paper) {
  onPaper = paper;
  colors = palette(paper);
  sizeGrid();
  fillMap();
  paintLegend(byId('legend'), colors);
  paintGrid();
  showMap();
}

fillChoices();
describePage();
fillGrid();
for (const name of ['layer', 'head']) byId(name).value = state[name];
showText();
listen();
