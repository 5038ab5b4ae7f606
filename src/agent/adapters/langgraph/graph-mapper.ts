/**
 * The stream of a graph as events, whatever modes it was asked for.
 *
 * Messages come from `messages`, or whole from `updates` and `values`; nodes are steps, from `tasks` where there are any,
 * else from `updates`; the state, without its messages, is told as changes of what is known; questions are gathered for
 * the outcome. What a node writes for itself passes as CUSTOM. Checkpoints and debugging are not for viewers.
 */
import type { Event, Interrupt } from "../../../protocol/index.ts";
import { diff } from "../../../stream/index.ts";
import { isRecord } from "../provider/fields.ts";
import { warnOnce } from "../provider/warnings.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { interruptOf } from "./interrupt-of.ts";
import { ISSUER } from "./issuer.ts";
import { MessageMapper } from "./message-mapper.ts";
import type { GraphChunk } from "./read-chunk.ts";
import { listOf, piecesOf, readMessage } from "./read-message.ts";
import type { LangChainMessage } from "./read-message.ts";

/** What is known before the stream begins. */
export interface GraphMapperOptions {
  /** The key of the state that holds the messages. */
  readonly messagesKey: string;
  /** Ids of messages that are not news. */
  readonly knownMessageIds: Iterable<string>;
  /** The state that viewers hold; undefined where that is not known. */
  readonly state: unknown;
  /** Told what is left out. */
  readonly onWarning: OnWarning;
}

const INTERRUPT = "__interrupt__";
const METADATA = "__metadata__";

/** Turns the chunks of one stream into events. */
export class GraphMapper {
  readonly #messagesKey: string;
  readonly #warn: OnWarning;
  readonly #messages: MessageMapper;
  readonly #interrupts = new Map<string, Interrupt>();
  readonly #steps = new Map<string, string>();
  #state: unknown;
  #hasMessages = false;
  #hasTasks = false;
  #hasValues = false;

  constructor({ messagesKey, knownMessageIds, state, onWarning }: GraphMapperOptions) {
    this.#messagesKey = messagesKey;
    this.#state = state;
    this.#warn = warnOnce(onWarning);
    this.#messages = new MessageMapper(knownMessageIds, this.#warn);
  }

