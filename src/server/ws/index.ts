/**
 * The dialect `heddle.v1` of WebSocket, without a host: frames, sockets and close codes. The host is
 * `heddle/server/fastify`; this is not a subpath of its own.
 */
export { CLIENT_FRAMES } from "./client-frames.ts";
export type { ClientFrame } from "./client-frames.ts";
export { CLOSE, closeCodeOf, ourCloseCode } from "./close-codes.ts";
export { EventFrames, SUBPROTOCOL, frameOf, textsIn } from "./event-frames.ts";
export { SocketDesk } from "./socket-desk.ts";
export type { SocketDeskParts, SocketUser, Wire } from "./socket-desk.ts";
