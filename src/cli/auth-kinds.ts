/** What settings about who may ask, and how often, may hold. Secrets are among them: what is wrong is never repeated. */
import { HeddleError } from "../protocol/index.ts";
import { kindOf, readRate } from "../server/fastify/index.ts";
import type { AuthFunction, Rate } from "../server/fastify/index.ts";
import { isRecord, jsonText } from "./setting-kinds.ts";
import type { Kind } from "./setting-kinds.ts";

/** Who may ask, as far as one place says it. */
export type AuthSetting = AuthFunction | Readonly<Record<string, unknown>>;

/** A text that is never shown; whoever uses it judges it. */
export const hiddenText: Kind<string> = {
  fromText: (given) => given,
  read(place, value) {
    if (typeof value === "string") return value;
    throw hidden(place, value, "a text");
  },
};

/** Who may ask; as text, JSON. What is in it is judged when all of it is together. */
export const authSetting: Kind<AuthSetting> = {
  fromText: jsonText,
  read(place, value) {
    if (isFunction(value) || isRecord(value)) return value;
    throw hidden(place, value, "an object of keys and jwt, as JSON in a variable, or a function in a module");
  },
};

/** So many requests in so much time; as text, `600/60000`: requests, and milliseconds. */
export const rate: Kind<Rate> = {
  fromText(given) {
    const [, requests, perMs] = /^(\d{1,9})\/(\d{1,9})$/.exec(given) ?? [];
    return requests === undefined ? given : { requests: Number(requests), perMs: Number(perMs) };
  },
  read(place, value) {
    if (typeof value !== "string") return readRate(value, place);
    const expected = "requests and milliseconds, such as 600/60000 in a variable, {requests, perMs} in a file";
    const received = JSON.stringify(value);
    const message = `${place} is ${received}: expected ${expected}.`;
    throw new HeddleError("config-invalid", message, { setting: place, expected, received });
  },
};

const isFunction = (value: unknown): value is AuthFunction => typeof value === "function";

function hidden(place: string, value: unknown, expected: string): HeddleError {
  const received = kindOf(value);
  const message = `${place} is ${received}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting: place, expected, received });
}
