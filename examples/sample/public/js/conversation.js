/**
 * The conversation as people read it: events become bubbles, cards and lines.
 *
 * Pieces of one message are joined by its id, a call and its result by the call's id. What arrives in between stands where
 * it first appeared.
 */
import { element } from "./element.js";
import { factsOf, prettyName, seconds } from "./wording.js";

export class Conversation {
  #items;
  #onRetry;
  /** What is under way, by id: messages, thoughts, calls, steps, progress. */
  #open = new Map();
  /** What is known about the answer under way. */
  #figures = {};
  #lastAsked = "";
  #lastId;
  #isAnswering = false;
  /** What an answer that was cut had come to: told again, it is replaced. Undefined where none was cut. */
  #cut;

  /** The list to write into, and what asks again. */
  constructor(items, onRetry) {
    this.#items = items;
    this.#onRetry = onRetry;
  }

  /** Whether nothing has been said. */
  get isEmpty() {
    return this.#items.childElementCount === 0;
  }

  /** The question whose answer was cut, and has not been told again. */
  get cutId() {
    return this.#cut === undefined ? undefined : this.#lastId;
  }

  /** What the user said. */
  ask(text, id) {
    this.#lastAsked = text;
    this.#lastId = id;
    this.#cut = undefined;
    this.#isAnswering = true;
    this.#add("user", { "data-message": id }, element("p", { class: "bubble" }, text));
  }

  /** A line about the connection. */
  note(text) {
    this.#add("note", {}, text);
  }

  /** A line about a connection that was made: before what was said while it was being made. */
  noteConnected(text) {
    const note = this.#add("note", {}, text);
    while (note.previousElementSibling?.matches(".user")) note.previousElementSibling.before(note);
  }

  /** Forgets everything. */
  clear() {
    this.#items.replaceChildren();
    this.#open.clear();
    this.#cut = undefined;
  }

