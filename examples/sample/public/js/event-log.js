/** The log of everything that is sent and received: one row for each event, with its JSON, a filter and copies. */
import { KINDS, kindOf, summaryOf } from "./event-kinds.js";
import { element } from "./element.js";

/** Older rows go first. */
const MOST_ROWS = 2000;

export class EventLog {
  #rows = [];
  #counts = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, 0]));
  #shown = new Set(Object.keys(KINDS));
  #parts;
  #copy;

  /** Parts of the page by name, and what copies a text. */
  constructor(parts, copy) {
    this.#parts = parts;
    this.#copy = copy;
    parts.filters.replaceChildren(...this.#chips());
    this.#refresh();
    parts.copyAll.addEventListener("click", () => copy(this.toText(), "The log is copied."));
    parts.clear.addEventListener("click", () => this.clear());
  }

  /** Adds an event. */
  add(event) {
    const kind = kindOf(event);
    const time = event.timestamp === undefined ? new Date() : new Date(event.timestamp);
    const row = this.#row(event, kind, time);
    this.#rows.push({ event, kind, row });
    this.#counts[kind] += 1;
    row.hidden = !this.#shown.has(kind);
    const { log, scroll } = this.#parts;
    const isAtEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40;
    log.append(row);
    if (this.#rows.length > MOST_ROWS) this.#rows.shift().row.remove();
    if (isAtEnd) scroll.scrollTop = scroll.scrollHeight;
    this.#refresh();
  }

  /** Forgets everything. */
  clear() {
    this.#rows = [];
    for (const kind of Object.keys(this.#counts)) this.#counts[kind] = 0;
    this.#parts.log.replaceChildren();
    this.#refresh();
  }

  /** What is shown, one event a line. */
  toText() {
    const shown = this.#rows.filter(({ kind }) => this.#shown.has(kind));
    return shown.map(({ event }) => JSON.stringify(event)).join("\n");
  }

  #row(event, kind, time) {
    const copy = element("button", { class: "button quiet copy", type: "button" }, "Copy");
    copy.setAttribute("aria-label", `Copy ${event.type}`);
    copy.addEventListener("click", () => this.#copy(JSON.stringify(event, null, 2), "The event is copied."));
    const head = element(
      "summary",
      {},
      element("time", { datetime: time.toISOString() }, clock(time)),
      element("span", { class: "type" }, event.type),
      element("span", { class: "about" }, summaryOf(event)),
    );
    const body = element(
      "div",
      { class: "raw" },
      copy,
      element("pre", { tabindex: "0" }, JSON.stringify(event, null, 2)),
    );
    return element("li", { "data-kind": kind, "data-type": event.type }, element("details", {}, head, body));
  }

  #chips() {
    const all = element("button", { class: "chip", type: "button", "data-kind": "all" }, "All");
    all.addEventListener("click", () => this.#show(Object.keys(KINDS)));
    const chips = Object.entries(KINDS).map(([kind, name]) => {
      const chip = element("button", { class: "chip", type: "button", "data-kind": kind }, name, element("b", {}, "0"));
      chip.addEventListener("click", () => this.#toggle(kind));
      return chip;
    });
    return [all, ...chips];
  }

  /** From all to this one alone; then others are added and taken away. */
  #toggle(kind) {
    const isAll = this.#shown.size === Object.keys(KINDS).length;
    const next = new Set(isAll ? [] : this.#shown);
    if (next.has(kind)) next.delete(kind);
    else next.add(kind);
    this.#show(next.size === 0 ? Object.keys(KINDS) : next);
  }

  #show(kinds) {
    this.#shown = new Set(kinds);
    for (const { kind, row } of this.#rows) row.hidden = !this.#shown.has(kind);
    this.#refresh();
  }

  #refresh() {
    const { filters, count, empty, copyAll, clear } = this.#parts;
    const isAll = this.#shown.size === Object.keys(KINDS).length;
    for (const chip of filters.children) {
      const { kind } = chip.dataset;
      chip.setAttribute("aria-pressed", String(kind === "all" ? isAll : !isAll && this.#shown.has(kind)));
      if (kind !== "all") chip.querySelector("b").textContent = String(this.#counts[kind]);
      if (kind !== "all") chip.hidden = this.#counts[kind] === 0 && !(!isAll && this.#shown.has(kind));
    }
    const isEmpty = this.#rows.length === 0;
    filters.hidden = isEmpty;
    empty.hidden = !isEmpty;
    copyAll.disabled = clear.disabled = isEmpty;
    count.textContent = String(this.#rows.length);
  }
}

const clock = (time) => `${time.toLocaleTimeString("en-GB")}.${String(time.getMilliseconds()).padStart(3, "0")}`;
