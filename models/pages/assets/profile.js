// A column's name sorts the table by it: numbers from the largest, then the other way round.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const [head, ...rows] = table.rows;
  const sort = (column, place) => {
    const rising = column.getAttribute("aria-sort") === "descending";
    for (const other of head.cells) other.removeAttribute("aria-sort");
    column.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const key = (row) => row.cells[place].textContent;
    const number = (text) => text === "-" ? -1 : Number(text);
    const order = (a, b) => number(key(b)) - number(key(a)) || key(a).localeCompare(key(b));
    rows.sort((a, b) => rising ? order(b, a) : order(a, b));
    table.tBodies[0].append(head, ...rows);
  };
  for (const [place, column] of [...head.cells].entries()) {
    const button = document.createElement("button");
    button.textContent = column.textContent;
    button.addEventListener("click", () => sort(column, place));
    column.replaceChildren(button);
  }
}
