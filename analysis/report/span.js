// Choosing a part of the run: by dragging over its course, or with two sliders. All figures then are of what was
// published in it: sums over slices of time.

class Span {
  constructor(data) {
    this.data = data;
    this.figure = document.querySelector("svg.course");
    this.from = document.getElementById("span-from");
    this.until = document.getElementById("span-until");
    this.said = document.getElementById("span-said");
    this.whole = document.getElementById("span-whole");
    this.ground = this.figure.querySelector("[data-span]");
    this.marked = this.figure.querySelector(".chosen");
    this.curve = document.querySelector("svg.latency .span");
    this.kept = new Map(); // what cells and drawings were before
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
      this.clients(from, until);
    }
    this.latencies(from, until, all);
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
    this.marked.setAttribute("x", x + from / this.data.count * width);
    this.marked.setAttribute("width", from === 0 && until === this.data.count ? 0 : (until - from) / this.data.count * width);
  }

  set(element, text) {
    if (!this.kept.has(element)) this.kept.set(element, [...element.childNodes]);
    element.textContent = text;
  }

  restore() {
    for (const [element, children] of this.kept) element.replaceChildren(...children);
    for (const [element, width] of this.widths ?? []) element.setAttribute("stroke-width", width);
    for (const row of document.querySelectorAll("tr.of-span")) row.classList.remove("of-span");
  }

  cells(row, numbers) {
    row.classList.add("of-span");
    [...row.cells].slice(1, 1 + numbers.length).forEach((cell, at) => {
      this.set(cell, numbers[at].toLocaleString("en").replaceAll(",", "\u202f"));
    });
  }

  links(from, until) {
    const found = new Map(Object.entries(this.data.links).map(([ends, rows]) => [ends, this.sums(rows, from, until)]));
    const of = (place) => {
      const [a, b] = place.dataset.link.split(" ").map(Number);
      const [there = 0, back = 0, wasted = 0] = found.get(a < b ? `${a} ${b}` : `${b} ${a}`) ?? [];
      return a < b ? [there, back, wasted] : [back, there, wasted];
    };
    const lines = [...document.querySelectorAll("svg.topology .link.trunk")];
    this.widths ??= lines.map((line) => [line, line.getAttribute("stroke-width")]);
    const most = Math.max(1, ...lines.map((line) => of(line)[0] + of(line)[1]));
    for (const line of lines) line.setAttribute("stroke-width", 1.25 + 7.75 * Math.sqrt((of(line)[0] + of(line)[1]) / most));
    for (const label of document.querySelectorAll("svg.topology .load[data-link]")) {
      const [there, back, wasted] = of(label);
      this.set(label, `${(there + back).toLocaleString("en")}${wasted ? ` \u00b7 ${wasted.toLocaleString("en")} wasted` : ""}`);
    }
    for (const row of document.querySelectorAll("#network tr[data-link]")) {
      const [there, back, wasted] = of(row);
      this.cells(row, [there + back, there, back, wasted]);
    }
  }

  clients(from, until) {
    for (const row of document.querySelectorAll("#clients tr[data-client]")) {
      const sums = this.sums(this.data.clients[row.dataset.client], from, until);
      this.cells(row, Array.from({ length: row.cells.length - 1 }, (_, at) => sums[at] ?? 0));
    }
  }

  // The curve of the deliveries of the span, beside that of all of them.
  latencies(from, until, all) {
    if (!this.curve) return;
    const { low, high, start, end, log, foot, top } = Object.fromEntries(Object.entries(this.curve.dataset).map(([k, v]) => [k, Number(v)]));
    const bins = new Map();
    for (const [slot, ...pairs] of this.data.latencies) {
      if (slot < from || slot >= until) continue;
      for (let at = 0; at < pairs.length; at += 2) bins.set(pairs[at], (bins.get(pairs[at]) ?? 0) + pairs[at + 1]);
    }
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
