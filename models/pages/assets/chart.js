// The values at the pointer, at a finger, or where the arrow keys are: the legend has them, and a line
// through the chart shows the place.
"use strict";
for (const figure of document.querySelectorAll("figure.chart")) {
  const svg = figure.querySelector(":scope > svg");
  const inner = svg.querySelector("svg").viewBox.baseVal;
  const place = figure.querySelector(".at");
  const isTime = figure.querySelector(".legend").classList.contains("time");
  const curves = [...figure.querySelectorAll("[data-points]:not([data-points=''])")].map((cell) => ({cell,
    points: cell.dataset.points.split("\n").map((row) => row.split("\t"))
        .map(([x, y, at, value]) => ({x: Number(x), y, at, value}))}));
  const sorted = curves.flatMap(({points}) => points).sort((a, b) => a.x - b.x);
  const stops = [...new Map(sorted.map((point) => [point.at, point])).values()];
  if (stops.length === 0) continue;
  const cursor = document.createElementNS(svg.namespaceURI, "path");
  cursor.setAttribute("class", "cursor");
  svg.append(cursor);
  let now = 0;

  const show = (which) => {
    now = Math.min(Math.max(which, 0), stops.length - 1);
    const stop = stops[now];
    let path = `M${stop.x} ${inner.y}v${inner.height}`;
    for (const {cell, points} of curves) {
      const point = points.find((each) => each.at === stop.at) ??
          points.findLast((each) => each.x <= stop.x) ?? points[0];
      cell.textContent = point.value + (point.at === stop.at || isTime ? "" : ` (${point.at})`);
      path += `M${point.x - 4} ${point.y}a4 4 0 1 0 8 0a4 4 0 1 0-8 0`;
    }
    place.textContent = stop.at;
    cursor.setAttribute("d", path);
    svg.setAttribute("aria-valuenow", now);
    const texts = [...figure.querySelectorAll(".legend li > *")].map((each) => each.textContent);
    svg.setAttribute("aria-valuetext", `${place.textContent}: ${texts.join(", ")}`);
  };
  const follow = (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const far = (stop) => Math.abs(stop.x - x);
    show(stops.reduce((best, stop, i) => far(stop) < far(stops[best]) ? i : best, 0));
  };
  svg.addEventListener("pointermove", follow);
  svg.addEventListener("pointerdown", follow);
  svg.addEventListener("keydown", (event) => {
    const moves = {ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1,
      Home: 0, End: stops.length - 1};
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(moves[event.key]);
  });
  svg.tabIndex = 0;
  svg.setAttribute("role", "slider");
  svg.setAttribute("aria-valuemin", 0);
  svg.setAttribute("aria-valuemax", stops.length - 1);
  show(stops.length - 1);
}
