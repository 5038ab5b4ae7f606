import { expect, test } from "vitest";
import { redact } from "./redact.ts";

test.each([
  ["Incorrect API key provided: sk-proj-abcdefghijkl.", "sk-proj-abcdefghijkl"],
  ["Incorrect API key provided: sk-abc*********xyz.", "xyz"],
  ["invalid x-api-key: hunter2hunter2", "hunter2hunter2"],
  ["Authorization: Bearer eyJhbGciOi.eyJzdWIi.sig", "eyJhbGciOi"],
  ['{"api_key": "topsecret"}', "topsecret"],
  ["GET https://example.org/v1?key=1&token=abc123", "abc123"],
  ["connect to https://me:pass@example.org failed", "me:pass"],
  ["gsk_abcdefgh12345678 is not valid", "gsk_abcdefgh12345678"],
  ["AIzaSyA1234567890abcdefghijk is not valid", "AIzaSyA1234567890"],
  ["key 0123456789abcdef0123456789abcdef refused", "0123456789abcdef"],
])("what looks like a secret is taken out of %j", (text, secret) => {
  expect(redact(text)).not.toContain(secret);
  expect(redact(text)).toContain("[redacted]");
});

test.each([
  "This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens.",
  "Rate limit reached for gpt-5.1-mini in organization org-abc on tokens per min (TPM): Limit 30000, Used 29000.",
  "messages.3.content.0: `tool_use` ids must be unique",
  "prompt is too long: 210000 tokens > 200000 maximum",
  "Unknown parameter: 'reasoning_effort'.",
])("the reason itself stays: %j", (text) => {
  expect(redact(text)).toBe(text);
});

test("a known secret is taken out whatever it looks like, also where a pattern would have cut it", () => {
  expect(redact("the key correct horse battery is wrong", ["correct horse battery"])).toBe(
    "the key [redacted] is wrong",
  );
  expect(redact("a, ab and abc", ["", "ab"])).toBe("a, ab and abc");
});
