/**
 * A position in bytes, with the checks that protobuf asks for at each step.
 *
 * `BinaryReader` reads values; this adds what it leaves to its caller: a nested message ends inside the one that holds
 * it, exactly where it said, and a tag is no wider than 32 bits. One reader serves all frames of a chunk: whoever
 * starts a frame sets `pos`. What is skipped because this build does not know it is reported through `warn`.
 */
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { Warning } from "../enforce.ts";
import { invalid } from "./failures.ts";

/** Takes a warning about something that was left out. */
export type OnWarning = (warning: Warning) => void;

/** Reads one chunk of bytes. */
export class WireReader {
  /** Reads values at the current position. */
  readonly values: BinaryReader;
  /** Takes warnings. */
  readonly warn: OnWarning | undefined;
  /** What `BaseEvent.type` says in the frame at hand; undefined as long as there is no base event. */
  baseType: number | undefined;
  /** JSON path of the value at hand, for warnings. */
  readonly path: (string | number)[] = [];
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, warn: OnWarning | undefined) {
    this.#bytes = bytes;
    this.values = new BinaryReader(bytes);
    this.warn = warn;
  }

  /** Reads a tag: field number and wire type in one number. */
  tag(): number {
    const first = this.#bytes[this.values.pos];
    // Numbers from 1 to 15, nearly all there are, fit one byte. A wire type that does not exist fails in `skip`.
    if (first !== undefined && first < 0x80 && first > 7) {
      this.values.pos++;
      return first;
    }
    const [number, wireType] = this.values.tag();
    return number * 8 + wireType;
  }

  /** Reads the length of a nested message, and returns where it ends. */
  end(outerEnd: number): number {
    const length = this.values.uint32();
    const end = this.values.pos + length;
    if (end > outerEnd) throw invalid("malformed", "A nested message is longer than the message that holds it.");
    return end;
  }

  /** Checks that a message ended where it said. */
  close(end: number): void {
    if (this.values.pos !== end) throw invalid("malformed", "A value is longer than the message that holds it.");
  }

  /** Passes over a field that this build does not know. */
  skip(tag: number): void {
    this.values.skip(tag & 7, tag >>> 3);
  }

  /** Says that a variant without a name here was left out of a list. */
  leftOut(list: string): void {
    const path = ["", ...this.path, list].join("/");
    this.warn?.({
      code: "unknown-variant",
      path,
      message: `Left out a member of ${path}: its variant is newer than this build.`,
    });
  }
}
