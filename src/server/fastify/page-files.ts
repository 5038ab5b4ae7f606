/**
 * The files of a page: what a browser may ask for below one path, as a fixed table of names and bytes.
 *
 * A folder is read once, at the start. What is asked for later is only looked up in the table, so no request can reach
 * another file, whatever its path says; hidden files and links are not taken.
 */
import { readFile, readdir } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { HeddleError } from "../../protocol/index.ts";

/** Files by their path below the page's, with `/` between folders, such as `js/client.js`; `index.html` is the page. */
export type PageFiles = Readonly<Record<string, string | Uint8Array>>;

/** Most bytes of one page: all of it is held in memory. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024;

/** Reads a folder. Throws `config-invalid` where it is none, has no `index.html`, or holds too much. */
export async function readPageFiles(folder: string): Promise<PageFiles> {
  const root = resolve(folder);
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
    throw refused(folder, "a folder that can be read", cause);
  });
  const files: Record<string, Uint8Array> = {};
  let bytes = 0;
  for (const entry of entries) {
    const name = relative(root, join(entry.parentPath, entry.name)).split(sep).join("/");
    if (!entry.isFile() || name.split("/").some((part) => part.startsWith("."))) continue;
    const contents = await readFile(join(root, name));
    bytes += contents.length;
    if (bytes > MAX_PAGE_BYTES) throw refused(folder, `a folder of at most ${MAX_PAGE_BYTES} bytes`);
    files[name] = contents;
  }
  if (!Object.hasOwn(files, "index.html")) throw refused(folder, "a folder with a file index.html");
  return files;
}

function refused(folder: string, expected: string, cause?: unknown): HeddleError {
  const message = `The page's folder is ${JSON.stringify(folder)}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting: "pages", expected, received: folder }, { cause });
}
