/** Messages and their content as an older peer can read them. */
import type { ContentPart, Message } from "../generated/model.ts";
import { lacks } from "./peer.ts";
import type { Peer } from "./peer.ts";
import { without } from "./rewrite.ts";
import type { Fields, Note } from "./rewrite.ts";

/** Which way messages go: agents of any age take media parts, clients before 0.0.49 take `binary` parts only. */
export type Direction = "to-agent" | "to-client";

/** Messages as a peer can read them; those that it cannot read at all are left out. */
export function projectMessages(
  messages: readonly Message[],
  peer: Peer,
  direction: Direction,
  path: string,
  note: Note,
): readonly Fields[] {
  return messages.flatMap((message, index) => {
    const at = `${path}/${index}`;
    const feature = message.role === "reasoning" ? "reasoning" : message.role === "activity" ? "activities" : undefined;
    if (feature === undefined || !lacks(peer, feature)) return [projectMessage(message, peer, direction, at, note)];
    note(at, `Left out a message of role ${message.role}: the peer is too old for it.`);
    return [];
  });
}

function projectMessage(message: Message, peer: Peer, direction: Direction, path: string, note: Note): Fields {
  let changed: Fields = lacks(peer, "subagents") ? without({ ...message }, "subagentRunId") : { ...message };
  if (message.role === "user" || message.role === "tool") {
    changed = {
      ...changed,
      content: projectContent(message.content, message.role, peer, direction, `${path}/content`, note),
    };
  }
  // Peers of that age demand the field; an empty text says nothing that nobody said (R-VER-04).
  return message.content === undefined && lacks(peer, "contentParts") ? { ...changed, content: "" } : changed;
}

/** Content as a peer can read it: text where it knows no parts, parts that it knows otherwise. */
export function projectContent(
  content: string | readonly ContentPart[],
  role: "user" | "tool",
  peer: Peer,
  direction: Direction,
  path: string,
  note: Note,
): unknown {
  if (typeof content === "string") return content;
  if (lacks(peer, role === "tool" ? "toolResultParts" : "contentParts")) return flatten(content, path, note);
  const readable = content.filter((part, index) => {
    const lost = part.type !== "text" && part.source.type === "file" && lacks(peer, "fileSources");
    if (lost)
      note(`${path}/${index}`, "Left out a part whose bytes only its provider holds: the peer is older than 1.0.");
    return !lost;
  });
  return direction === "to-client" && lacks(peer, "mediaParts") ? readable.map(toBinary) : readable;
}

/** The text of content parts. What is not text is lost, and said so. */
function flatten(content: readonly ContentPart[], path: string, note: Note): string {
  const lost = content.flatMap(({ type }) => (type === "text" ? [] : [type]));
  if (lost.length > 0) {
    note(path, `Flattening content for a peer that reads text only DROPS non-text parts (${lost.join(", ")}).`);
  }
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The one kind of media part that there was before 0.0.49. */
function toBinary(part: ContentPart): Fields {
  if (part.type === "text") return { ...part };
  const { source, metadata } = part;
  const filename = (metadata as { filename?: unknown } | undefined)?.filename;
  return {
    type: "binary",
    mimeType: source.mimeType ?? "",
    [source.type === "data" ? "data" : "url"]: source.value,
    ...(typeof filename === "string" ? { filename } : {}),
  };
}
