'use strict';
// Tables of numbers as colours, with names on both axes. The arrow keys, the pointer and a click move a
// cursor.

function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/**
 * Makes a map of a table. `show(row, column)` is called when the cursor moves, `press` for Enter and the
 * space key. With `follows` the cursor moves with the pointer too.
 */
function makeMap(table, {show, press = () => {}, follows = false}) {
  const map = {row: 0, column: 0, rows: 0, columns: 0};

  const cellAt = (row, column) => table.tBodies[0].rows[row].cells[column + 1];
  const mark = () => {
    for (const old of table.querySelectorAll('.cursor')) old.classList.remove('cursor');
    for (const each of [cellAt(map.row, map.column), cellAt(map.row, -1), table.tHead.rows[0].cells[map.column + 1]]) {
      each.classList.add('cursor');
    }
  };
  const move = (row, column) => {
    map.row = Math.max(0, Math.min(map.rows - 1, row));
    map.column = Math.max(0, Math.min(map.columns - 1, column));
    mark();
    show(map.row, map.column);
  };

  /** Draws `values`; `shade` gives the darkness from 0 to 1, NaN is no colour. */
  map.draw = ({rows, columns, values, shade, text = () => '', style = () => ''}) => {
    [map.rows, map.columns] = [rows.length, columns.length];
    const cell = (row, column) => {
      const value = values[row * columns.length + column];
      const made = element('td', {textContent: text(value), className: style(row, column)});
      made.style.setProperty('--share', String(Math.max(0, Math.min(1, shade(value))) || 0));
      return made;
    };
    const name = (text) => element('th', {}, [element('span', {textContent: text})]);
    table.replaceChildren(
      element('thead', {}, [element('tr', {}, [element('td'), ...columns.map(name)])]),
      element('tbody', {}, rows.map((row, i) => element('tr', {}, [name(row), ...columns.map((_, j) => cell(i, j))]))));
    map.row = Math.min(map.row, map.rows - 1);
    map.column = Math.min(map.column, map.columns - 1);
    mark();
  };

  const placeOf = ({target}) => {
    const cell = target.closest('tbody td');
    return cell && [cell.parentNode.rowIndex - 1, cell.cellIndex - 1];
  };
  table.addEventListener('click', (event) => {
    const place = placeOf(event);
    if (place) move(...place);
  });
  table.addEventListener('mouseover', (event) => {
    const place = follows && placeOf(event);
    if (place) move(...place);
  });
  table.addEventListener('keydown', (event) => {
    const steps = {
      ArrowUp: [map.row - 1, map.column], ArrowDown: [map.row + 1, map.column], ArrowLeft: [map.row, map.column - 1],
      ArrowRight: [map.row, map.column + 1], Home: [map.row, 0], End: [map.row, map.columns - 1],
    };
    if (event.key in steps) move(...steps[event.key]);
    else if (event.key === 'Enter' || event.key === ' ') press(map.row, map.column);
    else return;
    event.preventDefault();
  });
  return map;
}
