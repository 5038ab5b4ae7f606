/**
 * Messages of an agent library as AG-UI events.
 *
 * | message | AG-UI |
 * | --- | --- |
 * | text, text-update | TEXT_MESSAGE_START, CONTENT, END under the generation id |
 * | reasoning, reasoning-update | REASONING_MESSAGE_START, CONTENT, END; REASONING_ENCRYPTED_VALUE where encrypted |
 * | tools-call, tools-call-update | TOOL_CALL_START, ARGS, END for each call, carried by the generation's message |
 * | tools-call-result | TOOL_CALL_RESULT for each result |
 * | tools-call-aggregate | the calls, then the results |
 * | image | ACTIVITY_SNAPSHOT of type `image`: AG-UI's assistant messages hold text only |
 * | usage | nothing: it is kept for the `usage` of the run's last event |
 * | composite | what it contains, in order |
 *
 * Updates keep their message open until something else comes. A whole message that only repeats what updates have said,
 * and a call that is known and not answered yet, are not said again: pipelines pass updates on and then the whole.
 * Events are built before anything is taken note of: a message that is malformed leaves nothing half open.
 */
import {
  HeddleError,
  METADATA_KEY,
  activitySnapshot,
  reasoningEncryptedValue,
  reasoningMessageContent,
  reasoningMessageEnd,
  reasoningMessageStart,
  runError,
  textMessageContent,
  textMessageEnd,
  textMessageStart,
  toolCallArgs,
  toolCallEnd,
  toolCallResult,
  toolCallStart,
} from "../../../protocol/index.ts";
import type { Event, TokenUsage } from "../../../protocol/index.ts";
import { CallUpdates } from "./call-updates.ts";
import { KnownCalls } from "./known-calls.ts";
import { mintId } from "./mint-id.ts";
import { flatten, originOf } from "./stream-message.ts";
import type {
  FunctionCallResult,
  ImageMessage,
  MessageOrigin,
  ReasoningMessage,
  ReasoningUpdateMessage,
  StreamMessage,
  TextMessage,
  TextUpdateMessage,
  ToolsCallMessage,
  ToolsCallUpdateMessage,
} from "./stream-message.ts";
import { addUsage, toAgUiMetadata } from "./to-ag-ui.ts";

/** How messages are converted. */
export interface ConversionOptions {
  /** Whether reasoning is told. Default true. */
  readonly reasoning?: boolean;
  /** Names what the source gives no id. Default: random. */
  readonly mintId?: (prefix: "msg" | "call") => string;
}

/** Converts the messages of one stream, which share ids, calls and usage. */
export interface Conversion {
  /** The events for one message. */
  push(message: StreamMessage): readonly Event[];
  /** The events that close what updates left open. */
  end(): readonly Event[];
  /** What was spent, one entry per provider and model; for the run's last event. */
  readonly usage: readonly TokenUsage[];
  /** Calls that nobody has answered, in order. */
  readonly pendingToolCallIds: readonly string[];
}

/** Starts the conversion of one stream. */
export function createConversion(options: ConversionOptions = {}): Conversion {
  return new MessageConversion(options);
}

/** The events for one message by itself: an update is a short message. Usage has no event of its own. */
export function toAgUiEvents(message: StreamMessage, options?: ConversionOptions): readonly Event[] {
  const conversion = createConversion(options);
  return [...conversion.push(message), ...conversion.end()];
}

/** What is being said, and how it ends: one text, one thought, or the calls of one message. */
interface OpenItem {
  readonly key: string;
  readonly id: string;
  readonly closers: Map<string, Event>;
}

/** How one piece of text or reasoning is said. */
interface Speech {
  readonly key: string;
  readonly id: string;
  readonly text: string;
  readonly isWhole: boolean;
  readonly start: () => Event;
  readonly content: (delta: string) => Event;
  readonly end: () => Event;
}

class MessageConversion implements Conversion {
  readonly #showsReasoning: boolean;
  readonly #mintId: (prefix: "msg" | "call") => string;
  readonly #updates: CallUpdates;
  readonly #calls = new KnownCalls();
  /** Ids in use, by what they are for. */
  readonly #ids = new Map<string, string>();
  readonly #taken = new Set<string>();
  /** What updates have said of an item, until a whole message repeats it. */
  readonly #said = new Map<string, string>();
  /** Names of speakers, by message. */
  readonly #names = new Map<string, string>();
  /** Texts and thoughts that have begun. */
  readonly #told = new Set<string>();
  #open: OpenItem | undefined;
  #usage: readonly TokenUsage[] = [];

  constructor({ reasoning = true, mintId: mint = mintId }: ConversionOptions) {
    this.#showsReasoning = reasoning;
    this.#mintId = mint;
    this.#updates = new CallUpdates(() => mint("call"));
  }

