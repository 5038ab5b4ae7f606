/** Finds the route of a method and a path, for hosts that have no router of their own. */
import { HeddleError } from "../../protocol/index.ts";
import { unknownRoute } from "./error-answer.ts";
import type { Route } from "./route.ts";

/** A route, and what its placeholders stand for. */
export interface Matched {
  /** The route. */
  readonly route: Route;
  /** Values of its placeholders, decoded. */
  readonly path: Readonly<Record<string, string>>;
}

/** Makes a router of a table. It throws `route-unknown`, and `request-invalid` where a path cannot be decoded. */
export function routerOf(routes: readonly Route[]): (method: string, path: string) => Matched {
  const table = routes.map((route) => ({ route, parts: route.path.split("/").slice(1) }));
  return (method, path) => {
    const asked = path.replace(/^\//, "").split("/");
    for (const { route, parts } of table) {
      if (!answers(route, method) || parts.length !== asked.length) continue;
      const values = valuesOf(parts, asked);
      if (values !== undefined) return { route, path: values };
    }
    throw unknownRoute(method, path);
  };
}

/** A stream that never ends has no head to show. */
const answers = (route: Route, method: string): boolean =>
  route.method === method || (method === "HEAD" && route.method === "GET" && route.streams !== true);

function valuesOf(parts: readonly string[], asked: readonly string[]): Record<string, string> | undefined {
  const values: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const given = asked[index] ?? "";
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined ? part !== given : given === "") return undefined;
    if (name !== undefined) values[name] = decoded(given);
  }
  return values;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    const message = "The path cannot be read: it holds a % that encodes nothing.";
    throw new HeddleError("request-invalid", message, { reason: "path" }, { cause });
  }
}