  /** Questions that the graph asks. */
  get interrupts(): readonly Interrupt[] {
    return [...this.#interrupts.values()];
  }

  /** The events of one chunk. */
  push(chunk: GraphChunk): readonly Event[] {
    const { mode, payload } = chunk;
    switch (mode) {
      case "messages":
        return this.#message(chunk);
      case "updates":
        return isRecord(payload) ? this.#update(chunk.namespace, payload) : [];
      case "values":
        return chunk.namespace.length === 0 && isRecord(payload) ? this.#values(payload) : [];
      case "custom":
        return [{ type: "CUSTOM", name: `${ISSUER}.custom`, value: jsonOf(payload) }];
      case "tools":
        return isRecord(payload) ? this.#tool(payload) : [];
      case "tasks":
        return isRecord(payload) ? this.#task(chunk.namespace, payload) : [];
      default:
        this.#warn(`Left out what the graph streams as ${JSON.stringify(mode)}: it is not for viewers.`);
        return [];
    }
  }

  /** What closes whatever is open. */
  end(): readonly Event[] {
    const steps = [...this.#steps.values()].toReversed();
    this.#steps.clear();
    return [...this.#messages.close(), ...steps.map((stepName): Event => ({ type: "STEP_FINISHED", stepName }))];
  }

  #message({ namespace, payload }: GraphChunk): readonly Event[] {
    const [value, about] = listOf(payload);
    const message = readMessage(value);
    if (message === undefined) {
      this.#warn("Left out something in the stream of messages that is no message.");
      return [];
    }
    this.#hasMessages = true;
    const metadata = isRecord(about) ? about : {};
    const scope = metadata["langgraph_checkpoint_ns"];
    return this.#messages.take(message, typeof scope === "string" ? scope : namespace.join("|"), metadata);
  }

  #update(namespace: readonly string[], update: Readonly<Record<string, unknown>>): readonly Event[] {
    this.#hasMessages = true;
    return Object.entries(update).flatMap(([node, written]) => {
      if (node === METADATA) return [];
      if (node === INTERRUPT) return this.#ask(written);
      const scope = [...namespace, `${node}:`].join("|");
      const step = this.#hasTasks ? [] : this.#wholeStep([...namespace, node]);
      const said = [written]
        .flat()
        .flatMap((each) => (isRecord(each) ? this.#written(each[this.#messagesKey], scope) : []));
      return [...step.slice(0, 1), ...this.#messages.close(scope), ...said, ...step.slice(1)];
    });
  }

  /** Messages that a node put into the state; those that were streamed are known by their ids. */
  #written(messages: unknown, scope: string): readonly Event[] {
    return [messages]
      .flat()
      .map(readMessage)
      .flatMap((message) => (message?.id === undefined ? [] : this.#messages.take(whole(message), scope)));
  }

  #values(values: Readonly<Record<string, unknown>>): readonly Event[] {
    const { [INTERRUPT]: asked, [this.#messagesKey]: messages, ...rest } = values;
    const events = [...this.#ask(asked)];
    const isFirst = !this.#hasValues;
    if (Object.keys(values).some((key) => key !== INTERRUPT)) {
      this.#hasValues = true;
      events.push(...this.#changeState(jsonOf(rest)));
    }
    // What is there before any node has worked is not news.
    if (isFirst && !this.#hasMessages) this.#messages.know(idsOf(messages));
    else events.push(...this.#written(messages, VALUES));
    return events;
  }

  #changeState(state: unknown): readonly Event[] {
    const before = this.#state;
    this.#state = state;
    if (before === undefined) return [{ type: "STATE_SNAPSHOT", snapshot: state }];
    const delta = diff(before, state);
    return delta.length === 0 ? [] : [{ type: "STATE_DELTA", delta }];
  }

  #ask(asked: unknown): readonly Event[] {
    for (const each of listOf(asked)) {
      const interrupt = interruptOf(each, `interrupt-${this.#interrupts.size + 1}`);
      this.#interrupts.set(interrupt.id, interrupt);
    }
    return [];
  }

  #tool(event: Readonly<Record<string, unknown>>): readonly Event[] {
    const { event: kind, toolCallId: id, name, input, data, output, error } = event;
    const toolCallId = typeof id === "string" ? id : undefined;
    if (kind === "on_tool_event") {
      return [{ type: "CUSTOM", name: `${ISSUER}.tool-event`, value: jsonOf({ toolCallId, name, data }) }];
    }
    if (toolCallId === undefined) {
      this.#warn(`Left out a call of ${String(name)}: it has no id.`);
      return [];
    }
    if (kind === "on_tool_start") return this.#messages.startCall(toolCallId, String(name), input);
    // Where messages come as well, the answer comes with them, under the id by which the graph knows it.
    if (this.#hasMessages) return [];
    if (kind === "on_tool_error") return this.#messages.answer(toolCallId, undefined, messageOf(error), true);
    const message = readMessage(output);
    const text = message === undefined ? textOf(output) : piecesText(message);
    return this.#messages.answer(toolCallId, message?.id, text, message?.fields["status"] === "error");
  }

  #task(namespace: readonly string[], task: Readonly<Record<string, unknown>>): readonly Event[] {
    this.#hasTasks = true;
    const place = [...namespace, `${String(task["name"])}:${String(task["id"])}`];
    const key = place.join("|");
    if ("input" in task) return [...this.#endStep(key), this.#startStep(key, stepName(place))];
    this.#ask(task["interrupts"]);
    return [...this.#messages.close(key), ...this.#endStep(key)];
  }

  #wholeStep(place: readonly string[]): readonly Event[] {
    const key = place.join("|");
    return [this.#startStep(key, stepName(place)), ...this.#endStep(key)];
  }

  /** The same node may be at work several times at once; open steps have names of their own. */
  #startStep(key: string, name: string): Event {
    const taken = new Set(this.#steps.values());
    let stepName = name;
    for (let count = 2; taken.has(stepName); count++) stepName = `${name} (${count})`;
    this.#steps.set(key, stepName);
    return { type: "STEP_STARTED", stepName };
  }

  #endStep(key: string): readonly Event[] {
    const stepName = this.#steps.get(key);
    this.#steps.delete(key);
    return stepName === undefined ? [] : [{ type: "STEP_FINISHED", stepName }];
  }
}

/** The scope of messages that are only known from the state. */
const VALUES = "values";

const stepName = (place: readonly string[]): string => place.map((level) => level.split(":")[0]).join("/");

const idsOf = (messages: unknown): readonly string[] =>
  listOf(messages).flatMap((message) => readMessage(message)?.id ?? []);

/** A message in the state is whole, also where it was put together from chunks and still looks like one. */
const whole = (message: LangChainMessage): LangChainMessage => ({ ...message, isChunk: false });

const piecesText = (message: LangChainMessage): string =>
  piecesOf(message)
    .map((piece) => (piece.kind === "text" ? piece.text : ""))
    .join("");

const textOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : textOf(error));

/** A value as JSON carries it; what JSON cannot say is null. */
function jsonOf(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? null : JSON.parse(text);
}
