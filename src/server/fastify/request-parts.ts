/** Parts of a Fastify request, as the routes read them. */
import type { FastifyRequest } from "fastify";

/** A header's value, by its name in lower case. */
export function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** The query of an address. */
export function queryOf(url: string): URLSearchParams {
  const start = url.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : url.slice(start));
}
