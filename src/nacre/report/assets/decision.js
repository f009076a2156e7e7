"use strict";
// The library's decision at other prices: nacre.decision.gain, .break_even and .verdict, line by
// line. Means, spreads and quantiles of Student's t come with the document.

// Student's t with a whole number of degrees of freedom has a closed form.
function cumulate(t, freedom) {
  const angle = Math.atan(t / Math.sqrt(freedom));
  const square = Math.cos(angle) ** 2;
  const odd = freedom % 2 === 1;
  let term = odd ? Math.cos(angle) : 1;
  let sum = freedom === 1 ? 0 : term;
  for (let i = odd ? 3 : 2; i < freedom; i += 2) {
    term *= square * (i - 1) / i;
    sum += term;
  }
  const inside = odd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
  return (1 + inside) / 2;
}

class Gain {
  constructor(candidate, moved, costError) {
    this.candidate = candidate;
    this.sound = candidate.sound;
    this.cost = candidate.cost + moved;
    this.costError = costError;
    this.mean = candidate.mean === null ? NaN : candidate.mean - moved;
    this.error = Math.hypot(candidate.spread, costError);
  }

  low(quantile) {
    if (!this.sound) return -Infinity;
    const { doubt, pessimistic } = this.candidate;
    const bound = this.mean - quantile * this.error - doubt;
    return pessimistic === null ? bound : Math.min(bound, pessimistic - this.cost);
  }

  high(quantile) {
    return this.sound ? this.mean + quantile * this.error + this.candidate.doubt : Infinity;
  }

  get confidence() {
    if (!this.sound) return 0;
    const { doubt, pessimistic, members } = this.candidate;
    let margin = this.mean - Math.sign(this.mean) * Math.min(doubt, Math.abs(this.mean));
    if (pessimistic !== null && pessimistic <= this.cost) {
      margin = Math.min(margin, pessimistic - this.cost);
    }
    const error = this.error * Math.sqrt(1 + 1 / members);
    if (error === 0) return margin > 0 ? 1 : 0;
    return cumulate(margin / error, members - 1);
  }
}

// Less than this, as a price, is rounding: nacre.decision.break_even.
const LEAST_MASS = 1e-9;

function priceAt(candidate, learning, transaction) {
  return learning * candidate.learning_mass + transaction * candidate.transaction_mass;
}

function reprice(record, candidate, learning, transaction) {
  const total = priceAt(candidate, learning, transaction);
  const recorded = priceAt(candidate, record.learning_weight, record.transaction_weight);
  const scale = recorded >= LEAST_MASS ? total / recorded : 1;
  return new Gain(candidate, total - recorded, candidate.cost_error * scale);
}

// Index of the largest key; the first one of equals, as in Python.
function best(indices, key) {
  return indices.reduce((found, index) => (key(index) > key(found) ? index : found));
}

function countMore(record, gain) {
  const { doubt, pessimistic, quantile, spread } = gain.candidate;
  const settled = gain.mean - doubt;
  const hopeless = pessimistic !== null && pessimistic <= gain.cost;
  if (!gain.sound || hopeless || settled <= 0) return null;
  const room = (settled / quantile) ** 2 - gain.costError ** 2;
  if (room <= 0 || spread ** 2 > record.largest_factor * room) return null;
  return Math.max(1, Math.ceil((spread ** 2 / room - 1) * record.episodes));
}

function judgeBounds(record, gains) {
  const all = gains.map((_, index) => index);
  const usable = all.filter((i) => record.candidates[i].trusted && gains[i].sound);
  const low = (i) => (usable.includes(i) ? gains[i].low(record.candidates[i].quantile) : -Infinity);
  const middle = (i) => (Number.isFinite(gains[i].mean) ? gains[i].mean : -Infinity);
  const safest = all.reduce((found, i) => {
    const tie = low(i) === low(found) && middle(i) > middle(found);
    return low(i) > low(found) || tie ? i : found;
  });
  if (low(safest) > 0) return { verdict: "switch", chosen: safest, low: low(safest), more: null };
  if (!usable.length) return { verdict: "keep", chosen: safest, failed: true, more: null };
  const hopeful = best(usable, (i) => gains[i].mean);
  if (gains[hopeful].mean <= 0) return { verdict: "keep", chosen: hopeful, more: null };
  return { verdict: "undecided", chosen: hopeful, more: countMore(record, gains[hopeful]) };
}

function judgePoints(record, gains) {
  const points = (i) => (record.candidates[i].trusted ? gains[i].mean : -Infinity);
  const chosen = best(gains.map((_, index) => index), points);
  const { value, trusted } = record.candidates[chosen];
  const net = value - gains[chosen].cost;
  const sound = trusted && value !== null && record.old_value !== null && Number.isFinite(net);
  const verdict = sound && record.old_value < net ? "switch" : "keep";
  return { verdict, chosen, net, points: true, more: null };
}

function judgeAt(record, learning, transaction) {
  const gains = record.candidates.map((one) => reprice(record, one, learning, transaction));
  const found = record.rule === "paper" ? judgePoints(record, gains) : judgeBounds(record, gains);
  if (record.rule !== "paper" && found.verdict === "switch" && !record.on_policy) {
    found.verdict = "undecided";
    found.foreign = true;
  }
  const gain = gains[found.chosen];
  const wide = gain.candidate.wide_quantile;
  return {
    ...found,
    gain,
    gains,
    confidence: found.failed ? 0 : gain.confidence,
    interval: [gain.low(wide), gain.high(wide)],
  };
}
