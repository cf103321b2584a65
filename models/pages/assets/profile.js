// A column's name sorts the table by it: numbers from the largest, texts from A to Z, then the other way round.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const [head, ...all] = table.rows;
  const isSummary = (row) => row.cells[0].textContent.includes(" rows below ");  // stays the last
  const summary = all.filter(isSummary);
  const rows = all.filter((row) => !isSummary(row));
  const number = (text) => text === "-" ? -1 : Number(text);
  const sort = (column, place) => {
    const key = (row) => row.cells[place].textContent;
    const ways = ["descending", "ascending"];
    if (rows.some((row) => Number.isNaN(number(key(row))))) ways.reverse();  // texts
    const way = ways[column.getAttribute("aria-sort") === ways[0] ? 1 : 0];
    for (const other of head.cells) other.removeAttribute("aria-sort");
    column.setAttribute("aria-sort", way);
    const order = (a, b) => number(key(a)) - number(key(b)) || key(a).localeCompare(key(b));
    rows.sort((a, b) => way === "ascending" ? order(a, b) : order(b, a));
    table.tBodies[0].append(head, ...rows, ...summary);
  };
  for (const [place, column] of [...head.cells].entries()) {
    const button = document.createElement("button");
    button.textContent = column.textContent;
    button.addEventListener("click", () => sort(column, place));
    column.replaceChildren(button);
  }
  for (const row of rows) row.cells[0].innerHTML = row.cells[0].innerHTML.replaceAll(".", ".<wbr>");  // where a narrow screen breaks lines
}
