// Looking up single messages: a list that is searched, and of the chosen one its tree, its hops and its receivers.

const SVG = "http://www.w3.org/2000/svg";
const LISTED = 60;
const DRAWN = 400; // leaves of a tree; of more, the tables alone are shown
const COLUMN = 150, ROW = 24;

function make(tag, attributes, ...children) {
  const space = ["svg", "g", "path", "circle", "rect", "text", "title"].includes(tag) && attributes?.svg !== false;
  const found = space ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) if (name !== "svg") found.setAttribute(name, value);
  found.append(...children);
  return found;
}

function timeText(ns) {
  if (ns === null) return "\u2013";
  const size = Math.abs(ns);
  const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "\u00b5s"] : [1, "ns"];
  return `${Number((ns / unit).toPrecision(4))} ${name}`;
}

class Explorer {
  constructor(data) {
    this.nodes = data.nodes;
    this.filters = data.filters;
    this.reasons = data.reasons;
    this.messages = data.messages.map((row) => this.read(row));
    this.place = null; // a node or link of the drawing that messages have to have passed
    this.search = document.getElementById("message-search");
    this.kind = document.getElementById("message-kind");
    this.list = document.getElementById("message-list");
    this.detail = document.getElementById("message-detail");
    this.counted = document.getElementById("message-count");
  }

  read([source, sequence, at, text, router, word, crossings, receivers]) {
    return {
      source, sequence, at, text, router, word,
      name: `${this.name(source)} ${sequence}`,
      crossings: crossings.map(([from, to, hop, sent, received, copies, wasted, client]) =>
        ({ from, to, hop, sent, received, copies, wasted, client })),
      receivers: receivers.map(([client, verdict, owed, reason, latency, copies, filters, seen, onTo]) =>
        ({ client, verdict, owed, reason, latency, copies, filters, seen, onTo })),
    };
  }

  name(id) { return this.nodes[id]?.[0] ?? `node ${id}`; }

  words(message) {
    if (!message.words) {
      const nodes = new Set([message.router, ...message.crossings.flatMap((c) => [c.from, c.to]),
        ...message.receivers.map((r) => r.client)]);
      const names = [...nodes].filter((id) => id !== null).map((id) => this.name(id));
      message.words = [message.name, message.text, ...names].join(" ").toLowerCase();
      message.tokens = new Set([this.name(message.source), String(message.sequence), ...names].map((n) => n.toLowerCase()));
    }
    return message;
  }

  // A node's whole name if there is one of that name, a whole number, otherwise a piece of text.
  fits(message, tokens) {
    const { words, tokens: whole } = this.words(message);
    return tokens.every((token) => (this.known.has(token) ? whole.has(token)
      : /^\d+$/.test(token) ? new RegExp(`(^|[^\\d.])${token}($|[^\\d.])`).test(words) : words.includes(token)));
  }

  passed(message) {
    if (this.span && (message.at < this.span.from || message.at >= this.span.until)) return false;
    if (!this.place) return true;
    const [a, b] = this.place;
    if (b === undefined) return message.router === a || message.source === a
      || message.crossings.some((c) => c.from === a || c.to === a);
    return message.crossings.some((c) => (c.from === a && c.to === b) || (c.from === b && c.to === a))
      || (message.source === b && message.router === a) || (message.source === a && message.router === b);
  }

