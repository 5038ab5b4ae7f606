/**
 * Content parts of AG-UI as the AI SDK's: text as text, media as files.
 *
 * A part that no model could take, such as a file of an unnamed provider, is left out with a warning and the run goes on
 * (R-IN-08, R-IN-12).
 */
import type { ToolResultPart, UserModelMessage } from "ai";
import type { ContentPart, ToolMessage } from "../../../protocol/index.ts";
import type { OnWarning } from "../provider/warnings.ts";

type ToolOutput = ToolResultPart["output"];
type FilePart = Extract<Exclude<UserModelMessage["content"], string>[number], { readonly type: "file" }>;
type FileData = Exclude<FilePart["data"], string | URL | Uint8Array | ArrayBuffer>;
type Tagged = Extract<FileData, { readonly type: "data" | "url" | "reference" }>;

interface File {
  readonly type: "file";
  readonly data: Tagged;
  readonly mediaType: string;
}

/** The content of a user message. */
export function userContent(content: string | readonly ContentPart[], warn: OnWarning): UserModelMessage["content"] {
  return typeof content === "string" ? content : partsOf(content, warn);
}

/** The output of a tool result. */
export function toolOutput({ content }: ToolMessage, failure: string | undefined, warn: OnWarning): ToolOutput {
  if (failure !== undefined) return { type: "error-text", value: failure };
  return typeof content === "string"
    ? { type: "text", value: content }
    : { type: "content", value: partsOf(content, warn) };
}

function partsOf(parts: readonly ContentPart[], warn: OnWarning): ({ type: "text"; text: string } | File)[] {
  return parts.flatMap((part): ({ type: "text"; text: string } | File)[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    const data = dataOf(part.source);
    if (data !== undefined) return [{ type: "file", data, mediaType: part.source.mimeType ?? MEDIA[part.type] }];
    warn(`Left out a part of type ${part.type}: the AI SDK cannot be given its ${part.source.type} source.`);
    return [];
  });
}

/** What the SDK takes where only the kind of a file is known. */
const MEDIA = { image: "image", audio: "audio", video: "video", document: "application" } as const;

function dataOf(source: Exclude<ContentPart, { readonly type: "text" }>["source"]): Tagged | undefined {
  switch (source.type) {
    case "data":
      return { type: "data", data: source.value };
    case "url": {
      const url = URL.parse(source.value);
      return url === null ? undefined : { type: "url", url };
    }
    case "file":
      return source.provider === undefined
        ? undefined
        : { type: "reference", reference: { [source.provider]: source.value } };
  }
}
