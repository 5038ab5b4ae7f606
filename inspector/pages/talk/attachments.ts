/** Files that go with a message: read as they are, sent inside of it as parts. */
import type { ContentPart } from "heddle/protocol";
import { randomId } from "heddle/client";
import { formatBytes } from "../../ui/format.ts";

/** Larger files are refused: a message and all that is in it is kept in the log for ever. */
export const MAX_FILE_BYTES = 4_000_000;
/** All of a message together: in base64, with its text, they fit into the 16 MiB that a server takes by default. */
const MAX_FILES_BYTES = 11_000_000;

/** A file that is going to be sent. */
export interface Attachment {
  readonly key: string;
  readonly name: string;
  readonly part: MediaPart;
}

/** A part that is not text. */
export type MediaPart = Exclude<ContentPart, { readonly type: "text" }>;

/** Which kind of part holds a file of a media type. */
export function partTypeOf(mimeType: string): MediaPart["type"] {
  const [kind] = mimeType.split("/", 1);
  return kind === "image" || kind === "audio" || kind === "video" ? kind : "document";
}

/** Why a file cannot be attached beside what is; undefined where it can. */
export function refusalOf(
  { name, size }: { readonly name: string; readonly size: number },
  heldBytes = 0,
): string | undefined {
  if (size > MAX_FILE_BYTES)
    return `${name} is ${formatBytes(size)}. Files up to ${formatBytes(MAX_FILE_BYTES)} can be attached: send a link instead.`;
  return heldBytes + size > MAX_FILES_BYTES
    ? `With ${name} there would be more than ${formatBytes(MAX_FILES_BYTES)} in one message: send it in another.`
    : undefined;
}

/** How many bytes are attached. */
export const bytesOf = (attachments: readonly Attachment[]): number =>
  attachments.reduce((sum, { part: { source } }) => sum + (source.value.length * 3) / 4, 0);

/** Reads a file. */
export async function attachmentOf(file: File): Promise<Attachment> {
  const mimeType = file.type === "" ? "application/octet-stream" : file.type;
  const source = { type: "data", value: base64Of(await file.arrayBuffer()), mimeType } as const;
  const part = { type: partTypeOf(mimeType), source, metadata: { filename: file.name } };
  return { key: randomId(), name: file.name, part };
}

/** Bytes in base64; in pieces, since a call takes only so many arguments. */
export function base64Of(bytes: ArrayBuffer): string {
  const view = new Uint8Array(bytes);
  let text = "";
  for (let at = 0; at < view.length; at += 0x8000) text += String.fromCodePoint(...view.subarray(at, at + 0x8000));
  return btoa(text);
}

/** What a message is sent with: a text, or its parts. */
export const contentOf = (text: string, media: readonly MediaPart[]): string | ContentPart[] =>
  media.length === 0 ? text : [...(text.trim() === "" ? [] : [{ type: "text" as const, text }]), ...media];

/** What a file in a message is called. */
export function fileNameOf({ type, metadata, source }: MediaPart): string {
  const { filename, name }: Partial<Record<string, unknown>> = Object(metadata);
  const given = filename ?? name;
  if (typeof given === "string" && given !== "") return given;
  if (source.type === "url") return source.value.split(/[?#]/, 1)[0]?.split("/").at(-1) || source.value;
  return `${type[0]?.toUpperCase()}${type.slice(1)}`;
}
