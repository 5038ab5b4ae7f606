/** The route of WebSocket, for the description and for whoever asks without an upgrade. A host serves the rest. */
import { HeddleError } from "../../protocol/index.ts";
import type { Route } from "./route.ts";

/** `GET /ws`. */
export const SOCKET_ROUTE: Route = {
  id: "socket",
  method: "GET",
  path: "/ws",
  summary: "WebSocket, subprotocol heddle.v1: runs and threads over one connection. PROTOCOL.md has its frames.",
  answers: { 101: { description: "The connection is a WebSocket." } },
  errors: ["request-invalid"],
  answer: () => {
    throw notUpgraded();
  },
};

/** A request that is no WebSocket's. */
export function notUpgraded(): HeddleError {
  const message = "This address speaks WebSocket: open it with one, and offer the subprotocol heddle.v1.";
  return new HeddleError("request-invalid", message, { reason: "upgrade" });
}
