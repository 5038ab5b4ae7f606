import { expect, test } from "vitest";
import { wordPattern } from "./word-pattern.ts";

test.each([
  [['"RAW"', '"META"'], '{"type":"META"}', true],
  [['"RAW"', '"META"'], '{"type":"RAWLY"}', false],
  [["a.b", "(x)|[y]"], "a-b (x) [y]", false],
  [["a.b", "(x)|[y]"], "… (x)|[y]", true],
  [["a\\b^$*+?{}/-"], "x a\\b^$*+?{}/- y", true],
  [[], "", false],
  [[], "anything", false],
])("%j in %j: %j", (words, text, found) => {
  expect(wordPattern(words).test(text)).toBe(found);
});
