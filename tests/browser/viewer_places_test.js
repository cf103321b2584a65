'use strict';
// The attention viewer in a frame, after a change of width, and with numbers of both signs.

const assert = require('node:assert');
const fs = require('node:fs');
const harness = require('./harness.js');
const {LINES, caption, chooseMap, chooseToken, found, heading, linesPage} = require('./viewer_page.js');

/** A sandboxed frame has no address to keep the choices in; all else works. */
async function checkFrame({open}, file) {
  const attribute = fs.readFileSync(file, 'utf8').replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const framed = file.replace('.html', '-framed.html');
  fs.writeFileSync(framed, `<!doctype html><iframe sandbox="allow-scripts" width="1300" height="900" srcdoc="${attribute}"></iframe>`);
  const frame = (await open(framed)).frames()[1];
  await frame.waitForSelector('.looks td');
  await chooseMap(frame, 0, 2);
  assert.strictEqual(await heading(frame), 'Layer 0, head 2');
  await chooseToken(frame, 1);
  assert.match(await caption(frame), /token 1,/);
  await frame.press('.tokens [data-token="1"]', 'l');
  assert.strictEqual(await heading(frame), 'Layer 1, head 2');
}

/** Another width keeps the keyboard's place; another text gets its own tokens. */
async function checkFocus({open}, file) {
  const page = await open(file);
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  for (const selector of ['.tokens [data-token="2"]', '#found li:nth-child(2) button']) {
    await page.focus(selector);
    const name = await focused();
    for (const width of [500, 1200]) {
      await page.setViewportSize({width, height: 900});
      await page.waitForFunction((wanted) => window.innerWidth === wanted, width);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      assert.strictEqual(await focused(), name, `${selector} at ${width}`);
    }
  }
  for (const text of [2, 0]) {
    await page.selectOption('#text', String(text));
    const tokens = await page.$$eval('.panel:first-child .tokens button', (all) => all.map((each) => each.textContent));
    assert.deepStrictEqual(tokens, await page.evaluate((i) => data.texts[i].tokens, text));
  }
}

/** A head that works against the result can have the largest change; numbers keep their signs and digits. */
async function checkSigns({open}, file) {
  const signed = file.replace('.html', '-signed.html');
  const html = fs.readFileSync(file, 'utf8');
  const start = html.indexOf('"ablation":[[');
  fs.writeFileSync(signed, html.slice(0, start) + '"ablation":[[0.2,-0.35,0],[-0.00002,0.1,0.03]]' + html.slice(html.indexOf(']]', start) + 2));
  const page = await open(signed);
  assert.strictEqual(await heading(page), 'Layer 0, head 1');
  assert.deepStrictEqual(await found(page), ['layer 0, head 1 -0.3500', 'layer 0, head 0 0.2000', 'layer 1, head 1 0.1000',
    'layer 1, head 2 0.03000', 'layer 1, head 0 -2.000e-5', 'layer 0, head 2 0']);
  const said = await page.textContent('.panel:first-child .facts');
  assert.ok(said.includes('result by -0.3500 (') && said.includes('rank 1 of 6'), said);
  // In small maps only 0 is 0. Other numbers that round to it are ≈0, which the narrowest maps, of 17 pixels, have room for.
  const scores = await page.$$eval('#grid .score', (all) => all.map((each) => each.textContent).filter((text) => text !== ''));
  assert.deepStrictEqual(scores, ['.200', '-.350', '0', '≈0', '.100', '.030']);
  const tiny = await page.$('#grid .score:text-is("≈0")');
  await tiny.evaluate((each) => { each.style.width = '17px'; });
  assert.strictEqual(await tiny.evaluate((each) => each.scrollWidth), 17);
}

harness.main(async (tools) => {
  const file = linesPage(tools, 'lines', LINES);
  await checkFrame(tools, file);
  await checkFocus(tools, file);
  await checkSigns(tools, file);
});
