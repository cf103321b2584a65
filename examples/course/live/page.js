'use strict';
// The page: what the reader changes, and what is then shown.

const data = JSON.parse(byId('model').textContent);
const model = {
  trained: readParameters(data),     // as training left them
  parameters: readParameters(data),  // as the reader has them
  off: new Set(),
  letters: [],
  trace: null,
};
let before = null;  // the trace of the whole model for the same word
let chosen = {step: 'weights', row: 0, column: 11};  // the number whose arithmetic stays
let pointed = null;  // the one under the pointer
let figures = [];

const SWITCHES = {
  positions: 'positions', head: 'attention head', residual1: 'residual around attention',
  feedForward: 'feed-forward network', residual2: 'residual around feed-forward',
};
const SAMPLES = ['transformers', 'hippopotamus', 'encyclopedia', 'backwards'];

// ---- which number is shown ----

function showPanel() {
  const place = pointed || chosen;
  showNumber(model, before, place, follow);
  for (const figure of figures) figure.mark(place);
}

function point(place) {
  const now = pointed || chosen;
  if (place && place.step === now.step && place.row === now.row && place.column === now.column) return;
  pointed = place;
  showPanel();
}

function choose(place) {
  const {rows, columns} = model.trace[place.step];
  const inside = (index, count) => Math.max(0, Math.min(count - 1, index));
  chosen = {step: place.step, row: inside(place.row, rows), column: inside(place.column, columns)};
  point(null);
}

/** Goes to where an operand comes from: a number of another step, or a weight. */
function follow(operand) {
  if (operand.parameter) {
    editor.choose(operand);
    byId('value').focus();
    return;
  }
  choose(operand);
  byId('panel').focus();
  byId('live').textContent = byId('panel-name').textContent;
}

const MOVES = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
const ARROWS = {
  ArrowLeft: ['←', 'column before'], ArrowRight: ['→', 'next column'],
  ArrowUp: ['↑', 'row before'], ArrowDown: ['↓', 'next row'],
};

function move(key) {
  const [rows, columns] = MOVES[key];
  choose({...chosen, row: chosen.row + rows, column: chosen.column + columns});
}

function moveWithKeys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const ends = {Home: 0, End: model.trace[chosen.step].columns - 1};
  if (event.key in MOVES) move(event.key);
  else if (event.key in ends) choose({...chosen, column: ends[event.key]});
  else if (event.key === 'Enter') byId('panel').focus();
  else return;
  event.preventDefault();
}

// ---- what is broken ----

/** The weights that the reader has changed. */
function changedWeights() {
  return Object.keys(model.trained).flatMap((parameter) => {
    const [now, trained] = [model.parameters[parameter], model.trained[parameter]];
    return [...now.values.keys()].filter((index) => now.values[index] !== trained.values[index])
        .map((index) => ({parameter, row: Math.floor(index / now.columns), column: index % now.columns}));
  });
}

const isBroken = () => model.off.size > 0 || changedWeights().length > 0;

function setWeight(parameter, row, column, value) {
  model.parameters[parameter].values[row * model.parameters[parameter].columns + column] = value;
  compute();
}

function repairAll() {
  model.off.clear();
  for (const box of byId('switches').querySelectorAll('input')) box.checked = false;
  for (const {parameter, row, column} of changedWeights()) {
    const {columns, values} = model.parameters[parameter];
    values[row * columns + column] = at(model.trained[parameter], row, column);
  }
  compute();
}

function showChanges() {
  const changed = changedWeights();
  const names = changed.slice(0, 3).map(({parameter, row, column}) => `${parameter}${indices(row, column)}`);
  byId('changed-weights').textContent = changed.length === 0 ? 'No weight is changed.' :
      `Changed: ${names.join(', ')}${changed.length > 3 ? `, ${changed.length - 3} more` : ''}.`;
  byId('reset').disabled = !isBroken();
}

// ---- all of it ----

function draw() {
  const rooms = figures.map((figure) => figure.element.clientWidth);  // all before the first change: one layout
  figures.forEach((figure, i) => figure.draw(rooms[i]));
  showWord();
  showChanges();
  choose(chosen);
}

function compute() {
  model.trace = forward(model.parameters, model.letters, model.off);
  before = isBroken() ? forward(model.trained, model.letters) : model.trace;
  editor.show();
  draw();
}

function fillControls() {
  for (const [name, text] of Object.entries(SWITCHES)) {
    const box = make('input', {type: 'checkbox', id: `off-${name}`});
    box.addEventListener('change', () => {
      model.off[box.checked ? 'add' : 'delete'](name);
      compute();
    });
    byId('switches').append(make('label', {}, [box, text]));
  }
  const random = () => Array.from({length: data.length}, () => Math.floor(26 * Math.random()));
  const samples = [...SAMPLES.map((word) => [word, () => numbersOf(word)]), ['random letters', random]];
  for (const [text, letters] of samples) {
    const button = make('button', {type: 'button', textContent: text});
    button.addEventListener('click', () => setLetters(letters()));
    byId('samples').append(button);
  }
  for (const [key, [textContent, label]] of Object.entries(ARROWS)) {
    const button = make('button', {type: 'button', textContent});
    button.setAttribute('aria-label', label);
    button.addEventListener('click', () => move(key));
    byId('moves').append(button);
  }
  byId('word').maxLength = data.length;
  byId('seed').textContent = data.seed;
}

function listen() {
  byId('word').addEventListener('input', typeWord);
  byId('word-form').addEventListener('submit', (event) => event.preventDefault());
  byId('inputs').addEventListener('keydown', letterKeys);
  byId('inputs').addEventListener('pointerdown', drag);
  byId('colors').addEventListener('change', draw);
  byId('reset').addEventListener('click', repairAll);
  byId('panel').addEventListener('keydown', (event) => {
    if (event.key === 'Escape') byId(`step-${chosen.step}`).focus();
  });
  window.addEventListener('resize', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
}

figures = [
  new Figure('weights', byId('overview'), 'map'),
  ...Object.keys(STEPS).map((step) => new Figure(step, byId('steps'), `step-${step}`)),
];
const editor = new Editor(model, setWeight);
fillControls();
setLetters(numbersOf(SAMPLES[0]));
listen();
