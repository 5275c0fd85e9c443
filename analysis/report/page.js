"use strict";
// Tables are sorted by a click on the head of a column: numbers from large to small first, text from a to z; and
// each can be saved as CSV, and each drawing as SVG.

const UNITS = { ns: 1e-9, "\u00b5s": 1e-6, ms: 1e-3, s: 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, "%": 1 };

function valueOf(cell) {
  const text = cell.textContent.trim();
  const found = /^[<>]?(-?[\d\s\u202f,]*\.?\d+)\s*(\S*)$/.exec(text);
  if (!cell.classList.contains("n") || !found) return text;
  return Number(found[1].replace(/[\s\u202f,]/g, "")) * (UNITS[found[2]] ?? 1);
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? 1 : -1;
  return a.localeCompare(b, undefined, { numeric: true });
}

function sort(table, head) {
  const column = head.cellIndex;
  const body = table.tBodies[0];
  const downFirst = head.classList.contains("n");
  const before = head.getAttribute("aria-sort");
  const down = before === null ? downFirst : before === "ascending";
  const totals = [...body.rows].filter((row) => row.classList.contains("total"));
  const rows = [...body.rows].filter((row) => !totals.includes(row));
  rows.sort((a, b) => compare(valueOf(a.cells[column]), valueOf(b.cells[column])) * (down ? -1 : 1));
  body.append(...totals, ...rows);
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
}

for (const table of document.querySelectorAll("table.sortable")) {
  if (table.tBodies[0].rows.length < 3) continue;
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, head));
    head.append(button);
  }
}

function csvOf(table) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const plain = (cell) => quoted(cell.textContent.trim().replaceAll("\u202f", ""));
  return [...table.rows].map((row) => [...row.cells].map(plain).join(",")).join("\n") + "\n";
}

for (const table of document.querySelectorAll("table.sortable")) {
  const section = table.closest("section");
  const link = document.createElement("a");
  link.className = "csv";
  link.textContent = "CSV";
  link.setAttribute("aria-label", `Save this table of ${section.querySelector("h2").textContent} as CSV`);
  link.download = `${section.id}.csv`;
  link.href = "#";
  link.addEventListener("click", () => { link.href = `data:text/csv;charset=utf-8,${encodeURIComponent(csvOf(table))}`; });
  const scroll = table.closest(".scroll"), holder = document.createElement("div"); // one cell of a grid
  scroll.replaceWith(holder);
  holder.append(scroll, link);
}

// What is reached with the keyboard has a name, for those who do not see it.
for (const scroll of document.querySelectorAll(".scroll[tabindex]")) {
  const name = scroll.querySelector("caption")?.textContent || scroll.closest("section").querySelector("h2").textContent;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", name);
  scroll.querySelector("table").setAttribute("aria-label", name);
}

// With the style of this page, so that it looks the same elsewhere; in dark where its reader prefers that.
function svgOf(drawing) {
  const copy = drawing.cloneNode(true);
  const style = document.createElementNS(copy.namespaceURI, "style");
  style.textContent = document.querySelector("style").textContent;
  copy.prepend(style);
  copy.style.background = "var(--paper)";
  for (const [name, at] of [["width", 2], ["height", 3]]) copy.setAttribute(name, copy.getAttribute("viewBox").split(" ")[at]);
  return new XMLSerializer().serializeToString(copy);
}

for (const drawing of document.querySelectorAll("figure svg.figure")) {
  const link = document.createElement("a");
  link.className = "csv";
  link.textContent = "SVG";
  link.setAttribute("aria-label", `Save this drawing of ${drawing.querySelector("title").textContent} as SVG`);
  link.download = `${drawing.classList[1]}.svg`;
  link.href = "#";
  link.addEventListener("click", () => { link.href = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgOf(drawing))}`; });
  drawing.closest("figure").querySelector("figcaption").append(" ", link);
}
