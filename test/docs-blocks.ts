/** Code of a page of documentation: the blocks whose first line names a file, as `// name.ts` or `<!-- name.html -->`. */
import { readFileSync } from "node:fs";

/** The blocks of a page by the name of their file. The same name twice is a mistake of the page. */
export function blocksOf(page: string): ReadonlyMap<string, string> {
  const blocks = new Map<string, string>();
  for (const [, code = ""] of readFileSync(page, "utf8").matchAll(/^```\w+\n(.*?)^```$/gms)) {
    const name = /^(?:\/\/|<!--) ([\w./[\]-]+\.\w+)/.exec(code)?.[1];
    if (name === undefined) continue;
    if (blocks.has(name)) throw new Error(`${page} has two blocks named ${name}.`);
    blocks.set(name, code);
  }
  return blocks;
}

/** How many blocks of a page are code that a type checker understands, named or not. */
export const typedBlocksIn = (page: string): number => readFileSync(page, "utf8").match(/^```tsx?$/gm)?.length ?? 0;
