/**
 * Heddle over HTTP, without a host: the table of routes, errors, origins, and what a host has to send. The hosts are
 * `heddle/server/fastify` and `heddle/server/fetch`; this is not a subpath of its own.
 */
export { SAFE_HEADERS, isStream } from "./answer.ts";
export { NO_BYTES, limitedBytes } from "./byte-body.ts";
export type { Answer, AnswerHeaders, PlainAnswer, StreamAnswer } from "./answer.ts";
export {
  bodyTooLarge,
  checkEncoding,
  errorAnswer,
  faultOf,
  serverClosing,
  unknownRoute,
  wrongMediaType,
} from "./error-answer.ts";
export type { FaultReporter, RefusalCounter } from "./error-answer.ts";
export { admit, doorOf } from "./admit.ts";
export type { AskedRequest, DoorRules } from "./admit.ts";
export { forwardedHeaders, withForwardedHeaders } from "./forwarded-headers.ts";
export type { ForwardedHeaders } from "./forwarded-headers.ts";
export { routerOf } from "./match-route.ts";
export type { Matched } from "./match-route.ts";
export { LOOPBACK_HOSTS, LOOPBACK_ORIGINS, isJson, isOfType, isPreflight, originPolicy } from "./origin-policy.ts";
export type { JudgedRequest, Judgement, OriginPolicy, OriginRules } from "./origin-policy.ts";
export type { ByteBody, Desk, Route, RouteRequest, Site } from "./route.ts";
export { routesOf } from "./routes.ts";
export type { Mounts } from "./routes.ts";
export { SOCKET_ROUTE, notUpgraded } from "./socket-route.ts";