  start() {
    this.known = new Set(Object.values(this.nodes).map(([name]) => name.toLowerCase()));
    const kinds = [...new Set(this.messages.map((m) => m.word))];
    const order = ["missing", "duplicate", "spurious", "unknown", "lost", "delivered", ""];
    this.kind.append(make("option", { value: "all" }, "all"),
      ...order.filter((word) => kinds.includes(word)).map((word) => make("option", { value: word || "none" }, word || "wanted by nobody")));
    this.search.addEventListener("input", () => this.show());
    this.kind.addEventListener("change", () => this.show());
    this.list.addEventListener("keydown", (event) => this.move(event));
    document.querySelector("svg.topology")?.setAttribute("role", "group"); // of buttons, which an image cannot have
    for (const place of document.querySelectorAll("svg.topology [data-node], svg.topology [data-link]")) {
      const chosen = () => this.choosePlace(place);
      place.setAttribute("tabindex", "0");
      place.setAttribute("role", "button");
      place.addEventListener("click", chosen);
      place.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        chosen();
      });
    }
    window.addEventListener("hashchange", () => this.fromAddress());
    document.addEventListener("span", ({ detail }) => {
      this.span = detail.all ? null : detail;
      this.show();
    });
    document.querySelector(".explorer").hidden = false;
    this.show();
    this.fromAddress();
  }

  fromAddress() {
    const found = /^#message-(\d+)-(\d+)$/.exec(location.hash);
    const message = found && this.messages.find((m) => String(m.source) === found[1] && String(m.sequence) === found[2]);
    if (message) this.choose(message, false);
  }

  choosePlace(place) {
    const { node, link } = place.dataset;
    this.place = node ? [Number(node)] : link.split(" ").map(Number);
    this.search.value = "";
    this.kind.value = "all";
    this.show();
    document.getElementById("messages").scrollIntoView({ behavior: "smooth", block: "start" });
  }

  show() {
    const tokens = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = this.kind.value === "none" ? "" : this.kind.value;
    const found = this.messages.filter((m) => (kind === "all" || m.word === kind) && this.passed(m) && this.fits(m, tokens));
    this.counted.replaceChildren(`${found.length.toLocaleString("en")} found`);
    if (this.place) {
      const where = this.place.map((id) => this.name(id)).join(" \u2013 ");
      const clear = make("button", { type: "button" }, `over ${where} \u2715`);
      clear.addEventListener("click", () => { this.place = null; this.show(); });
      this.counted.append(" ", clear);
    }
    this.list.replaceChildren(...found.slice(0, LISTED).map((m) => this.item(m)));
    if (found.length > LISTED) this.list.append(make("li", { class: "note" }, `and ${(found.length - LISTED).toLocaleString("en")} more`));
  }

  item(message) {
    const button = make("button", { type: "button" },
      make("strong", {}, message.name), ` at ${timeText(message.at)} `,
      make("span", { class: `word ${message.word || "none"}` }, message.word || "wanted by nobody"),
      make("span", { class: "content" }, message.text));
    button.addEventListener("click", () => this.choose(message, true));
    if (message === this.chosen) button.setAttribute("aria-current", "true");
    message.button = button;
    return make("li", {}, button);
  }

  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...this.list.querySelectorAll("button")];
    buttons[buttons.indexOf(document.activeElement) + step]?.focus();
  }

  choose(message, named) {
    this.chosen?.button?.removeAttribute("aria-current");
    this.chosen = message;
    message.button?.setAttribute("aria-current", "true");
    if (named) history.replaceState(null, "", `#message-${message.source}-${message.sequence}`);
    const tree = this.tree(message);
    this.detail.replaceChildren(
      make("h3", {}, message.name),
      make("p", {}, make("code", {}, message.text || "its content is in no capture and no event")),
      make("p", { class: "note" }, this.summary(message)),
      ...(tree ? [make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Its tree" }, tree)] : []),
      this.receivers(message), this.hops(message));
    this.light(message);
  }

  summary(message) {
    const counts = new Map();
    for (const r of message.receivers) if (r.verdict) counts.set(r.verdict, (counts.get(r.verdict) ?? 0) + 1);
    const found = [...counts].map(([word, number]) => `${number} ${word}`).join(", ") || "no client wanted it";
    const between = message.crossings.filter((c) => !c.client);
    const wasted = between.filter((c) => c.wasted).length;
    const entered = message.router === null ? "no capture shows that it reached a router" : `entered at ${this.name(message.router)}`;
    return `Published at ${timeText(message.at)}, ${entered}; ${found}; ${between.length} crossings of links between routers`
      + (wasted ? `, ${wasted} of them for nothing.` : ".");
  }

  // A visit is a node at a hop count; what descends from it left it with one hop more.
  tree(message) {
    if (message.router === null) return null;
    const children = new Map();
    for (const c of message.crossings) {
      const key = `${c.from} ${c.hop - 1}`;
      if (!children.has(key)) children.set(key, []);
      children.get(key).push(c);
    }
    const seen = new Set();
    const grow = (id, hop, crossing) => {
      const key = `${id} ${hop}`;
      const again = seen.has(key) || crossing?.client;
      seen.add(key);
      const arrived = !crossing || crossing.client || crossing.received !== null;
      const below = again || !arrived ? [] : (children.get(key) ?? []).map((c) => grow(c.to, c.hop, c));
      return { id, crossing, arrived, below };
    };
    const root = { id: message.source, crossing: null, arrived: true, below: [grow(message.router, message.crossings[0] ? Math.min(...message.crossings.map((c) => c.hop)) - 1 : 0, null)] };
    let rows = 0, depth = 0;
    const place = (node, level) => {
      node.x = level * COLUMN;
      depth = Math.max(depth, level);
      node.below.forEach((child) => place(child, level + 1));
      node.y = node.below.length ? (node.below[0].y + node.below.at(-1).y) / 2 : rows++ * ROW;
    };
    place(root, 0);
    if (rows > DRAWN) return null;
    const width = (depth + 1) * COLUMN + 30, height = Math.max(rows, 1) * ROW + 16;
    const drawing = make("svg", { class: "figure tree", viewBox: `-10 -14 ${width} ${height}`, role: "img",
      style: `width:${width}px;min-width:0`, "aria-label": `The tree of ${message.name}; the tables below say the same.` });
    const draw = (node) => {
      for (const child of node.below) {
        const c = child.crossing;
        const style = !c ? "" : c.wasted && !c.client ? " wasted" : "";
        const bent = (node.x + child.x) / 2;
        const line = make("path", { d: `M${node.x} ${node.y}C${bent} ${node.y} ${bent} ${child.y} ${child.x} ${child.y}`,
          class: `edge${style}${child.arrived ? "" : " gone"}` });
        line.append(make("title", {}, c ? this.crossingText(c) : "the publisher's own link"));
        drawing.append(line);
        draw(child);
      }
      const router = this.nodes[node.id]?.[1];
      const mark = router
        ? make("rect", { x: node.x - 5, y: node.y - 5, width: 10, height: 10, rx: 3, class: "router" })
        : make("circle", { cx: node.x, cy: node.y, r: 5, class: node.arrived ? "client" : "client harmed" });
      const c = node.crossing;
      const took = c && c.received !== null && c.sent !== null ? `  ${timeText(c.received - c.sent)}` : "";
      const label = this.name(node.id) + (node.arrived ? took : "  did not arrive") + (c && c.copies > 1 ? `  ${c.copies} copies` : "");
      drawing.append(mark, make("text", { x: node.x + 9, y: node.y + (node.below.length ? -5 : 4), class: node.arrived ? "tree-name" : "tree-name gone" }, label));
    };
    draw(root);
    return drawing;
  }

  crossingText(c) {
    const sent = c.sent === null ? "its sending is in no capture" : `sent after ${timeText(c.sent)}`;
    const came = c.received !== null ? `, arrived after ${timeText(c.received)}` : c.client ? "" : ", never arrived";
    return `${this.name(c.from)} to ${this.name(c.to)}: ${sent}${came}${c.wasted && !c.client ? ", for nothing" : ""}`;
  }

  receivers(message) {
    const rows = message.receivers.map((r) => [
      this.name(r.client), r.verdict || "reported only", r.owed ? "owed" : r.reason ? `not owed: ${this.reasons[r.reason] ?? r.reason}` : "not owed",
      timeText(r.latency), this.why(r)]);
    return this.table("Receivers", ["Client", "Verdict", "Owed", "Latency", "Why"], rows, "No client wanted it or got it.");
  }

  why(r) {
    const matched = r.filters.flatMap((at, n) => [n ? " and to " : "subscribed to ", make("code", {}, this.filters[at])]);
    const found = make("span", {}, ...(matched.length ? matched : ["no subscription of it matches"]));
    const more = this.fate(r);
    if (more) found.append("; ", more);
    return found;
  }

  fate(r) {
    if (r.copies) return r.copies > 1 ? `${r.copies} copies left its router` : "";
    if (!["missing", "lost", "unknown"].includes(r.verdict)) return "";
    if (r.seen === null) return "no capture shows the message at a router";
    const onward = r.onTo === null ? "which did not send it on towards the client"
      : this.nodes[r.onTo]?.[1] ? `which sent it to ${this.name(r.onTo)}, where it did not arrive` : "which sent it to the client";
    return `last seen at ${this.name(r.seen)}, ${onward}`;
  }

  hops(message) {
    const arrived = new Map([[`${message.router} 0`, 0]]);
    for (const c of message.crossings) {
      const key = `${c.to} ${c.hop}`;
      if (c.received !== null && !arrived.has(key)) arrived.set(key, c.received);
    }
    const rows = message.crossings.map((c) => {
      const before = arrived.get(`${c.from} ${c.hop - 1}`);
      const within = c.sent !== null && before !== undefined ? c.sent - before : null;
      return [this.name(c.from), this.name(c.to), String(c.hop), timeText(within), timeText(c.sent),
        c.received !== null ? timeText(c.received) : c.client ? "\u2013" : "never",
        c.sent !== null && c.received !== null ? timeText(c.received - c.sent) : "\u2013",
        [c.copies > 1 ? `${c.copies} copies` : "", c.wasted && !c.client ? "for nothing" : ""].filter(Boolean).join(", ")];
    });
    return this.table("Hops", ["From", "To", "Hop", "In the router", "Sent after", "Arrived after", "On the link", ""], rows, "It crossed no link.");
  }

  table(title, heads, rows, none) {
    if (!rows.length) return make("p", { class: "note" }, none);
    const body = make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((value, at) =>
      (at ? make("td", (value.textContent ?? value).length > 40 ? { class: "long" } : {}, value) : make("th", { scope: "row" }, value))))));
    const head = make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text))));
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, make("table", {}, make("caption", {}, title), head, body));
  }

  // In the drawing of the network: where the message went.
  light(message) {
    const drawing = document.querySelector("svg.topology");
    if (!drawing) return;
    for (const lit of drawing.querySelectorAll(".lit")) lit.classList.remove("lit");
    const nodes = new Set([message.source, message.router]);
    const links = new Set([`${message.source} ${message.router}`]);
    for (const c of message.crossings) {
      nodes.add(c.from).add(c.to);
      links.add(`${c.from} ${c.to}`);
    }
    for (const node of drawing.querySelectorAll("[data-node]")) if (nodes.has(Number(node.dataset.node))) node.classList.add("lit");
    for (const link of drawing.querySelectorAll("[data-link]")) {
      const [a, b] = link.dataset.link.split(" ");
      if (links.has(`${a} ${b}`) || links.has(`${b} ${a}`)) link.classList.add("lit");
    }
  }
}

const messageData = document.getElementById("message-data");
if (messageData) new Explorer(JSON.parse(messageData.textContent)).start();
