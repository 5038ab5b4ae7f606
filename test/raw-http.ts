/**
 * HTTP by hand, for what no client would send: bytes go out as they are, and whatever comes back is read as the answers
 * of one connection, one after the other. It knows just enough of HTTP/1.1 to take them apart.
 */
import { connect } from "node:net";
import type { Socket } from "node:net";

/** What is sent on one connection. */
export interface RawRequest {
  /** The bytes, each piece in a write of its own. */
  readonly pieces: readonly (string | Uint8Array)[];
  /** Who ends the connection: the server, we by saying that nothing follows, or we by hanging up. */
  readonly ends: "server" | "half" | "abrupt";
  /** Methods of the requests, where they are more than one or HEAD is among them. */
  readonly methods?: readonly string[];
}

/** One answer. */
export interface RawAnswer {
  /** Status. */
  readonly status: number;
  /** Headers, by name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Body, decoded. */
  readonly body: string;
  /** Whether all of it came. */
  readonly whole: boolean;
}

/** Sends bytes, and resolves to the answers when the connection is closed. What breaks it is no failure here. */
export async function exchange(port: number, { pieces, ends, methods = [] }: RawRequest): Promise<RawAnswer[]> {
  // Text is bytes here, one each.
  const socket = connect({ port, host: "localhost", noDelay: true }).setDefaultEncoding("latin1");
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk)).on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  for (const piece of pieces) if (!(await write(socket, piece))) break;
  if (ends === "half") socket.end();
  if (ends === "abrupt") socket.destroy();
  await closed;
  return answersIn(Buffer.concat(received), methods);
}

/** Resolves to false where nobody takes it. */
function write(socket: Socket, piece: string | Uint8Array): Promise<boolean> {
  if (!socket.writable) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  // A socket that is destroyed may forget its writes.
  const onClose = (): void => resolve(false);
  socket.once("close", onClose);
  socket.write(piece, (error) => {
    socket.off("close", onClose);
    resolve(error === null || error === undefined);
  });
  return promise;
}

function answersIn(bytes: Buffer, methods: readonly string[]): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end === -1) throw new Error(`not an answer: ${bytes.toString("latin1", at, at + 200)}`);
    const [line = "", ...lines] = bytes.toString("latin1", at, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    if (Number.isNaN(status)) throw new Error(`not an answer: ${line.slice(0, 200)}`);
    const headers = new Map(lines.map((header) => [nameOf(header), header.slice(header.indexOf(":") + 1).trim()]));
    // A HEAD that cannot be read is answered as if it were any request.
    const isBare = methods[answers.length] === "HEAD" && /^(HTTP|$)/.test(bytes.toString("latin1", end + 4, end + 8));
    const hasBody = status >= 200 && status !== 204 && status !== 304 && !isBare;
    const { body, next, whole } = hasBody ? bodyAt(bytes, end + 4, headers) : { body: "", next: end + 4, whole: true };
    at = next;
    if (status >= 200) answers.push({ status, headers, body, whole });
  }
  return answers;
}

const nameOf = (header: string): string => header.slice(0, header.indexOf(":")).toLowerCase();

function bodyAt(
  bytes: Buffer,
  start: number,
  headers: ReadonlyMap<string, string>,
): { readonly body: string; readonly next: number; readonly whole: boolean } {
  if (headers.get("transfer-encoding") === "chunked") return chunksAt(bytes, start);
  const length = Number(headers.get("content-length") ?? bytes.length - start);
  const next = Math.min(start + length, bytes.length);
  return { body: bytes.toString("utf8", start, next), next, whole: start + length <= bytes.length };
}

function chunksAt(
  bytes: Buffer,
  start: number,
): { readonly body: string; readonly next: number; readonly whole: boolean } {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const line = bytes.indexOf("\r\n", at);
    const size = line === -1 ? Number.NaN : Number.parseInt(bytes.toString("latin1", at, line), 16);
    const next = line + 2 + size + 2;
    const isCut = Number.isNaN(size) || next > bytes.length;
    if (isCut || size === 0)
      return { body: Buffer.concat(chunks).toString(), next: isCut ? bytes.length : next, whole: !isCut };
    chunks.push(bytes.subarray(line + 2, line + 2 + size));
    at = next;
  }
}
