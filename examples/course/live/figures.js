'use strict';
// The matrices on the page: what is drawn, and the cursor that goes over it.

/** Letters at the rows of a map. */
const rowNames = (letters) => letters.map((letter) => make('span', {textContent: LETTERS[letter]}));

/** What is above the columns: letters, or each sixteenth number. */
function columnNames(step, columns, width) {
  const isLetters = step === 'logits' || step === 'probabilities';
  const text = (column) => columns === model.letters.length && !isLetters ? LETTERS[model.letters[column]] :
      isLetters ? LETTERS[column] : column % 16 === 0 ? String(column) : '';
  const names = [];
  for (let column = 0; column < columns; ++column) {
    if (text(column) === '') continue;
    const name = make('span', {textContent: text(column)});
    name.style.left = `${(column + 0.5) * width}px`;
    names.push(name);
  }
  return names;
}

const LARGEST_CELL = 28;
const ROW_NAMES = 28;  // pixels at the left of the cells

/** A step's matrix on the page: a grid whose cells are drawn, of which one at a time is an element. */
class Figure {
  constructor(step, parent, id) {
    this.step = step;
    const {name, formula, about} = STEPS[step];
    this.note = make('span', {className: 'note'});
    this.canvas = make('canvas');
    this.canvas.setAttribute('aria-hidden', 'true');
    this.cursor = make('div', {className: 'cursor', id: `${id}-cursor`, hidden: true});
    this.cursor.setAttribute('role', 'gridcell');
    const row = make('div', {}, [this.cursor]);
    row.setAttribute('role', 'row');
    this.cells = make('div', {className: 'cells', id, tabIndex: 0}, [this.canvas, row]);
    this.cells.setAttribute('role', 'grid');
    this.cells.setAttribute('aria-label', `${name}: ${about}`);
    this.head = make('div', {className: 'head'});
    this.rows = make('div', {className: 'rows'});
    this.map = make('div', {className: 'map'}, [this.head, this.rows, this.cells]);
    for (const element of [this.head, this.rows]) element.setAttribute('aria-hidden', 'true');
    const caption = make('figcaption', {}, [make('h3', {textContent: formula}), about, this.note]);
    this.element = make('figure', {className: 'step'}, [caption, this.map]);
    this.element.dataset.step = step;
    parent.append(this.element);
    this.listen();
  }

  listen() {
    const place = (event) => {
      const {rows, columns} = model.trace[this.step];
      const index = (offset, side, count) => Math.max(0, Math.min(count - 1, Math.floor(offset / side * count)));
      const box = this.canvas.getBoundingClientRect();
      return {
        step: this.step,
        row: index(event.clientY - box.top, box.height, rows),
        column: index(event.clientX - box.left, box.width, columns),
      };
    };
    this.cells.addEventListener('pointermove', (event) => point(place(event)));
    this.cells.addEventListener('pointerleave', () => point(null));
    this.cells.addEventListener('click', (event) => choose(place(event)));
    this.cells.addEventListener('focus', () => {
      if (chosen.step !== this.step) choose({step: this.step, row: 0, column: 0});
    });
    this.cells.addEventListener('keydown', moveWithKeys);
  }

  /** Draws the matrix, or how it has changed, at most `room` pixels wide. */
  draw(room) {
    const now = model.trace[this.step];
    const change = matrix(now.rows, now.columns, (i, j) => at(now, i, j) - at(before[this.step], i, j));
    const changed = change.values.filter((value) => value !== 0).length;
    const showsChange = byId('colors').value === 'change';
    const isShare = !showsChange && (this.step === 'weights' || this.step === 'probabilities');
    const limit = isShare ? 1 : largestOf(showsChange ? change : before[this.step]);
    const width = Math.min(LARGEST_CELL, (room - ROW_NAMES) / now.columns);
    const height = Math.max(14, Math.min(LARGEST_CELL, width));
    this.map.style.setProperty('--width', `${width}px`);
    this.map.style.setProperty('--height', `${height}px`);
    this.head.replaceChildren(...columnNames(this.step, now.columns, width));
    this.rows.replaceChildren(...rowNames(model.letters));
    this.cells.setAttribute('aria-rowcount', now.rows);
    this.cells.setAttribute('aria-colcount', now.columns);
    const look = {width, height, limit, isShare, withNumbers: isShare && width >= 20};
    paint(this.canvas, showsChange ? change : now, look);
    this.describe(now, changed, largestOf(change), isShare ? '0 to 1' : `−${shown(limit)} to ${shown(limit)}`);
  }

  describe(now, changed, largest, colors) {
    const count = now.rows * now.columns;
    const range = `${now.rows} × ${now.columns}, colours from ${colors}`;
    const text = changed === 0 ? '' : `${changed} of ${count} changed, by at most ${shown(largest)}`;
    this.note.replaceChildren(range, changed === 0 ? '' : '; ', make('b', {textContent: text}));
  }

  /** Puts the cursor on a number of this step, or nowhere. */
  mark(place) {
    const isHere = place.step === this.step;
    this.cursor.hidden = !isHere;
    if (!isHere) return this.cells.removeAttribute('aria-activedescendant');
    const {row, column} = place;
    this.cursor.style.transform = `translate(calc(${column} * var(--width)), calc(${row} * var(--height)))`;
    this.cursor.setAttribute('aria-rowindex', row + 1);
    this.cursor.setAttribute('aria-colindex', column + 1);
    const value = shown(at(model.trace[this.step], row, column));
    this.cursor.setAttribute('aria-label', `${labelOf(model, this.step, row, column)}: ${value}`);
    this.cells.setAttribute('aria-activedescendant', this.cursor.id);
  }
}
