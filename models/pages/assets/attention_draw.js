'use strict';
// Drawing: weights as colours on canvases, one pixel a weight, and lines between tokens.

const SHADES = 256;
const RED_STEP = 4;  // bytes of a pixel

/** Red, green and blue of '#rrggbb'. */
const channels = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

/** Colours of weights from 0 to 1, by the style sheet's stops, as pixels. */
function palette(onPaper) {
  const style = getComputedStyle(document.documentElement);
  const stops = style.getPropertyValue(onPaper ? '--map-paper' : '--map').split(',').map((c) => channels(c.trim()));
  const colors = new Uint8ClampedArray(SHADES * RED_STEP);
  for (let i = 0; i < SHADES; ++i) {
    const place = i / (SHADES - 1) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2);
    for (let c = 0; c < 3; ++c) {
      const [from, to] = [stops[below][c], stops[below + 1][c]];
      colors[RED_STEP * i + c] = from + (to - from) * (place - below);
    }
    colors[RED_STEP * i + 3] = 255;
  }
  return colors;
}

/** How dark weights are, by the reader's choice: functions from a weight to [0, 1]. */
const SHADE_OF = {
  root: () => (weight) => Math.sqrt(weight),
  linear: () => (weight) => weight,
  largest: (map) => {
    const largest = map.reduce((most, weight) => Math.max(most, weight || 0), 0) || 1;
    return (weight) => weight / largest;
  },
};

/** Paints a map of size by size weights. NaN is grey. */
function paint(canvas, map, size, colors, shade) {
  canvas.width = size;
  canvas.height = size;
  const context = canvas.getContext('2d');
  const image = context.createImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  const entries = new Uint32Array(colors.buffer);
  const darkness = SHADE_OF[shade](map);
  for (let i = 0; i < map.length; ++i) {
    const place = Math.min(1, darkness(map[i]));
    pixels[i] = Number.isNaN(place) ? 0xff808080 : entries[Math.round(place * (SHADES - 1))];
  }
  context.putImageData(image, 0, 0);
}

/** The colours from 0 to 1, side by side. */
function paintLegend(canvas, colors) {
  const image = new ImageData(colors, SHADES, 1);
  canvas.getContext('2d').putImageData(image, 0, 0);
}

const MOST_LINES = 24;       // of one token
const MOST_OF_ALL = 1500;    // of all tokens
const FAINTEST = 0.01;

function svgElement(name, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

const strength = (weight) => ({
  'stroke-width': (1 + 4 * weight).toFixed(2),
  'stroke-opacity': (0.25 + 0.75 * Math.sqrt(weight)).toFixed(3),
});

/** A box relative to the drawing's corner. */
function boxIn(svg, element) {
  const origin = svg.getBoundingClientRect();
  const box = element.getBoundingClientRect();
  const [left, top] = [box.left - origin.left, box.top - origin.top];
  return {x: left + box.width / 2, y: top + box.height / 2, left, right: left + box.width, top, bottom: top + box.height};
}

/** Lines from one token's button to those it attends to, thicker for more, with a dot where they end. */
function drawLines(svg, buttons, from, weights) {
  const strongest = weights.map((weight, token) => ({weight, token}))
      .filter(({weight, token}) => weight >= FAINTEST && token !== from)
      .sort((a, b) => b.weight - a.weight).slice(0, MOST_LINES);
  const start = boxIn(svg, buttons[from]);
  svg.replaceChildren(...strongest.flatMap(({weight, token}) => arc(start, boxIn(svg, buttons[token]), weight)));
}

/** An arc above the tokens where both are in one line, higher for a longer way; else from edge to edge. */
function arc(start, end, weight) {
  const sameLine = Math.abs(start.top - end.top) < 2;
  const below = end.top > start.top;
  const from = sameLine || !below ? start.top : start.bottom;
  const to = sameLine || below ? end.top : end.bottom;
  const rise = sameLine ? Math.min(30, 6 + Math.abs(end.x - start.x) / 14) : 0;
  const middleY = (from + to) / 2;
  const curve = sameLine ? `C ${start.x} ${from - rise}, ${end.x} ${to - rise},` :
                           `C ${start.x} ${middleY}, ${end.x} ${middleY},`;
  return [
    svgElement('path', {d: `M ${start.x} ${from} ${curve} ${end.x} ${to}`, ...strength(weight)}),
    svgElement('circle', {cx: end.x, cy: to, r: 2 + 2 * weight, 'fill-opacity': strength(weight)['stroke-opacity']}),
  ];
}

/** Lines between two columns: from each token at the left to those that it attends to. A line's data-from is the position of its first token. */
function drawAllLines(svg, left, right, map) {
  const size = left.length;
  const strongest = [...map.keys()].filter((i) => map[i] >= FAINTEST)
      .sort((a, b) => map[b] - map[a]).slice(0, MOST_OF_ALL);
  const from = Array.from(left, (element) => boxIn(svg, element));
  const to = Array.from(right, (element) => boxIn(svg, element));
  svg.replaceChildren(...strongest.map((i) => {
    const [start, end] = [from[Math.floor(i / size)], to[i % size]];
    const middle = (start.right + end.left) / 2;
    const d = `M ${start.right} ${start.y} C ${middle} ${start.y}, ${middle} ${end.y}, ${end.left} ${end.y}`;
    return svgElement('path', {d, 'data-from': Math.floor(i / size), ...strength(map[i])});
  }));
}
