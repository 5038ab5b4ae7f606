/** Content parts as Messages takes them, in messages and in results. A part that it cannot take is left out. */
import type { ContentPart } from "../../../protocol/index.ts";
import { describePart, fileNameOf, imageTypeOf, isOwnFile } from "../provider/parts.ts";
import type { IMAGE_TYPES, MediaPart } from "../provider/parts.ts";
import type { OnWarning } from "../provider/warnings.ts";

/** A block of what the user, or a tool, says. */
export type AnthropicPart =
  | { type: "text"; text: string }
  | { type: "image"; source: AnthropicImageSource }
  | { type: "document"; source: AnthropicDocumentSource; title?: string };

/** Where an image is. */
export type AnthropicImageSource =
  | { type: "base64"; media_type: (typeof IMAGE_TYPES)[number]; data: string }
  | { type: "url"; url: string }
  | { type: "file"; file_id: string };

/** Where a document is. */
export type AnthropicDocumentSource =
  | { type: "base64"; media_type: "application/pdf"; data: string }
  | { type: "text"; media_type: "text/plain"; data: string }
  | { type: "url"; url: string }
  | { type: "file"; file_id: string };

/** The blocks that the API takes. It refuses text of white space only, so that is left out as well. */
export function toAnthropicParts(
  content: string | readonly ContentPart[],
  provider: string,
  warn: OnWarning,
): AnthropicPart[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.flatMap((part): AnthropicPart[] => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
    const taken = toAnthropicPart(part, provider);
    if (taken === undefined) warn(`A part was left out, which Anthropic cannot take: ${describePart(part)}.`);
    return taken === undefined ? [] : [taken];
  });
}

function toAnthropicPart(part: MediaPart, provider: string): AnthropicPart | undefined {
  if (part.type === "image") {
    const source = imageSource(part, provider);
    return source === undefined ? undefined : { type: "image", source };
  }
  if (part.type !== "document") return undefined;
  const source = documentSource(part, provider);
  return source === undefined ? undefined : { type: "document", source, title: fileNameOf(part) };
}

function imageSource({ source }: MediaPart, provider: string): AnthropicImageSource | undefined {
  if (source.type === "url") return { type: "url", url: source.value };
  if (source.type === "file") return isOwnFile(provider, source) ? { type: "file", file_id: source.value } : undefined;
  const media_type = imageTypeOf(source.mimeType);
  return media_type === undefined ? undefined : { type: "base64", media_type, data: source.value };
}

function documentSource({ source }: MediaPart, provider: string): AnthropicDocumentSource | undefined {
  if (source.type === "file") return isOwnFile(provider, source) ? { type: "file", file_id: source.value } : undefined;
  const mimeType = (source.mimeType ?? "application/pdf").toLowerCase();
  if (source.type === "url") return mimeType === "application/pdf" ? { type: "url", url: source.value } : undefined;
  if (mimeType === "application/pdf") return { type: "base64", media_type: mimeType, data: source.value };
  const text = mimeType.startsWith("text/") ? decodeText(source.value) : undefined;
  return text === undefined ? undefined : { type: "text", media_type: "text/plain", data: text };
}

/** Text from base64 of UTF-8; undefined where it is neither, or holds nothing. */
function decodeText(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.trim() === "" ? undefined : text;
  } catch {
    return undefined;
  }
}
