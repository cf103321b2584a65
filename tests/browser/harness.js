'use strict';
// Opens the pages that our programs write in a headless Chromium.
//
//   harness.main(async ({open, folder, run}) => {
//     run('run_encoder', ['--input', path.join(folder, 'x.npy'), ...]);   // one of our programs
//     const page = await open(file, {width: 390, dark: true});            // a page of playwright-core
//     ...
//   });
//
// A page fails its test by a message on its console, an error, or a request for anything but itself.
// Where playwright-core or Chromium is missing, the test says so and is skipped.

const assert = require('node:assert');
const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {pathToFileURL} = require('node:url');

const CHROMIUMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Ends the process as CTest's SKIP_REGULAR_EXPRESSION wants it. */
function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(0);
}

function playwright() {
  try {
    return require('playwright-core');
  } catch {
    return skip('playwright-core is not there: `npm install` in tests/browser, or NODE_PATH');
  }
}

function chromiumPath() {
  const found = [process.env.CHROMIUM, ...CHROMIUMS].find((each) => each && fs.existsSync(each));
  return found || skip(`Chromium is not there: ${CHROMIUMS.join(', ')}, or the path in CHROMIUM`);
}

/** Runs a program of examples/, whose folder CTest names as the first argument. */
function run(program, options) {
  return execFileSync(path.join(process.argv[2], program), options, {encoding: 'utf8'});
}

/** Collects what a page does wrong. */
function watch(page, url) {
  const wrong = [];
  page.on('console', (message) => wrong.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const is_itself = request.url().split('#')[0] === url || /^(data|blob):/.test(request.url());
    if (!is_itself) wrong.push(`request: ${request.url()}`);
  });
  return wrong;
}

async function main(test) {
  const {chromium} = playwright();
  const browser = await chromium.launch({executablePath: chromiumPath(), args: ['--no-sandbox', '--disable-gpu']});
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tessera-browser-'));
  const watched = [];
  const open = async (file, {width = 1400, height = 1000, dark = false, hash = '', touch = false} = {}) => {
    const context = await browser.newContext({viewport: {width, height}, colorScheme: dark ? 'dark' : 'light', hasTouch: touch});
    const page = await context.newPage();
    const url = pathToFileURL(file).href;
    watched.push({file, wrong: watch(page, url)});
    await page.goto(url + hash);
    return page;
  };
  try {
    await test({open, folder, run});
    for (const {file, wrong} of watched) assert.deepStrictEqual(wrong, [], file);
  } finally {
    await browser.close();
    fs.rmSync(folder, {recursive: true});
  }
}

module.exports = {
  main: (test) => main(test).catch((error) => {
    console.error(error);
    process.exit(1);
  }),
  run,
};
