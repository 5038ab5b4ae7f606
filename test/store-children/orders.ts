/** How a child process of a test talks to the test: lines of JSON, orders in, reports out. */

/** Reports, from within a child. */
export function say(report: object): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

/** The orders that a child gets, in order. */
export async function* orders<O>(): AsyncGenerator<O, void, undefined> {
  for await (const line of linesOf(process.stdin)) yield JSON.parse(line);
}

/** What a child was started with. */
export const configOf = <C>(): C => JSON.parse(process.argv[2] ?? "{}");

/** Whole lines; half a line is what a kill leaves. `readline` would also end one at U+2028. */
export async function* linesOf(source: AsyncIterable<Buffer>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of source) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
