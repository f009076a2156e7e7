"use strict";
// The same few lines as nacre.report.prices. All bounds and quantiles come with the record.

function evaluateLine(line, learning, transaction) {
  const cost = line.fixed + learning * line.learning_mass + transaction * line.transaction_mass;
  const error = line.error_share * cost + line.error_fixed;
  return {
    cost,
    mean: (line.gain ?? NaN) - cost,
    low: (line.gain_low ?? -Infinity) - cost - error,
    high: (line.gain_high ?? Infinity) - cost + error,
  };
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
  return { verdict, chosen, ...found[chosen] };
}
