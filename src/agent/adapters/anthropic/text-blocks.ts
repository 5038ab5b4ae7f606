/**
 * Text as the blocks that it came in, each with its citations.
 *
 * Anthropic cuts an answer into blocks where sources are cited; a thread holds it as one text. What is sent back has to
 * be what was said, or thinking that follows is refused.
 */
import { isRecord } from "../provider/fields.ts";
import type { Block } from "../provider/opaque.ts";

/** The blocks of a text, by what its metadata says about them. Text of white space only is refused, and left out. */
export function toTextBlocks(text: string, words: unknown): readonly Block[] {
  const { cuts, citations } = isRecord(words) ? words : {};
  const ends = Array.isArray(cuts) ? cuts.filter((cut) => typeof cut === "number") : [];
  // A text that has changed since is one block: the cuts are of another.
  const fits = ends.at(-1) === text.length && ends.every((end, index) => end > (ends[index - 1] ?? 0));
  if (!fits) return text.trim() === "" ? [] : [{ type: "text", text }];
  return ends.flatMap((to, index) => {
    const from = ends[index - 1] ?? 0;
    const cited = (Array.isArray(citations) ? citations : []).flatMap((each: unknown) =>
      isRecord(each) && each["from"] === from && each["to"] === to && isRecord(each["citation"])
        ? [each["citation"]]
        : [],
    );
    const piece = text.slice(from, to);
    return piece.trim() === ""
      ? []
      : [{ type: "text", text: piece, ...(cited.length === 0 ? {} : { citations: cited }) }];
  });
}
