/**
 * The inspector, as it was built into the package: the page at `/`, unless the host wants another there or none.
 *
 * The sources stand as deep as what is compiled of them, so both find the same folder. Where nothing was built, as in a checkout
 * that only runs tests of the server, there is no inspector, and `/` is the plain page.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readPageFiles } from "./page-files.ts";
import type { PageFiles } from "./page-files.ts";

const FOLDER = fileURLToPath(new URL("../../../dist/inspector/", import.meta.url));

let read: Promise<PageFiles> | undefined;

/** The files of the inspector; undefined where it was not built. They are read once. */
export async function inspectorFiles(): Promise<PageFiles | undefined> {
  if (!existsSync(FOLDER)) return undefined;
  return (read ??= readPageFiles(FOLDER));
}
