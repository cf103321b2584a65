'use strict';
// Drawing: matrices as coloured cells on canvases, and lines from letters to letters.

const SHADES = 256;
const isDark = matchMedia('(prefers-color-scheme: dark)');
const palettes = new Map();

/** The style sheet's stops of `name` as so many colours: red, green, blue and 255 each. */
function palette(name) {
  const key = `${name} ${isDark.matches}`;
  if (palettes.has(key)) return palettes.get(key);
  const style = getComputedStyle(document.documentElement);
  const stops = style.getPropertyValue(name).split(',').map((color) => color.trim());
  const channels = (color) => [1, 3, 5].map((begin) => parseInt(color.slice(begin, begin + 2), 16));
  const colors = Array.from({length: SHADES}, (_, shade) => {
    const place = shade / (SHADES - 1) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2);
    const [from, to] = [channels(stops[below]), channels(stops[below + 1])];
    return [...from.map((c, i) => Math.round(c + (to[i] - c) * (place - below))), 255];
  });
  palettes.set(key, colors);
  return colors;
}

const largestOf = (m) => m.values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/** m with one pixel a cell. Shares go from 0 to 1; other numbers from -limit over 0, in the middle, to limit. */
function smallPicture(m, limit, isShare) {
  const colors = palette(isShare ? '--share' : '--signed');
  const image = new ImageData(m.columns, m.rows);
  m.values.forEach((value, i) => {
    const place = isShare ? value : (value / (limit || 1) + 1) / 2;
    const shade = Math.round(Math.min(1, Math.max(0, place)) * (SHADES - 1));
    image.data.set(colors[shade], 4 * i);
  });
  const canvas = new OffscreenCanvas(m.columns, m.rows);
  canvas.getContext('2d').putImageData(image, 0, 0);
  return canvas;
}

/** Paints m, cells of so many pixels. */
function paint(canvas, m, {width, height, limit, isShare, withNumbers}) {
  const ratio = window.devicePixelRatio || 1;
  Object.assign(canvas, {width: Math.round(m.columns * width * ratio), height: Math.round(m.rows * height * ratio)});
  Object.assign(canvas.style, {width: `${m.columns * width}px`, height: `${m.rows * height}px`});
  const context = canvas.getContext('2d');
  context.imageSmoothingEnabled = false;
  context.drawImage(smallPicture(m, limit, isShare), 0, 0, canvas.width, canvas.height);
  if (withNumbers) paintPercents(context, m, width * ratio, height * ratio);
}

/** Each cell's number in percent, if it is 1 or more. */
function paintPercents(context, m, width, height) {
  const style = getComputedStyle(document.documentElement);
  context.font = `${Math.round(Math.min(height * 0.5, width * 0.5))}px system-ui, sans-serif`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let i = 0; i < m.rows; ++i) {
    for (let j = 0; j < m.columns; ++j) {
      const percent = Math.round(100 * at(m, i, j));
      if (percent < 1) continue;
      context.fillStyle = style.getPropertyValue(percent < 55 ? '--on-faint' : '--on-strong');
      context.fillText(percent, (j + 0.5) * width, (i + 0.55) * height);
    }
  }
}

const FAINTEST = 0.02;  // a weight below this has no line

/** Lines from each letter that comes out, below, to those that it reads, above: thicker for more. */
function drawLines(svg, weights, chosen) {
  const box = svg.getBoundingClientRect();
  const x = (column) => (column + 0.5) * box.width / weights.columns;
  svg.setAttribute('viewBox', `0 0 ${box.width} ${box.height}`);
  const paths = [];
  for (let i = 0; i < weights.rows; ++i) {
    for (let j = 0; j < weights.columns; ++j) {
      const weight = at(weights, i, j);
      if (weight < FAINTEST) continue;
      const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      const middle = box.height / 2;
      path.setAttribute('d', `M ${x(j)} 0 C ${x(j)} ${middle}, ${x(i)} ${middle}, ${x(i)} ${box.height}`);
      path.setAttribute('stroke-width', (0.5 + 5 * weight).toFixed(2));
      path.setAttribute('stroke-opacity', (chosen === null || chosen === i ? 0.2 + 0.8 * weight : 0.1).toFixed(3));
      path.classList.toggle('chosen', chosen === i);
      paths.push(path);
    }
  }
  svg.replaceChildren(...paths);
}
