/**
 * Tries an agent at an address that the caller names. The server makes the request, from where it is: so only operators may
 * ask, and only where the server is set to.
 */
import { HeddleError } from "../../protocol/index.ts";
import { checkAgent, roleEverywhere } from "../index.ts";
import { jsonAnswer } from "./answer.ts";
import type { Desk, Route } from "./route.ts";

const TEXT = { type: "string" } as const;
const COUNT = { type: "integer" } as const;
const HEADERS = { type: "object", additionalProperties: TEXT } as const;

/** Longest message that an agent is tried with. */
const MAX_MESSAGE_CHARS = 10_000;

/** Whether whoever asks may have agents tried. */
export const mayCheck = ({ checks, heddle }: Pick<Desk, "checks" | "heddle">): boolean =>
  checks && roleEverywhere(heddle.principal) === "operator";

const FINDING = {
  type: "object",
  required: ["kind", "message"],
  properties: { kind: { enum: ["repair", "warning", "error"] }, rule: TEXT, message: TEXT, at: COUNT },
} as const;

const CHECK = {
  type: "object",
  required: ["ok", "reached", "sentence", "url", "totalMs", "events", "types", "text", "findings", "sample"],
  properties: {
    ok: { type: "boolean" },
    reached: { type: "boolean" },
    sentence: TEXT,
    url: TEXT,
    status: COUNT,
    contentType: TEXT,
    firstEventMs: COUNT,
    totalMs: COUNT,
    events: COUNT,
    types: { type: "object", additionalProperties: COUNT },
    outcome: TEXT,
    text: TEXT,
    findings: { type: "array", items: FINDING },
    sample: { type: "array", items: {} },
  },
} as const;

/** Tries an agent. */
export const CHECK_ROUTE: Route = {
  id: "check",
  method: "POST",
  path: "/checks",
  summary: "Posts one message to an AG-UI agent at an address, and says what is wrong with its answer. For operators.",
  body: {
    type: "object",
    required: ["url"],
    properties: { url: TEXT, headers: HEADERS, message: { ...TEXT, maxLength: MAX_MESSAGE_CHARS } },
  },
  answers: { 200: { description: "What came of it.", content: { "application/json": CHECK } } },
  errors: ["address-refused", "input-invalid", "json-invalid", "limit-exceeded", "media-type-unsupported"],
  needs: "operator",
  async answer(desk, { body, signal }) {
    if (!mayCheck(desk)) {
      const message = "This server calls no addresses for others: start it with --checks (checks: true) to allow it.";
      throw new HeddleError("address-refused", message, { reason: "checks" });
    }
    const { url, ...rest } = readBody(body);
    return jsonAnswer(await checkAgent(url, { ...rest, signal }));
  },
};

interface Body {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: string;
}

function readBody(body: unknown): Body {
  if (!isRecord(body)) throw refused("", "an object with a url");
  const { url, headers, message } = body;
  if (typeof url !== "string") throw refused("/url", "an http or https URL");
  if (headers !== undefined && !isHeaders(headers)) throw refused("/headers", "an object of names and texts");
  if (message !== undefined && (typeof message !== "string" || message.length > MAX_MESSAGE_CHARS)) {
    throw refused("/message", `a text of at most ${MAX_MESSAGE_CHARS} characters`);
  }
  return { url, ...(headers !== undefined && { headers }), ...(message !== undefined && { message }) };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isHeaders = (value: unknown): value is Readonly<Record<string, string>> =>
  isRecord(value) && Object.values(value).every((each) => typeof each === "string");

/** What was given may be a secret: it is not repeated. */
function refused(path: string, expected: string): HeddleError {
  const message = `${path === "" ? "The body" : path} is something else: expected ${expected}.`;
  return new HeddleError("input-invalid", message, { path, expected, received: "something else" });
}
