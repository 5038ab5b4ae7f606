/** What providers need to know about content parts, and AG-UI leaves open. */
import type { ContentPart, FileSource, PartSource } from "../../../protocol/index.ts";
import { isRecord } from "./fields.ts";

/** A part that is no text. */
export type MediaPart = Exclude<ContentPart, { readonly type: "text" }>;

/** A media part in a few words, for warnings. */
export function describePart({ type, source }: MediaPart): string {
  return `${type} (${source.type}${source.mimeType === undefined ? "" : `, ${source.mimeType}`})`;
}

/** Media types of images that models look at. */
export const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;

/** The media type of an image's bytes as providers spell it; undefined where they do not take it. */
export function imageTypeOf(mimeType: string): (typeof IMAGE_TYPES)[number] | undefined {
  const spelled = mimeType.toLowerCase().replace("image/jpg", "image/jpeg");
  return IMAGE_TYPES.find((known) => known === spelled);
}

/** The address of an image: its own, or its bytes; undefined where no model could look at it. */
export function imageUrl(source: PartSource): string | undefined {
  if (source.type !== "data") return source.type === "url" ? source.value : undefined;
  const mimeType = imageTypeOf(source.mimeType);
  return mimeType === undefined ? undefined : dataUrl({ mimeType, value: source.value });
}

/** Bytes as a data URL. */
export const dataUrl = ({ mimeType, value }: { readonly mimeType: string; readonly value: string }): string =>
  `data:${mimeType};base64,${value}`;

/** Whether a provider can know a handle: it is the provider's own, or nobody says whose it is. */
export function isOwnFile(provider: string, source: PartSource): source is FileSource {
  return source.type === "file" && (source.provider === undefined || source.provider === provider);
}

/** The name of a document: what its metadata says, or one that its media type suggests. */
export function fileNameOf({ metadata, source }: MediaPart): string {
  const named = isRecord(metadata) ? (metadata["filename"] ?? metadata["name"]) : undefined;
  if (typeof named === "string" && named !== "") return named;
  const subtype = /\/([a-z0-9]+)/i.exec(source.mimeType ?? "")?.[1] ?? "bin";
  return `document.${subtype === "plain" ? "txt" : subtype}`;
}

/** The text of a result for a provider that takes text only: text parts in order. */
export function textOfParts(parts: readonly ContentPart[], onDropped: (part: MediaPart) => void): string {
  let text = "";
  for (const part of parts) {
    if (part.type === "text") text += part.text;
    else onDropped(part);
  }
  return text;
}
