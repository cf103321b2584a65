// The ends of the axes of a chart, and their numbers.
"use strict";

const shortest = (value, digits) => String(Number(value.toPrecision(digits)));

/** "0.7 s", "12 s", "3 min 20 s", "1 h 5 min". */
const duration = (seconds) => {
  if (seconds < 9.95) return `${shortest(seconds, 2)} s`;
  const isShort = seconds < 3599.5;
  const all = Math.round(isShort ? seconds : seconds / 60);
  const [large, small] = [Math.floor(all / 60), all % 60];
  const parts = [[large, isShort ? "min" : "h"], [small, isShort ? "s" : "min"]];
  return parts.filter(([count]) => count > 0).map(([count, unit]) => `${count} ${unit}`).join(" ");
};

const endsOf = (values) => ({
  low: values.reduce((a, b) => Math.min(a, b), Infinity),
  high: values.reduce((a, b) => Math.max(a, b), -Infinity)
});

const power = (value) => Math.floor(Math.log10(value) + 1e-9);
const isDrawable = (value, isLog) => Math.abs(value) < 1e300 && (!isLog || value > 1e-300);

/** An axis with its ends: those that are given, else those of the values; logarithmic if these are far apart. */
const axisOf = (axis, values) => {
  const finite = values.filter((value) => isDrawable(value, false));
  let {low, high} = {...endsOf(finite), ...axis};
  if (low > high) [low, high] = [0, 1];
  const isLog = axis.low === undefined && !axis.isLinear && low > 1e-300 && high / low >= 20;
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size < 1e-300) [low, high] = [0, 1];
  else if (high - low <= size * 1e-12) [low, high] = [low - size / 20, high + size / 20];
  return {...axis, low, high, isLog};
};

/** 1, 2, 5 or 10 times a power of 10, which divides the axis into at most `most` - 1 parts. */
const stepOf = ({low, high}, most) => {
  const raw = (high - low) / (most - 1);
  return [1, 2, 5, 10].map((factor) => factor * 10 ** power(raw)).find((step) => step >= raw * (1 - 1e-9));
};

/** An axis whose open ends are moved outwards to round numbers. */
const rounded = (axis, given, most) => {
  const step = stepOf(axis, most);
  const round = (value, up) => {
    if (!axis.isLog) return step * (up ? Math.ceil(value / step - 1e-6) : Math.floor(value / step + 1e-6));
    const factors = [1, 2, 5, 10].map((factor) => factor * 10 ** power(value));
    return up ? factors.find((each) => each >= value) ?? value :
                factors.findLast((each) => each <= value) ?? value;
  };
  return {...axis, low: given.low ?? round(axis.low, false), high: given.high ?? round(axis.high, true)};
};

/** A number with the digits down to those of `step`. */
const tickText = (value, step) => {
  if (Math.abs(value) < step / 2) return "0";
  if (Math.abs(value) < 1e6 && step >= 1e-4) return value.toFixed(Math.max(0, -power(step)));
  const digits = Math.min(Math.max(power(Math.abs(value)) - power(step), 0), 15);
  return value.toExponential(digits).replace(/(\.\d*?)0*e/, "$1e").replace(".e", "e").replace("e+", "e");
};

/** The round numbers of an axis. */
const roundTicks = (axis, most) => {
  const inside = (value) => value >= axis.low * (1 - 1e-9) && value <= axis.high * (1 + 1e-9);
  if (axis.isLog) {
    const powers = [];
    for (let i = power(axis.low); i <= power(axis.high); ++i) powers.push(10 ** i);
    const fine = powers.flatMap((ten) => [ten, 2 * ten, 5 * ten]).filter(inside);
    const chosen = fine.length <= most ?
        fine :
        powers.filter(inside).filter((_, i, all) => i % Math.ceil(all.length / most) === 0);
    if (fine.length > 1) return chosen.map((value) => ({value, text: tickText(value, 10 ** power(value))}));
  }
  const unit = !axis.isTime || axis.high < 120 ? 1 : axis.high < 7200 ? 60 : 3600;
  const step = stepOf({low: axis.low / unit, high: axis.high / unit}, most) * unit;
  const ticks = [];
  for (let i = Math.ceil(axis.low / step - 1e-6);
       i <= Math.floor(axis.high / step + 1e-6) && ticks.length < most; ++i) {
    const value = Number((i * step).toPrecision(12));
    const text = axis.isTime ? duration(value) : axis.whole ? String(value) : tickText(value, step);
    ticks.push({value, text});
  }
  return ticks.filter(({value}) => !axis.whole || Number.isInteger(value));
};

/** Both ends of an axis, and the round numbers between them whose texts have room. */
const ticksOf = (axis, at, most, room) => {
  const round = roundTicks(axis, most);
  const near = (a, b) => Math.abs(at(a.value) - at(b.value));
  const kept = [axis.low, axis.high].filter((value) => !axis.whole || Number.isInteger(value)).map((value) => {
    const text = axis.isTime ? duration(value) : axis.whole ? String(value) : shortest(value, 4);
    return round.find((tick) => near(tick, {value}) < 1e-6) ?? {value, text};
  });
  for (const tick of round) {
    if (kept.every((other) => near(tick, other) >= room(tick.text, other.text))) kept.push(tick);
  }
  return kept;
};
