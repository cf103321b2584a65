'use strict';
// The panel: the arithmetic of one number, and the editor of one weight.

const byId = (id) => document.getElementById(id);

function make(name, properties = {}, children = []) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** A number of the arithmetic, which leads to where it comes from. */
function operandButton(operand, follow) {
  const button = make('button', {type: 'button', className: operand.parameter ? 'operand weight' : 'operand'},
      [make('code', {textContent: operand.name}), ` ${shown(operand.value)}`]);
  button.title = operand.parameter ? 'change this weight' : 'go to this number';
  button.addEventListener('click', () => follow(operand));
  return button;
}

function productRow(factors, largest, follow) {
  const value = factors[0].value * factors[1].value;
  const bar = make('span', {className: value < 0 ? 'bar negative' : 'bar'});
  bar.style.width = `${100 * Math.abs(value) / largest}%`;
  const barCell = make('td', {}, [bar]);
  barCell.setAttribute('aria-hidden', 'true');
  return make('tr', {}, [
    make('td', {}, factors.map((factor) => operandButton(factor, follow))),
    make('td', {textContent: shown(value)}),
    barCell,
  ]);
}

const FIRST_PRODUCTS = 6;

/** The products of a sum, the largest first: six, or all. */
function showProducts(products, follow, all = false) {
  const place = byId('products');
  if (!products) return place.replaceChildren();
  const size = ([a, b]) => Math.abs(a.value * b.value);
  const order = [...products].sort((a, b) => size(b) - size(a));
  const first = order.slice(0, all ? order.length : FIRST_PRODUCTS);
  const rows = first.map((each) => productRow(each, size(order[0]) || 1, follow));
  const caption = make('caption', {textContent: `The sum has ${products.length} products, the largest first:`});
  const more = make('button', {type: 'button', textContent: all ? `Only ${FIRST_PRODUCTS}` : `All ${products.length}`});
  more.addEventListener('click', () => {
    showProducts(products, follow, !all);
    byId('products').querySelector('button:last-child').focus();
  });
  const table = make('table', {}, [caption, make('tbody', {}, rows)]);
  place.replaceChildren(table, ...(order.length > FIRST_PRODUCTS ? [more] : []));
}

/** Shows a number: what it is, its line of arithmetic, and what it was before the change. */
function showNumber(model, before, {step, row, column}, follow) {
  const {name, about, formula, section} = STEPS[step];
  const {pieces, products, value} = arithmetic(model, step, row, column);
  byId('panel-name').textContent = `${name}${indices(row, column)} = ${shown(value)}`;
  byId('panel-about').textContent = `${labelOf(model, step, row, column)}; ${about}: ${formula} (section ${section})`;
  const shownPiece = (piece) => typeof piece === 'string' ? piece :
      typeof piece === 'number' ? make('span', {textContent: shown(piece)}) : operandButton(piece, follow);
  byId('panel-line').replaceChildren(...pieces.map(shownPiece), ' = ', make('strong', {textContent: shown(value)}));
  const whole = at(before[step], row, column);
  const isChanged = whole !== at(model.trace[step], row, column);
  byId('panel-before').textContent = isChanged ? `In the whole model it is ${shown(whole)}.` : '';
  showProducts(products, follow);
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
/** Where a number is, in words. */
function labelOf({letters, trace}, step, row, column) {
  const letter = (place) => `“${LETTERS[letters[place]]}”`;
  const other = trace[step].columns === letters.length ? `position ${column}, ${letter(column)}` :
      step === 'logits' || step === 'probabilities' ? `answer “${LETTERS[column]}”` : `column ${column}`;
  return `position ${row}, ${letter(row)}, ${other}`;
}

/** The editor of one weight. `change(parameter, row, column, value)` is called with what the reader chooses. */
class Editor {
  constructor(model, change) {
    this.model = model;  // {parameters, trained}: as they are, and as training left them
    this.change = change;
    this.place = {parameter: 'classifier.bias', row: 0, column: 18};
    const options = Object.keys(model.parameters).map((name) => make('option', {value: name, textContent: name}));
    byId('parameter').append(...options);
    byId('parameter').addEventListener('change', (event) =>
      this.choose({parameter: event.target.value, row: 0, column: 0}));
    for (const axis of ['row', 'column']) {
      byId(`parameter-${axis}`).addEventListener('change', (event) =>
        this.choose({...this.place, [axis]: Number(event.target.value)}));
    }
    for (const id of ['value', 'slider']) {
      byId(id).addEventListener('input', (event) => event.target.value !== '' && this.set(Number(event.target.value)));
    }
    byId('repair').addEventListener('click', () => this.set(this.trained()));
    this.choose(this.place);
  }

  trained() {
    const {parameter, row, column} = this.place;
    return at(this.model.trained[parameter], row, column);
  }

  set(value) {
    const {parameter, row, column} = this.place;
    this.change(parameter, row, column, value);
  }

  choose({parameter, row, column}) {
    const {rows, columns} = this.model.parameters[parameter];
    const inside = (index, count) => Math.min(count - 1, Math.max(0, Math.trunc(index) || 0));
    this.place = {parameter, row: inside(row, rows), column: inside(column, columns)};
    byId('parameter').value = parameter;
    Object.assign(byId('parameter-row'), {max: rows - 1, value: this.place.row});
    Object.assign(byId('parameter-column'), {max: columns - 1, value: this.place.column});
    this.show();
  }

  /** Shows the value as it is now; the field in which the reader is typing stays as it is. */
  show() {
    const {parameter, row, column} = this.place;
    const value = at(this.model.parameters[parameter], row, column);
    for (const id of ['value', 'slider']) {
      if (document.activeElement !== byId(id) || Number(byId(id).value) !== value) byId(id).value = value;
    }
    byId('value-before').textContent = value === this.trained() ? 'As trained.' : `Trained: ${shown(this.trained())}.`;
  }
}
