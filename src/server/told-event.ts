/**
 * An event of an opening: as a value, or with its messages as the text that the log keeps. Text is passed on as it is where
 * nothing in it is hidden from who sees it, and read where something may be; so a long thread opens without being read.
 */
import type { Event, Message } from "../protocol/index.ts";
import type { KeptEvent } from "../store/index.ts";
import { isShownAsIs } from "./show.ts";
import type { Show } from "./show.ts";

const utf8 = new TextDecoder();
const [COMMA, END] = [Buffer.from(","), Buffer.from("]}")];

/** The messages that an event tells: read part by part, as far as they are asked for. */
export function* messagesIn({ event, messages }: KeptEvent): Generator<Message, void, undefined> {
  if (event.type !== "MESSAGES_SNAPSHOT") return;
  if (messages === undefined) return yield* event.messages;
  for (const part of messages) {
    const some: readonly Message[] = JSON.parse(utf8.decode(part));
    yield* some;
  }
}

/** The event as a value. */
export function wholeEvent(told: KeptEvent): Event {
  const { event, messages } = told;
  return messages === undefined || event.type !== "MESSAGES_SNAPSHOT"
    ? event
    : { ...event, messages: [...messagesIn(told)] };
}

/** The JSON of an event, where its messages are text of which nobody hides anything from who sees it. */
export function textShownAsIs({ event, messages }: KeptEvent, show: Show): readonly Uint8Array[] | undefined {
  if (messages === undefined || event.type !== "MESSAGES_SNAPSHOT") return undefined;
  const { messages: _none, ...rest } = event;
  const shell = JSON.stringify(rest);
  // What is looked for is ASCII, and of that UTF-8 and Latin-1 are the same.
  const isAsItIs = (text: string): boolean => isShownAsIs(text, show);
  if (!isAsItIs(shell) || !messages.every((part) => isAsItIs(bufferOf(part).toString("latin1")))) return undefined;
  const lists = messages.flatMap((part, index) => [...(index === 0 ? [] : [COMMA]), part.subarray(1, -1)]);
  return [Buffer.from(`${shell.slice(0, -1)},"messages":[`), ...lists, END];
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