  get usage(): readonly TokenUsage[] {
    return this.#usage;
  }

  get pendingToolCallIds(): readonly string[] {
    return this.#calls.pending();
  }

  push(message: StreamMessage): readonly Event[] {
    const updates = this.#updates.resolve(message);
    switch (message.type) {
      case "text":
      case "text-update":
        return this.#speak(this.#asText(message));
      case "reasoning":
      case "reasoning-update":
        if (!this.#showsReasoning) return [];
        return isEncrypted(message) ? this.#encrypted(message) : this.#speak(this.#asThought(message));
      case "tools-call":
        return this.#callAll(message);
      case "tools-call-update":
        return this.#callOn(message, updates);
      case "tools-call-result": {
        const answers = message.toolCallResults.flatMap((result) => this.#answer(result));
        return [...this.end(), ...answers];
      }
      case "tools-call-aggregate": {
        const { toolsCall, toolsCallResult } = message;
        return [...this.push({ ...originOf(message), ...toolsCall }), ...this.push(toolsCallResult)];
      }
      case "image": {
        const shown = this.#show(message);
        return [...this.end(), shown];
      }
      case "usage": {
        // Judged now, by the event that is going to carry it: later there is no other way to end the run.
        const { usage = [] } = runError({ message: "", usage: [toAgUiMetadata(message)] });
        this.#usage = usage.reduce(addUsage, this.#usage);
        return [];
      }
      case "composite":
        return flatten(message).flatMap((each) => this.push(each));
      default:
        throw unknownMessage(message);
    }
  }

  end(): readonly Event[] {
    const closers = [...(this.#open?.closers.values() ?? [])];
    this.#open = undefined;
    return closers;
  }

  /** The id of an item: the one that it has, else the one that is wanted, unless something else goes by it. */
  #idFor(key: string, wanted: string): string {
    const id = this.#ids.get(key) ?? this.#newId(wanted);
    this.#ids.set(key, id);
    return id;
  }

  #newId(wanted: string): string {
    let id = wanted;
    for (let count = 2; this.#taken.has(id); count++) id = `${wanted}-${count}`;
    this.#taken.add(id);
    return id;
  }

  /** The id of a text or thought. Without a generation, it goes on as long as nothing else comes. */
  #idOf(key: string, generationId: string | undefined, wanted: (generationId: string) => string): string {
    if (generationId !== undefined) return this.#idFor(key, wanted(generationId));
    return this.#open?.key === key ? this.#open.id : this.#newId(this.#mintId("msg"));
  }

  #asText(message: TextMessage | TextUpdateMessage): Speech {
    const { type, text, role = "assistant", generationId, fromAgent } = message;
    const key = textKey(message, role);
    const id = this.#idOf(key, generationId, (wanted) => wanted);
    // A message that is opened again has the name that it had (R-TEXT-03).
    const speaker = this.#told.has(id) ? this.#names.get(id) : fromAgent;
    if (speaker !== undefined) this.#names.set(id, speaker);
    const name = speaker === undefined ? {} : { name: speaker };
    return {
      key,
      id,
      text,
      isWhole: type === "text",
      start: () => textMessageStart({ messageId: id, role, ...name }),
      content: (delta) => textMessageContent({ messageId: id, delta }),
      end: () => textMessageEnd({ messageId: id }),
    };
  }

  #asThought(message: ReasoningMessage | ReasoningUpdateMessage): Speech {
    const { type, reasoning } = message;
    const { key, id } = this.#thought(message);
    return {
      key,
      id,
      text: reasoning,
      isWhole: type === "reasoning",
      start: () => reasoningMessageStart({ messageId: id, role: "reasoning" }),
      content: (delta) => reasoningMessageContent({ messageId: id, delta }),
      end: () => reasoningMessageEnd({ messageId: id }),
    };
  }

  /** Text and reasoning of one generation are two messages, and AG-UI's ids are for one message each. */
  #thought({ generationId }: MessageOrigin): { readonly key: string; readonly id: string } {
    const key = JSON.stringify(["reasoning", generationId]);
    return { key, id: this.#idOf(key, generationId, (wanted) => `reasoning-${wanted}`) };
  }

