// Choosing a part of the run: by dragging over its course, or with two sliders. All figures then are of what was
// published in it: sums over slices of time.

// As `share` of `analysis.figures.axes`: a rest is never rounded away to none nor to all.
function share(part, whole) {
  if (!whole) return "\u2013";
  const percent = 100 * part / whole;
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  if (percent > 99.9 && percent < 100) return ">99.9 %";
  return percent === 0 || percent === 100 ? `${percent} %` : `${percent.toFixed(1)} %`;
}

class Span {
  constructor(data) {
    this.data = data;
    this.figure = document.querySelector("svg.course");
    this.from = document.getElementById("span-from");
    this.until = document.getElementById("span-until");
    this.said = document.getElementById("span-said");
    this.whole = document.getElementById("span-whole");
    this.ground = this.figure.querySelector("[data-span]");
    this.marks = [...document.querySelectorAll("svg .chosen")];
    this.curve = document.querySelector("svg.latency .span");
    this.kept = new Map(); // what cells and labels had in them before
    this.drawn = new Map(); // by element and attribute: what drawings had before
  }

  start() {
    for (const slider of [this.from, this.until]) slider.addEventListener("input", () => this.slid(slider));
    this.whole.addEventListener("click", () => this.choose(0, this.data.count));
    this.figure.addEventListener("pointerdown", (event) => this.drag(event));
    document.querySelector(".span").hidden = false;
    this.say();
  }

  get range() { return [Number(this.from.value), Number(this.until.value)]; }

  slid(slider) {
    let [from, until] = this.range;
    if (from >= until) [from, until] = slider === this.from ? [Math.min(from, this.data.count - 1), from + 1] : [until - 1, Math.max(until, 1)];
    this.choose(Math.max(from, 0), Math.min(Math.max(until, 1), this.data.count));
  }

  slotAt(event) {
    const box = this.ground.getBoundingClientRect();
    return (event.clientX - box.left) / box.width * this.data.count;
  }

  drag(event) {
    if (event.button !== 0) return;
    const begin = this.slotAt(event);
    const move = (moved) => {
      const ends = [begin, this.slotAt(moved)].sort((a, b) => a - b);
      const from = Math.max(0, Math.floor(ends[0])), until = Math.min(this.data.count, Math.ceil(ends[1]));
      if (until > from && ends[1] - ends[0] > 0.3) this.choose(from, until);
    };
    const end = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
    event.preventDefault();
  }

  choose(from, until) {
    this.from.value = from;
    this.until.value = until;
    this.say();
    this.mark(from, until);
    const all = from === 0 && until === this.data.count;
    if (all) this.restore();
    else {
      this.links(from, until);
      this.rows("#clients tr[data-client]", (row) => this.data.clients[row.dataset.client], from, until);
      this.rows("#routers tr[data-router]", (row) => this.data.routers[row.dataset.router], from, until, this.data.ofRouter);
      this.hops(from, until);
    }
    this.latencies(from, until, all);
    this.disturbances(from * this.data.width, until * this.data.width);
    document.dispatchEvent(new CustomEvent("span", { detail: { from: from * this.data.width, until: until * this.data.width, all } }));
  }

  sums(rows, from, until) {
    const sums = [];
    for (const [slot, ...counts] of rows ?? []) {
      if (slot < from || slot >= until) continue;
      counts.forEach((count, at) => { sums[at] = (sums[at] ?? 0) + count; });
    }
    return sums;
  }

  // Of rows that hold values with how many have each.
  counted(rows, from, until) {
    const found = new Map();
    for (const [slot, ...pairs] of rows) {
      if (slot < from || slot >= until) continue;
      for (let at = 0; at < pairs.length; at += 2) found.set(pairs[at], (found.get(pairs[at]) ?? 0) + pairs[at + 1]);
    }
    return found;
  }

  say() {
    const [from, until] = this.range;
    const rows = this.data.course.map((counts, slot) => [slot, ...counts]);
    const [published, wanted, owed, arrived, lost, missing, unknown] = this.sums(rows, from, until).map((n) => n.toLocaleString("en"));
    const rest = [[lost, "lost"], [missing, "missing"], [unknown, "unknown"]].filter(([n]) => n !== "0").map(([n, word]) => `, ${n} ${word}`).join("");
    const text = `${timeText(from * this.data.width)} to ${timeText(until * this.data.width)}`;
    this.said.textContent = `${text}: ${published} messages, ${wanted} wanted deliveries, ${owed} of them owed, ${arrived} arrived${rest}`;
    for (const slider of [this.from, this.until]) slider.setAttribute("aria-valuetext", timeText(Number(slider.value) * this.data.width));
  }

  mark(from, until) {
    const [x, width] = ["x", "width"].map((name) => Number(this.ground.getAttribute(name)));
    for (const mark of this.marks) {
      mark.setAttribute("x", x + from / this.data.count * width);
      mark.setAttribute("width", from === 0 && until === this.data.count ? 0 : (until - from) / this.data.count * width);
    }
  }

  set(element, text) {
    if (!this.kept.has(element)) this.kept.set(element, [...element.childNodes]);
    element.textContent = text;
  }

