/** A question that only a person can answer: asked in a terminal, and nowhere else. */
import { createInterface } from "node:readline/promises";

/** Where a question is asked. */
export interface Terminal {
  /** Where the answer comes from. Default: the process's standard input. */
  readonly input?: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Where the question is shown. Default: the process's standard error. */
  readonly output?: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** Asks for a yes; anything else, the end too, is a no. Undefined where there is nobody to ask. */
export async function confirm(question: string, terminal: Terminal = {}): Promise<boolean | undefined> {
  const { input = process.stdin, output = process.stderr } = terminal;
  if (input.isTTY !== true || output.isTTY !== true) return undefined;
  const lines = createInterface({ input, output });
  try {
    const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
    const answer = await Promise.race([lines.question(`${question} [y/N] `), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
