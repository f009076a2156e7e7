"use strict";
// The same few lines as nacre.report.prices. All bounds and quantiles come with the record.

function evaluateLine(line, learning, transaction) {
  const cost = line.fixed + learning * line.learning_mass + transaction * line.transaction_mass;
  const error = line.error_share * cost + line.error_fixed;
  return {
    cost,
    error,
    mean: (line.gain ?? NaN) - cost,
    low: (line.gain_low ?? -Infinity) - cost - error,
    high: (line.gain_high ?? Infinity) - cost + error,
  };
}

function explain(record, verdict, held, gained, { mean, low, high }) {
  if (record.forbidden && verdict === "undecided") return "forbidden";
  if (verdict === "undecided" && gained > 0 && !held) return "guardrail";
  if (verdict === "keep" && record.lines.some((line) => line.broken)) return "ruled_out";
  if (record.rule === "paper") {
    if (Number.isNaN(mean)) return "unknown";
    return mean > 0 ? "above" : "below";
  }
  if (verdict !== "undecided") return verdict === "switch" ? "above" : "below";
  if (!(Number.isFinite(low) && Number.isFinite(high))) return "unknown";
  return high < 0 ? "other" : "both";
}

function findConfidence(record, chosen, cost, error) {
  const { ladder } = record;
  if (record.rule !== "bounds" || record.forbidden || ladder === null) return null;
  const { confidences, stretches } = ladder;
  if (record.lines[chosen].gain_low === null) return confidences[0];
  const nets = ladder.lows[chosen].map(
    (low, step) => (low ?? -Infinity) - cost - stretches[step] * error,
  );
  if (!(nets[0] > 0)) return confidences[0];
  for (let step = 1; step < nets.length; step += 1) {
    if (!(nets[step] > 0)) {
      const share = nets[step - 1] / (nets[step - 1] - nets[step]);
      const found = confidences[step - 1] + share * (confidences[step] - confidences[step - 1]);
      return Math.min(found, ladder.caps[chosen]);
    }
  }
  return ladder.caps[chosen];
}

// Those that the answer is about: whose guardrails hold, if one gains; else are not broken.
function findPool(record, gains) {
  const places = [...record.lines.keys()];
  const held = places.filter((place) => record.lines[place].held);
  if (held.some((place) => gains[place] > 0)) return held;
  const left = places.filter((place) => !record.lines[place].broken);
  return left.length ? left : places;
}

function decideAt(record, learning, transaction) {
  const found = record.lines.map((line) => evaluateLine(line, learning, transaction));
  const means = found.map((one) => (Number.isNaN(one.mean) ? -Infinity : one.mean));
  const points = record.rule === "paper";
  const gains = points ? means : found.map((one) => one.low);
  const pool = findPool(record, gains);
  const proven = pool.some((place) => gains[place] > 0);
  const scores = proven ? gains : means;
  const chosen = pool.reduce((best, place) => {
    const tie = scores[place] === scores[best] && means[place] > means[best];
    return scores[place] > scores[best] || tie ? place : best;
  });
  const { held, broken } = record.lines[chosen];
  let verdict = "undecided";
  if (proven && held && !record.forbidden) verdict = "switch";
  else if (broken) verdict = "keep";
  else if (!proven && (points || pool.every((place) => found[place].high < 0))) verdict = "keep";
  const { cost, error, mean, low, high } = found[chosen];
  const why = explain(record, verdict, held, gains[chosen], found[chosen]);
  const confidence = findConfidence(record, chosen, cost, error);
  return { verdict, chosen, cost, mean, low, high, why, confidence };
}
