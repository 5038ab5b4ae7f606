/**
 * One way to post for the stock clients and for raw HTTP: a client that holds just what a test says posts it, and tells what
 * it got and what it holds afterwards. Each post is one of a fresh client, so that what it holds is all that it knows.
 */
import { postRun, framesOf } from "./sse-client.ts";
import { stock } from "./stock-client.ts";
import type { HeldMessage, SeenEvent, Version } from "./stock-client.ts";

/** Who posts. */
export const POSTERS = ["1.0.0", "0.0.59", "raw HTTP"] as const;

/** One of them. */
export type Poster = (typeof POSTERS)[number];

/** What is posted. A state that is absent is `{}` for a stock client, which has no other way. */
export interface Post {
  /** The thread. */
  readonly threadId: string;
  /** The run. */
  readonly runId: string;
  /** The agent. Default `teller`. */
  readonly agent?: string;
  /** Behind the path: `?parent=r1`. */
  readonly query?: string;
  /** What the client holds, and posts. */
  readonly messages: readonly HeldMessage[];
  /** The state that it holds, and posts. */
  readonly state?: unknown;
  /** Everything else: `forwardedProps`, `tools`, `resume`. */
  readonly more?: object;
}

/** What came of it. */
export interface Posted {
  /** Every event that came. */
  readonly events: readonly SeenEvent[];
  /** The messages that the client holds then. */
  readonly messages: readonly HeldMessage[];
  /** The state that it holds then. */
  readonly state: unknown;
}

/** Posts, and reads the answer to its end. Rejects with the answer's text where it is refused. */
export async function postAs(poster: Poster, url: string, post: Post): Promise<Posted> {
  return poster === "raw HTTP" ? postRaw(url, post) : postStock(poster, url, post);
}

async function postStock(version: Version, url: string, post: Post): Promise<Posted> {
  const { threadId, runId, agent = "teller", query = "", messages, more } = post;
  const client = stock(version, url, agent, threadId, query);
  for (const message of messages) client.agent.addMessage(message);
  if ("state" in post) client.agent.setState(post.state);
  await client.run({ runId, ...more });
  // As JSON: members that are undefined are as absent.
  const { messages: held, state } = JSON.parse(JSON.stringify(client.agent));
  return { events: client.events, messages: held, state };
}

async function postRaw(url: string, post: Post): Promise<Posted> {
  const { threadId, runId, agent = "teller", query = "", messages, more } = post;
  const stated = "state" in post ? { state: post.state } : {};
  // As stock clients do: activities are held, and not posted.
  const sent = messages.filter(({ role }) => role !== "activity");
  const answer = await postRun(url, `${agent}${query}`, { threadId, runId, messages: sent, ...stated, ...more });
  if (!answer.ok) throw new Error(await answer.text());
  const events: SeenEvent[] = [];
  for await (const { event } of framesOf(answer)) events.push(event);
  return { events, ...folded(messages, post.state ?? {}, events) };
}

/** What a plain client makes of the events that the agent of these tests sends: a snapshot counts for everything. */
function folded(
  posted: readonly HeldMessage[],
  state: unknown,
  events: readonly SeenEvent[],
): Pick<Posted, "messages" | "state"> {
  let [messages, now] = [posted, state];
  const begin = (message: HeldMessage): void => {
    if (!messages.some(({ id }) => id === message.id)) messages = [...messages, message];
  };
  for (const event of events) {
    const { type, delta, content, toolCallName, parentMessageId } = event;
    const [id, callId] = [String(event["messageId"]), String(event["toolCallId"])];
    if (type === "MESSAGES_SNAPSHOT") messages = JSON.parse(JSON.stringify(event["messages"]));
    if (type === "STATE_SNAPSHOT") now = event["snapshot"];
    if (type === "TEXT_MESSAGE_START") begin({ id, role: "assistant", content: "" });
    if (type === "REASONING_MESSAGE_START") begin({ id, role: "reasoning", content: "" });
    if (type === "ACTIVITY_SNAPSHOT") begin({ id, role: "activity", content });
    if (type === "TOOL_CALL_START") {
      const toolCalls = [{ id: callId, function: { name: String(toolCallName) } }];
      begin({ id: String(parentMessageId), role: "assistant", toolCalls });
    }
    if (type.endsWith("MESSAGE_CONTENT")) {
      messages = messages.map((held) => (held.id === id ? { ...held, content: `${held.content}${delta}` } : held));
    }
  }
  return { messages, state: now };
}
