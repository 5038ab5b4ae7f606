import { describe, expect, test } from "vitest";
import { readTrace, writeTrace } from "./trace-parent.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const GOOD = `00-${TRACE}-${SPAN}-01`;

describe("HTTP-OPS-2: traceparent", () => {
  test("is read, with tracestate, and written as it was", () => {
    const read = readTrace({ traceparent: GOOD, tracestate: "vendor=a,other=b" });
    expect(read).toMatchObject({ traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true });
    expect(read && writeTrace(read)).toEqual({ traceparent: GOOD, tracestate: "vendor=a,other=b" });
  });

  test("of a later version is read as far as this one goes", () => {
    for (const traceparent of [`cc-${TRACE}-${SPAN}-00`, `cc-${TRACE}-${SPAN}-00-more`]) {
      expect(readTrace({ traceparent })).toMatchObject({ traceId: TRACE, spanId: SPAN, traceFlags: 0 });
    }
  });

  test.each([
    ["nothing", undefined],
    ["an empty one", ""],
    ["capitals", GOOD.toUpperCase()],
    ["too short", GOOD.slice(0, -1)],
    ["more than its version allows", `${GOOD}-more`],
    ["something stuck to it", `${GOOD}more`],
    ["two of them", `${GOOD}, ${GOOD}`],
    ["a version that is none", GOOD.replace("00-", "ff-")],
    ["a trace of zeroes", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["a span of zeroes", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["a line end", `${GOOD}\n`],
    ["no end", `cc-${TRACE}-${SPAN}-00-${"x".repeat(10_000)}`],
  ])("counts as absent where it is wrong: %s", (_, traceparent) => {
    expect(readTrace({ traceparent, tracestate: "vendor=a" })).toBeUndefined();
  });

  test("a tracestate that is too long is left out, and the trace is kept", () => {
    const read = readTrace({ traceparent: GOOD, tracestate: `vendor=${"x".repeat(600)}` });
    expect(read && writeTrace(read)).toEqual({ traceparent: GOOD });
  });

  test("is not written of a span that is none", () => {
    expect(writeTrace({ traceId: "0".repeat(32), spanId: "0".repeat(16), traceFlags: 0 })).toBeUndefined();
  });
});
