// The curves of training runs, drawn from their logs.
"use strict";

const readLog = (text) => {
  const [names, ...rows] = text.trimEnd().split(/\r?\n/).map((line) => line.split(","));
  return rows.map((cells) => Object.fromEntries(names.map((name, i) => [name, cells[i]])));
};
const place = (row) => `step ${row.step}${row.epoch > 0 ? `, epoch ${row.epoch}` : ""}`;
const pointOf = (row, text) => ({x: Number(row.step), y: Number(text), text, at: place(row)});
const pointsOf = (rows, column) =>
    rows.filter((row) => row[column]).map((row) => pointOf(row, row[column]));

/** The seconds at each step since the run began. In a log whose seconds begin again, they continue. */
const elapsed = (rows) => {
  let before = 0, last = 0;
  return rows.map((row) => {
    const seconds = row.seconds ? Number(row.seconds) : last;
    if (seconds < last) before += last;
    last = seconds;
    return before + last;
  });
};

/** The tokens per second, each of at least a hundredth of the time. */
const speeds = (rows) => {
  const times = elapsed(rows);
  const least = times[times.length - 1] / 100;
  let begin = 0, tokens = 0;
  return rows.flatMap((row, i) => {
    tokens += Number(row.tokens || 0);
    const seconds = times[i] - begin;
    if (seconds <= 0 || seconds < least || tokens === 0) return [];
    const point = pointOf(row, shortest(tokens / seconds, 6));
    [begin, tokens] = [times[i], 0];
    return [point];
  });
};

/** Runs of a setting have one colour, and runs of a seed one dash pattern and shape of dots. */
const looksOf = (runs) => {
  const settings = [...new Set(runs.map((run) => run.setting))];
  const seeds = [...new Set(runs.map((run) => run.seed))];
  return runs.map((run, i) => run.setting ?
    {colour: settings.indexOf(run.setting), pattern: seeds.indexOf(run.seed)} :
    {colour: i, pattern: i + Math.floor(i / 8)});
};

/** Curves of what was learned and what was held out, in one run. */
const bothOf = (rows, column) => [
  {name: "training", look: {colour: 0, pattern: 0}, points: pointsOf(rows, column)},
  {name: "held out", look: {colour: 1, pattern: 1}, points: pointsOf(rows, `held_out_${column}`), hasDots: true},
].filter((series, i) => i === 0 || series.points.length > 0);

/** The loss over seconds, if the log has them. */
const overTime = ({rows}) => {
  const times = elapsed(rows);
  if (!(times[times.length - 1] > 0)) return [];
  return rows.map((row, i) => ({...pointOf(row, row.loss), x: times[i], at: duration(times[i])}));
};

const chartsOf = (runs) => {
  const looks = looksOf(runs);
  const ofAll = (points, hasDots = false) =>
    runs.map((run, i) => ({...run, look: looks[i], hasDots, points: points(run)}));
  const column = (name, hasDots) => ofAll((run) => pointsOf(run.rows, name), hasDots);
  const step = {label: "step", whole: true, ...endsOf(runs.flatMap(({rows}) => rows.map((row) => Number(row.step))))};
  const time = {label: "time", low: 0, isTime: true};
  const loss = {label: "loss"}, share = {label: "accuracy", low: 0, high: 1};
  const ofOne = ({rows}) => [["Loss", step, loss, bothOf(rows, "loss")], ["Accuracy", step, share, bothOf(rows, "accuracy")]];
  const ofMany = () => [["Loss in training", step, loss, column("loss")],
    ["Loss of held-out examples", step, loss, column("held_out_loss", true)],
    ["Accuracy in training", step, share, column("accuracy")],
    ["Accuracy of held-out examples", step, share, column("held_out_accuracy", true)],
    ["Loss in training over time", time, loss, ofAll(overTime)]];
  return [...runs.length === 1 ? ofOne(runs[0]) : ofMany(),
    ["Learning rate", step, {label: "learning rate", isLinear: true}, column("learning_rate")],
    ["Norm of the gradient, before clipping", step, {label: "norm"}, column("gradient_norm")],
    ["Speed, with the time of evaluations", step, {label: "tokens per second", low: 0}, ofAll(({rows}) => speeds(rows))],
  ].filter(([, , , series]) => series.some(({points}) => points.length > 0))
    .map(([title, x, y, series]) => ({title, x, y, series}));
};

const data = JSON.parse(document.getElementById("run").textContent);
const runs = (data.runs ?? [{name: "training", log: data.log}]).map((run) => ({...run, rows: readLog(run.log)}));
document.querySelector(".charts").append(...chartsOf(runs).map(draw));