  /** Says a piece of a message, or all of it. What updates have said of a whole message is not said again. */
  #speak({ key, id, text, isWhole, start, content, end }: Speech): readonly Event[] {
    const isOpen = this.#open?.key === key;
    const said = this.#said.get(id);
    const isKnown = isWhole && said !== undefined && text.startsWith(said);
    const rest = isKnown ? text.slice(said.length) : text;
    const pieces = rest === "" ? [] : [content(rest)];
    if (isWhole) this.#said.delete(id);
    else this.#said.set(id, (said ?? "") + text);
    if (isOpen && (isKnown || !isWhole)) return isWhole ? [...pieces, ...this.end()] : pieces;
    if (isKnown && rest === "") return [];
    const opening = [start(), ...pieces];
    const ended = this.end();
    this.#told.add(id);
    if (isWhole) return [...ended, ...opening, end()];
    this.#open = { key, id, closers: new Map([[id, end()]]) };
    return [...ended, ...opening];
  }

  /** An encrypted thought belongs to the generation's reasoning message, which is there even where it says nothing. */
  #encrypted(message: ReasoningMessage): readonly Event[] {
    const { id: messageId } = this.#thought(message);
    const closed = this.end();
    const empty = this.#told.has(messageId)
      ? []
      : [reasoningMessageStart({ messageId, role: "reasoning" }), reasoningMessageEnd({ messageId })];
    this.#told.add(messageId);
    const encryptedValue = message.reasoning;
    return [...closed, ...empty, reasoningEncryptedValue({ subtype: "message", entityId: messageId, encryptedValue })];
  }

  #callAll(message: ToolsCallMessage): readonly Event[] {
    const events = message.toolCalls.flatMap(({ callId, functionName, functionArgs }) => {
      const identity = { functionName, generationId: message.generationId };
      const unsaid = this.#calls.unsaid(callId, identity, functionArgs);
      if (unsaid === "") return [];
      const toolCallId = unsaid === undefined ? this.#calls.begin(callId, identity) : this.#calls.idOf(callId);
      const delta = unsaid ?? functionArgs;
      this.#calls.add(callId, delta);
      return [
        this.#callStart(toolCallId, functionName, message),
        ...(delta === "" ? [] : [toolCallArgs({ toolCallId, delta })]),
        toolCallEnd({ toolCallId }),
      ];
    });
    return [...this.end(), ...events];
  }

  #callOn(message: ToolsCallUpdateMessage, updates: ReturnType<CallUpdates["resolve"]>): readonly Event[] {
    const key = JSON.stringify(["calls", message.generationId]);
    const isSame = this.#open?.key === key;
    const closers = new Map(isSame ? this.#open?.closers : []);
    const events = updates.flatMap(({ callId, functionName, functionArgs }) => {
      const identity = { functionName, generationId: message.generationId };
      const isOpen = closers.has(callId);
      const toolCallId = isOpen ? this.#calls.idOf(callId) : this.#calls.goOn(callId, identity);
      this.#calls.add(callId, functionArgs);
      closers.set(callId, toolCallEnd({ toolCallId }));
      return [
        ...(isOpen ? [] : [this.#callStart(toolCallId, functionName, message)]),
        ...(functionArgs === "" ? [] : [toolCallArgs({ toolCallId, delta: functionArgs })]),
      ];
    });
    const ended = isSame ? [] : this.end();
    this.#open = { key, id: "", closers };
    return [...ended, ...events];
  }

  #callStart(toolCallId: string, toolCallName: string, message: MessageOrigin): Event {
    const { generationId } = message;
    if (generationId === undefined) return toolCallStart({ toolCallId, toolCallName });
    const parentMessageId = this.#idFor(textKey(message, "assistant"), generationId);
    return toolCallStart({ toolCallId, toolCallName, parentMessageId });
  }

  #answer({ callId, result, isError }: FunctionCallResult): readonly Event[] {
    const toolCallId = this.#calls.idOf(callId);
    if (!this.#calls.answer(callId, result)) return [];
    const messageId = this.#idFor(`result ${toolCallId}`, `result-${toolCallId}`);
    const failure = isError === true ? { metadata: { [METADATA_KEY]: { error: true } } } : {};
    return [toolCallResult({ messageId, toolCallId, content: result, role: "tool", ...failure })];
  }

  #show(message: ImageMessage): Event {
    const { source, alt, generationId } = message;
    const messageId = this.#newId(generationId === undefined ? this.#mintId("msg") : `image-${generationId}`);
    const content = { source, ...(alt === undefined ? {} : { alt }) };
    return activitySnapshot({ messageId, activityType: "image", content });
  }
}

const isEncrypted = (message: ReasoningMessage | ReasoningUpdateMessage): message is ReasoningMessage =>
  message.type === "reasoning" && message.visibility === "encrypted";

const textKey = ({ generationId }: MessageOrigin, role: string): string => JSON.stringify(["text", generationId, role]);

function unknownMessage(message: never): HeddleError<"event-invalid"> {
  const received = String(Reflect.get(Object(message), "type"));
  const problem = { path: "/type", expected: "the type of a message", received };
  return new HeddleError(
    "event-invalid",
    `No message is of type ${received}: see StreamMessage for those that are.`,
    problem,
  );
}
