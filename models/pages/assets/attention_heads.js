'use strict';
// All heads: a small map of each with its number, and the heads with the largest numbers.

const MOST_FOUND = 6;

/** Layers from the first to the last and the mean, in the order of the grid; heads alike. */
const withMean = (count) => [...Array(count).keys(), ...(count > 1 ? [MEAN] : [])];
const layers = withMean(layerCount);
const heads = withMean(headCount);

function cellOf(layer, head) {
  const canvas = make('canvas');
  canvas.setAttribute('aria-hidden', 'true');
  const button = make('button', {type: 'button', tabIndex: -1}, [canvas, make('span', {className: 'score'})]);
  button.setAttribute('role', 'gridcell');
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

const gridButtons = () => byId('grid').querySelectorAll('button');
const placeOf = (button) => ({layer: Number(button.dataset.layer), head: Number(button.dataset.head)});

/** Small maps as large as the room allows, from 17 to 96 pixels. */
function sizeGrid() {
  const room = byId('all').clientWidth - 62;
  const side = onPaper ? 28 : Math.max(17, Math.min(96, Math.floor(room / heads.length) - 5));
  byId('grid').style.setProperty('--small', `${side}px`);
  byId('grid').style.setProperty('--pixels', data.texts[state.text].tokens.length < side ? 'pixelated' : 'auto');
  byId('grid').dataset.digits = side < 28 ? 2 : 3;
}

function paintGrid() {
  for (const button of gridButtons()) {
    const {layer, head} = placeOf(button);
    const map = mapOf(state.text, layer, head, state.show);
    paint(button.firstChild, map, data.texts[state.text].tokens.length, colors, state.shade);
  }
}

function markGrid() {
  for (const button of gridButtons()) {
    const {layer, head} = placeOf(button);
    const chosen = layer === kept.layer && head === kept.head;
    button.setAttribute('aria-selected', chosen);
    button.tabIndex = chosen ? 0 : -1;
  }
}

/** A number in a few characters: .123, -.12, 1.00; ≈0 for what rounds to 0, and 0 only for 0. */
function brief(score, digits) {
  if (score === 0) return '0';
  const text = Math.abs(score) < 1 ? score.toFixed(digits).replace('0.', '.') : score.toPrecision(digits);
  return /^-?\.0+$/.test(text) ? '≈0' : text;
}

/** The numbers of all heads, by what they are found by. */
function showScores() {
  const choice = {text: state.text, show: state.show, token: panels[0].kept, key: state.key};
  const ranked = rankedHeads(state.measure, choice);
  const largest = Math.max(...ranked.map(({score}) => Math.abs(score)), 1e-30);
  const digits = Number(byId('grid').dataset.digits);
  for (const button of gridButtons()) {
    const {layer, head} = placeOf(button);
    const score = scoreOf(state.measure, choice, layer, head);
    const name = nameOf(layer, head, 'weights');
    button.title = score === null ? name : `${name}: ${shown(score)}`;
    button.setAttribute('aria-label', button.title);
    button.lastChild.textContent = score === null ? '' : brief(score, digits);
    button.lastChild.style.setProperty('--part', Math.min(1, Math.abs(score || 0) / largest).toFixed(3));
  }
  const {tokens} = data.texts[state.text];
  byId('measured').textContent = state.measure === 'off' ? `Numbers: ${data.ablation}.` :
      state.measure === 'pair' ? `Numbers: weight from “${tokens[choice.token]}” to “${tokens[choice.key]}”.` :
                                 `Numbers: ${MEASURES[state.measure].name}, mean over the tokens.`;
  if (ranked.length === 0) byId('measured').textContent += ' No token of this text has such a position.';
  const found = ranked.slice(0, MOST_FOUND);
  refill(byId('found'), JSON.stringify(found), () => found.map(foundHead));
}

function foundHead({layer, head, score}) {
  const button = make('button', {type: 'button', textContent: `layer ${layerNumber(layer)}, head ${headNumber(head)}`});
  button.addEventListener('click', () => choose({layer, head}));
  return make('li', {}, [button, ` ${shown(score)}`]);
}

// ---- by keyboard ----

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
