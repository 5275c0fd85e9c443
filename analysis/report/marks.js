// The marks of links at a moment: a slider over the moments at which any mark changed. Choosing a part of the run
// shows the marks at its end.

class Marks {
  constructor(data) {
    this.data = data;
    this.slider = document.getElementById("marks-at");
    this.said = document.getElementById("marks-said");
    this.arrows = [...document.querySelectorAll("svg.marks [data-way]")];
    this.counts = [...document.querySelectorAll("svg.marks [data-made]")];
    this.cursor = document.querySelector("svg.signalling .cursor");
  }

  start() {
    this.slider.max = this.data.moments.length - 1;
    this.slider.value = this.slider.max;
    this.slider.addEventListener("input", () => this.show());
    for (const [id, step] of [["marks-before", -1], ["marks-after", 1]]) {
      document.getElementById(id).addEventListener("click", () => {
        this.slider.value = Number(this.slider.value) + step;
        this.show();
      });
    }
    document.addEventListener("span", (event) => {
      const { until, all } = event.detail;
      const before = this.data.moments.filter((moment) => moment < until).length;
      this.slider.value = all ? this.slider.max : Math.max(before - 1, 0);
      this.show();
    });
    document.querySelector("#matchmaker .moments").hidden = false;
    this.show();
  }

  at(rows, moment) {
    return rows.findLast(([from]) => from <= moment)?.[1] ?? "none";
  }

  show() {
    const { moments, marks, used, made } = this.data;
    const number = Number(this.slider.value), moment = moments[number], isLast = number === moments.length - 1;
    for (const arrow of this.arrows) {
      const way = arrow.dataset.way;
      arrow.setAttribute("class", `mark ${this.at(marks[way], moment)}${used.includes(way) ? "" : " unused"}`);
    }
    for (const label of this.counts) {
      const rows = (made[label.dataset.made] ?? []).filter(([until]) => isLast || until <= moment);
      const count = rows.reduce((sum, [, each]) => sum + each, 0);
      label.textContent = count ? count.toLocaleString("en") : "";
    }
    const now = used.map((way) => this.at(marks[way], moment));
    const s = now.filter((mark) => mark.startsWith("s")).length, changing = now.filter((mark) => mark.endsWith("changing")).length;
    const down = now.filter((mark) => mark === "down").length;
    const text = `${timeText(moment)}: ${s} of ${used.length} directions are s-links${changing ? `, ${changing} changing` : ""}${down ? `, ${down} down` : ""}`;
    this.said.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    if (this.cursor) {
      const { left, right, end } = this.cursor.dataset;
      const x = Number(left) + Math.min(moment / Number(end), 1) * (Number(right) - Number(left));
      for (const name of ["x1", "x2"]) this.cursor.setAttribute(name, x);
    }
  }
}

const marksData = document.getElementById("marks-data");
if (marksData) new Marks(JSON.parse(marksData.textContent)).start();
