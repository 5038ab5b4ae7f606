import { expect, test } from "vitest";
import { Progress } from "./progress.ts";

function drawn(isTTY: boolean) {
  const written: string[] = [];
  const clock = { nowMs: 0 };
  const screen = { isTTY, write: (text: string) => written.push(text) };
  return { written, clock, progress: new Progress({ screen, nowMs: () => clock.nowMs }) };
}

test("what is done within a second says nothing", () => {
  const { written, clock, progress } = drawn(true);
  clock.nowMs = 999;
  progress.show("Reading", 1, 2);
  progress.end();
  expect(written).toEqual([]);
});

test("what takes longer is drawn now and then, and taken away at the end", () => {
  const { written, clock, progress } = drawn(true);
  clock.nowMs = 1000;
  progress.show("Reading", 1, 4);
  clock.nowMs = 1050;
  progress.show("Reading", 2, 4);
  clock.nowMs = 1100;
  progress.show("Reading", 9, 4);
  clock.nowMs = 1200;
  progress.show("Reading", 7, 0);
  progress.end();
  progress.end();
  expect(written).toEqual([
    `\r\u001b[2KReading [${"#".repeat(8)}${".".repeat(22)}] 25 %`,
    `\r\u001b[2KReading [${"#".repeat(30)}] 100 %`,
    "\r\u001b[2KReading 7",
    "\r\u001b[2K",
  ]);
});

test("without a terminal there is no bar", () => {
  const { written, clock, progress } = drawn(false);
  clock.nowMs = 5000;
  progress.show("Reading", 1, 2);
  progress.end();
  expect(written).toEqual([]);
});
