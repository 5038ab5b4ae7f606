/** Messages as an older peer can read them. */
import type { ContentPart, Message } from "../generated/model.ts";
import { isOlder } from "./peer.ts";
import type { Peer } from "./peer.ts";
import { without } from "./rewrite.ts";
import type { Fields, Note } from "./rewrite.ts";

/** Messages as a peer can read them; those that it cannot read at all are left out. */
export function projectMessages(messages: readonly Message[], peer: Peer, path: string, note: Note): readonly Fields[] {
  return messages.flatMap((message, index) => {
    const at = `${path}/${index}`;
    if (message.role === "reasoning" && isOlder(peer, "0.0.46")) {
      note(at, "Left out a reasoning message: the peer is older than 0.0.46.");
      return [];
    }
    return [projectMessage(message, peer, at, note)];
  });
}

function projectMessage(message: Message, peer: Peer, path: string, note: Note): Fields {
  let changed: Fields = isOlder(peer, "0.0.58") ? without({ ...message }, "subagentRunId") : { ...message };
  const { content } = message;
  const textOnly = isOlder(peer, message.role === "tool" ? "1.0" : "0.0.40");
  if (Array.isArray(content) && textOnly) changed = { ...changed, content: flatten(content, `${path}/content`, note) };
  // Peers of that age demand the field; an empty text says nothing that nobody said (R-VER-04).
  if (content === undefined && isOlder(peer, "0.0.40")) changed = { ...changed, content: "" };
  return changed;
}

/** The text of content parts. What is not text is lost, and said so. */
export function flatten(content: string | readonly ContentPart[], path: string, note: Note): string {
  if (typeof content === "string") return content;
  const lost = content.flatMap(({ type }) => (type === "text" ? [] : [type]));
  if (lost.length > 0) {
    note(path, `Flattening content for a peer that reads text only DROPS non-text parts (${lost.join(", ")}).`);
  }
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
