// Draws a chart. The legend shows the values at the pointer, at a finger or at the position of the arrow
// keys; a line through the chart shows the place.
"use strict";

const WIDTH = 360, HEIGHT = 240, LEFT = 74, RIGHT = 332, TOP = 12, BOTTOM = 194;  // chart.css
const MOST_POINTS = 450;  // of a curve: more than a screen can show
const SHAPES = [
  "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", "m-3-3h6v6h-6z", "m0-4.4l4.2 7.4h-8.4z",
  "m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z", "m0 4.4l4.2-7.4h-8.4z",
  "m-1.4-4.4h2.8v3h3v2.8h-3v3h-2.8v-3h-3v-2.8h3z", "m-4.5-1.5h9v3h-9z", "m-1.5-4.5h3v9h-3z"
];

const made = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const html = (name, attributes = {}, ...children) =>
    made(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
    made(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
const text = (x, y, anchor, what, more = {}) =>
    svg("text", {x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor, ...more}, what);
const classOf = ({colour, pattern}) =>
    `s${colour % 8}${Math.floor(colour / 8) % 2 ? " again" : ""} d${pattern % 8}`;
const lineClass = (series) => series.hasDots ? "line strong" : series.points.length > 150 ? "line fine" : "line";
const dot = (x, y, look) => svg("path", {class: "dot", d: `M${x} ${y}${SHAPES[look.pattern % 8]}`});

const lowest = (points) => points.reduce((a, b) => b.y < a.y ? b : a);
const highest = (points) => points.reduce((a, b) => b.y > a.y ? b : a);

/**
 * At most MOST_POINTS of the points: the ends, and of each stretch between them the smallest and the
 * largest y and one without a place.
 */
const thinned = (points, isThere) => {
  if (points.length <= MOST_POINTS) return points;
  const kept = new Set([points[0], points[points.length - 1]]);
  const length = (points.length - 2) / Math.floor((MOST_POINTS - 2) / 3);
  for (let begin = 1; begin < points.length - 1.5; begin += length) {
    const stretch = points.slice(Math.round(begin), Math.round(begin + length));
    const there = stretch.filter(isThere);
    if (there.length > 0) kept.add(lowest(there)).add(highest(there));
    if (there.length < stretch.length) kept.add(stretch.find((point) => !isThere(point)));
  }
  return points.filter((point) => kept.has(point));
};

/** Axes and their numbers; `atX` and `atY` are places in the picture. */
const drawAxes = ({x, y}, atX, atY) => {
  const parts = ticksOf(y, atY, 6, () => 14).flatMap((tick) => [
    svg("path", {class: "grid", d: `M${LEFT} ${atY(tick.value).toFixed(1)}H${RIGHT}`}),
    text(LEFT - 6, atY(tick.value) + 4, "end", tick.text)
  ]);
  for (const tick of ticksOf(x, atX, 5, (a, b) => 8 + 7.5 * (a.length + b.length) / 2)) {
    const at = Math.min(atX(tick.value), WIDTH - 7.5 * tick.text.length / 2);
    parts.push(
        svg("path", {class: "frame", d: `M${atX(tick.value).toFixed(1)} ${BOTTOM}v4`}),
        text(at, BOTTOM + 18, "middle", tick.text));
  }
  const middle = (TOP + BOTTOM) / 2;
  return [
    ...parts, svg("path", {class: "frame", d: `M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}`}),
    text((LEFT + RIGHT) / 2, HEIGHT - 8, "middle", x.label),
    text(14, middle, "middle", y.label, {transform: `rotate(-90 14 ${middle})`})
  ];
};

/** A curve. A value without a place, such as NaN, breaks the line and is a cross at the upper edge. */
const drawSeries = (series) => {
  let path = "", isDown = false;
  const marks = [];
  for (const {px, py, isThere} of series.points) {
    if (isThere) path += isDown ? `L${px} ${py}` : `M${px} ${py}L${px} ${py}`;
    if (!isThere) marks.push(svg("path", {class: "cross", d: `M${px - 4} ${TOP + 1}l8 8m0 -8l-8 8`}));
    if (isThere && (series.hasDots || series.points.length === 1)) marks.push(dot(px, py, series.look));
    isDown = isThere;
  }
  return svg("g", {class: classOf(series.look)}, svg("path", {class: lineClass(series), d: path}), ...marks);
};

/** The chart in words: each curve's ends and extremes. */
const inWords = (chart) => chart.series.map((series) => {
  const there = series.points.filter((point) => point.isThere);
  if (there.length === 0) return `${series.name}: no values.`;
  const [first, last] = [there[0], there[there.length - 1]];
  return `${series.name}: from ${first.text} at ${first.at} to ${last.text} at ${last.at}; ` +
      `smallest ${lowest(there).text} at ${lowest(there).at}, largest ${highest(there).text} at ${highest(there).at}.`;
}).join(" ");

/** A line for each setting or, without settings, for each curve; with the elements of the values. */
const drawLegend = (chart) => {
  const list = html("ul", {class: "legend"});
  const lines = new Map();
  const values = chart.series.map((series) => {
    const key = series.setting || series;
    if (!lines.has(key)) {
      lines.set(key, html("li", {}, ...series.setting ? [html("b", {}, series.setting)] : []));
      list.append(lines.get(key));
    }
    const value = html("span", {class: "value"});
    const sample = svg("svg", {viewBox: "0 0 28 10", "aria-hidden": "true"},
        svg("path", {class: lineClass(series), d: "M0 5H28"}), ...series.hasDots ? [dot(14, 5, series.look)] : []);
    const name = `${series.setting ? series.seed : series.name} `;
    lines.get(key).append(html("span", {class: classOf(series.look)}, sample, name, value));
    return value;
  });
  return {list, values};
};

/** Shows the values at the pointer, at a finger or at the position of the arrow keys. */
const follow = (chart, picture, list, values, at) => {
  const curves = chart.series.map(({points}, i) => ({points, value: values[i]})).filter(({points}) => points.length > 0);
  const sorted = curves.flatMap(({points}) => points).sort((a, b) => a.px - b.px);
  const stops = [...new Map(sorted.map((point) => [point.at, point])).values()];
  const cursor = picture.appendChild(svg("path", {class: "cursor"}));
  let now = 0;
  const show = (which) => {
    now = Math.min(Math.max(which, 0), stops.length - 1);
    const stop = stops[now];
    let path = `M${stop.px} ${TOP - 6}V${BOTTOM + 6}`;
    for (const {points, value} of curves) {
      const point = points.find((each) => each.at === stop.at) ??
          points.findLast((each) => each.px <= stop.px) ?? points[0];
      value.textContent = point.text + (point.at === stop.at || chart.x.isTime ? "" : ` (${point.at})`);
      path += `M${point.px - 4} ${point.py}a4 4 0 1 0 8 0a4 4 0 1 0-8 0`;
    }
    at.textContent = stop.at;
    cursor.setAttribute("d", path);
    picture.setAttribute("aria-valuenow", now);
    const texts = [...list.querySelectorAll("li > *")].map((each) => each.textContent);
    picture.setAttribute("aria-valuetext", `${stop.at}: ${texts.join(", ")}`);
  };
  const point = (event) => {
    const box = picture.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * WIDTH;
    const far = (stop) => Math.abs(stop.px - x);
    show(stops.reduce((best, stop, i) => far(stop) < far(stops[best]) ? i : best, 0));
  };
  picture.addEventListener("pointermove", point);
  picture.addEventListener("pointerdown", point);
  picture.addEventListener("keydown", (event) => {
    const moves = {ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, Home: 0,
      End: stops.length - 1};
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(moves[event.key]);
  });
  picture.setAttribute("aria-valuemax", stops.length - 1);
  show(stops.length - 1);
};

/** The chart {title, x, y, series} as a figure. */
const draw = (chart) => {
  const points = chart.series.flatMap((series) => series.points);
  const x = axisOf({...chart.x, isLinear: true}, points.map((point) => point.x));
  const y = rounded(axisOf(chart.y, points.map((point) => point.y)), chart.y, 6);
  const placed = ({low, high, isLog}, from, to) => {
    const of = isLog ? Math.log10 : (value) => value;
    return (value) => from + (to - from) * (of(value) - of(low)) / (of(high) - of(low));
  };
  const atX = placed(x, LEFT, RIGHT), atY = placed(y, BOTTOM, TOP);
  const isThere = (point) => isDrawable(point.y, y.isLog);
  const inPicture = (point) => ({...point, isThere: isThere(point), px: Number(atX(point.x).toFixed(1)),
    py: isThere(point) ? Number(atY(point.y).toFixed(1)) : TOP + 5});
  const series = chart.series.map((each) => ({...each, points: thinned(each.points, isThere).map(inPicture)}));
  const full = {...chart, x, y, series};
  // An inner picture, so that nothing is drawn beyond the axes; a little room for dots on them.
  const box = {x: LEFT - 6, y: TOP - 6, width: RIGHT - LEFT + 12, height: BOTTOM - TOP + 12};
  const picture = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "slider", tabindex: 0, "aria-valuemin": 0,
    "aria-label": `${chart.title}. ${inWords(full)}`}, ...drawAxes(full, atX, atY),
  svg("svg", {...box, viewBox: Object.values(box).join(" ")}, ...series.map(drawSeries)));
  const {list, values} = drawLegend(full);
  const at = html("p", {class: "at"});
  follow(full, picture, list, values, at);
  return html("figure", {class: "chart"}, html("figcaption", {}, chart.title), at, list, picture);
};
