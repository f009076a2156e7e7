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

function explain(record, verdict, { mean, low, high }) {
  if (record.forbidden && verdict === "undecided") return "forbidden";
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
      return confidences[step - 1] + share * (confidences[step] - confidences[step - 1]);
    }
  }
  return confidences[confidences.length - 1];
}

function decideAt(record, learning, transaction) {
  const found = record.lines.map((line) => evaluateLine(line, learning, transaction));
  const means = found.map((one) => (Number.isNaN(one.mean) ? -Infinity : one.mean));
  const proven = record.rule !== "paper" && found.some((one) => one.low > 0);
  const scores = proven ? found.map((one) => one.low) : means;
  let chosen = 0;
  for (let index = 1; index < found.length; index += 1) {
    const tie = scores[index] === scores[chosen] && means[index] > means[chosen];
    if (scores[index] > scores[chosen] || tie) chosen = index;
  }
  let verdict = "undecided";
  if (record.rule === "paper") verdict = means[chosen] > 0 ? "switch" : "keep";
  else if (proven) verdict = "switch";
  else if (found.every((one) => one.high < 0)) verdict = "keep";
  if (verdict === "switch" && record.forbidden) verdict = "undecided";
  const { cost, error, mean, low, high } = found[chosen];
  const why = explain(record, verdict, found[chosen]);
  const confidence = findConfidence(record, chosen, cost, error);
  return { verdict, chosen, cost, mean, low, high, why, confidence };
}
