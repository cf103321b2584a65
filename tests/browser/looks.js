'use strict';
// Whether the texts of a page can be read: contrast, size, place.

const SCREENS = [{}, {dark: true}, {width: 390}, {width: 390, dark: true}];

/** The least contrast of texts with what is behind them. Source: WCAG 2.1, contrast ratio. */
const leastContrast = (page, selector) => page.$$eval(selector, (elements) => {
  const pen = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const luminance = (colours) => {
    for (const colour of colours) {
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
    }
    const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((byte) => byte / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return Math.min(...elements.map((element) => {
    const behind = [];
    for (let each = element; each; each = each.parentElement) behind.unshift(getComputedStyle(each).backgroundColor);
    const style = getComputedStyle(element);
    const both = [behind, [...behind, element instanceof SVGElement ? style.fill : style.color]].map(luminance);
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
  }));
});

/** The smallest size of SVG texts in pixels of the screen. */
const leastSize = (page, selector) => page.$$eval(selector, (texts) => Math.min(...texts.map((text) =>
  parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getScreenCTM().a)));

/** Pairs of texts that lie on each other, within each element that matches `around`. */
const overlaps = (page, around, selector) => page.$$eval(around, (all, inner) => all.flatMap((each) => {
  const texts = [...each.querySelectorAll(inner)].filter((text) => text.textContent);
  const boxes = texts.map((text) => text.getBoundingClientRect());
  const touch = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
  return boxes.flatMap((box, i) => boxes.slice(0, i).map((other, j) => [other, j]).filter(([other]) => touch(box, other))
      .map(([, j]) => `${texts[j].textContent} and ${texts[i].textContent}`));
}), selector);

/** By how much a page is wider than its window. */
const excess = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** What the arrow keys show of the chart with this caption: the places, and the legend's lines at each. */
async function readings(page, caption) {
  const chart = page.locator('figure.chart').filter({has: page.locator('figcaption', {hasText: new RegExp(`^${caption}$`)})});
  const picture = chart.locator('> svg');
  await picture.focus();
  await page.keyboard.press('Home');
  const rows = [];
  for (const last = Number(await picture.getAttribute('aria-valuemax')); rows.length <= last;) {
    rows.push(await chart.evaluate((figure) => [figure.querySelector('.at').textContent,
      ...[...figure.querySelectorAll('.legend > li')].map((line) => line.textContent)]));
    await page.keyboard.press('ArrowRight');
  }
  return rows;
}

module.exports = {SCREENS, excess, leastContrast, leastSize, overlaps, readings};
