import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { confirm } from "./confirm.ts";

const terminal = () => ({
  input: Object.assign(new PassThrough(), { isTTY: true }),
  output: Object.assign(new PassThrough(), { isTTY: true }),
});

test.each([
  ["y\n", true],
  [" YES \n", true],
  ["\n", false],
  ["no\n", false],
  ["yesterday\n", false],
])("%j is %j", async (answer, agreed) => {
  const { input, output } = terminal();
  const asked = confirm("Delete it?", { input, output });
  input.write(answer);
  expect(await asked).toBe(agreed);
  expect(String(output.read())).toContain("Delete it? [y/N] ");
});

test("the end of the input is a no", async () => {
  const { input, output } = terminal();
  const asked = confirm("Delete it?", { input, output });
  input.end();
  expect(await asked).toBe(false);
});

test("without a terminal nobody is asked", async () => {
  const { input, output } = terminal();
  expect(await confirm("Delete it?", { input: new PassThrough(), output })).toBeUndefined();
  expect(await confirm("Delete it?", { input, output: new PassThrough() })).toBeUndefined();
  expect(output.read()).toBeNull();
});
