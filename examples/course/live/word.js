'use strict';
// The word: letters that are typed, moved and replaced, and the letters that come out.

const numbersOf = (word) => [...word].map((letter) => LETTERS.indexOf(letter));
const wordOf = (numbers) => numbers.map((number) => LETTERS[number]).join('');

/** Takes a word, as numbers of letters: computes all steps and shows them. */
function setLetters(letters, keepInput = false) {
  model.letters = letters;
  if (!keepInput) byId('word').value = wordOf(letters);
  compute();
}

function typeWord() {
  const word = [...byId('word').value.toLowerCase()].filter((letter) => LETTERS.includes(letter)).join('');
  if (word !== byId('word').value) byId('word').value = word;
  if (word !== '') setLetters(numbersOf(word), true);
}

function moveLetter(from, to) {
  if (to < 0 || to >= model.letters.length || from === to) return;
  const letters = [...model.letters];
  letters.splice(to, 0, ...letters.splice(from, 1));
  setLetters(letters);
  byId('inputs').children[to].focus();
}

function replaceLetter(place, letter) {
  setLetters(model.letters.map((each, i) => i === place ? letter : each));
}

function letterKeys(event) {
  const place = [...byId('inputs').children].indexOf(event.target);
  if (place < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (step && event.shiftKey) moveLetter(place, place + step);
  else if (step) byId('inputs').children[place + step]?.focus();
  else if (event.key.length === 1 && LETTERS.includes(event.key)) replaceLetter(place, LETTERS.indexOf(event.key));
  else return;
  event.preventDefault();
}

/** The letter that is dragged follows the pointer from place to place. */
function drag(event) {
  let place = [...byId('inputs').children].indexOf(event.target);
  if (place < 0 || event.button !== 0) return;
  const follows = (moved) => {
    const box = byId('inputs').getBoundingClientRect();
    const to = Math.floor((moved.clientX - box.left) / box.width * model.letters.length);
    const inside = Math.max(0, Math.min(model.letters.length - 1, to));
    moveLetter(place, inside);
    place = inside;
    byId('inputs').children[place].classList.add('dragged');
  };
  const stop = () => {
    window.removeEventListener('pointermove', follows);
    for (const name of ['pointerup', 'pointercancel']) window.removeEventListener(name, stop);
    for (const button of byId('inputs').children) button.classList.remove('dragged');
  };
  window.addEventListener('pointermove', follows);
  for (const name of ['pointerup', 'pointercancel']) window.addEventListener(name, stop);
}

// ---- what is shown of it ----

/** As many buttons in `parent` as there are letters; those that are there stay, with the focus. */
function fitButtons(parent, makeButton) {
  while (parent.children.length > model.letters.length) parent.lastChild.remove();
  while (parent.children.length < model.letters.length) parent.append(makeButton(parent.children.length));
}

function outputButton(place) {
  const button = make('button', {type: 'button'});
  const shows = () => drawLines(byId('lines'), model.trace.weights, place);
  const away = () => drawLines(byId('lines'), model.trace.weights, null);
  for (const name of ['pointerenter', 'focus']) button.addEventListener(name, shows);
  for (const name of ['pointerleave', 'blur']) button.addEventListener(name, away);
  button.addEventListener('click', () =>
    choose({step: 'probabilities', row: place, column: argmax(model.trace.probabilities)[place]}));
  return button;
}

function showWord() {
  fitButtons(byId('inputs'), () => make('button', {type: 'button'}));
  fitButtons(byId('outputs'), outputButton);
  const answer = argmax(model.trace.probabilities);
  const wanted = [...model.letters].reverse();
  [...byId('inputs').children].forEach((button, place) => {
    button.textContent = LETTERS[model.letters[place]];
    button.setAttribute('aria-label', `position ${place}: ${button.textContent}`);
  });
  [...byId('outputs').children].forEach((button, place) => {
    const isRight = answer[place] === wanted[place];
    const percent = `${(100 * at(model.trace.probabilities, place, answer[place])).toFixed(0)}%`;
    button.replaceChildren(make('span', {textContent: LETTERS[answer[place]]}), make('small', {textContent: percent}));
    button.classList.toggle('wrong', !isRight);
    const words = `position ${place}: ${LETTERS[answer[place]]}, ${percent}`;
    button.setAttribute('aria-label', isRight ? words : `${words}, wrong`);
  });
  byId('lines').classList.toggle('off', model.off.has('head'));
  drawLines(byId('lines'), model.trace.weights, null);
  const right = answer.filter((letter, place) => letter === wanted[place]).length;
  const whole = wordOf(argmax(before.probabilities));
  const news = `${wordOf(model.letters)} → ${wordOf(answer)}: ${right} of ${answer.length} letters are correct.`;
  byId('result').textContent = isBroken() ? `${news} The whole model writes ${whole}.` : news;
}
