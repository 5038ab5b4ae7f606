/** The page: its controls, put to use on a client, a conversation and a log of events. */
import { AgUiClient } from "./agui-client.js";
import { catchUp } from "./catch-up.js";
import { Conversation } from "./conversation.js";
import { copyText } from "./copy-text.js";
import { element } from "./element.js";
import { EventLog } from "./event-log.js";
import { ABOUT, STATE_TEXTS, endOf } from "./texts.js";

const part = (id) => document.getElementById(id);
const client = new AgUiClient();
const conversation = new Conversation(part("items"), (text) => ask(text));
const log = new EventLog(
  {
    log: part("log"),
    scroll: part("log-scroll"),
    filters: part("filters"),
    count: part("events-count"),
    empty: part("log-empty"),
    copyAll: part("copy-all"),
    clear: part("clear"),
  },
  copy,
);
/** Endpoints as `endpoints.json` lists them, and one for whatever address people have. */
let endpoints = [];
let chosen;
/** How many requests are not answered yet. */
let unanswered = 0;

/** Events that a request ends with. */
const ENDS = ["agent-response-complete", "agent-error", "session-error"];

async function load() {
  const answer = await fetch("endpoints.json");
  if (!answer.ok) throw new Error(`The list of agents could not be loaded (${answer.status}).`);
  endpoints = [...(await answer.json()), { name: "other", path: "", agentType: "Other" }];
  part("agents").append(...endpoints.map(choiceOf));
  part("agents").disabled = false;
  part("skeleton").hidden = true;
  choose(endpoints[0]);
  showState({ state: "idle" });
}

function choiceOf(endpoint, index) {
  const { name, agentType } = endpoint;
  const input = element("input", { type: "radio", name: "agent", value: name });
  input.checked = index === 0;
  input.addEventListener("change", () => choose(endpoint));
  return element("label", {}, input, element("span", {}, ABOUT[agentType]?.name ?? name));
}

function choose(endpoint) {
  chosen = endpoint;
  if (client.state !== "idle" && client.state !== "ended") client.disconnect();
  part("elsewhere").hidden = endpoint.agentType !== "Other";
  if (endpoint.agentType === "Other") part("address").focus();
  const { title, text, suggestions } = ABOUT[endpoint.agentType] ?? ABOUT.Other;
  part("empty-title").textContent = title;
  part("empty-text").textContent = text;
  part("suggestions").replaceChildren(...suggestions.map(suggestionOf));
  refresh();
}

function suggestionOf(text) {
  const button = element("button", { type: "button" }, text);
  button.addEventListener("click", () => ask(text));
  return element("li", {}, button);
}

const addressOf = ({ path }) => (path === "" ? part("address").value.trim() : path);

function connect() {
  const address = addressOf(chosen);
  if (address === "") return part("address").focus();
  unanswered = 0;
  client.connect(address);
}

/** Sends a message; connects first where that is needed. */
function ask(text) {
  const content = text.trim();
  if (content === "" || chosen === undefined) return;
  if (client.state === "idle" || client.state === "ended") connect();
  if (client.state === "idle") return;
  const id = client.send(content);
  unanswered += 1;
  conversation.ask(content, id);
  part("message").value = "";
  grow();
  refresh();
  toEnd(true);
}

client.addEventListener("received", ({ detail: event }) => {
  const isAtEnd = isScrolledToEnd();
  log.add(event);
  conversation.show(event);
  if (ENDS.includes(event.type)) unanswered = Math.max(0, unanswered - 1);
  // An answer that was cut is told again.
  else if (!event.type.startsWith("session")) unanswered = Math.max(1, unanswered);
  refresh();
  toEnd(isAtEnd);
});
client.addEventListener("sent", ({ detail }) => log.add(detail));
client.addEventListener("state", ({ detail }) => showState(detail));

