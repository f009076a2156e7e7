// What the sliders do to the page. Every figure that is shown stands unrounded in a data attribute.

const UNKNOWN = "unknown";

function countDecimals(value, width) {
  let places = 1;
  if (Number.isFinite(width) && width > 0) places = 1 - Math.floor(Math.log10(width));
  else if (value) places = 3 - Math.floor(Math.log10(Math.abs(value)));
  return Math.min(Math.max(places, 0), 6);
}

function formatNumber(value, width) {
  if (value === null || !Number.isFinite(value)) return UNKNOWN;
  const digits = countDecimals(value, width);
  const least = width === undefined ? 0 : digits;
  const style = { minimumFractionDigits: least, maximumFractionDigits: digits };
  const text = Math.abs(value).toLocaleString("en-US", style);
  return value < 0 && /[1-9]/.test(text) ? `\u2212${text}` : text;
}

// A bound that rounds to zero says on which side of it it lies.
function formatBound(value, width) {
  const text = formatNumber(value, width);
  if (!value || text === UNKNOWN || /[1-9]/.test(text)) return text;
  return `just ${value > 0 ? "above" : "below"} 0`;
}

// Rounding never puts a confidence beyond the one asked for.
function formatConfidence(confidence, { asked, confidences }) {
  const most = confidences[confidences.length - 1];
  if (confidence <= 0.5) return "under 50\u00a0%";
  if (confidence >= most) return `${Number((100 * most).toPrecision(4))}\u00a0% or more`;
  const text = (100 * confidence).toFixed(1).replace(/\.0$/, "");
  const same = Number(text) === Number((100 * asked).toFixed(6)) && confidence !== asked;
  const side = confidence > asked ? "above" : "below";
  return same ? `just ${side} ${text}\u00a0%` : `${text}\u00a0%`;
}

function show(id, text, data) {
  const place = document.getElementById(id);
  place.textContent = text;
  Object.assign(place.dataset, data);
  return place;
}

function moveMarker(record, learning, transaction) {
  const { left, right, top, bottom } = record.map;
  const x = left + Math.min(learning / record.reach.learning, 1) * (right - left);
  const y = bottom + Math.min(transaction / record.reach.transaction, 1) * (top - bottom);
  const [upright, level, spot] = document.getElementById("map-marker").children;
  for (const name of ["x1", "x2"]) upright.setAttribute(name, x);
  for (const name of ["y1", "y2"]) level.setAttribute(name, y);
  spot.setAttribute("cx", x);
  spot.setAttribute("cy", y);
}

// The interval against zero; an arrow at the edge where it goes on outside of the drawing.
function moveInterval(record, { mean, low, high }) {
  const { low: first, high: last, first: left, last: right } = record.interval_axis;
  const place = (number) => {
    const share = Math.min(Math.max((number - first) / (last - first), 0), 1);
    return left + share * (right - left);
  };
  const holds = (number) => first <= number && number <= last;
  const drawn = document.getElementById("tried-interval");
  const known = [mean, low, high].every(Number.isFinite);
  drawn.classList.toggle("unknown", !known);
  if (!known) return;
  const [bar, lowEnd, highEnd, spot] = drawn.children;
  bar.setAttribute("x1", place(low));
  bar.setAttribute("x2", place(high));
  for (const [end, number] of [[lowEnd, low], [highEnd, high]]) {
    const x = place(number);
    const back = holds(number) ? 0 : number < first ? 6 : -6;
    end.setAttribute("points", `${x + back},8 ${x},13 ${x + back},18`);
  }
  spot.setAttribute("cx", place(mean));
  spot.classList.toggle("unknown", !holds(mean));
}

function showDecision(record, learning, transaction) {
  const found = decideAt(record, learning, transaction);
  const { low, high } = found;
  const width = (high - low) / 2;
  const badge = show("tried-verdict", record.headlines[found.verdict], { verdict: found.verdict });
  badge.className = `badge ${found.verdict}`;
  show("tried-candidate", record.lines[found.chosen].name, { index: found.chosen });
  const unit = record.unit ? `\u00a0${record.unit}` : "";
  show("tried-cost", formatNumber(found.cost) + unit, { value: found.cost });
  const bounds = `${formatBound(low, width)} to ${formatBound(high, width)}`;
  const text = Number.isFinite(width) ? `${formatNumber(found.mean, width)}${unit} (${bounds})` : UNKNOWN;
  show("tried-gain", text, { mean: found.mean, low, high });
  if (document.getElementById("tried-confidence")) {
    const { confidence } = found;
    show("tried-confidence", formatConfidence(confidence, record.ladder), { value: confidence });
  }
  show("tried-reason", record.reasons[found.why], { why: found.why });
  document.getElementById("tried-warning").hidden = transaction <= learning;
  moveMarker(record, learning, transaction);
  moveInterval(record, found);
}

// The number in a box, or the last good one and a word on what is wrong with this one.
function readWeight(input, fallback) {
  const value = input.value.trim() === "" ? NaN : Number(input.value);
  const good = Number.isFinite(value) && value >= 0;
  input.setAttribute("aria-invalid", String(!good));
  const problem = document.getElementById("weight-problem");
  problem.hidden = good;
  problem.textContent = good
    ? ""
    : `Give a number from 0 up; the answer below is for ${formatNumber(fallback)}.`;
  return good ? value : fallback;
}

// One weight: a slider and a box for the exact number. The box may go beyond the slider's end.
class Weight {
  constructor(name, recorded, changed) {
    this.slider = document.getElementById(name);
    this.box = document.getElementById(`${name}-exact`);
    this.value = recorded;
    if (!this.slider) return;
    this.slider.addEventListener("input", () => {
      this.set(readWeight(this.slider, this.value), this.slider);
      changed();
    });
    this.box.addEventListener("input", () => {
      this.set(readWeight(this.box, this.value), this.box);
      changed();
    });
    this.set(recorded);
  }

  set(value, source) {
    this.value = value;
    if (!this.slider) return;
    if (source !== this.slider) this.slider.value = value;
    if (source !== this.box) {
      this.box.value = Number(value.toPrecision(6));
      readWeight(this.box, value);
    }
    this.slider.setAttribute("aria-valuetext", formatNumber(value));
  }
}

function start() {
  const record = JSON.parse(document.getElementById("record").textContent);
  if (!record.reach) return;
  const update = () => showDecision(record, learning.value, transaction.value);
  const learning = new Weight("learning-weight", record.learning_weight, update);
  const transaction = new Weight("transaction-weight", record.transaction_weight, update);
  const place = (x, y) => {
    learning.set(x);
    transaction.set(y);
    update();
  };
  document.getElementById("reset").addEventListener("click", () => {
    place(record.learning_weight, record.transaction_weight);
  });
  const map = document.querySelector("#map svg");
  map.addEventListener("click", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = point.matrixTransform(map.getScreenCTM().inverse());
    const { left, right, top, bottom } = record.map;
    const share = (number) => Math.min(Math.max(number, 0), 1);
    const across = share((x - left) / (right - left)) * record.reach.learning;
    const up = share((bottom - y) / (bottom - top)) * record.reach.transaction;
    place(across, transaction.slider ? up : transaction.value);
  });
  document.getElementById("prices").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("tried").hidden = false;
  update();
}

start();
