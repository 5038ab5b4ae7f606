/** Where exported threads are written to and read from: files, and the standard streams under the name `-`. */
import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { HeddleError } from "../protocol/index.ts";

/** Lines are written together up to about so many characters. */
const CHUNK_CHARS = 1 << 16;

/** Writes lines to the standard output. False where whoever reads has had enough. */
export async function writeToOutput(lines: AsyncIterable<string>): Promise<boolean> {
  try {
    await pipeline(Readable.from(together(lines)), process.stdout, { end: false });
    return true;
  } catch (error) {
    if (codeOf(error) === "EPIPE") return false;
    throw error;
  }
}

/** Writes lines to a file. One that is there is replaced when everything is written, and not before. */
export async function writeToFile(path: string, lines: AsyncIterable<string>): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  // What is no file, such as a device, cannot be replaced.
  const target = there !== undefined && !there.isFile() ? path : `${path}.part`;
  try {
    await pipeline(Readable.from(together(lines)), createWriteStream(target));
    if (target !== path) await rename(target, path);
  } catch (error) {
    if (target !== path) await rm(target, { force: true });
    throw explained(error, path, "a file that can be written");
  }
}

/** A file as it is read: its bytes, and how many there are; 0 where that is not known. */
export interface OpenedFile {
  /** The bytes. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** How many bytes there are. */
  readonly bytes: number;
}

/** Reads a file, or the standard input as `-`. */
export async function readBytes(path: string): Promise<OpenedFile> {
  if (path === "-") return { chunks: process.stdin, bytes: 0 };
  try {
    const about = await stat(path);
    if (about.isDirectory()) throw Object.assign(new Error("It is a folder."), { code: "EISDIR" });
    return { chunks: bytesOf(path), bytes: about.isFile() ? about.size : 0 };
  } catch (error) {
    throw explained(error, path, "a file that can be read");
  }
}

async function* bytesOf(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    const chunks: AsyncIterable<Uint8Array> = createReadStream(path);
    yield* chunks;
  } catch (error) {
    throw explained(error, path, "a file that can be read");
  }
}

async function* together(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let text = "";
  for await (const line of lines) {
    text += line;
    if (text.length < CHUNK_CHARS) continue;
    yield text;
    text = "";
  }
  if (text !== "") yield text;
}

/** A failure of the system as a sentence; anything else as it is. */
function explained(error: unknown, path: string, expected: string): unknown {
  const code = codeOf(error);
  if (error instanceof HeddleError || code === undefined) return error;
  const received = code === "ENOENT" ? "nothing there" : code;
  const message = `The file is ${path}: expected ${expected} (${received}).`;
  return new HeddleError("config-invalid", message, { setting: "file", expected, received }, { cause: error });
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
