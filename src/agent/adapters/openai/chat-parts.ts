/** Content parts as Chat Completions takes them. A part that it cannot take is left out, never the message. */
import type { ContentPart } from "../../../protocol/index.ts";
import { dataUrl, describePart, fileNameOf, imageUrl, isOwnFile } from "../provider/parts.ts";
import type { MediaPart } from "../provider/parts.ts";
import type { OnWarning } from "../provider/warnings.ts";

/** A part of a user message. */
export type OpenAiChatPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "input_audio"; input_audio: { data: string; format: "wav" | "mp3" } }
  | { type: "file"; file: { file_id: string } | { filename: string; file_data: string } };

const AUDIO_FORMATS: Readonly<Record<string, "wav" | "mp3">> = {
  "audio/wav": "wav",
  "audio/wave": "wav",
  "audio/x-wav": "wav",
  "audio/mp3": "mp3",
  "audio/mpeg": "mp3",
};

/** The parts that the API takes. */
export function toChatParts(parts: readonly ContentPart[], provider: string, warn: OnWarning): OpenAiChatPart[] {
  return parts.flatMap((part) => {
    if (part.type === "text") return [{ type: "text" as const, text: part.text }];
    const taken = toChatPart(part, provider);
    if (taken === undefined) warn(`A part was left out, which Chat Completions cannot take: ${describePart(part)}.`);
    return taken === undefined ? [] : [taken];
  });
}

function toChatPart(part: MediaPart, provider: string): OpenAiChatPart | undefined {
  const { type, source } = part;
  switch (type) {
    case "image": {
      const url = imageUrl(source);
      return url === undefined ? undefined : { type: "image_url", image_url: { url } };
    }
    case "audio": {
      const format = source.type === "data" ? AUDIO_FORMATS[source.mimeType.toLowerCase()] : undefined;
      return format === undefined ? undefined : { type: "input_audio", input_audio: { data: source.value, format } };
    }
    case "document":
      if (source.type === "data") {
        return { type: "file", file: { filename: fileNameOf(part), file_data: dataUrl(source) } };
      }
      return isOwnFile(provider, source) ? { type: "file", file: { file_id: source.value } } : undefined;
    case "video":
      return undefined;
  }
}