  draw(element, name, value) {
    if (!this.drawn.has(element)) this.drawn.set(element, new Map());
    const before = this.drawn.get(element);
    if (!before.has(name)) before.set(name, element.getAttribute(name));
    element.setAttribute(name, value);
  }

  restore() {
    for (const [element, children] of this.kept) element.replaceChildren(...children);
    for (const [element, attributes] of this.drawn) for (const [name, value] of attributes) {
      if (value === null) element.removeAttribute(name);
      else element.setAttribute(name, value);
    }
    for (const cell of document.querySelectorAll("td.of-span")) cell.classList.remove("of-span");
  }

  cells(row, texts) {
    texts.forEach((text, at) => {
      const cell = row.cells[at + 1];
      this.set(cell, typeof text === "number" ? text.toLocaleString("en").replaceAll(",", "\u202f") : text);
      cell.classList.add("of-span");
    });
  }

  rows(selector, counts, from, until, columns) {
    for (const row of document.querySelectorAll(selector)) {
      const sums = this.sums(counts(row), from, until);
      this.cells(row, Array.from({ length: columns ?? row.cells.length - 1 }, (_, at) => sums[at] ?? 0));
    }
  }

  links(from, until) {
    const found = new Map(Object.entries(this.data.links).map(([ends, rows]) => [ends, this.sums(rows, from, until)]));
    const of = (place) => {
      const [a, b] = place.dataset.link.split(" ").map(Number);
      const [there = 0, back = 0, wasted = 0] = found.get(a < b ? `${a} ${b}` : `${b} ${a}`) ?? [];
      return a < b ? [there, back, wasted] : [back, there, wasted];
    };
    const lines = [...document.querySelectorAll("svg.topology .link.trunk")];
    const most = Math.max(1, ...lines.map((line) => of(line)[0] + of(line)[1]));
    for (const line of lines) this.draw(line, "stroke-width", 1.25 + 7.75 * Math.sqrt((of(line)[0] + of(line)[1]) / most));
    for (const label of document.querySelectorAll("svg.topology .load[data-link]")) {
      const [there, back, wasted] = of(label);
      this.set(label, `${(there + back).toLocaleString("en")}${wasted ? ` \u00b7 ${wasted.toLocaleString("en")} wasted` : ""}`);
    }
    for (const row of document.querySelectorAll("#network tr[data-link]")) {
      const [there, back, wasted] = of(row);
      this.cells(row, [there + back, there, back, wasted, share(wasted, there + back)]);
    }
  }

  // The highest bar is as high as that of the whole run.
  hops(from, until) {
    const counts = this.counted(this.data.hops, from, until);
    const most = Math.max(1, ...counts.values());
    const total = [...counts.values()].reduce((a, b) => a + b, 0);
    const of = (element) => counts.get(Number(element.dataset.hops)) ?? 0;
    for (const bar of document.querySelectorAll("svg.hops .bar")) {
      const { height, foot, most: room } = bar.dataset;
      this.draw(bar, "transform", `translate(0 ${foot}) scale(1 ${of(bar) / most * room / height}) translate(0 ${-foot})`);
      const value = document.querySelector(`svg.hops text[data-hops="${bar.dataset.hops}"]`);
      if (!value) continue;
      this.draw(value, "y", foot - of(bar) / most * room - 7);
      this.set(value, of(bar).toLocaleString("en"));
    }
    for (const row of document.querySelectorAll("#hops tr[data-hops]")) this.cells(row, [of(row), share(of(row), total)]);
  }

  disturbances(from, until) {
    for (const row of document.querySelectorAll("#disturbances tr[data-from]")) {
      const outside = Number(row.dataset.from) >= until || Number(row.dataset.until ?? Infinity) < from;
      row.classList.toggle("outside", outside && !(from === 0 && until === this.data.count * this.data.width));
    }
  }

  // The curve of the deliveries of the span, beside that of all of them.
  latencies(from, until, all) {
    if (!this.curve) return;
    const { low, high, start, end, log, foot, top } = Object.fromEntries(Object.entries(this.curve.dataset).map(([k, v]) => [k, Number(v)]));
    const bins = this.counted(this.data.latencies, from, until);
    const total = [...bins.values()].reduce((a, b) => a + b, 0);
    if (all || !total) return this.curve.setAttribute("d", "M0 0");
    const scaled = (v) => (log ? Math.log10(Math.max(v, low)) : v);
    const x = (v) => start + Math.min(Math.max((scaled(v) - scaled(low)) / (scaled(high) - scaled(low)), 0), 1) * (end - start);
    let so = 0, d = "";
    for (const [bin, count] of [...bins].sort((a, b) => a[0] - b[0])) {
      so += count;
      const at = x(10 ** ((bin + 0.5) / this.data.perDecade)).toFixed(1);
      d += `${d ? "H" : `M${at} ${foot}H`}${at}V${(foot + so / total * (top - foot)).toFixed(1)}`;
    }
    this.curve.setAttribute("d", d);
  }
}

const spanData = document.getElementById("span-data");
if (spanData) new Span(JSON.parse(spanData.textContent)).start();