  /** What was under way will not come to an end here. */
  cut() {
    if (!this.#isAnswering) return;
    for (const { item, end } of this.#open.values()) {
      item.classList.add("cut");
      end?.("cut");
    }
    this.#open.clear();
    this.#figures = {};
    const items = [...this.#items.children];
    const asked = items.findLastIndex((item) => item.matches(".user"));
    this.#cut = items.slice(asked + 1).filter((item) => !item.matches(".note"));
  }

  /** Shows an event of the server. */
  show(event) {
    const handler = HANDLERS[event.type];
    if (handler === undefined) return;
    for (const item of this.#cut ?? []) item.remove();
    this.#cut = undefined;
    if (!event.type.startsWith("session")) this.#isAnswering = true;
    handler.call(this, event.data ?? {}, event);
  }

  #add(kind, attributes, ...contents) {
    const item = element("li", { class: `item ${kind}`, ...attributes }, ...contents);
    this.#items.append(item);
    return item;
  }

  /** What is under way under this id, begun where it is not there yet. */
  #under(id, begin) {
    if (!this.#open.has(id)) this.#open.set(id, begin());
    return this.#open.get(id);
  }

  #close(id, how, timestamp) {
    this.#open.get(id)?.end?.(how, timestamp);
    this.#open.delete(id);
  }

  text({ text, role }, { messageId }) {
    const { body } = this.#under(`text ${messageId}`, () => {
      const body = element("p", { class: "bubble", "aria-busy": "true" });
      const item = this.#add(role === "user" ? "user" : "agent", { "data-message": messageId }, body);
      return { item, body, end: () => body.removeAttribute("aria-busy") };
    });
    body.append(text);
  }

  textEnd(_, { messageId }) {
    this.#close(`text ${messageId}`);
  }

  thought({ thought }, { messageId, timestamp }) {
    const { body } = this.#under(`thought ${messageId}`, () => {
      const title = element("summary", {}, "Thinking");
      const body = element("p", { "aria-busy": "true" });
      const item = this.#add("thought", {}, element("details", { open: "" }, title, body));
      const end = (how, ended) => {
        body.removeAttribute("aria-busy");
        title.textContent = ended === undefined ? "Thought" : `Thought for ${span(timestamp, ended)}`;
      };
      return { item, body, end };
    });
    body.append(thought);
  }

  thoughtEnd(_, { messageId, timestamp }) {
    this.#close(`thought ${messageId}`, "done", timestamp);
  }

  call({ toolCallId, toolName, arguments: args, argumentsText }, { timestamp }) {
    this.#under(`call ${toolCallId}`, () => {
      const status = element("span", { class: "badge" }, "Running");
      const result = element("div", { class: "result", hidden: "" });
      const item = this.#add(
        "tool",
        { "data-call": toolCallId, "data-status": "running" },
        element("div", { class: "card-head" }, element("h3", {}, prettyName(toolName)), status),
        factsOf(args ?? argumentsText),
        result,
      );
      const end = (how = "cut", ended) => {
        status.textContent = ENDS[how] ?? `Done in ${span(timestamp, ended)}`;
        item.dataset.status = how;
      };
      return { item, args, result, end };
    });
  }

  result({ toolCallId, result, isError, error }, { timestamp }) {
    const call = this.#open.get(`call ${toolCallId}`);
    if (call === undefined) return;
    call.result.hidden = false;
    const label = element("h4", {}, isError ? "What went wrong" : "Result");
    call.result.append(label, factsOf(isError ? (error ?? result) : result, call.args));
    this.#close(`call ${toolCallId}`, isError ? "failed" : "done", timestamp);
  }

  status({ subject, name, status, message }) {
    if (subject === "run") {
      if (status === "queued") this.note("Waiting for the answer before this one.");
      return;
    }
    const id = `status ${subject} ${name}`;
    if (status === "started") {
      this.#close(id);
      const mark = element("span", { class: "tick", "aria-hidden": "true" });
      const item = this.#add("step", { "data-status": "started" }, mark, `${prettyName(name ?? subject)}`);
      this.#open.set(id, { item, end: (how) => (item.dataset.status = how ?? "finished") });
      return;
    }
    this.#close(id, status);
    if (message !== undefined && status === "failed") this.note(message);
  }

  progress({ content, patch, activityType }, { messageId }) {
    const shown = this.#under(`progress ${messageId}`, () => {
      const label = element("span", {});
      const bar = element("progress", { "aria-label": "Progress" });
      const item = this.#add("progress", {}, label, bar);
      return { item, label, bar, values: {} };
    });
    Object.assign(shown.values, content);
    for (const { op, path, value } of patch ?? []) if (op !== "remove") shown.values[path.slice(1)] = value;
    const { title = prettyName(activityType), done, total } = shown.values;
    shown.label.textContent = total === undefined ? title : `${title}, ${done} of ${total}`;
    shown.bar.setAttribute("aria-label", title);
    if (total !== undefined) Object.assign(shown.bar, { max: total, value: done });
  }

  figures({ usage, model, custom }) {
    if (usage !== undefined) this.#figures.usage = usage;
    if (model !== undefined) this.#figures.model = model;
    if (custom?.name === "sample.timing") this.#figures.durationMs = custom.value?.durationMs;
  }

  done({ outcome }) {
    this.#endAll();
    const { usage, model, durationMs } = this.#figures;
    this.#figures = {};
    const parts = [
      outcome === "cancelled" ? "Stopped" : outcome === "interrupt" ? "Waits for an answer" : undefined,
      model,
      usage && `${usage.promptTokens ?? 0} tokens in, ${usage.completionTokens ?? 0} out`,
      durationMs !== undefined ? seconds(durationMs) : undefined,
    ].filter((part) => part !== undefined);
    this.#add("figures", {}, ...parts.map((part) => element("span", {}, part)));
  }

  failed({ error = {} }, { type }) {
    this.#endAll("failed");
    const title = type === "agent-error" ? "The agent could not answer" : "The server did not take this";
    const again = element("button", { class: "button small", type: "button" }, "Try again");
    const asked = this.#lastAsked;
    again.addEventListener("click", () => this.#onRetry(asked));
    this.#add(
      "failure",
      {},
      element("div", { class: "card-head" }, element("h3", {}, title), element("code", {}, error.code ?? "error")),
      element("p", {}, error.message ?? "No reason was given."),
      ...(asked === "" || error.isFatal ? [] : [again]),
    );
  }

  #endAll(how) {
    for (const { end } of this.#open.values()) end?.(how);
    this.#open.clear();
    this.#isAnswering = false;
  }
}

/** What a call came to that did not return. */
const ENDS = { failed: "Failed", cut: "No result" };

/** The time between two events. */
const span = (start, end) => seconds(Math.max(0, Date.parse(end) - Date.parse(start)));

const { text, textEnd, thought, thoughtEnd, call, result, status, progress, figures, done, failed } =
  Conversation.prototype;

const HANDLERS = {
  "text-chunk": text,
  "text-message-complete": textEnd,
  "thought-chunk": thought,
  "thought-complete": thoughtEnd,
  "tool-call-chunk": call,
  "tool-result-chunk": result,
  "status-update": status,
  "progress-update": progress,
  "metadata-update": figures,
  "agent-response-complete": done,
  "agent-error": failed,
  "session-error": failed,
};
