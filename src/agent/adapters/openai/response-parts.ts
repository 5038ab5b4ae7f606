/** Content parts as Responses takes them, in messages and in results. A part that it cannot take is left out. */
import type { ContentPart } from "../../../protocol/index.ts";
import { dataUrl, describePart, fileNameOf, imageUrl, isOwnFile } from "../provider/parts.ts";
import type { MediaPart } from "../provider/parts.ts";
import type { OnWarning } from "../provider/warnings.ts";

/** A part of a message or of a result. */
export type OpenAiResponsePart =
  | { type: "input_text"; text: string }
  | { type: "input_image"; detail: "auto"; image_url: string }
  | { type: "input_image"; detail: "auto"; file_id: string }
  | { type: "input_file"; filename: string; file_data: string }
  | { type: "input_file"; file_url: string }
  | { type: "input_file"; file_id: string };

/** The parts that the API takes. */
export function toResponseParts(
  parts: readonly ContentPart[],
  provider: string,
  warn: OnWarning,
): OpenAiResponsePart[] {
  return parts.flatMap((part) => {
    if (part.type === "text") return [{ type: "input_text" as const, text: part.text }];
    const taken = toResponsePart(part, provider);
    if (taken === undefined) warn(`A part was left out, which Responses cannot take: ${describePart(part)}.`);
    return taken === undefined ? [] : [taken];
  });
}

function toResponsePart(part: MediaPart, provider: string): OpenAiResponsePart | undefined {
  const { type, source } = part;
  if (type !== "image" && type !== "document") return undefined;
  if (source.type === "file") {
    if (!isOwnFile(provider, source)) return undefined;
    if (type === "image") return { type: "input_image", detail: "auto", file_id: source.value };
    return { type: "input_file", file_id: source.value };
  }
  if (type === "image") {
    const image_url = imageUrl(source);
    return image_url === undefined ? undefined : { type: "input_image", detail: "auto", image_url };
  }
  if (source.type === "url") return { type: "input_file", file_url: source.value };
  return { type: "input_file", filename: fileNameOf(part), file_data: dataUrl(source) };
}