function showState(detail) {
  const { state } = detail;
  part("state").dataset.state = state;
  part("state-text").textContent = STATE_TEXTS[state];
  if (state === "live") conversation.noteConnected(liveText(detail));
  if (state === "live" && detail.isResumed) void recover(conversation.cutId);
  if (state === "reconnecting" || state === "ended") {
    conversation.cut();
    unanswered = 0;
  }
  if (state === "ended") conversation.note(endOf(detail));
  const isAway = state === "reconnecting" || (state === "ended" && detail.reason !== "closed");
  part("banner").hidden = !isAway;
  part("banner").dataset.state = state;
  part("banner-text").textContent = isAway ? awayText(detail) : "";
  part("banner-action").textContent = state === "ended" ? "Connect again" : "Try now";
  refresh();
  toEnd(true);
}

/** Tells an answer that ended while the connection was away. */
async function recover(messageId) {
  if (messageId === undefined) return;
  const events = await catchUp(client.sessionId, messageId).catch(() => []);
  if (conversation.cutId !== messageId) return;
  for (const event of events) conversation.show(event);
  refresh();
  toEnd(true);
}

function liveText({ isResumed, isLost }) {
  if (isResumed) return "Back again, in the same session";
  if (isLost) return "Connected to a new session: the server does not know the earlier one any more";
  return `Connected to ${chosen.path === "" ? addressOf(chosen) : ABOUT[chosen.agentType]?.name}`;
}

function awayText(detail) {
  if (detail.state === "ended") return endOf(detail);
  return "The connection dropped. Trying again, with the same session.";
}

function refresh() {
  const { state } = client;
  const isOn = state === "connecting" || state === "live" || state === "reconnecting";
  const isReady = chosen !== undefined;
  part("connect").disabled = !isReady;
  part("connect").textContent = isOn ? "Disconnect" : "Connect";
  part("message").disabled = !isReady;
  part("send").disabled = !isReady || part("message").value.trim() === "";
  part("empty").hidden = !isReady || !conversation.isEmpty;
  part("busy").hidden = unanswered === 0;
  part("busy-text").textContent = state === "live" ? "Answering" : "Connecting";
}

const isScrolledToEnd = () => {
  const { scrollHeight, scrollTop, clientHeight } = part("scroll");
  return scrollHeight - scrollTop - clientHeight < 60;
};

function toEnd(really) {
  if (really) part("scroll").scrollTop = part("scroll").scrollHeight;
}

/** The field is as high as what is in it, up to a limit. */
function grow() {
  const field = part("message");
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

let toastTimer = 0;
async function copy(text, done) {
  const isDone = await copyText(text);
  part("toast").textContent = isDone ? done : "This browser does not let pages copy.";
  part("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (part("toast").hidden = true), 2500);
}

function show(view) {
  document.body.dataset.view = view;
  part("show-conversation").setAttribute("aria-pressed", String(view === "conversation"));
  part("show-events").setAttribute("aria-pressed", String(view === "events"));
}

part("connect").addEventListener("click", () => {
  if (client.state === "idle" || client.state === "ended") connect();
  else client.disconnect();
});
part("banner-action").addEventListener("click", () => (client.state === "ended" ? connect() : client.retryNow()));
part("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  ask(part("message").value);
});
part("message").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  ask(part("message").value);
});
part("message").addEventListener("input", () => {
  grow();
  refresh();
});
part("address").addEventListener("keydown", (event) => {
  if (event.key === "Enter") connect();
});
part("clear").addEventListener("click", () => {
  conversation.clear();
  refresh();
});
part("show-conversation").addEventListener("click", () => show("conversation"));
part("show-events").addEventListener("click", () => show("events"));

try {
  await load();
} catch (error) {
  part("skeleton").hidden = true;
  part("banner").hidden = false;
  part("banner").dataset.state = "ended";
  part("banner-text").textContent = error instanceof Error ? error.message : String(error);
  part("banner-action").textContent = "Load again";
  part("banner-action").addEventListener("click", () => location.reload(), { once: true });
  part("state").dataset.state = "ended";
  part("state-text").textContent = "Not loaded";
}
